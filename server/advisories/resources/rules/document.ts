// Converts advisories to documents of the open feed, one per origin package. Pure.

import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { type AdvisoryRow, derivedUidOf, type DocumentRow } from "#advisories/store";

const approved = "REVIEW_STATE_APPROVED";

/** Members of an event's oneof that are in the feed; it identifies a patched package by its advisory only. */
const members = [
  "truePositiveDetermination",
  "falsePositiveDetermination",
  "fixed",
  "detection",
  "analysisNotPlanned",
  "fixNotPlanned",
  "pendingUpstreamFix",
] as const;

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

/** Returns the approved events; others are not public. */
export const approvedEvents = (events: string): JsonObject[] => {
  const list = JSON.parse(events) as Json;
  return Array.isArray(list) ? list.filter(isObject).filter((event) => text(event, "reviewState") === approved) : [];
};

const documentEvents = (events: string): JsonObject[] =>
  approvedEvents(events).flatMap((event): JsonObject[] => {
    const member = members.find((each) => event[each] !== undefined);
    return member ? [{ timestamp: text(event, "createTime"), [member]: documentEventData(member, part(event, member)) }] : [];
  });

/** Returns the document of all advisories on an origin package. */
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
