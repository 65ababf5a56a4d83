// `gantry events tail`: events as they happen, for a person at a terminal or for another program.

import { setTimeout as sleep } from "node:timers/promises";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Application } from "./application.ts";

export interface Tailing {
  /** Only of this group and below. */
  readonly group: string | undefined;
  readonly types: readonly string[];
  /** How many of the past come first. */
  readonly past: number;
  readonly json: boolean;
  readonly write: (line: string) => void;
  /** Ends the tail. */
  readonly stopped: AbortSignal;
}

const list = "gantry.events.v1.EventsService/ListEvents";

/** "dev.chainguard.api.iam.group.created.v1" as "iam.group.created". */
const shortType = (type: string): string =>
  type
    .replace(/^dev\.(?:chainguard\.api|gantry)\./, "")
    .replace(/^platform\./, "")
    .replace(/\.v\d+$/, "");

const actorOf = (event: JsonObject): string => {
  const data: unknown = JSON.parse(text(event, "data") || "{}");
  const actor = isObject(data as JsonObject) ? (data as JsonObject).actor : undefined;
  return isObject(actor) ? text(actor, "subject") : "";
};

const lineOf = (event: JsonObject): string =>
  `${text(event, "createTime")}  ${shortType(text(event, "type")).padEnd(32)}  ${text(event, "subject")}  by ${actorOf(event) || "the server"}`;

/** Tells events until `stopped`. */
export const tail = async ({ call }: Application, { group, types, past, json, write, stopped }: Tailing): Promise<void> => {
  const scope: JsonObject = { ...(group === undefined ? {} : { uidp: { descendantsOf: group } }), ...(types.length > 0 ? { types: [...types] } : {}) };
  const ask = async (request: JsonObject): Promise<JsonObject[]> => {
    const { events } = await call(list, { ...scope, ...request });
    return Array.isArray(events) ? events.filter(isObject) : [];
  };
  const tell = (events: readonly JsonObject[]): void => {
    for (const event of events) write(json ? JSON.stringify(event) : lineOf(event));
  };
  const latest = (await ask({ orderBy: "position desc", pageSize: Math.max(1, past) })).reverse();
  tell(past > 0 ? latest : []);
  let position = text(latest.at(-1) ?? {}, "position") || "0";
  while (!stopped.aborted) {
    const events = await ask({ afterPosition: position, pageSize: limits.pageSizeMax });
    tell(events);
    position = text(events.at(-1) ?? {}, "position") || position;
    if (events.length < limits.pageSizeMax) await sleep(limits.tailPollMs, undefined, { signal: stopped }).catch(() => {});
  }
};
