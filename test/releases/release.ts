// The data kept of each released version: a directory here, written by make.ts and read by test/story/releases.test.ts.

import type { Json, JsonObject } from "#base/json.ts";
import type { MethodFact } from "#contract/facts.ts";

/** The directory of the versions. */
export const releasesFolder: string = import.meta.dirname;

/** The content of release.json. */
export interface Release {
  readonly version: string;
  /** The server's clock at the responses. */
  readonly timeMs: number;
  readonly secretKey: string;
  /** The number of migrations. */
  readonly migrations: number;
}

/** An entry of answers.json: a REST request as the operator, and the response. */
export interface Asked {
  readonly operation: string;
  readonly request: JsonObject;
  readonly reply?: Json;
  /** The unparsed body, for the OCI Distribution protocol. */
  readonly raw?: string;
}

/** Shared by both servers, since responses contain the public address. */
export const releaseSettings = { GANTRY_PUBLIC_URL: "https://gantry.example.com", GANTRY_SERVICE_DOMAIN: "example.test" };

/** Returns the request with the maximum page size, since tokens of next pages differ each time. */
export const askedRequest = ({ input }: MethodFact, request: JsonObject): JsonObject =>
  input.byName.has("page_size") ? { ...request, pageSize: 200 } : request;
