// The page on which a person confirms a headless sign-in. The address alone must not do: whoever is sent one with a
// stranger's key, and is signed in with their provider already, would hand their token over by opening it.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { confirmationPage, grantTexts, isConfirmed, redirectByPage, unconfirmedPage } from "./confirm.ts";
import type { RequestedToken } from "./completion.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { htmlPage } from "./pages.ts";
import { openProviderQuestion, type ProviderQuestion, unanswered } from "./requested-provider.ts";

export const headlessPath = "/oauth/headless";

/** What a headless sign-in can be begun with; the page hands it on to itself. */
const parameterNames = ["headless_code", "idp_id", "audience", "scope", "cap", "invite", "identity", "skip_registration"];

/** What a headless sign-in asks for, as the page says it. */
export interface HeadlessRequest {
  readonly requestedToken: RequestedToken;
  /** A provider's uid, or a verified organization's name. */
  readonly provider: string;
  /** Code of an invite to accept; "" for none. */
  readonly invite: string;
  /** The assumable identity to act as; "" for the person. */
  readonly identity: string;
}

/** The page that has to be answered first; undefined where the sign-in can begin. */
export type AskHeadless = (request: HeadlessRequest) => Promise<EndpointAnswer | undefined>;

/** Of a key in letters the first, which a person can compare with the address in the terminal. */
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

/** Asks before the sign-in begins. */
export const showHeadlessConfirmation = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  headlessRequest: HeadlessRequest,
): Promise<EndpointAnswer> => {
  const provider = await openProviderQuestion(dependencies, headlessRequest.provider);
  return headlessConfirmationPage(dependencies, request, request.query, headlessRequest, provider);
};

/** Begins it, confirmed. */
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
