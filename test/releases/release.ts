// What is kept of each released version: a folder here, made by make.ts, asked by test/story/releases.test.ts.

import type { Json, JsonObject } from "#base/json.ts";
import type { MethodFact } from "#contract/facts.ts";

/** Where the folders of the versions are. */
export const releasesFolder: string = import.meta.dirname;

/** release.json. */
export interface Release {
  readonly version: string;
  /** Its clock when it answered. */
  readonly timeMs: number;
  readonly secretKey: string;
  /** How many migrations it had. */
  readonly migrations: number;
}

/** An entry of answers.json: what was asked over REST as the operator, and the answer. */
export interface Asked {
  readonly operation: string;
  readonly request: JsonObject;
  readonly reply?: Json;
  /** Of the OCI Distribution protocol: the body as it came. */
  readonly raw?: string;
}

/** The server's in both cases, whatever its port: answers name its address. */
export const releaseSettings = { GANTRY_PUBLIC_URL: "https://gantry.example.com", GANTRY_SERVICE_DOMAIN: "example.test" };

/** With pages as long as there are: the token of a next one is another at each time. */
export const askedRequest = ({ input }: MethodFact, request: JsonObject): JsonObject =>
  input.byName.has("page_size") ? { ...request, pageSize: 200 } : request;
