// The parts of an event's data that people read.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { onOneLine } from "./output/escape.ts";

export interface EventData {
  /** Uid of the identity that caused it; "" for the server. */
  readonly caller: string;
  /** Name of the resource, if it has one. */
  readonly name: string;
}

export const eventData = (event: JsonObject): EventData => {
  const data = JSON.parse(text(event, "data") || "{}") as Json;
  const { actor, body } = isObject(data) ? data : {};
  return { caller: isObject(actor) ? text(actor, "subject") : "", name: isObject(body) ? text(body, "name") : "" };
};

/** The uid follows the name, because users choose names. */
export const nameWithUid = (uid: string, name: string): string => (name === "" ? uid : `${onOneLine(name)} (${uid})`);
