// The pages on which a person confirms a terminal's code (RFC 8628, 3.3). What they have to prevent is that somebody
// confirms a code that was sent to them: then a stranger's terminal acts in their name (RFC 8628, 5.4). So nothing goes
// on by itself, the page says who asks and for what, and refusing is as easy as going on.

import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault } from "#base/fault.ts";
import { confirmationPage, isConfirmed, redirectByPage, unconfirmedPage, unknownProvider, withFormOrigin } from "./confirm.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { devicePath, findOpenCode, type OpenCode, refuseDevice } from "./device.ts";
import { escapeHtml, htmlPage } from "./pages.ts";
import { isKnownProvider } from "./requested-provider.ts";
import { formatUserCode, readUserCode } from "./user-code.ts";

const codePage = (status: number, problem = ""): EndpointAnswer => {
  const alert = problem === "" ? "" : `<p role="alert" id="problem"><strong>${escapeHtml(problem)}</strong></p>`;
  const invalid = problem === "" ? "" : ' aria-invalid="true" aria-describedby="problem"';
  const attributes = `required autofocus size="12" maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false"${invalid}`;
  const input = `<input id="user_code" name="user_code" ${attributes}>`;
  const form = `${alert}<form method="get" action="${devicePath}"><p><label for="user_code">Code</label><br>${input} <button>Go on</button></p></form>`;
  return withFormOrigin(htmlPage(status, "Sign in a terminal", ["Type the code that your terminal shows."], form));
};

const unknownCodePage = (): EndpointAnswer => codePage(404, "There is no such code, or it has ended. A code is good for 15 minutes and for one sign-in.");

const elapsedText = (milliseconds: number): string => {
  const minutes = Math.floor(milliseconds / 60_000);
  return minutes < 1 ? "less than a minute ago" : minutes === 1 ? "a minute ago" : `${minutes} minutes ago`;
};

/** What the terminal asks for, a sentence for each part. */
const requestTexts = ({ publicUrl }: SignInDependencies, { request: { requestedToken, refresh } }: OpenCode): string[] => [
  ...(requestedToken.audience.some((audience) => audience !== publicUrl) ? [`For: ${requestedToken.audience.join(", ")}.`] : []),
  ...(requestedToken.scopes.length > 0 ? [`In these groups only: ${requestedToken.scopes.join(", ")}.`] : []),
  ...(requestedToken.capabilities.length > 0 ? [`For these actions only: ${requestedToken.capabilities.join(", ")}.`] : []),
  ...(refresh ? ["It asks to stay signed in."] : []),
];

const deviceConfirmationPage = (dependencies: SignInDependencies, request: EndpointRequest, code: OpenCode, typed = "", problem = ""): EndpointAnswer => {
  const program = code.client === "" ? "A program in a terminal" : `A program in a terminal that calls itself “${code.client}”`;
  const elapsed = elapsedText(dependencies.clock() - code.createTimeMs);
  return confirmationPage(dependencies, request, code.userCode, {
    status: problem === "" ? 200 : 400,
    paragraphs: [`${program} asks to act in your name on ${new URL(dependencies.publicUrl).host}. It began ${elapsed}.`, ...requestTexts(dependencies, code)],
    code: formatUserCode(code.userCode),
    path: devicePath,
    hidden: [["user_code", code.userCode]],
    provider: code.request.idp === "" ? { typed, problem } : undefined,
  });
};

/** A page instead of the refusal of a code, where too many wrong ones have been typed. */
const withGuessLimitPage = async (work: () => Promise<EndpointAnswer>): Promise<EndpointAnswer> => {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") return codePage(429, `There are ${thrown.message}.`);
    throw thrown;
  }
};

const showCodePage =
  (dependencies: SignInDependencies) =>
  (request: EndpointRequest): Promise<EndpointAnswer> =>
    withGuessLimitPage(async () => {
      const typed = request.query.get("user_code") ?? "";
      if (typed === "") return codePage(200);
      const userCode = readUserCode(typed);
      if (userCode === undefined) return codePage(400, "A code has eight letters, such as WDJB-MJHT.");
      const code = await findOpenCode(dependencies, userCode);
      return code ? deviceConfirmationPage(dependencies, request, code) : unknownCodePage();
    });

/** Begins the sign-in that a code waits for. */
export type BeginDeviceSignIn = (request: EndpointRequest, code: OpenCode) => Promise<EndpointAnswer>;

const answerConfirmation =
  (dependencies: SignInDependencies, begin: BeginDeviceSignIn) =>
  (request: EndpointRequest): Promise<EndpointAnswer> =>
    withGuessLimitPage(async () => {
      const userCode = readUserCode(request.form.get("user_code") ?? "");
      if (userCode === undefined || !isConfirmed(dependencies, request, userCode)) return unconfirmedPage();
      if (request.form.get("answer") !== "confirm") {
        const refused = await refuseDevice(dependencies, userCode, "refused in the browser");
        return refused ? htmlPage(200, "Refused", ["The terminal is not signed in, and is told so. You can close this page."]) : unknownCodePage();
      }
      const code = await findOpenCode(dependencies, userCode);
      if (!code) return unknownCodePage();
      const idp = code.request.idp || (request.form.get("idp_id") ?? "").trim();
      // Here, and not as the sign-in's end: a name that was mistyped can be typed again.
      if (!(await isKnownProvider(dependencies.store.read, idp))) return deviceConfirmationPage(dependencies, request, code, idp, unknownProvider);
      return redirectByPage(await begin(request, { ...code, request: { ...code.request, idp } }));
    });

export const deviceEndpoints = (dependencies: SignInDependencies, begin: BeginDeviceSignIn): Readonly<Record<string, Endpoint>> => ({
  [devicePath]: { GET: showCodePage(dependencies), POST: answerConfirmation(dependencies, begin) },
});
