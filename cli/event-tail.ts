// Follows events: prints past ones, then each new one, as text or JSON.

import { setTimeout as sleep } from "node:timers/promises";
import type { Application } from "#application";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";

export interface EventTail {
  readonly group: string | undefined;
  /** Only these types; empty for all. */
  readonly types: readonly string[];
  readonly past: number;
  readonly json: boolean;
  readonly write: (line: string) => void;
  readonly stop: AbortSignal;
}

const listEvents = "gantry.events.v1.EventsService/ListEvents";

const shortType = (type: string): string =>
  type
    .replace(/^dev\.(?:chainguard\.api|gantry)\./, "")
    .replace(/^platform\./, "")
    .replace(/\.v\d+$/, "");

const actorSubject = (event: JsonObject): string => {
  const data: unknown = JSON.parse(text(event, "data") || "{}");
  const actor = isObject(data as JsonObject) ? (data as JsonObject).actor : undefined;
  return isObject(actor) ? text(actor, "subject") : "";
};

const eventLine = (event: JsonObject): string =>
  `${text(event, "createTime")}  ${shortType(text(event, "type")).padEnd(32)}  ${text(event, "subject")}  by ${actorSubject(event) || "the server"}`;

/** Writes events, oldest first, until `stop`. */
export const tailEvents = async ({ call }: Pick<Application, "call">, { group, types, past, json, write, stop }: EventTail): Promise<void> => {
  const filter: JsonObject = { ...(group === undefined ? {} : { uidp: { descendantsOf: group } }), ...(types.length > 0 ? { types: [...types] } : {}) };
  const readPage = async (page: JsonObject): Promise<JsonObject[]> => {
    const { events } = await call(listEvents, { ...filter, ...page });
    return Array.isArray(events) ? events.filter(isObject) : [];
  };
  const writeEvents = (events: readonly JsonObject[]): void => {
    for (const event of events) write(json ? JSON.stringify(event) : eventLine(event));
  };
  const latest = (await readPage({ orderBy: "position desc", pageSize: Math.max(1, past) })).reverse();
  writeEvents(past > 0 ? latest : []);
  let position = text(latest.at(-1) ?? {}, "position") || "0";
  while (!stop.aborted) {
    const events = await readPage({ afterPosition: position, pageSize: limits.pageSizeMax });
    writeEvents(events);
    position = text(events.at(-1) ?? {}, "position") || position;
    if (events.length < limits.pageSizeMax) await sleep(limits.tailPollMs, undefined, { signal: stop }).catch(() => {});
  }
};
