// The page on which a person confirms a headless sign-in. The address alone must not do: whoever is sent one with a
// stranger's key, and is signed in with their provider already, would hand their token over by opening it.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { confirmationPage, isConfirmed, redirectByPage, unconfirmedPage, unknownProvider } from "./confirm.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { htmlPage } from "./pages.ts";
import { isKnownProvider } from "./requested-provider.ts";

export const headlessPath = "/oauth/headless";

/** What a headless sign-in can be begun with; the page hands it on to itself. */
const parameterNames = ["headless_code", "idp_id", "audience", "scope", "cap", "invite", "identity", "skip_registration"];

/** Of a key in letters the first, which a person can compare with the address in the terminal. */
const codePrefixLength = 8;

const headlessConfirmationPage = (dependencies: SignInDependencies, request: EndpointRequest, parameters: URLSearchParams, problem: string): EndpointAnswer => {
  const code = parameters.get("headless_code") ?? "";
  const idp = parameters.get("idp_id") ?? "";
  const typesProvider = idp === "" || problem !== "";
  const audience = parameters.getAll("audience");
  return confirmationPage(dependencies, request, code, {
    status: problem === "" ? 200 : 400,
    paragraphs: [
      `A program in a terminal asks to act in your name on ${new URL(dependencies.publicUrl).host}.`,
      ...(audience.some((each) => each !== dependencies.publicUrl) ? [`For: ${audience.join(", ")}.`] : []),
      "The address that it shows holds a code that begins with:",
    ],
    code: code.slice(0, codePrefixLength),
    path: headlessPath,
    hidden: [...parameters].filter(([name]) => parameterNames.includes(name) && !(typesProvider && name === "idp_id")),
    provider: typesProvider ? { typed: idp, problem } : undefined,
  });
};

/** Asks before the sign-in begins. */
export const showHeadlessConfirmation = (dependencies: SignInDependencies, request: EndpointRequest): EndpointAnswer =>
  headlessConfirmationPage(dependencies, request, request.query, "");

/** Begins it, confirmed. */
export const confirmHeadless = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  begin: (parameters: URLSearchParams) => Promise<EndpointAnswer>,
): Promise<EndpointAnswer> => {
  const { form } = request;
  if (!isConfirmed(dependencies, request, form.get("headless_code") ?? "")) return unconfirmedPage();
  if (form.get("answer") !== "confirm")
    return htmlPage(200, "Refused", ["The terminal is not signed in; it waits until somebody stops it. You can close this page."]);
  if (!(await isKnownProvider(dependencies.store.read, form.get("idp_id") ?? "")))
    return headlessConfirmationPage(dependencies, request, form, unknownProvider);
  return redirectByPage(await begin(form));
};
