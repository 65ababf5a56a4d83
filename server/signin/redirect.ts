// A sign-in that ends where its beginner says: at a command line's own little server, or at a page of ours.
//
// Tokens go to nobody else (an open redirect would hand them to whoever wrote the link): to the loopback addresses of
// the person's own machine (RFC 8252, 7.3), to this server's own origin, and to the origins that the operator names.
// A program on the machine reads its request's query; a page reads its fragment, which no server and no log on the
// way is told.

import { invalid } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Completer, RedirectCompletion } from "./completion.ts";
import type { SignInSettings } from "./dependencies.ts";
import { elsewhere, page } from "./pages.ts";
import { tokensFor } from "./tokens.ts";

const loopback = new Set(["127.0.0.1", "[::1]", "localhost"]);

const isLoopback = (url: URL): boolean => url.protocol === "http:" && loopback.has(url.hostname);

type Place = Pick<SignInSettings, "publicUrl" | "origins">;

/** A page of this server, or one of those that the operator trusts. */
const isPage = ({ publicUrl, origins }: Place, { origin }: URL): boolean => [new URL(publicUrl).origin, ...origins].includes(origin);

/** The address as it was given, if a sign-in may end there. Throws INVALID_ARGUMENT. */
export const readRedirect = (place: Place, text: string): string => {
  if (text === "") return "";
  const wrong = (description: string): never => {
    throw invalid([{ field: "redirect", description }]);
  };
  if (text.length > limits.redirectLengthMax) wrong(`is longer than ${limits.redirectLengthMax} characters`);
  const url = URL.parse(text);
  if (url?.username !== "" || url.password !== "" || url.hash !== "") return wrong("must be an address without user and fragment");
  return isLoopback(url) || isPage(place, url)
    ? text
    : wrong("must be on this machine (http://127.0.0.1:PORT/…), on this server, or on one of the origins that it allows");
};

/** The address with what is to be told, in the place of what stood for it. */
const telling = (place: Place, redirect: string, told: Readonly<Record<string, string | undefined>>): string => {
  const url = new URL(redirect);
  const given = Object.entries(told).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  // The command line's address already holds these names, with a word in the place of each value.
  for (const name of ["token", "refresh_token", "error", "status_code"]) url.searchParams.delete(name);
  if (isPage(place, url)) url.hash = new URLSearchParams(given).toString();
  else for (const [name, value] of given) url.searchParams.set(name, value);
  return url.href;
};

export const redirectCompleter: Completer<RedirectCompletion> = {
  async done(parts, signedIn, { redirect, wish, createRefreshToken }) {
    const { act, email, uid } = signedIn;
    if (redirect === "")
      return page(200, "Signed in", [`You are ${email ?? act.sub}.`, `Your identity here: ${uid}`, "Nothing waits for this sign-in; you can close this page."]);
    const { token, refreshToken } = await parts.store.write((rows) => tokensFor(parts, rows, signedIn, wish, createRefreshToken));
    return elsewhere(telling(parts, redirect, { token, refresh_token: refreshToken }));
  },
  refused: async (parts, { status, message }, { redirect }) =>
    redirect === "" ? page(status, "Not signed in", [message]) : elsewhere(telling(parts, redirect, { error: message, status_code: String(status) })),
};
