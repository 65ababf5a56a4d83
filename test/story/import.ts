// Shared by import tests: an import without the command line, and lists read to their end.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { importFeed, type FeedImport, type FeedSummary } from "#advisories/feeds";
import { isObject, type JsonObject } from "#base/json.ts";
import type { Protocol } from "../client.ts";
import type { World } from "../world.ts";

/** The real data, if present. */
export const realData = join(import.meta.dirname, "../../../shared/data");
export const withRealData = { skip: !existsSync(realData) && "shared/data is not here" };

/** Small files in the same formats. */
export const fixtures = join(import.meta.dirname, "../fixtures/feeds");

export const runImport = (world: World, kind: FeedImport["kind"], sources: readonly string[], options: Partial<FeedImport> = {}): Promise<FeedSummary> =>
  importFeed(world.server.application.services, { kind, sources, group: world.organization, public: undefined, progress: () => {}, ...options });

export const counts = ({ new: made, changed, withdrawn, unchanged, refused }: FeedSummary): Readonly<Record<string, number>> => ({
  new: made,
  changed,
  withdrawn,
  unchanged,
  refused: refused.length,
});

export const readAll = async (world: World, method: string, plural: string, request: JsonObject, protocol: Protocol = "rest"): Promise<JsonObject[]> => {
  const all: JsonObject[] = [];
  let token = "";
  do {
    const reply = await world.ok(method, { ...request, pageSize: 200, ...(token === "" ? {} : { pageToken: token }) }, { protocol });
    const page = reply[plural];
    if (Array.isArray(page)) all.push(...page.filter(isObject));
    token = typeof reply.nextPageToken === "string" ? reply.nextPageToken : "";
  } while (token !== "");
  return all;
};
