// What a person's browser is shown: small pages without script, style sheet, image or form target of anybody else's,
// that no cache keeps and no other page may frame.

import { createHash } from "node:crypto";
import type { EndpointAnswer } from "#base/endpoint.ts";
import type { Fault } from "#base/fault.ts";

const htmlEscapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Text that stays text inside HTML, in quoted attributes too. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? "");

const style =
  ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:12vh auto;max-width:30em;padding:0 1.5em;color:#1b1f24;background:#fff}" +
  "h1{font-size:1.4em;margin:0 0 .6em}p{margin:.6em 0;overflow-wrap:anywhere}small{color:#57606a}" +
  "input,button{font:inherit;padding:.4em .7em}.code{font:600 2em/1.2 ui-monospace,monospace;letter-spacing:.08em;margin:.7em 0}" +
  "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}small{color:#9198a1}}";

const styleHash = createHash("sha256").update(style).digest("base64");

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
  body:
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${escapeHtml(title)}</title><style>${style}</style></head><body><main><h1>${escapeHtml(title)}</h1>` +
    `${paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join("")}${html}</main></body></html>\n`,
});

/** A fault's message as a person reads it. */
export const sentenceOf = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;

/** Answers whoever has to wait, with the time in words and in the headers. */
export const throttledPage = ({ message, headers }: Fault): EndpointAnswer => {
  const page = htmlPage(429, "Too many at once", [sentenceOf(message)]);
  return { ...page, headers: { ...page.headers, ...headers } };
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
