// Confirmation page of a headless sign-in. Without it, a link with an attacker's key would disclose the token of a user already
// signed in at their provider.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { confirmationPage, grantTexts, isConfirmed, redirectByPage, unconfirmedPage } from "./confirm.ts";
import type { RequestedToken } from "./completion.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { htmlPage } from "./pages.ts";
import { openProviderQuestion, type ProviderQuestion, unanswered } from "./requested-provider.ts";

export const headlessPath = "/oauth/headless";

const parameterNames = ["headless_code", "idp_id", "audience", "scope", "cap", "invite", "identity", "skip_registration"];

export interface HeadlessRequest {
  readonly requestedToken: RequestedToken;
  /** UID, or a verified organization's name. */
  readonly provider: string;
  /** Code; "" for none. */
  readonly invite: string;
  /** Assumable identity to act as; "" for the user. */
  readonly identity: string;
}

/** Returns a page to answer first; undefined if the sign-in can begin. */
export type AskHeadless = (request: HeadlessRequest) => Promise<EndpointAnswer | undefined>;

/** Leading letters of the key, to compare with the URL in the terminal. */
const codePrefixLength = 8;

const headlessConfirmationPage = (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  parameters: URLSearchParams,
  { requestedToken, invite, identity }: HeadlessRequest,
  provider: ProviderQuestion | undefined,
): EndpointAnswer => {
  const code = parameters.get("headless_code") ?? "";
  return confirmationPage(dependencies, request, code, {
    status: (provider?.problem ?? "") === "" ? 200 : 400,
    paragraphs: [
      `A program in a terminal asks to act on your behalf on ${new URL(dependencies.publicUrl).host}.`,
      "The address that the terminal shows contains a code that starts with:",
    ],
    grants: [
      ...(identity === "" ? [] : [`It acts as the identity ${identity}, if you have permission to assume it.`]),
      ...(invite === "" ? [] : ["The link contains an invite. After you sign in, a page asks whether you accept it."]),
      ...grantTexts(dependencies, requestedToken, false),
    ],
    code: code.slice(0, codePrefixLength),
    path: headlessPath,
    hidden: [...parameters].filter(([name]) => parameterNames.includes(name) && !(provider && name === "idp_id")),
    provider,
  });
};

export const showHeadlessConfirmation = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  headlessRequest: HeadlessRequest,
): Promise<EndpointAnswer> => {
  const provider = await openProviderQuestion(dependencies, headlessRequest.provider);
  return headlessConfirmationPage(dependencies, request, request.query, headlessRequest, provider);
};

export const confirmHeadless = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  begin: (parameters: URLSearchParams, ask: AskHeadless) => Promise<EndpointAnswer>,
): Promise<EndpointAnswer> => {
  const { form } = request;
  if (!isConfirmed(dependencies, request, form.get("headless_code") ?? "")) return unconfirmedPage();
  if (form.get("answer") !== "confirm")
    return htmlPage(200, "Refused", ["The terminal was not signed in and is still waiting: stop the command there. You can close this page."]);
  const ask: AskHeadless = async (headlessRequest) => {
    const question = await openProviderQuestion(dependencies, headlessRequest.provider);
    return question && headlessConfirmationPage(dependencies, request, form, headlessRequest, unanswered(question));
  };
  return redirectByPage(await begin(form, ask));
};
