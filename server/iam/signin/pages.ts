// Pages of sign-in, in the common layout (base/html.ts). Headers forbid caching, framing and loading resources. Buttons go into <p
// class="actions">; the first continues, others get class="secondary".

import { createHash } from "node:crypto";
import type { EndpointAnswer } from "#base/endpoint.ts";
import type { Fault } from "#base/fault.ts";
import { layoutPage, pageStyle, paragraphsHtml } from "#base/html.ts";

export { escapeHtml } from "#base/html.ts";

const styleHash = createHash("sha256").update(pageStyle).digest("base64");

const noStore = { "cache-control": "no-store", "referrer-policy": "no-referrer", "x-content-type-options": "nosniff" };

const pageHeaders = {
  ...noStore,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  "x-frame-options": "DENY",
};

/** Returns a page. Paragraphs are plain text; `html` is trusted markup below them, such as a form. */
export const htmlPage = (status: number, title: string, paragraphs: readonly string[], html = ""): EndpointAnswer => ({
  status,
  headers: pageHeaders,
  body: layoutPage(title, `${paragraphsHtml(paragraphs)}${html}`),
});

/** Returns an error page with the fault for programs. */
export const refusalPage = (fault: Fault, status: number, title: string, paragraphs: readonly string[], html = ""): EndpointAnswer => ({
  ...htmlPage(status, title, paragraphs, html),
  fault,
});

export const sentenceOf = (message: string): string => {
  const words = message.replace(/^Invalid argument: (\w+): /, "the parameter $1 ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
};

/** Returns a page for a rate-limited client, with the waiting time in text and headers. */
export const throttledPage = (fault: Fault): EndpointAnswer => {
  const page = refusalPage(fault, 429, "Too many at once", [sentenceOf(fault.message)]);
  return { ...page, headers: { ...page.headers, ...fault.headers } };
};

/** Redirects with GET, uncached. */
export const redirectTo = (url: string, headers: Readonly<Record<string, string>> = {}): EndpointAnswer => ({
  status: 303,
  headers: { ...noStore, ...headers, location: url },
  body: "",
});

export const jsonAnswer = (status: number, value: unknown): EndpointAnswer => ({
  status,
  headers: { ...noStore, "content-type": "application/json" },
  body: JSON.stringify(value),
});
