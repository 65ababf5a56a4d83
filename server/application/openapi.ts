// The OpenAPI documents at /openapi.json and /openapi/{name}.json: read when somebody first asks, and kept from then on. Everybody
// may read them.

import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { matchesEtag } from "#base/etag.ts";

/** Made by tools/openapi.ts. */
export const openApiFolder = join(import.meta.dirname, "../../contract/gen/openapi");

interface Document {
  readonly text: string;
  readonly packed: Uint8Array;
  readonly etag: string;
}

const readOpenApiDocument = async (name: string): Promise<Document> => {
  const text = await readFile(join(openApiFolder, `${name}.json`), "utf8");
  const etag = createHash("sha256").update(text).digest("base64url").slice(0, 22);
  return { text, packed: await promisify(gzip)(text), etag };
};

async function* once(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  yield piece;
}

/** RFC 9110, 12.5.3, as far as one coding needs it: "gzip;q=0" forbids it. */
const takesGzip = (accepted: string | undefined): boolean => /(?:^|,)\s*(?:gzip|\*)\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accepted ?? "");

const answer = ({ text, packed, etag }: Document, { headers, isHead }: EndpointRequest): EndpointAnswer => {
  const isPacked = takesGzip(headers.acceptEncoding);
  // Two representations, two names (RFC 9110, 8.8.3.3).
  const named = `"${etag}${isPacked ? "-gzip" : ""}"`;
  const shared = { etag: named, "cache-control": "public, max-age=60", vary: "accept-encoding", "x-content-type-options": "nosniff" };
  if (matchesEtag(headers.ifNoneMatch, named)) return { status: 304, headers: shared, body: "" };
  const typed = { ...shared, "content-type": "application/json" };
  if (!isPacked) return { status: 200, headers: typed, body: text };
  return { status: 200, headers: { ...typed, "content-encoding": "gzip" }, body: isHead === true ? "" : once(packed) };
};

/** The endpoints by path; undefined for paths of something else. */
export const openOpenApi = (): ((path: string) => Endpoint | undefined) => {
  const paths = new Map(
    readdirSync(openApiFolder)
      .filter((file) => file.endsWith(".json"))
      .map((file) => file.slice(0, -".json".length))
      .map((name) => [name === "whole" ? "/openapi.json" : `/openapi/${name}.json`, name]),
  );
  const held = new Map<string, Promise<Document>>();
  const find = (name: string): Promise<Document> => {
    let document = held.get(name);
    if (!document) {
      document = readOpenApiDocument(name);
      held.set(name, document);
      // What could not be read is read again by the next who asks.
      document.catch(() => held.delete(name));
    }
    return document;
  };
  return (path) => {
    const name = paths.get(path);
    return name === undefined ? undefined : { GET: async (request) => answer(await find(name), request) };
  };
};
