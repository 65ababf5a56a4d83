// Pages on which a user types and confirms a device code (RFC 8628 §3.3). They must keep a user from confirming an attacker's code
// (§5.4): nothing proceeds automatically, and refusing is as easy as confirming.
//
//   GET   the form, with the code of the URL filled in, not looked up    sets a cookie
//   POST  the typed code: shows who requests what                       requires that cookie
//   POST  the answer: redirects to the provider, or ends the code       requires the page's proof
//
// Against guessing, each address has a limit of wrong codes per minute (user-code.ts).

import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault } from "#base/fault.ts";
import { confirmationPage, formPage, grantTexts, isConfirmed, isOurBrowser, redirectByPage, unconfirmedPage } from "./confirm.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { devicePath, findOpenCode, type OpenCode, refuseDevice } from "./device.ts";
import { escapeHtml, htmlPage, sentenceOf } from "./pages.ts";
import { problemAttributes } from "./provider-choice.ts";
import { openProviderQuestion, type ProviderQuestion, unanswered } from "./requested-provider.ts";
import { formatUserCode, readUserCode } from "./user-code.ts";

const shownLengthMax = 40;

const codePage = (dependencies: SignInDependencies, request: EndpointRequest, status: number, typed: string, problem = ""): EndpointAnswer => {
  const userCode = readUserCode(typed);
  const value = userCode === undefined ? typed.slice(0, shownLengthMax) : formatUserCode(userCode);
  const alert = problem === "" ? "" : `<p role="alert" id="problem">${escapeHtml(problem)}</p>`;
  const attributes = `required autofocus maxlength="${shownLengthMax}" autocomplete="off" autocapitalize="characters" spellcheck="false"`;
  const input = `<input id="user_code" name="user_code" value="${escapeHtml(value)}" ${attributes}${problemAttributes(problem)}>`;
  const form =
    `${alert}<form method="post" action="${devicePath}"><p><label for="user_code">Code</label>${input}</p>` +
    '<p class="actions"><button>Continue</button></p></form>';
  const paragraph = value === "" ? "Enter the code that your terminal shows." : "Continue only if your terminal shows this code.";
  const page = htmlPage(status, "Sign in a terminal", [paragraph], form);
  const fault = new Fault(status === 404 ? "NOT_FOUND" : status === 403 ? "PERMISSION_DENIED" : "INVALID_ARGUMENT", problem);
  return formPage(dependencies, request, problem === "" ? page : { ...page, fault });
};

const unknownCodePage = (dependencies: SignInDependencies, request: EndpointRequest): EndpointAnswer =>
  codePage(dependencies, request, 404, "", "Code not found or expired. A code is valid for 15 minutes and for one sign-in.");

const malformedCodePage = (dependencies: SignInDependencies, request: EndpointRequest, typed: string): EndpointAnswer =>
  codePage(dependencies, request, 400, typed, "A code has 8, 10 or 12 letters, such as WDJB-MJHT.");

const elapsedText = (milliseconds: number): string => {
  const minutes = Math.floor(milliseconds / 60_000);
  return minutes < 1 ? "less than a minute ago" : minutes === 1 ? "a minute ago" : `${minutes} minutes ago`;
};

/** An address other than this browser's is a warning sign. */
const requesterText = ({ address, createTimeMs }: OpenCode, own: string, nowMs: number): string => {
  const time = `${new Date(createTimeMs).toISOString().slice(11, 16)} UTC, ${elapsedText(nowMs - createTimeMs)}`;
  if (address === "") return `The request came at ${time}.`;
  const compared = address === own ? "This browser has the same address." : `This browser has a different address, ${own}.`;
  return `The request came from the address ${address} at ${time}. ${compared}`;
};

const deviceConfirmationPage = (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  code: OpenCode,
  provider: ProviderQuestion | undefined,
): EndpointAnswer => {
  const claim = code.client === "" ? "It does not say which program it is." : `It says it is “${code.client}”. Any program can say that.`;
  return confirmationPage(dependencies, request, code.userCode, {
    status: (provider?.problem ?? "") === "" ? 200 : 400,
    paragraphs: [
      `A program in a terminal asks to act on your behalf on ${new URL(dependencies.publicUrl).host}.`,
      claim,
      requesterText(code, request.origin.address, dependencies.clock()),
    ],
    grants: grantTexts(dependencies, code.request.requestedToken, code.request.refresh),
    code: formatUserCode(code.userCode),
    path: devicePath,
    hidden: [["user_code", code.userCode]],
    provider,
  });
};

