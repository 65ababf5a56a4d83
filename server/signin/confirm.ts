// Whether a form was sent from the page that this browser was shown, and not by a page of somebody else's that it has
// open too (RFC 6749, 10.12). The page's form carries a hash over what it asks and over a cookie that no other site can
// read, set or have sent along; beside that, the browser itself says from where a form comes.

import { createHash, timingSafeEqual } from "node:crypto";
import { limits } from "#base/limits.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { newSecret } from "./secret.ts";
import { type EndpointRequest, escaped, page, type EndpointAnswer } from "./pages.ts";

type Place = Pick<SignInDependencies, "publicUrl">;

const isSecure = ({ publicUrl }: Place): boolean => publicUrl.startsWith("https:");

/** A name that only this very host can set, where that can be had. */
const cookieName = (place: Place): string => (isSecure(place) ? "__Host-gantry-confirm" : "gantry-confirm");

const cookieOf = (place: Place, { headers }: EndpointRequest): string | undefined => {
  const start = `${cookieName(place)}=`;
  const values = (headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start));
  const [value = ""] = values.map((pair) => pair.slice(start.length));
  return values.length === 1 && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined;
};

const proofOf = (cookie: string, about: string): string => createHash("sha256").update(`${cookie} ${about}`).digest("base64url");

/** What the form carries as `proof`, and the cookie that goes with it. `about` is all that is confirmed. */
export const proofFor = (place: Place, asked: EndpointRequest, about: string): { readonly proof: string; readonly cookie: string } => {
  // The one that it has: the same person may have two of these pages open.
  const value = cookieOf(place, asked) ?? newSecret();
  const attributes = `Path=/; Max-Age=${limits.deviceCodeLifetimeMs / 1000}; HttpOnly; SameSite=Strict${isSecure(place) ? "; Secure" : ""}`;
  return { proof: proofOf(value, about), cookie: `${cookieName(place)}=${value}; ${attributes}` };
};

/** True where the form comes from the page that this browser was shown about this. */
export const isConfirmed = (place: Place, asked: EndpointRequest, about: string): boolean => {
  const { origin } = asked.headers;
  if (origin !== undefined && origin !== new URL(place.publicUrl).origin) return false;
  const cookie = cookieOf(place, asked);
  const given = Buffer.from(asked.form.get("proof") ?? "");
  const expected = Buffer.from(cookie === undefined ? "" : proofOf(cookie, about));
  return cookie !== undefined && given.length === expected.length && timingSafeEqual(given, expected);
};

/** A page whose forms say from where they come: with no referrer at all, browsers hide a form's origin too. */
export const asking = (shown: EndpointAnswer, cookie = ""): EndpointAnswer => ({
  ...shown,
  headers: { ...shown.headers, "referrer-policy": "same-origin", ...(cookie ? { "set-cookie": cookie } : {}) },
});

/** What a person is asked before somebody else's program may act in their name. */
export interface Question {
  readonly status: number;
  readonly paragraphs: readonly string[];
  /** What the program shows too. */
  readonly code: string;
  readonly path: string;
  readonly hidden: readonly (readonly [name: string, value: string])[];
  /** The identity provider is not known yet: the person names it. Undefined where it is. */
  readonly provider: { readonly typed: string; readonly problem: string } | undefined;
}

const providerField = (provider: Question["provider"]): string => {
  if (!provider) return "";
  const { typed, problem } = provider;
  const alert = problem === "" ? "" : `<p role="alert" id="problem"><strong>${escaped(problem)}</strong></p>`;
  const wrong = problem === "" ? "" : ' aria-invalid="true" aria-describedby="problem"';
  // Not required: whoever refuses has nothing to type.
  return `${alert}<p><label for="idp_id">Your organization</label><br><input id="idp_id" name="idp_id" value="${escaped(typed)}" size="30" autocomplete="organization" spellcheck="false"${wrong}><br><small>Its name, or the identity provider's uid</small></p>`;
};

/** Asks. The first button confirms, and so does the enter key; neither is pressed by the page itself. */
export const askToConfirm = (place: Place, asked: EndpointRequest, about: string, question: Question): EndpointAnswer => {
  const { proof, cookie } = proofFor(place, asked, about);
  const hidden = [...question.hidden, ["proof", proof]]
    .map(([name = "", value = ""]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join("");
  const form =
    `<p class="code">${escaped(question.code)}</p>` +
    "<p><strong>Go on only if you began this yourself and your own terminal shows this code.</strong> If somebody sent you here, refuse: they would act in your name.</p>" +
    `<form method="post" action="${question.path}">${hidden}${providerField(question.provider)}` +
    '<p><button name="answer" value="confirm">This is my terminal</button> <button name="answer" value="refuse">Refuse</button></p></form>';
  return asking(page(question.status, "Sign in a terminal?", question.paragraphs, form), cookie);
};

/** Said to a form that does not come from our page. */
export const unconfirmed = (): EndpointAnswer =>
  page(403, "Not confirmed", [
    "This did not come from the page that asks, or that page was open for too long. Open the address again that your terminal shows.",
  ]);

export const unknownProvider = "There is no organization and no identity provider of this name to sign in with.";

/** On to another site. A form of ours may lead to this server only, also by a redirect of its answer: so by a page. */
export const onward = (shown: EndpointAnswer): EndpointAnswer => {
  const { location, ...headers } = shown.headers;
  if (location === undefined) return shown;
  const between = page(200, "One moment", ["Your identity provider asks you to sign in."], `<p><a href="${escaped(location)}">Go there</a></p>`);
  return { ...between, headers: { ...between.headers, ...headers, refresh: `0;url=${location}` } };
};
