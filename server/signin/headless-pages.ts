// The page on which a person confirms a headless sign-in. The address alone must not do: whoever is sent one with a
// stranger's key, and is signed in with their provider already, would hand their token over by opening it.

import { askToConfirm, isConfirmed, onward, unconfirmed, unknownProvider } from "./confirm.ts";
import { isProvider } from "./organization.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { type EndpointRequest, page, type EndpointAnswer } from "./pages.ts";

export const headlessPath = "/oauth/headless";

/** What a headless sign-in can be begun with; the page hands it on to itself. */
const parameters = ["headless_code", "idp_id", "audience", "scope", "cap", "invite", "identity", "skip_registration"];

/** Of a key in letters the first, which a person can compare with the address in the terminal. */
const shownLength = 8;

const ask = (parts: SignInDependencies, asked: EndpointRequest, given: URLSearchParams, problem: string): EndpointAnswer => {
  const code = given.get("headless_code") ?? "";
  const idp = given.get("idp_id") ?? "";
  const person = idp === "" || problem !== "";
  const audience = given.getAll("audience");
  const wishes = audience.some((each) => each !== parts.publicUrl) ? [`For: ${audience.join(", ")}.`] : [];
  return askToConfirm(parts, asked, code, {
    status: problem === "" ? 200 : 400,
    paragraphs: [
      `A program in a terminal asks to act in your name on ${new URL(parts.publicUrl).host}.`,
      ...wishes,
      "The address that it shows holds a code that begins with:",
    ],
    code: code.slice(0, shownLength),
    path: headlessPath,
    hidden: [...given].filter(([name]) => parameters.includes(name) && !(person && name === "idp_id")),
    provider: person ? { typed: idp, problem } : undefined,
  });
};

/** Asks before the sign-in begins. */
export const askHeadless = (parts: SignInDependencies, asked: EndpointRequest): EndpointAnswer => ask(parts, asked, asked.query, "");

/** Begins it, confirmed. */
export const confirmHeadless = async (
  parts: SignInDependencies,
  asked: EndpointRequest,
  begin: (given: URLSearchParams) => Promise<EndpointAnswer>,
): Promise<EndpointAnswer> => {
  const { form } = asked;
  if (!isConfirmed(parts, asked, form.get("headless_code") ?? "")) return unconfirmed();
  if (form.get("answer") !== "confirm")
    return page(200, "Refused", ["The terminal is not signed in; it waits until somebody stops it. You can close this page."]);
  if (!(await isProvider(parts.store.read, form.get("idp_id") ?? ""))) return ask(parts, asked, form, unknownProvider);
  return onward(await begin(form));
};
