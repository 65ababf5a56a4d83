// Page after a sign-in that asks about pending memberships: role bindings that grant nothing until the user accepts
// (docs/decisions/0067, 0067).
//
//   end of the sign-in   the question, with the sign-in's destination sealed into the form; sets a cookie
//   POST                 the answer for one organization; then the next question, or the destination
//
// It shows the newest 20, so that spam cannot bury an organization. Programs never wait: a redirect to a loopback address happens at
// once, and a terminal already has its tokens.

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
/** The form's proof covers the sealed text and the cookie (confirm.ts). */
const boundToNothing: Binding = [];

const answers = {
  accept: { operation: "gantry.memberships.v1.MembershipsService/AcceptMembership", write: acceptOrganization },
  decline: { operation: "gantry.memberships.v1.MembershipsService/DeclineMembership", write: declineOrganization },
} as const;
type AnswerName = keyof typeof answers;

interface Question {
  readonly identityUid: string;
  readonly person: Pick<SignedIn, "act" | "email" | "name">;
  /** URL with the sign-in's tokens; "" if the sign-in has already ended. */
  readonly location: string;
  readonly untilMs: number;
}

const organizationForm = ({ uid, name }: PersonOrganization): string =>
  `<div class="person"><p><small>Organization</small><br><strong>${nameHtml(name)}</strong><br><small>${uid}</small></p>` +
  `<p class="actions"><button name="accept" value="${uid}">Accept</button>` +
  `<button class="secondary" name="decline" value="${uid}">Decline</button></p></div>`;

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

/** A page, because form-action also restricts redirects of a form's response. */
const goOn = ({ location }: Question): EndpointAnswer => {
  if (location === "") return htmlPage(200, "You are signed in", ["You can close this page."]);
  const page = htmlPage(200, "One moment", ["You are signed in."], `<p class="actions"><a class="button" href="${escapeHtml(location)}">Continue</a></p>`);
  return { ...page, headers: { ...page.headers, refresh: `0;url=${location}` } };
};

/** Returns the page with the question, or `answer` if there is none or a program waits. */
export const withMembershipQuestion = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  { uid: identityUid, act, email, name }: SignedIn,
  completion: Completion,
  answer: EndpointAnswer,
): Promise<EndpointAnswer> => {
  const { clock, log } = dependencies;
  // A code is valid for a minute, which reading the page could use up.
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
    // The user is signed in and can answer next time.
    log("signin.question.failed", { requestId: request.requestId, cause });
    return answer;
  }
};

/** A late answer changes nothing. */
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
    // Accepted elsewhere since the page was shown.
    if (!(thrown instanceof Fault && thrown.code === "FAILED_PRECONDITION")) throw thrown;
  }
  const left = await findQuestions(dependencies, question.identityUid);
  return left.length === 0 ? goOn(question) : membershipPage(dependencies, request, question, left);
};
