// Spots: the positions in a message that can hold a value, and messages with a value placed there.

import assert from "node:assert/strict";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { bodyOf, rivalsOf, writable } from "../samples.ts";
import type { Stage } from "./stage.ts";

/** A position in a message that can hold a value: "claimMatch.subject", "requests[0].roleBinding". */
export interface Spot {
  readonly field: FieldFact;
  readonly owner: MessageFact;
  /** Keys and list indexes, from the message down. */
  readonly path: readonly string[];
  /** The name in a violation. */
  readonly name: string;
}

/** Returns a valid key for a map of this field. */
export const keyOf = (field: FieldFact): string => (field.keyKind === "string" ? "key" : "1");

export const into = (at: string, field: FieldFact): { readonly name: string; readonly keys: readonly string[] } =>
  field.shape === "list"
    ? { name: `${at}[0]`, keys: ["0"] }
    : field.shape === "map"
      ? { name: `${at}[${JSON.stringify(keyOf(field))}]`, keys: [keyOf(field)] }
      : { name: at, keys: [] };

/** Returns every spot in a message and its nested messages. */
export const spotsOf = (message: MessageFact, naming: "json" | "name", path: readonly string[] = [], prefix = ""): Spot[] =>
  writable(message).flatMap((field): Spot[] => {
    const name = prefix ? `${prefix}.${field[naming]}` : field[naming];
    const here = { field, owner: message, path: [...path, field.json], name };
    if (!field.message) return [here];
    const { name: inside, keys } = into(name, field);
    return [here, ...spotsOf(field.message, naming, [...here.path, ...keys], inside)];
  });

export interface Spots {
  /** Returns `root` with valid values on the way to the spot, and `put` at the spot itself. */
  readonly placed: (root: JsonObject, message: MessageFact, path: readonly string[], put: Json | undefined) => Promise<JsonObject>;
}

/** Returns the spots of messages with samples in this group. */
export const spotsIn = (stage: Stage, place: string): Spots => {
  const placed = async (root: JsonObject, message: MessageFact, path: readonly string[], put: Json | undefined): Promise<JsonObject> => {
    const [key = "", ...rest] = path;
    const field = message.byName.get(key) ?? assert.fail(`${message.short} has no ${key}`);
    const out: JsonObject = { ...root };
    for (const rival of rivalsOf(message, field)) delete out[rival.json];
    if (rest.length === 0) {
      if (put === undefined) delete out[key];
      else out[key] = put;
      return out;
    }
    const inner = field.message ?? assert.fail(`${key} holds no message`);
    const [step = "", ...below] = field.shape === "one" ? ["", ...rest] : rest;
    const sample = async (): Promise<JsonObject> => bodyOf(inner, stage.sampling(place));
    if (field.shape === "one") out[key] = await placed(isObject(out[key] ?? null) ? (out[key] as JsonObject) : await sample(), inner, below, put);
    else {
      const entry = await placed(await sample(), inner, below, put);
      out[key] = field.shape === "list" ? [entry] : { [step]: entry };
    }
    return out;
  };
  return { placed };
};
