// The files of the open feed for whoever shows a token: the same endpoints, made anew for each request with what its caller
// sees. So they find, choose and write alike, and what an endpoint keeps from one request to the next, these keep for nobody
// (docs/decisions/0043).

import type { Endpoint, EndpointAnswer } from "#base/endpoint.ts";
import { Fault } from "#base/fault.ts";
import type { RequestSource } from "#base/origin.ts";
import { type CsafOptions, openCsaf } from "./csaf/index.ts";
import { openDocuments } from "./documents/index.ts";
import { openOsv } from "./osv/index.ts";
import { openSecdb } from "./secdb/index.ts";
import { openVexRepository } from "./vex-repository/index.ts";

/** What files are made of: the reader of `feed` is the caller. */
export type FeedFileOptions = Omit<CsafOptions, "security">;

/** Which file: its path in the open feed, and the query that follows it. */
export interface FeedFileRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly source: RequestSource;
}

export interface FeedFile {
  readonly type: string;
  /** When it was withdrawn; undefined while it holds. */
  readonly withdrawTime: string | undefined;
  /** Made as they are taken. The first was made already: what goes wrong with it was thrown. */
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

/** The file at a path, of what the feed's reader sees. Throws NOT_FOUND where there is none. */
export const readFeedFile = async (options: FeedFileOptions, { path, query, source }: FeedFileRequest): Promise<FeedFile> => {
  // A folder is asked for with its last slash, which routes do not know.
  const endpoint = endpointAt(options, path) ?? endpointAt(options, `${path}/`);
  if (!endpoint?.GET || !endpoint.yieldsToToken) throw new Fault("NOT_FOUND", `file not found: ${path}`);
  // Without what the caller has: a tag of the open file says nothing about this one.
  const nothing = { headerOf: () => undefined, headers: { cookie: undefined, authorization: undefined, origin: undefined } };
  const answer: EndpointAnswer = await endpoint.GET({ query, form: new URLSearchParams(), readText: async () => "", ...nothing, ...source });
  const { body } = answer;
  const { "content-type": type = "application/octet-stream", "gantry-withdrawn": withdrawTime } = answer.headers;
  return { type, withdrawTime, pieces: typeof body === "string" ? once(body) : body };
};
