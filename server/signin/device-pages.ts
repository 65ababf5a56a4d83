// The pages on which a person confirms a terminal's code (RFC 8628, 3.3). What they have to prevent is that somebody
// confirms a code that was sent to them: then a stranger's terminal acts in their name (RFC 8628, 5.4). So nothing goes
// on by itself, the page says who asks and for what, and refusing is as easy as going on.

import { Fault } from "#base/fault.ts";
import { asking, askToConfirm, isConfirmed, onward, unconfirmed, unknownProvider } from "./confirm.ts";
import { devicePath, findOpenCode, type OpenCode, refuseDevice } from "./device.ts";
import { isProvider } from "./organization.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { type EndpointRequest, escaped, page, type EndpointAnswer, type Endpoint } from "./pages.ts";
import { readUserCode, showUserCode } from "./user-code.ts";

const codePage = (status: number, problem = ""): EndpointAnswer => {
  const alert = problem === "" ? "" : `<p role="alert" id="problem"><strong>${escaped(problem)}</strong></p>`;
  const wrong = problem === "" ? "" : ' aria-invalid="true" aria-describedby="problem"';
  const input = `<input id="user_code" name="user_code" required autofocus size="12" maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false"${wrong}>`;
  const form = `${alert}<form method="get" action="${devicePath}"><p><label for="user_code">Code</label><br>${input} <button>Go on</button></p></form>`;
  return asking(page(status, "Sign in a terminal", ["Type the code that your terminal shows."], form));
};

const unknownCode = (): EndpointAnswer => codePage(404, "There is no such code, or it has ended. A code is good for 15 minutes and for one sign-in.");

const ago = (milliseconds: number): string => {
  const minutes = Math.floor(milliseconds / 60_000);
  return minutes < 1 ? "less than a minute ago" : minutes === 1 ? "a minute ago" : `${minutes} minutes ago`;
};

const wishes = ({ publicUrl }: SignInDependencies, { wanted: { wish, refresh } }: OpenCode): string[] => [
  ...(wish.audience.some((audience) => audience !== publicUrl) ? [`For: ${wish.audience.join(", ")}.`] : []),
  ...(wish.scopes.length > 0 ? [`In these groups only: ${wish.scopes.join(", ")}.`] : []),
  ...(wish.capabilities.length > 0 ? [`For these actions only: ${wish.capabilities.join(", ")}.`] : []),
  ...(refresh ? ["It asks to stay signed in."] : []),
];

const confirmPage = (parts: SignInDependencies, asked: EndpointRequest, code: OpenCode, typed = "", problem = ""): EndpointAnswer => {
  const who = code.client === "" ? "A program in a terminal" : `A program in a terminal that calls itself “${code.client}”`;
  const lead = `${who} asks to act in your name on ${new URL(parts.publicUrl).host}. It began ${ago(parts.clock() - code.createTimeMs)}.`;
  return askToConfirm(parts, asked, code.userCode, {
    status: problem === "" ? 200 : 400,
    paragraphs: [lead, ...wishes(parts, code)],
    code: showUserCode(code.userCode),
    path: devicePath,
    hidden: [["user_code", code.userCode]],
    provider: code.wanted.idp === "" ? { typed, problem } : undefined,
  });
};

/** A page instead of the refusal of a code, where too many wrong ones have been typed. */
const orWait = async (work: () => Promise<EndpointAnswer>): Promise<EndpointAnswer> => {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") return codePage(429, `There are ${thrown.message}.`);
    throw thrown;
  }
};

const show =
  (parts: SignInDependencies) =>
  (asked: EndpointRequest): Promise<EndpointAnswer> =>
    orWait(async () => {
      const typed = asked.query.get("user_code") ?? "";
      if (typed === "") return codePage(200);
      const userCode = readUserCode(typed);
      if (userCode === undefined) return codePage(400, "A code has eight letters, such as WDJB-MJHT.");
      const code = await findOpenCode(parts, userCode);
      return code ? confirmPage(parts, asked, code) : unknownCode();
    });

/** Begins the sign-in that a code waits for. */
export type Begin = (asked: EndpointRequest, code: OpenCode) => Promise<EndpointAnswer>;

const answer =
  (parts: SignInDependencies, begin: Begin) =>
  (asked: EndpointRequest): Promise<EndpointAnswer> =>
    orWait(async () => {
      const userCode = readUserCode(asked.form.get("user_code") ?? "");
      if (userCode === undefined || !isConfirmed(parts, asked, userCode)) return unconfirmed();
      if (asked.form.get("answer") !== "confirm") {
        const refused = await refuseDevice(parts, userCode, "refused in the browser");
        return refused ? page(200, "Refused", ["The terminal is not signed in, and is told so. You can close this page."]) : unknownCode();
      }
      const code = await findOpenCode(parts, userCode);
      if (!code) return unknownCode();
      const idp = code.wanted.idp || (asked.form.get("idp_id") ?? "").trim();
      // Here, and not as the sign-in's end: a name that was mistyped can be typed again.
      if (!(await isProvider(parts.store.read, idp))) return confirmPage(parts, asked, code, idp, unknownProvider);
      return onward(await begin(asked, { ...code, wanted: { ...code.wanted, idp } }));
    });

export const devicePaths = (parts: SignInDependencies, begin: Begin): Readonly<Record<string, Endpoint>> => ({
  [devicePath]: { GET: show(parts), POST: answer(parts, begin) },
});
