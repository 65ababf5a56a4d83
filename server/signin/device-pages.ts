// The pages on which a person confirms a terminal's code (RFC 8628, 3.3). What they have to prevent is that somebody
// confirms a code that was sent to them: then a stranger's terminal acts in their name (RFC 8628, 5.4). So nothing goes
// on by itself, the page says who asks and for what, and refusing is as easy as going on.

import { Fault } from "#base/fault.ts";
import { asking, isConfirmed, proofFor } from "./confirm.ts";
import { findOpenCode, type OpenCode, refuseDevice } from "./device.ts";
import { addressOf, type SignInParts } from "./parts.ts";
import { type Asked, elsewhere, escaped, page, type Shown, type SignInPath } from "./shown.ts";
import { readUserCode, showUserCode } from "./user-code.ts";

const path = "/oauth/device";

const codePage = (status: number, problem: string): Shown => {
  const alert = problem === "" ? "" : `<p role="alert" id="problem"><strong>${escaped(problem)}</strong></p>`;
  const input =
    `<input id="user_code" name="user_code" required autofocus size="12" maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false"` +
    `${problem === "" ? "" : ' aria-invalid="true" aria-describedby="problem"'}>`;
  const form = `${alert}<form method="get" action="${path}"><p><label for="user_code">Code</label> ${input} <button>Go on</button></p></form>`;
  return asking(page(status, "Sign in a terminal", ["Type the code that your terminal shows."], form));
};

const unknownCode = "There is no such code, or it has ended. Codes are good for 15 minutes and for one sign-in.";

const ago = (milliseconds: number): string => {
  const minutes = Math.floor(milliseconds / 60_000);
  return minutes < 1 ? "less than a minute ago" : minutes === 1 ? "a minute ago" : `${minutes} minutes ago`;
};

const wishes = ({ wanted: { wish, refresh } }: OpenCode): string[] => [
  ...(wish.audience.length > 0 ? [`For: ${wish.audience.join(", ")}.`] : []),
  ...(wish.scopes.length > 0 ? [`In these groups only: ${wish.scopes.join(", ")}.`] : []),
  ...(wish.capabilities.length > 0 ? [`For these actions only: ${wish.capabilities.join(", ")}.`] : []),
  ...(refresh ? ["It asks to stay signed in."] : []),
];

const confirmPage = (parts: SignInParts, asked: Asked, code: OpenCode): Shown => {
  const { proof, cookie } = proofFor(parts, asked, code.userCode);
  const who = code.client === "" ? "A program in a terminal" : `A program in a terminal that calls itself “${code.client}”`;
  const form =
    `<p class="code" aria-label="Code">${showUserCode(code.userCode)}</p>` +
    "<p><strong>Go on only if you began this yourself and your own terminal shows this code.</strong> If somebody sent you the code or this address, refuse: they would act in your name.</p>" +
    `<form method="post" action="${path}"><input type="hidden" name="user_code" value="${code.userCode}"><input type="hidden" name="proof" value="${proof}">` +
    '<p><button name="answer" value="confirm">This is my terminal</button> <button name="answer" value="refuse">Refuse</button></p></form>';
  return asking(
    page(200, "Sign in a terminal?", [`${who} asks to act in your name on ${new URL(parts.publicUrl).host}. It began ${ago(parts.clock() - code.createTimeMs)}.`, ...wishes(code)], form),
    cookie,
  );
};

/** What `work` shows; the page with the code and the reason, where it does not. */
const orSay = async (work: () => Promise<Shown>): Promise<Shown> => {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") return codePage(429, `There are ${thrown.message}.`);
    throw thrown;
  }
};

const show = (parts: SignInParts) => (asked: Asked): Promise<Shown> =>
  orSay(async () => {
    const typed = asked.query.get("user_code") ?? "";
    if (typed === "") return codePage(200, "");
    const userCode = readUserCode(typed);
    if (userCode === undefined) return codePage(400, "A code has eight letters, such as WDJB-MJHT.");
    const code = await findOpenCode(parts, userCode);
    return code ? confirmPage(parts, asked, code) : codePage(404, unknownCode);
  });

const answer = (parts: SignInParts, begin: Begin) => (asked: Asked): Promise<Shown> =>
  orSay(async () => {
    const userCode = readUserCode(asked.form.get("user_code") ?? "");
    if (userCode === undefined || !isConfirmed(parts, asked, userCode)) {
      return page(403, "Not confirmed", ["This did not come from the page that shows your terminal's code, or that page was open for too long. Open the address again that your terminal shows."]);
    }
    if (asked.form.get("answer") !== "confirm") {
      const refused = await refuseDevice(parts, userCode, "refused in the browser");
      return refused ? page(200, "Refused", ["The terminal is not signed in, and is told so. You can close this page."]) : codePage(404, unknownCode);
    }
    const code = await findOpenCode(parts, userCode);
    return code ? begin(asked, code) : codePage(404, unknownCode);
  });

/** Begins the sign-in that the code waits for. */
export type Begin = (asked: Asked, code: OpenCode) => Promise<Shown>;

export const devicePaths = (parts: SignInParts, begin: Begin): Readonly<Record<string, SignInPath>> => ({
  [path]: { GET: show(parts), POST: answer(parts, begin) },
});
