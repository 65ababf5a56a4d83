// The advisory sources of the ecosystems in a group's images, and whether they are current (docs/decisions/0074). Image matching
// writes the rows (server/advisories/feeds/match-images.ts); each request computes the state from sources and time.

import { type JsonObject, objectList, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { parentOf } from "#base/uid.ts";
import { type Coverage, latestTime, optionalTime } from "#advisories/feeds";
import { boundOf, list, type Outcome, type ReadContext, resource } from "#kernel";
import type { Condition } from "#db";
import { coverageNow, placesOf, readGroupCoverage, stateName } from "./coverage/statement.ts";

const filled = (message: Readonly<Record<string, JsonObject[string] | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(message).flatMap(([key, value]) => (value === undefined || value === "" ? [] : [[key, value] as const])));

const sourceMessage = ({ feedUid, sourceName, state, successMs, changeMs, staleMs, endMs }: Coverage["sources"][number]): JsonObject =>
  filled({
    feedUid,
    sourceName,
    state: stateName(state),
    successTime: optionalTime(successMs),
    changeTime: optionalTime(changeMs),
    staleTime: optionalTime(staleMs),
    endTime: optionalTime(endMs),
  });

const withCoverage = (record: JsonObject, { state, sources }: Coverage): JsonObject =>
  filled({
    ...record,
    state: stateName(state),
    sources: sources.length === 0 ? undefined : sources.slice(0, limits.unjudgedShownMax).map(sourceMessage),
    successTime: optionalTime(latestTime(sources.map(({ successMs }) => successMs))),
    changeTime: optionalTime(latestTime(sources.map(({ changeMs }) => changeMs))),
  });

/** The state is not a column, so entries are evaluated first. */
const conditions = async (context: ReadContext): Promise<Condition[]> => {
  const states = new Set(texts(context.request, "states"));
  if (states.size === 0) return [];
  const found = await readGroupCoverage(context, placesOf(context));
  return [{ column: "uid", comparison: "any", value: found.filter(({ state }) => states.has(stateName(state))).map(({ uid }) => uid) }];
};

const listCoverage = async (context: ReadContext): Promise<Outcome> => {
  const outcome = await list(boundOf(context, "gantry.vulnerabilities.v1.AdvisoryCoverage"))(context);
  const records = objectList(outcome.reply, "advisoryCoverage");
  const asked = records.map((record) => ({
    group: parentOf(text(record, "uid")),
    ecosystem: { ecosystem: text(record, "ecosystem"), release: text(record, "release") },
  }));
  const coverageOf = await coverageNow(context, asked);
  const shown = records.map((record, index) => {
    const { group = "", ecosystem = { ecosystem: "", release: "" } } = asked[index] ?? {};
    return withCoverage(record, coverageOf(group, ecosystem));
  });
  return { ...outcome, reply: { ...outcome.reply, advisoryCoverage: shown } };
};

export const advisoryCoverage = resource({
  service: "gantry.vulnerabilities.v1.AdvisoryCoverageService",
  message: "gantry.vulnerabilities.v1.AdvisoryCoverage",
  table: "advisory_coverage",
  methodFields: ["state", "sources", "success_time", "change_time"],
  conditions,
  methods: { ListAdvisoryCoverage: { reads: listCoverage } },
});
