// A sign-in that ends at an address of its request: a port of the user's own computer, where a program waits (RFC 8252, 7.3).
//
// Tokens go nowhere else: not to pages, which get a code with PKCE (/oauth/authorize), and not to this server's own origin, whose
// paths redirect (attack 243). The program reads the query. No token is in a fragment, because browsers carry a fragment along
// through redirects.

import { invalid } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { isLoopbackAddress, loopbackHosts } from "#base/redirect-address.ts";
import type { Completer, RedirectCompletion } from "./completion.ts";
import { redirectTo, refusalPage, sentenceOf } from "./pages.ts";
import { signedInPage } from "./person.ts";
import { withoutFragment } from "./redirect-fragment.ts";
import type { SignInSettings } from "./settings.ts";
import { issueTokens } from "./tokens.ts";

type Site = Pick<SignInSettings, "publicUrl">;

const portOf = ({ protocol, port }: URL): string => port || (protocol === "https:" ? "443" : "80");

/** Whether the loopback address leads to this server itself, by whichever of its loopback names. */
const isOwnPort = ({ publicUrl }: Site, url: URL): boolean => {
  const own = new URL(publicUrl);
  return loopbackHosts.has(own.hostname) && portOf(own) === portOf(url);
};

/** Whether a program on the user's own computer waits there. `redirect`: as a request's completion has it. */
export const isProgramAddress = (site: Site, redirect: string): boolean => {
  const url = URL.parse(redirect);
  return url !== null && isLoopbackAddress(url) && !isOwnPort(site, url);
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
  return isProgramAddress(site, text)
    ? text
    : refuse("must be a port of your own computer, such as http://127.0.0.1:8080/callback. Pages use /oauth/authorize");
};

/** The address with the parameters of the answer, in the place of what stood for them. */
const withParameters = (redirect: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const url = new URL(redirect);
  const present = Object.entries(parameters).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  // The command line's address already holds these names, with a word in the place of each value.
  for (const name of ["token", "refresh_token", "error", "status_code"]) url.searchParams.delete(name);
  for (const [name, value] of present) url.searchParams.set(name, value);
  return withoutFragment(url);
};

export const redirectCompleter: Completer<RedirectCompletion> = {
  complete: async (settings, signedIn, { redirect, requestedToken, createRefreshToken }) => {
    if (redirect === "") return signedInPage(settings, signedIn, "Signed in", "You can close this page.");
    const { token, refreshToken } = await settings.store.write((rows) =>
      issueTokens(settings, rows, signedIn, requestedToken, createRefreshToken, { kind: "redirect", program: new URL(redirect).host }),
    );
    return redirectTo(withParameters(redirect, { token, refresh_token: refreshToken }));
  },
  refuse: async (_, { status, fault }, { redirect }) =>
    redirect === ""
      ? refusalPage(fault, status, "Not signed in", [sentenceOf(fault.message)])
      : redirectTo(withParameters(redirect, { error: fault.message, status_code: String(status) })),
};
