// Follows events: prints past ones, then each new one, as text or JSON.

import { setTimeout as sleep } from "node:timers/promises";
import type { Application } from "#application";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { eventData, nameWithUid } from "./event-data.ts";

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

type Call = Application["call"];

/** Returns the name of an identity; "" for a deleted one. Each is read once. */
const openCallerNames = (call: Call): ((uid: string) => Promise<string>) => {
  const names = new Map<string, Promise<string>>();
  const read = async (uid: string): Promise<string> => {
    try {
      return text(await call("chainguard.platform.iam.v2.IdentitiesService/GetIdentity", { uid }), "name");
    } catch {
      return "";
    }
  };
  return (uid) => {
    const name = names.get(uid) ?? read(uid);
    names.set(uid, name);
    return name;
  };
};

const eventLine = async (event: JsonObject, nameOf: (uid: string) => Promise<string>): Promise<string> => {
  const { caller, name } = eventData(event);
  const subject = nameWithUid(text(event, "subject"), name);
  const by = caller === "" ? "the server" : nameWithUid(caller, await nameOf(caller));
  return `${text(event, "createTime")}  ${shortType(text(event, "type")).padEnd(32)}  ${subject}  by ${by}`;
};

/** Writes events, oldest first, until `stop`. */
export const tailEvents = async ({ call }: Pick<Application, "call">, { group, types, past, json, write, stop }: EventTail): Promise<void> => {
  const filter: JsonObject = { ...(group === undefined ? {} : { uidp: { descendantsOf: group } }), ...(types.length > 0 ? { types: [...types] } : {}) };
  const readPage = async (page: JsonObject): Promise<JsonObject[]> => {
    const { events } = await call(listEvents, { ...filter, ...page });
    return Array.isArray(events) ? events.filter(isObject) : [];
  };
  const nameOf = openCallerNames(call);
  const writeEvents = async (events: readonly JsonObject[]): Promise<void> => {
    for (const event of events) write(json ? JSON.stringify(event) : await eventLine(event, nameOf));
  };
  const latest = (await readPage({ orderBy: "position desc", pageSize: Math.max(1, past) })).reverse();
  await writeEvents(past > 0 ? latest : []);
  let position = text(latest.at(-1) ?? {}, "position") || "0";
  while (!stop.aborted) {
    const events = await readPage({ afterPosition: position, pageSize: limits.pageSizeMax });
    await writeEvents(events);
    position = text(events.at(-1) ?? {}, "position") || position;
    if (events.length < limits.pageSizeMax) await sleep(limits.tailPollMs, undefined, { signal: stop }).catch(() => {});
  }
};
