// The open feed's files for callers with a token: the same endpoints, created for each request with the caller's reader. They
// select alike, and cache nothing between requests (docs/decisions/0043).

import type { Endpoint, EndpointAnswer } from "#base/endpoint.ts";
import { Fault } from "#base/fault.ts";
import type { RequestSource } from "#base/origin.ts";
import { type CsafOptions, openCsaf } from "./csaf/index.ts";
import { openDocuments } from "./documents/index.ts";
import { openOsv } from "./osv/index.ts";
import { openSecdb } from "./secdb/index.ts";
import { openVexRepository } from "./vex-repository/index.ts";

/** The reader of `feed` is the caller. */
export type FeedFileOptions = Omit<CsafOptions, "security">;

export interface FeedFileRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly source: RequestSource;
}

export interface FeedFile {
  readonly type: string;
  readonly withdrawTime: string | undefined;
  /** Lazy. Errors of the first piece are thrown before. */
  readonly pieces: AsyncIterable<string | Uint8Array>;
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

const endpointAt = (options: FeedFileOptions, path: string): Endpoint | undefined => {
  const { feed } = options;
  const csaf = openCsaf({ ...options, security: { contacts: [], expiresMs: undefined } });
  // In the order of the open feed (server/application/server.ts).
  for (const find of [csaf, openDocuments(feed), openOsv(feed), openSecdb(feed), openVexRepository(feed)]) {
    const endpoint: Endpoint | undefined = find(path);
    if (endpoint) return endpoint;
  }
  return undefined;
};

/** Throws NOT_FOUND. */
export const readFeedFile = async (options: FeedFileOptions, { path, query, source }: FeedFileRequest): Promise<FeedFile> => {
  // Directories end with a slash, which routes do not.
  const endpoint = endpointAt(options, path) ?? endpointAt(options, `${path}/`);
  if (!endpoint?.GET || !endpoint.yieldsToToken) throw new Fault("NOT_FOUND", `file not found: ${path}`);
  // An ETag of the open file does not apply to this one.
  const nothing = { headerOf: () => undefined, headers: { cookie: undefined, authorization: undefined, origin: undefined } };
  const answer: EndpointAnswer = await endpoint.GET({ query, form: new URLSearchParams(), readText: async () => "", ...nothing, ...source });
  const { body } = answer;
  const { "content-type": type = "application/octet-stream", "gantry-withdrawn": withdrawTime } = answer.headers;
  return { type, withdrawTime, pieces: typeof body === "string" ? once(body) : body };
};
