// Files for scanners and database builders, for callers with a token: public data, and that of groups visible to the caller. Without a
// token, the open feed has the same paths. Responses depend on the caller, so they have no ETag and must not be cached
// (docs/decisions/0043).

import { methods } from "#contract/catalog.ts";
import { type JsonObject, text } from "#base/json.ts";
import type { MethodFact } from "#contract/facts.ts";
import { readFeedFile, withdrawalHeaders } from "#advisories/feeds";
import { openReader } from "#advisories/store";
import { type Outcome, type ReadContext, requestSourceOf, resource } from "#kernel";

const variable = /\{(\w+)(=\*\*)?\}/g;

/** "+" stays literal in the feed's file names. */
const encoded = (segment: string): string => encodeURIComponent(segment).replaceAll("%2B", "+");

/** Returns the requested path: the most specific of the operation's paths with all its variables in the request. */
const pathOf = ({ http, input }: MethodFact, request: JsonObject): string => {
  const valueOf = (name: string): string => text(request, input.byName.get(name)?.json ?? name);
  const namesOf = (template: string): string[] => [...template.matchAll(variable)].map(([, name = ""]) => name);
  const [found] = http
    .filter(({ template }) => namesOf(template).every((name) => valueOf(name) !== ""))
    .sort((one, other) => namesOf(other.template).length - namesOf(one.template).length);
  return (found?.template ?? "").replace(variable, (_, name: string, isDeep: string | undefined) =>
    isDeep === undefined ? encoded(valueOf(name)) : valueOf(name).split("/").map(encoded).join("/"),
  );
};

/** The query selects parts of a list. */
const listQueryOf = (request: JsonObject): URLSearchParams =>
  new URLSearchParams(["since", "after"].flatMap((name): [string, string][] => (text(request, name) === "" ? [] : [[name, text(request, name)]])));

const reads = async ({ method, request, rows, visiblePaths, services, call }: ReadContext): Promise<Outcome> => {
  const { publicUrl, publisher, restoredMs, store, seal, clock, log } = services;
  const feed = { reader: await openReader(rows, visiblePaths), publicUrl, publisher, restoredMs };
  const file = await readFeedFile(
    { feed, store, vault: seal, clock, log },
    { path: pathOf(method, request), query: listQueryOf(request), source: requestSourceOf(call) },
  );
  return { reply: { type: file.type }, file, headers: { "cache-control": "private, no-store", vary: "authorization", ...withdrawalHeaders(file) } };
};

const service = "gantry.feeds.v1.FeedFilesService";

export const feedFiles = resource({
  service,
  message: "gantry.feeds.v1.FeedFile",
  methods: Object.fromEntries(methods.filter((method) => method.service === service).map(({ rpc }) => [rpc, { reads }])),
});
