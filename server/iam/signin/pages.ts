// The pages of sign-in: in the one layout (base/html.ts), with headers that keep them from caches, from other pages' frames,
// and from loading anything.
//
// A page is htmlPage(status, title, paragraphs, html): paragraphs are plain text, `html` is markup of ours. Its first button
// is the one that goes on; one that does not gets class="secondary"; both stand in <p class="actions">. A page that says
// what went wrong is a refusalPage, which carries the Fault for programs.

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

/** A page. Paragraphs are plain text; `html` is markup of ours below them, such as a form. */
export const htmlPage = (status: number, title: string, paragraphs: readonly string[], html = ""): EndpointAnswer => ({
  status,
  headers: pageHeaders,
  body: layoutPage(title, `${paragraphsHtml(paragraphs)}${html}`),
});

/** A page that says what went wrong, and the fault for programs. */
export const refusalPage = (fault: Fault, status: number, title: string, paragraphs: readonly string[], html = ""): EndpointAnswer => ({
  ...htmlPage(status, title, paragraphs, html),
  fault,
});

/** A fault's message as a person reads it. */
export const sentenceOf = (message: string): string => {
  const words = message.replace(/^Invalid argument: (\w+): /, "the parameter $1 ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
};

/** Answers whoever has to wait, with the time in words and in the headers. */
export const throttledPage = (fault: Fault): EndpointAnswer => {
  const page = refusalPage(fault, 429, "Too many at once", [sentenceOf(fault.message)]);
  return { ...page, headers: { ...page.headers, ...fault.headers } };
};

/** On to another address, with GET: it is used once and cached by nobody. */
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