const withGuessLimitPage = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  typed: string,
  work: () => Promise<EndpointAnswer>,
): Promise<EndpointAnswer> => {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "RESOURCE_EXHAUSTED") throw thrown;
    const page = codePage(dependencies, request, 429, typed, sentenceOf(thrown.message));
    return { ...page, fault: thrown, headers: { ...page.headers, ...thrown.headers } };
  }
};

const showCodePage =
  (dependencies: SignInDependencies) =>
  async (request: EndpointRequest): Promise<EndpointAnswer> => {
    const typed = request.query.get("user_code") ?? "";
    return typed !== "" && readUserCode(typed) === undefined ? malformedCodePage(dependencies, request, typed) : codePage(dependencies, request, 200, typed);
  };

export type BeginDeviceSignIn = (request: EndpointRequest, code: OpenCode) => Promise<EndpointAnswer>;

const answerTypedCode = async (dependencies: SignInDependencies, request: EndpointRequest, typed: string): Promise<EndpointAnswer> => {
  if (!isOurBrowser(dependencies, request))
    return codePage(dependencies, request, 403, typed, "This page has expired, or the browser blocks its cookies. Allow cookies, then try again.");
  const userCode = readUserCode(typed);
  if (userCode === undefined) return malformedCodePage(dependencies, request, typed);
  const code = await findOpenCode(dependencies, userCode, request);
  if (!code) return unknownCodePage(dependencies, request);
  return deviceConfirmationPage(dependencies, request, code, await openProviderQuestion(dependencies, code.request.idp));
};

const answerConfirmation = async (
  dependencies: SignInDependencies,
  begin: BeginDeviceSignIn,
  request: EndpointRequest,
  typed: string,
): Promise<EndpointAnswer> => {
  const userCode = readUserCode(typed);
  if (userCode === undefined || !isConfirmed(dependencies, request, userCode)) return unconfirmedPage();
  if (request.form.get("answer") !== "confirm") {
    const refused = await refuseDevice(dependencies, userCode, "refused in the browser");
    return refused ? htmlPage(200, "Refused", ["The terminal was not signed in. You can close this page."]) : unknownCodePage(dependencies, request);
  }
  const code = await findOpenCode(dependencies, userCode, request);
  if (!code) return unknownCodePage(dependencies, request);
  const asked = await openProviderQuestion(dependencies, code.request.idp);
  if (!asked) return redirectByPage(await begin(request, code));
  const idp = (request.form.get("idp_id") ?? "").trim();
  // Checked here, so that a mistyped name can be corrected. If the terminal named an organization, it must be one of its providers.
  const isBound = code.request.idp !== "" && asked.offered.length > 0;
  const question = isBound && !asked.offered.some(({ uid }) => uid === idp) ? asked : await openProviderQuestion(dependencies, idp);
  if (question) return deviceConfirmationPage(dependencies, request, code, unanswered(question));
  return redirectByPage(await begin(request, { ...code, request: { ...code.request, idp } }));
};

const answerForm =
  (dependencies: SignInDependencies, begin: BeginDeviceSignIn) =>
  (request: EndpointRequest): Promise<EndpointAnswer> => {
    const typed = request.form.get("user_code") ?? "";
    return withGuessLimitPage(dependencies, request, typed, () =>
      request.form.has("answer") ? answerConfirmation(dependencies, begin, request, typed) : answerTypedCode(dependencies, request, typed),
    );
  };

export type DeviceEndpoint = Required<Pick<Endpoint, "GET" | "POST">>;

export const deviceEndpoint = (dependencies: SignInDependencies, begin: BeginDeviceSignIn): DeviceEndpoint => ({
  GET: showCodePage(dependencies),
  POST: answerForm(dependencies, begin),
});
