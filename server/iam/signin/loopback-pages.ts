// Page before tokens go to a program on the user's computer (RFC 8252 §7.3). A link can start such a sign-in, and any program can
// listen on the port. So no token exists until the user continues.
//
//   end of the sign-in  the question                                       a row, for two minutes
//   POST                Continue: the tokens; Cancel: error, status 403    deletes the row, so it counts once

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { denied } from "#base/fault.ts";
import { escapeHtml } from "#base/html.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { rootOf } from "#base/uid.ts";
import { findGroupName } from "#iam/store";
import type { RedirectCompletion, SignedIn } from "./completion.ts";
import { answeredPage, grantTexts, redirectByPage, unconfirmedPage } from "./confirm.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { nameHtml, personHtml } from "./person.ts";
import { askOnce, takeAnswered } from "./stored-question.ts";

export const loopbackPath = "/oauth/loopback";

const purpose = "loopback question";

interface LoopbackQuestion {
  readonly completion: RedirectCompletion;
  readonly signedIn: SignedIn;
}

/** Asks whether the program at the loopback address gets the tokens. */
export const askLoopback = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  signedIn: SignedIn,
  completion: RedirectCompletion,
): Promise<EndpointAnswer> => {
  const { store, publicUrl } = dependencies;
  const { identityProviderUid, mayRefresh } = signedIn;
  const { redirect, requestedToken, createRefreshToken } = completion;
  const organization = rootOf(identityProviderUid);
  const { host, port } = new URL(redirect);
  const about: LoopbackQuestion = { completion, signedIn };
  const grants = grantTexts({ publicUrl }, requestedToken, createRefreshToken && mayRefresh);
  const form =
    `<p class="person"><small>Requested by</small><br><strong>A program on this computer, port ${escapeHtml(port || "80")}</strong>` +
    `<br><small>${escapeHtml(host)}</small></p>` +
    personHtml(signedIn) +
    `<p>Organization: <strong>${nameHtml((await findGroupName(store.read, organization)) || organization)}</strong></p>` +
    `<p>The program asks to act on your behalf on ${escapeHtml(new URL(publicUrl).host)}. If you continue:</p>` +
    `<ul>${grants.map((grant) => `<li>${escapeHtml(grant)}</li>`).join("")}</ul>` +
    "<p><strong>Continue only if you started this sign-in yourself</strong> and the program is still waiting. If you followed a link, cancel.</p>" +
    '<p class="actions"><button name="answer" value="continue">Continue</button>' +
    '<button class="secondary" name="answer" value="cancel">Cancel</button></p>';
  return askOnce(
    dependencies,
    request,
    { purpose, identityProviderUid, about, lifetimeMs: limits.loopbackQuestionLifetimeMs },
    { title: "Continue to the program?", paragraphs: [], path: loopbackPath, form },
  );
};

type Refuse = (dependencies: SignInDependencies, thrown: unknown, completion: RedirectCompletion, requestSource: RequestSource) => Promise<EndpointAnswer>;

/** POST: handles the user's answer. `refuse` completes the sign-in without tokens (browser.ts). */
export const answerLoopback = async (dependencies: SignInDependencies, request: EndpointRequest, refuse: Refuse): Promise<EndpointAnswer> => {
  const { isConfirmed, about } = await takeAnswered(dependencies, request, purpose);
  const next = "Start the sign-in again in the program.";
  if (!isConfirmed) return unconfirmedPage(next);
  if (about === undefined) return answeredPage(next);
  const { completion, signedIn } = JSON.parse(about) as LoopbackQuestion;
  const { origin, requestId } = request;
  try {
    if (request.form.get("answer") !== "continue") throw denied("the user cancelled the sign-in");
    return redirectByPage(await dependencies.completers.redirect.complete(dependencies, signedIn, completion));
  } catch (thrown) {
    return redirectByPage(await refuse(dependencies, thrown, completion, { origin, requestId }));
  }
};
