// The page behind a sign-in in a browser that asks a user about pending memberships: organizations that have created role bindings for
// the user, which grant nothing until the user accepts (docs/decisions/0021, 0067).
//
//   the sign-in's end   the question, with where the sign-in was going sealed into its form    a cookie of ours
//   POST                the answer for one organization; the page again, or on to where it was going
//
// It shows the newest 20, so that one organization among many others is still found, and names as plain text: whoever owns an
// organization chose its name. A program waits for nobody's answer: what ends at a program's own address on this machine goes there at
// once, and a terminal has its tokens already when the page is shown.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isRoot, isUid } from "#base/uid.ts";
import { methodByName } from "#contract/catalog.ts";
import { changeContext, eventOf } from "#kernel";
import { record } from "#outbox";
import type { Binding } from "#db";
import { findUnansweredOrganizations, type PersonOrganization } from "#iam/store";
import type { Completion, SignedIn } from "./completion.ts";
import { isConfirmed, questionPage, unconfirmedPage } from "./confirm.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { acceptOrganization, declineOrganization } from "./membership.ts";
import { escapeHtml, htmlPage } from "./pages.ts";
import { nameHtml, personHtml } from "./person.ts";
import { isProgramAddress } from "./redirect.ts";

export const membershipsPath = "/oauth/memberships";

const sealPurpose = "membership question";
/** The form's proof is over the sealed text and the browser's cookie (confirm.ts). */
const boundToNothing: Binding = [];

/** What the buttons are called, with the operation that each stands for. */
const answers = {
  accept: { operation: "gantry.memberships.v1.MembershipsService/AcceptMembership", write: acceptOrganization },
  decline: { operation: "gantry.memberships.v1.MembershipsService/DeclineMembership", write: declineOrganization },
} as const;
type AnswerName = keyof typeof answers;

/** What the form carries, sealed: who is asked, and where their sign-in was going. */
interface Question {
  readonly identityUid: string;
  readonly person: Pick<SignedIn, "act" | "email" | "name">;
  /** An address with the sign-in's tokens; "": nowhere, it has ended. */
  readonly location: string;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
}

const organizationForm = ({ uid, name }: PersonOrganization): string =>
  `<div class="person"><p><small>Organization</small><br><strong>${nameHtml(name)}</strong><br><small>${uid}</small></p>` +
  `<p class="actions"><button name="accept" value="${uid}">Accept</button>` +
  `<button class="secondary" name="decline" value="${uid}">Decline</button></p></div>`;

/** The pending memberships that a user is asked about now. */
const findQuestions = ({ store, clock }: SignInDependencies, identityUid: string): Promise<PersonOrganization[]> =>
  findUnansweredOrganizations(store.read, identityUid, {
    nowMs: clock(),
    sinceMs: clock() - limits.organizationsAskedMs,
    count: limits.organizationsAskedMax,
  });

const membershipPage = (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  question: Question,
  organizations: readonly PersonOrganization[],
): EndpointAnswer => {
  const sealed = dependencies.vault.seal(sealPurpose, JSON.stringify(question), boundToNothing);
  const isOne = organizations.length === 1;
  const form =
    personHtml(question.person) +
    `<p>You are signed in. ${isOne ? "This organization has" : "These organizations have"} role bindings for you, which grant nothing until you accept.</p>` +
    "<ul><li>If you accept, the organization sees your name, email address, and sign-ins. Until then it sees an ID only.</li>" +
    "<li>If you decline, you are not asked again.</li></ul>" +
    "<p><strong>Accept only organizations that you know.</strong> An organization chooses its own name.</p>" +
    organizations.map(organizationForm).join("") +
    '<p class="actions"><button class="secondary" name="accept" value="">Not now</button></p>';
  return questionPage(dependencies, request, sealed, {
    title: isOne ? "Join this organization?" : "Join these organizations?",
    paragraphs: [],
    path: membershipsPath,
    hidden: [["question", sealed]],
    form,
  });
};

/** Where the sign-in was going. By a page: a form of ours may lead to this server only, also by a redirect of its answer. */
const goOn = ({ location }: Question): EndpointAnswer => {
  if (location === "") return htmlPage(200, "You are signed in", ["You can close this page."]);
  const page = htmlPage(200, "One moment", ["You are signed in."], `<p class="actions"><a class="button" href="${escapeHtml(location)}">Continue</a></p>`);
  return { ...page, headers: { ...page.headers, refresh: `0;url=${location}` } };
};

/** The sign-in's answer; in its place the question, where there is one and nothing waits for the answer. */
export const withMembershipQuestion = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  { uid: identityUid, act, email, name }: SignedIn,
  completion: Completion,
  answer: EndpointAnswer,
): Promise<EndpointAnswer> => {
  const { clock, log } = dependencies;
  // A code is good for a minute, which nobody may need for reading.
  const endsAtProgram = completion.kind === "code" || (completion.kind === "redirect" && isProgramAddress(dependencies, completion.redirect));
  if (endsAtProgram || !isRoot(identityUid) || ![200, 303].includes(answer.status)) return answer;
  try {
    const organizations = await findQuestions(dependencies, identityUid);
    if (organizations.length === 0) return answer;
    const question: Question = {
      identityUid,
      person: { act, email, name },
      location: answer.headers.location ?? "",
      untilMs: clock() + limits.signInLifetimeMs,
    };
    return membershipPage(dependencies, request, question, organizations);
  } catch (cause) {
    // The person is signed in already, and can answer the next time.
    log("signin.question.failed", { requestId: request.requestId, cause });
    return answer;
  }
};

/** Writes the answer, with the event of the operation that says the same. An answer that came too late changes nothing. */
const writeAnswer = async (
  { store, kernel, clock }: SignInDependencies,
  { requestId, origin }: EndpointRequest,
  { identityUid, person: { act } }: Question,
  name: AnswerName,
  uid: string,
) =>
  store.write(async (rows) => {
    const { operation, write } = answers[name];
    const cause = { operation, actor: { subject: identityUid, act }, bindings: () => [], origin: () => origin, requestId };
    const answered = await write(rows, identityUid, uid, clock());
    const method = methodByName(operation);
    const event = answered?.made && method ? eventOf(changeContext(kernel, rows, cause), method, {}, answered.membership) : undefined;
    if (event) await record(rows, event);
  });

/** Answers the form. */
export const answerMembershipQuestion = async (dependencies: SignInDependencies, request: EndpointRequest): Promise<EndpointAnswer> => {
  const { vault, clock } = dependencies;
  const sealed = text(Object.fromEntries(request.form), "question");
  const opened = isConfirmed(dependencies, request, sealed) ? vault.open(sealPurpose, sealed, boundToNothing) : undefined;
  const question = opened === undefined ? undefined : (JSON.parse(opened) as Question);
  if (!question || question.untilMs <= clock()) return unconfirmedPage();
  const name: AnswerName = request.form.has("decline") ? "decline" : "accept";
  const uid = request.form.get(name) ?? "";
  if (!isUid(uid)) return goOn(question);
  try {
    await writeAnswer(dependencies, request, question, name, uid);
  } catch (thrown) {
    // Accepted elsewhere since the page was shown: it is asked no more.
    if (!(thrown instanceof Fault && thrown.code === "FAILED_PRECONDITION")) throw thrown;
  }
  const left = await findQuestions(dependencies, question.identityUid);
  return left.length === 0 ? goOn(question) : membershipPage(dependencies, request, question, left);
};
