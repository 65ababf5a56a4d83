// Sign-in that ends at a loopback address, where a program waits (RFC 8252 §7.3).
//
// Tokens go nowhere else: pages get a code with PKCE (/oauth/authorize), and paths of this server redirect (attack 243). Tokens are
// in the query, because browsers keep fragments across redirects.

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

/** Under any loopback name. */
const isOwnPort = ({ publicUrl }: Site, url: URL): boolean => {
  const own = new URL(publicUrl);
  return loopbackHosts.has(own.hostname) && portOf(own) === portOf(url);
};

/** Returns whether `redirect` is a loopback address other than this server's. */
export const isProgramAddress = (site: Site, redirect: string): boolean => {
  const url = URL.parse(redirect);
  return url !== null && isLoopbackAddress(url) && !isOwnPort(site, url);
};

/** Returns the address unchanged if a sign-in may end there. Throws INVALID_ARGUMENT. */
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

const withParameters = (redirect: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const url = new URL(redirect);
  const present = Object.entries(parameters).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  // The command line's address contains these names with placeholders.
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
