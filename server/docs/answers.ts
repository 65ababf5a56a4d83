// Responses of the docs pages: strict content policy, no framing, and ETags.

import { createHash } from "node:crypto";
import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { matchesEtag } from "#base/etag.ts";

/** Returns a hash for content-addressed paths. */
export const hashOfText = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22);

// Trusted types: our script cannot turn text into markup.
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

/** Returns a page that caches must revalidate. */
export const pageAnswer = (request: EndpointRequest, html: string, status = 200): EndpointAnswer => {
  const tag = `"${hashOfText(html)}"`;
  // Pages that open ours get no handle on its window, but ours keeps that of its sign-in.
  const headers = { ...pageHeaders, "cross-origin-opener-policy": "same-origin-allow-popups", etag: tag, "cache-control": "no-cache" };
  if (status === 200 && matchesEtag(request.headers.ifNoneMatch, tag)) return { status: 304, headers, body: "" };
  return { status, headers, body: html };
};

/** Returns an uncached page, for URLs with secrets. */
export const privatePageAnswer = (html: string): EndpointAnswer => ({ status: 200, headers: { ...pageHeaders, "cache-control": "no-store" }, body: html });

/** Returns a file, by default cached forever because its path is content-addressed. */
export const fileAnswer = (type: string, body: EndpointAnswer["body"], caching = "public, max-age=31536000, immutable"): EndpointAnswer => ({
  status: 200,
  headers: { ...safety, "content-type": type, "cache-control": caching, "cross-origin-resource-policy": "same-origin" },
  body,
});

/** Returns a picture, which may load and run nothing when opened by itself. */
export const pictureAnswer = (type: string, content: EndpointAnswer["body"]): EndpointAnswer => {
  const { status, headers, body } = fileAnswer(type, content, "public, max-age=3600");
  return { status, headers: { ...headers, "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" }, body };
};

export const goTo = (address: string, vary?: string): EndpointAnswer => ({
  status: 303,
  headers: { ...safety, location: address, "cache-control": "no-cache", ...(vary === undefined ? {} : { vary }) },
  body: "",
});

/** Returns JSON that must be revalidated. */
export const jsonAnswer = (value: object, headers: Readonly<Record<string, string>> = {}): EndpointAnswer => ({
  status: 200,
  headers: { ...safety, "content-type": "application/json", "cache-control": "no-cache", ...headers },
  body: `${JSON.stringify(value, undefined, 2)}\n`,
});
