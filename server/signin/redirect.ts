// A sign-in that ends at an address of its request: at a command line's own little server, or at a page of ours.
//
// Tokens go to nobody else (an open redirect would hand them to whoever wrote the link): to the loopback addresses of
// the person's own machine (RFC 8252, 7.3), to this server's own origin, and to the origins that the operator names.
// A program on the machine reads its request's query; a page reads its fragment, which reaches no server and no log on
// the way.

import { invalid } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Completer, RedirectCompletion } from "./completion.ts";
import { redirectTo, refusalPage, sentenceOf } from "./pages.ts";
import { signedInPage } from "./person.ts";
import type { SignInSettings } from "./settings.ts";
import { issueTokens } from "./tokens.ts";

const loopbackHosts = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** An address of a program on the person's own machine (RFC 8252, 7.3 and 8.3). */
export const isLoopbackAddress = (url: URL): boolean => url.protocol === "http:" && loopbackHosts.has(url.hostname);

type Site = Pick<SignInSettings, "publicUrl" | "origins">;

/** A page of this server, or one of those that the operator trusts. */
const isTrustedPage = ({ publicUrl, origins }: Site, { origin }: URL): boolean => [new URL(publicUrl).origin, ...origins].includes(origin);

/** Whether a program on the person's own machine waits there, and no page. `redirect`: as a request's completion has it. */
export const isProgramAddress = (site: Site, redirect: string): boolean => {
  const url = URL.parse(redirect);
  return url !== null && isLoopbackAddress(url) && !isTrustedPage(site, url);
};

/** The address as it was sent, if a sign-in may end there. Throws INVALID_ARGUMENT. */
export const readRedirect = (site: Site, text: string): string => {
  if (text === "") return "";
  const refuse = (description: string): never => {
    throw invalid([{ field: "redirect", description }]);
  };
  if (text.length > limits.redirectLengthMax) refuse(`is longer than ${limits.redirectLengthMax} characters`);
  const url = URL.parse(text);
  if (url?.username !== "" || url.password !== "" || url.hash !== "") return refuse("must be an address without user and fragment");
  return isLoopbackAddress(url) || isTrustedPage(site, url)
    ? text
    : refuse("must be on this machine (http://127.0.0.1:PORT/…), on this server, or on one of the origins that it allows");
};

/** The address with the parameters of the answer, in the place of what stood for them. */
const withParameters = (site: Site, redirect: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const url = new URL(redirect);
  const present = Object.entries(parameters).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  // The command line's address already holds these names, with a word in the place of each value.
  for (const name of ["token", "refresh_token", "error", "status_code"]) url.searchParams.delete(name);
  if (isTrustedPage(site, url)) url.hash = new URLSearchParams(present).toString();
  else for (const [name, value] of present) url.searchParams.set(name, value);
  return url.href;
};

export const redirectCompleter: Completer<RedirectCompletion> = {
  complete: async (settings, signedIn, { redirect, requestedToken, createRefreshToken }) => {
    if (redirect === "") return signedInPage(settings, signedIn, "Signed in", "Nothing waits for this sign-in; you can close this page.");
    const { token, refreshToken } = await settings.store.write((rows) => issueTokens(settings, rows, signedIn, requestedToken, createRefreshToken));
    return redirectTo(withParameters(settings, redirect, { token, refresh_token: refreshToken }));
  },
  refuse: async (settings, { status, fault }, { redirect }) =>
    redirect === ""
      ? refusalPage(fault, status, "Not signed in", [sentenceOf(fault.message)])
      : redirectTo(withParameters(settings, redirect, { error: fault.message, status_code: String(status) })),
};
