// CSRF protection of forms (RFC 6749 §10.12). A form carries a hash of its question and of a sealed cookie that no other site can
// read, set or send. The browser's Origin header is checked too.

import { createHash, timingSafeEqual } from "node:crypto";
import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { RequestedToken } from "./completion.ts";
import { escapeHtml, htmlPage, refusalPage, sentenceOf } from "./pages.ts";
import { providerFields } from "./provider-choice.ts";
import type { ProviderQuestion } from "./requested-provider.ts";
import { newSecret } from "./secret.ts";
import type { Binding } from "#db";
import type { SignInSettings } from "./settings.ts";

type Site = Pick<SignInSettings, "publicUrl" | "vault" | "clock">;

const isSecure = ({ publicUrl }: Site): boolean => publicUrl.startsWith("https:");

/**
 * SameSite value of the cookie. "Strict": requests from our own pages only. "Lax" is for pages that other sites link to, which would
 * otherwise replace the cookie and break open pages.
 */
export type ConfirmCookie = "Strict" | "Lax";

/** On HTTPS, the __Host- prefix lets only this host set the cookie. */
const cookieName = (site: Site, kind: ConfirmCookie): string => `${isSecure(site) ? "__Host-" : ""}${kind === "Strict" ? "gantry-confirm" : "gantry-consent"}`;

const sealPurpose = "confirm cookie";
const boundToNothing: Binding = [];

/** Undefined if this server did not seal the value. */
const endOfCookie = ({ vault }: Site, value: string): number | undefined => {
  const opened = value.length > 512 ? undefined : vault.open(sealPurpose, value, boundToNothing);
  return opened === undefined ? undefined : Number.parseInt(opened, 10);
};

/** Counts only if sealed by this server, unique by name, and valid for `leftMs` more. */
const readCookie = (site: Site, { headers }: EndpointRequest, kind: ConfirmCookie, leftMs = 0): string | undefined => {
  const start = `${cookieName(site, kind)}=`;
  const values = (headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start));
  const [value = ""] = values.map((pair) => pair.slice(start.length));
  const endMs = values.length === 1 ? endOfCookie(site, value) : undefined;
  return endMs !== undefined && endMs > site.clock() + leftMs ? value : undefined;
};

/** Reused, so that a user can have two pages open. */
const renewCookie = (site: Site, request: EndpointRequest, kind: ConfirmCookie): string =>
  readCookie(site, request, kind, limits.deviceCodeLifetimeMs) ??
  site.vault.seal(sealPurpose, `${site.clock() + limits.confirmCookieLifetimeMs} ${newSecret()}`, boundToNothing);

const setCookie = (site: Site, kind: ConfirmCookie, value: string): string =>
  `${cookieName(site, kind)}=${value}; Path=/; Max-Age=${limits.confirmCookieLifetimeMs / 1000}; HttpOnly; SameSite=${kind}${isSecure(site) ? "; Secure" : ""}`;

/** Returns whether a form comes from our own pages: same origin, and with a cookie of this server. */
export const isOurBrowser = (site: Site, request: EndpointRequest, kind: ConfirmCookie = "Strict"): boolean => {
  const { origin } = request.headers;
  return (origin === undefined || origin === new URL(site.publicUrl).origin) && readCookie(site, request, kind) !== undefined;
};

const proofOf = (cookie: string, subject: string): string => createHash("sha256").update(`${cookie} ${subject}`).digest("base64url");

/** `subject` is everything that the user confirms. */
const makeProof = (site: Site, request: EndpointRequest, subject: string, kind: ConfirmCookie): { readonly proof: string; readonly cookie: string } => {
  const value = renewCookie(site, request, kind);
  return { proof: proofOf(value, subject), cookie: setCookie(site, kind, value) };
};

/** Returns whether the form comes from the page about `subject` that this browser was shown. */
export const isConfirmed = (site: Site, request: EndpointRequest, subject: string, kind: ConfirmCookie = "Strict"): boolean => {
  const cookie = isOurBrowser(site, request, kind) ? readCookie(site, request, kind) : undefined;
  const proof = Buffer.from(request.form.get("proof") ?? "");
  const expected = Buffer.from(cookie === undefined ? "" : proofOf(cookie, subject));
  return cookie !== undefined && proof.length === expected.length && timingSafeEqual(proof, expected);
};

/** Relaxes the referrer policy: with no-referrer, browsers hide a form's origin. */
const withFormOrigin = (answer: EndpointAnswer, cookie: string): EndpointAnswer => ({
  ...answer,
  headers: { ...answer.headers, "referrer-policy": "same-origin", "set-cookie": cookie },
});

/** Returns a page with a form that is valid in this browser only. */
export const formPage = (site: Site, request: EndpointRequest, answer: EndpointAnswer): EndpointAnswer =>
  withFormOrigin(answer, setCookie(site, "Strict", renewCookie(site, request, "Strict")));

