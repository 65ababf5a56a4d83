// Whether a form was sent from the page that this browser was shown, and not by a page of somebody else's that it has
// open too (RFC 6749, 10.12). The page's form carries a hash over what it asks and over a cookie that no other site can
// read, set or have sent along, and that we have made; beside that, the browser itself says from where a form comes.

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
 * Which requests bring the cookie along: "Strict", those from our own pages. A page that another site sends the browser to is
 * shown with "Lax", or each new one would end those that are open: its cookie comes with addresses that are opened, never with a
 * form of another site's.
 */
export type ConfirmCookie = "Strict" | "Lax";

/** A name that only this very host can set, where that can be had. */
const cookieName = (site: Site, kind: ConfirmCookie): string => `${isSecure(site) ? "__Host-" : ""}${kind === "Strict" ? "gantry-confirm" : "gantry-consent"}`;

const sealPurpose = "confirm cookie";
/** It is any browser's; what is confirmed is bound to it, by a hash. */
const boundToNothing: Binding = [];

/** When the value that we have made ends, in milliseconds since 1970; undefined where we have not. */
const endOfCookie = ({ vault }: Site, value: string): number | undefined => {
  const opened = value.length > 512 ? undefined : vault.open(sealPurpose, value, boundToNothing);
  return opened === undefined ? undefined : Number.parseInt(opened, 10);
};

/** The browser's cookie: made by us, the only one of its name, and good for `leftMs` more. */
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

/** The one that it has, where that is good for as long as a code is: the same person may have two of these pages open. */
const renewCookie = (site: Site, request: EndpointRequest, kind: ConfirmCookie): string =>
  readCookie(site, request, kind, limits.deviceCodeLifetimeMs) ??
  site.vault.seal(sealPurpose, `${site.clock() + limits.confirmCookieLifetimeMs} ${newSecret()}`, boundToNothing);

const setCookie = (site: Site, kind: ConfirmCookie, value: string): string =>
  `${cookieName(site, kind)}=${value}; Path=/; Max-Age=${limits.confirmCookieLifetimeMs / 1000}; HttpOnly; SameSite=${kind}${isSecure(site) ? "; Secure" : ""}`;

/** Whether a form came from this browser's own session with us: not from another site's page, and with a cookie of ours. */
export const isOurBrowser = (site: Site, request: EndpointRequest, kind: ConfirmCookie = "Strict"): boolean => {
  const { origin } = request.headers;
  return (origin === undefined || origin === new URL(site.publicUrl).origin) && readCookie(site, request, kind) !== undefined;
};

const proofOf = (cookie: string, subject: string): string => createHash("sha256").update(`${cookie} ${subject}`).digest("base64url");

/** What the form carries as `proof`, and the cookie that goes with it. `subject` is all that is confirmed. */
const makeProof = (site: Site, request: EndpointRequest, subject: string, kind: ConfirmCookie): { readonly proof: string; readonly cookie: string } => {
  const value = renewCookie(site, request, kind);
  return { proof: proofOf(value, subject), cookie: setCookie(site, kind, value) };
};

/** True where the form comes from the page about `subject` that this browser was shown. */
export const isConfirmed = (site: Site, request: EndpointRequest, subject: string, kind: ConfirmCookie = "Strict"): boolean => {
  const cookie = isOurBrowser(site, request, kind) ? readCookie(site, request, kind) : undefined;
  const proof = Buffer.from(request.form.get("proof") ?? "");
  const expected = Buffer.from(cookie === undefined ? "" : proofOf(cookie, subject));
  return cookie !== undefined && proof.length === expected.length && timingSafeEqual(proof, expected);
};

/** A page whose forms say from where they come: with no referrer at all, browsers hide a form's origin too. */
const withFormOrigin = (answer: EndpointAnswer, cookie: string): EndpointAnswer => ({
  ...answer,
  headers: { ...answer.headers, "referrer-policy": "same-origin", "set-cookie": cookie },
});

/** A page with a form that counts in this browser alone. */
export const formPage = (site: Site, request: EndpointRequest, answer: EndpointAnswer): EndpointAnswer =>
  withFormOrigin(answer, setCookie(site, "Strict", renewCookie(site, request, "Strict")));

/** What a person is asked before somebody else's program may act in their name. */
export interface ConfirmationQuestion {
  readonly status: number;
  readonly paragraphs: readonly string[];
  /** What the program is given, a sentence for each part (grantTexts). */
  readonly grants: readonly string[];
  /** What the program shows too. */
  readonly code: string;
  readonly path: string;
  readonly hidden: readonly (readonly [name: string, value: string])[];
  /** The identity provider is not known yet: the person chooses it. Undefined where it is. */
  readonly provider: ProviderQuestion | undefined;
}

const days = (milliseconds: number): number => Math.round(milliseconds / (24 * 60 * 60 * 1000));

/** What a program gets with the token, a sentence for each part. */
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

/** The page that asks. Its first button confirms, and so does the enter key; neither is pressed by the page itself. */
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

/** A page with a question of its own: what its form says beside the buttons is markup of ours. `subject` is all that is answered. */
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

/** Answers a form that does not come from our page. */
export const unconfirmedPage = (next = "Open the address that your terminal shows again."): EndpointAnswer => {
  const why = "the answer did not come from the page that this browser was shown, or the page has expired";
  return refusalPage(new Fault("PERMISSION_DENIED", why), 403, "Not confirmed", [`${sentenceOf(why)} ${next}`]);
};

/** Answers a form of our page that was sent before, or that came after its question expired. */
export const answeredPage = (next: string): EndpointAnswer => {
  const why = "this page was already answered, or it has expired";
  return refusalPage(new Fault("FAILED_PRECONDITION", why), 400, "Already answered or expired", [`${sentenceOf(why)} ${next}`]);
};

/** On to another site. A form of ours may lead to this server only, also by a redirect of its answer: so by a page. */
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
