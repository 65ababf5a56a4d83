// What a person's browser is shown: small pages without script, style sheet, image or form target of anybody else's,
// that no cache keeps and no other page may frame.

import { createHash } from "node:crypto";
import type { Origin } from "#base/origin.ts";

/** An answer to a browser or a program beside the contract. */
export interface EndpointAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request to one of the room's paths, free of its protocol. */
export interface EndpointRequest {
  readonly query: URLSearchParams;
  /** The body's form; empty for GET. */
  readonly form: URLSearchParams;
  readonly headers: { readonly cookie: string | undefined; readonly authorization: string | undefined; readonly origin: string | undefined };
  readonly requestId: string;
  readonly origin: Origin;
}

/** One path's answers by verb. What they throw is answered with the error body that every path has. */
export type Endpoint = Readonly<Partial<Record<"GET" | "POST", (asked: EndpointRequest) => Promise<EndpointAnswer>>>>;

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Text that stays text inside HTML, in quoted attributes too. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");

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
export const page = (status: number, title: string, paragraphs: readonly string[], html = ""): EndpointAnswer => ({
  status,
  headers: pageHeaders,
  body:
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${escaped(title)}</title><style>${style}</style></head><body><main><h1>${escaped(title)}</h1>` +
    `${paragraphs.map((paragraph) => `<p>${escaped(paragraph)}</p>`).join("")}${html}</main></body></html>\n`,
});

/** Somewhere else, with GET: the address is used once and kept by nobody. */
export const elsewhere = (address: string, headers: Readonly<Record<string, string>> = {}): EndpointAnswer => ({
  status: 303,
  headers: { ...noStore, ...headers, location: address },
  body: "",
});

export const json = (status: number, value: unknown): EndpointAnswer => ({
  status,
  headers: { ...noStore, "content-type": "application/json" },
  body: JSON.stringify(value),
});