export interface ConfirmationQuestion {
  readonly status: number;
  readonly paragraphs: readonly string[];
  readonly grants: readonly string[];
  /** The program shows it too. */
  readonly code: string;
  readonly path: string;
  readonly hidden: readonly (readonly [name: string, value: string])[];
  /** Undefined if the provider is already known. */
  readonly provider: ProviderQuestion | undefined;
}

const days = (milliseconds: number): number => Math.round(milliseconds / (24 * 60 * 60 * 1000));

/** Describes what a program gets with the token, one sentence each. */
export const grantTexts = (
  { publicUrl }: Pick<SignInSettings, "publicUrl">,
  { audience, scopes, capabilities }: RequestedToken,
  refresh: boolean,
): readonly string[] => [
  capabilities.length === 0 ? "It can do everything that you can do." : `It can use these permissions only: ${capabilities.join(", ")}.`,
  ...(scopes.length > 0 ? [`It can do so in these groups only: ${scopes.join(", ")}.`] : []),
  ...(audience.some((each) => each !== publicUrl) ? [`It can act on your behalf at ${audience.join(", ")}.`] : []),
  refresh
    ? `Access lasts up to ${days(limits.refreshFamilyLifetimeMs)} days, if it is used at least every ${days(limits.refreshTokenLifetimeMs)} days.`
    : "Access lasts one hour at most.",
];

const hiddenInputs = (fields: ConfirmationQuestion["hidden"]): string =>
  fields.map(([name = "", value = ""]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`).join("");

/** The first button, and the Enter key, confirms; no script presses it. */
export const confirmationPage = (site: Site, request: EndpointRequest, subject: string, question: ConfirmationQuestion): EndpointAnswer => {
  const { proof, cookie } = makeProof(site, request, subject, "Strict");
  const hidden = hiddenInputs([...question.hidden, ["proof", proof]]);
  const form =
    `<p class="code">${escapeHtml(question.code)}</p>` +
    `<p>If you continue:</p><ul>${question.grants.map((grant) => `<li>${escapeHtml(grant)}</li>`).join("")}</ul>` +
    "<p><strong>Continue only if you started this sign-in yourself and your terminal shows this code.</strong> " +
    "If someone sent you here, refuse: that person could act on your behalf.</p>" +
    `<form method="post" action="${question.path}">${hidden}${question.provider ? providerFields(question.provider) : ""}` +
    '<p class="actions"><button name="answer" value="confirm">This is my terminal</button>' +
    '<button class="secondary" name="answer" value="refuse">Refuse</button></p></form>';
  const page = htmlPage(question.status, "Sign in a terminal?", question.paragraphs, form);
  return withFormOrigin(question.status >= 400 && question.provider ? { ...page, fault: question.provider.fault } : page, cookie);
};

/** Shows a page with a question. `form` is trusted markup; `subject` is everything that the user confirms. */
export const questionPage = (
  site: Site,
  request: EndpointRequest,
  subject: string,
  { title, paragraphs, path, hidden, form }: Pick<ConfirmationQuestion, "paragraphs" | "path" | "hidden"> & { readonly title: string; readonly form: string },
  kind: ConfirmCookie = "Strict",
): EndpointAnswer => {
  const { proof, cookie } = makeProof(site, request, subject, kind);
  return withFormOrigin(
    htmlPage(200, title, paragraphs, `<form method="post" action="${path}">${hiddenInputs([...hidden, ["proof", proof]])}${form}</form>`),
    cookie,
  );
};

/** Answers a form that did not come from our page. */
export const unconfirmedPage = (next = "Open the address that your terminal shows again."): EndpointAnswer => {
  const why = "the answer did not come from the page that this browser was shown, or the page has expired";
  return refusalPage(new Fault("PERMISSION_DENIED", why), 403, "Not confirmed", [`${sentenceOf(why)} ${next}`]);
};

/** Answers a form that was already submitted, or after its question expired. */
export const answeredPage = (next: string): EndpointAnswer => {
  const why = "this page was already answered, or it has expired";
  return refusalPage(new Fault("FAILED_PRECONDITION", why), 400, "Already answered or expired", [`${sentenceOf(why)} ${next}`]);
};

/** Redirects to another site by a page, because form-action also restricts redirects of a form's response. */
export const redirectByPage = (answer: EndpointAnswer): EndpointAnswer => {
  const { location, ...headers } = answer.headers;
  if (location === undefined) return answer;
  const { host, protocol } = new URL(location);
  const between = htmlPage(
    200,
    "One moment",
    [host === "" ? `Continuing in a program on this device (${protocol}).` : `Continuing to ${host}.`],
    `<p class="actions"><a class="button" href="${escapeHtml(location)}">Continue</a></p>`,
  );
  return { ...between, headers: { ...between.headers, ...headers, refresh: `0;url=${location}` } };
};
