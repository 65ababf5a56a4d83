// Advisories as the open feed's documents have them: one document for each origin package. Pure.

import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { type AdvisoryRow, derivedUidOf, type DocumentRow } from "#advisories/store";

const approved = "REVIEW_STATE_APPROVED";

/** The members of an event's oneof that the feed has; a patched package is known by its advisory alone. */
const members = [
  "truePositiveDetermination",
  "falsePositiveDetermination",
  "fixed",
  "detection",
  "analysisNotPlanned",
  "fixNotPlanned",
  "pendingUpstreamFix",
] as const;

/** The feed's names of what a scanner found. */
const scanNames: Readonly<Record<string, string>> = { subpackage: "subpackageName", component: "componentName" };

const documentDetection = (detection: JsonObject): JsonObject => {
  const { scanv1 } = detection;
  if (!isObject(scanv1)) return detection;
  return { scanv1: Object.fromEntries(Object.entries(scanv1).map(([name, value]) => [scanNames[name] ?? name, value])) };
};

const documentEventData = (member: string, data: JsonObject): JsonObject => {
  if (member === "detection") return documentDetection(data);
  if (member !== "fixed") return data;
  const { note: _note, ...fixed } = data;
  return fixed;
};

/** The approved events: what is not decided yet is nobody's business outside. */
export const approvedEvents = (events: string): JsonObject[] => {
  const list = JSON.parse(events) as Json;
  return Array.isArray(list) ? list.filter(isObject).filter((event) => text(event, "reviewState") === approved) : [];
};

const documentEvents = (events: string): JsonObject[] =>
  approvedEvents(events).flatMap((event): JsonObject[] => {
    const member = members.find((each) => event[each] !== undefined);
    return member ? [{ timestamp: text(event, "createTime"), [member]: documentEventData(member, part(event, member)) }] : [];
  });

/** One document of all advisories on an origin package. */
export const feedDocument = ({ origin, createTime, updateTime }: DocumentRow, advisories: readonly AdvisoryRow[]): JsonObject => ({
  id: origin,
  advisories: advisories.map(({ advisoryId, events, aliases, namespace }) => {
    const listed = documentEvents(events);
    return {
      id: advisoryId,
      ...(listed.length > 0 ? { events: listed } : {}),
      ...(aliases.length > 0 ? { aliases: [...aliases] } : {}),
      ...(namespace === "" ? {} : { packageNamespace: namespace }),
    };
  }),
  uid: derivedUidOf("document", origin),
  createTime,
  updateTime,
});
