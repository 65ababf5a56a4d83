// What every answer of the docs pages carries: a policy under which nothing runs and nothing is loaded but this server's own
// files, no frame of anybody's, and a tag, so that a page that has not changed is not sent again.

import { createHash } from "node:crypto";
import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { matchesEtag } from "#base/etag.ts";

/** A part of a path that follows from a text: another text, another address. */
export const hashOfText = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22);

// Trusted types: a script of ours that is given markup by anybody cannot make elements of it.
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const safety = { "referrer-policy": "no-referrer", "x-content-type-options": "nosniff" };

const pageHeaders = {
  ...safety,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": contentPolicy,
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
};

/** A page, which caches ask about each time. */
export const pageAnswer = (request: EndpointRequest, html: string, status = 200): EndpointAnswer => {
  const tag = `"${hashOfText(html)}"`;
  // Whoever has opened a page of ours has no hold of its window; the window of a sign-in, which it opens itself, it keeps.
  const headers = { ...pageHeaders, "cross-origin-opener-policy": "same-origin-allow-popups", etag: tag, "cache-control": "no-cache" };
  if (status === 200 && matchesEtag(request.headers.ifNoneMatch, tag)) return { status: 304, headers, body: "" };
  return { status, headers, body: html };
};

/** A page whose address has something in it that nobody else shall find: kept nowhere. */
export const privatePageAnswer = (html: string): EndpointAnswer => ({ status: 200, headers: { ...pageHeaders, "cache-control": "no-store" }, body: html });

/** A file whose address follows from what it holds may be kept for good. */
export const fileAnswer = (type: string, text: string, caching = "public, max-age=31536000, immutable"): EndpointAnswer => ({
  status: 200,
  headers: { ...safety, "content-type": type, "cache-control": caching, "cross-origin-resource-policy": "same-origin" },
  body: text,
});

export const goTo = (address: string, vary?: string): EndpointAnswer => ({
  status: 303,
  headers: { ...safety, location: address, "cache-control": "no-cache", ...(vary === undefined ? {} : { vary }) },
  body: "",
});

/** What programs read, the same for a day or until the next version. */
export const jsonAnswer = (value: object, headers: Readonly<Record<string, string>> = {}): EndpointAnswer => ({
  status: 200,
  headers: { ...safety, "content-type": "application/json", "cache-control": "no-cache", ...headers },
  body: `${JSON.stringify(value, undefined, 2)}\n`,
});
