// The page behind a sign-in in a browser that asks a person about organizations that have bound their uid, and see nothing
// else of them until they agree (docs/decisions/0021).
//
//   the sign-in's end   the question, with where the sign-in was going sealed into its form    a cookie of ours
//   POST                the answer for one organization; the page again, or on to where it was going
//
// A program waits for nobody's answer: what ends at a program's own address on this machine goes there at once, and a
// terminal has its tokens already when the page is shown.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isRoot, isUid } from "#base/uid.ts";
import { methodByName } from "#contract/catalog.ts";
import { changeContext, eventOf } from "#kernel";
import { record } from "#outbox";
import { type Binding, findUnansweredOrganizations, type PersonOrganization } from "#store";
import type { Completion, SignedIn } from "./completion.ts";
import { isConfirmed, questionPage, unconfirmedPage } from "./confirm.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { agreeToOrganization } from "./membership.ts";
import { escapeHtml, htmlPage } from "./pages.ts";
import { nameHtml, personHtml } from "./person.ts";
import { isProgramAddress } from "./redirect.ts";

export const membershipsPath = "/oauth/memberships";

const sealPurpose = "membership question";
/** The form's proof is over the sealed text and the browser's cookie (confirm.ts). */
const boundToNothing: Binding = [];
const acceptName = "gantry.memberships.v1.MembershipsService/AcceptMembership";

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
  `<p><strong>${nameHtml(name)}</strong> has given you access. Accept: it will see your name, e-mail address and sign-ins.<br><small>${uid}</small></p>` +
  `<p class="actions"><button name="accept" value="${uid}">Accept</button></p>`;

const membershipPage = (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  question: Question,
  organizations: readonly PersonOrganization[],
): EndpointAnswer => {
  const sealed = dependencies.vault.seal(sealPurpose, JSON.stringify(question), boundToNothing);
  const form =
    `${personHtml(question.person)}${organizations.map(organizationForm).join("")}` +
    "<p>Until you accept, it sees an identifier and nothing else of you. Your access does not depend on it.</p>" +
    '<p class="actions"><button class="secondary" name="accept" value="">Not now</button></p>';
  return questionPage(dependencies, request, sealed, {
    title: "You are signed in",
    paragraphs: [],
    path: membershipsPath,
    hidden: [["question", sealed]],
    form,
  });
};

/** Where the sign-in was going. By a page: a form of ours may lead to this server only, also by a redirect of its answer. */
const goOn = ({ location }: Question): EndpointAnswer => {
  if (location === "") return htmlPage(200, "You are signed in", ["Nothing waits for you here; you can close this page."]);
  const page = htmlPage(200, "One moment", ["You are signed in."], `<p><a href="${escapeHtml(location)}">Go on</a></p>`);
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
  const { store, clock, log } = dependencies;
  // A code is good for a minute, which nobody may need for reading.
  const endsAtProgram = completion.kind === "code" || (completion.kind === "redirect" && isProgramAddress(dependencies, completion.redirect));
  if (endsAtProgram || !isRoot(identityUid) || ![200, 303].includes(answer.status)) return answer;
  try {
    const organizations = await findUnansweredOrganizations(store.read, identityUid, clock(), limits.organizationsAskedMax);
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

/** Writes down that the person agrees, with the event of the operation that says the same. */
const accept = async (
  { store, kernel, clock }: SignInDependencies,
  { requestId, origin }: EndpointRequest,
  { identityUid, person: { act } }: Question,
  uid: string,
) =>
  store.write(async (rows) => {
    const cause = { operation: acceptName, actor: { subject: identityUid, act }, bindings: () => [], origin: () => origin, requestId };
    const agreed = await agreeToOrganization(rows, identityUid, uid, clock());
    const method = methodByName(acceptName);
    const event = agreed?.made && method ? eventOf(changeContext(kernel, rows, cause), method, {}, agreed.membership) : undefined;
    if (event) await record(rows, event);
  });

/** Answers the form. */
export const answerMembershipQuestion = async (dependencies: SignInDependencies, request: EndpointRequest): Promise<EndpointAnswer> => {
  const { store, vault, clock } = dependencies;
  const sealed = text(Object.fromEntries(request.form), "question");
  const opened = isConfirmed(dependencies, request, sealed) ? vault.open(sealPurpose, sealed, boundToNothing) : undefined;
  const question = opened === undefined ? undefined : (JSON.parse(opened) as Question);
  if (!question || question.untilMs <= clock()) return unconfirmedPage();
  const uid = request.form.get("accept") ?? "";
  if (!isUid(uid)) return goOn(question);
  await accept(dependencies, request, question, uid);
  const left = await findUnansweredOrganizations(store.read, question.identityUid, clock(), limits.organizationsAskedMax);
  return left.length === 0 ? goOn(question) : membershipPage(dependencies, request, question, left);
};
