// Decides whether two requests are the same for an idempotency key (decisions: Safe writes), by meaning: gRPC cannot distinguish a
// default from absence, and REST has several spellings of a value. Pure but for the hash.

import { hash } from "node:crypto";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { type FieldFact, isDefaultValue, type MessageFact } from "#contract/facts.ts";
import type { Call } from "./call.ts";

const compareKeys = ([one]: readonly [string, Json], [other]: readonly [string, Json]): number => (one < other ? -1 : 1);

/** "1.5s" and "1.500000000s" are the same. */
const canonicalDuration = (value: string): string => {
  const number = withoutTrailing(value, "s");
  return number.includes(".") ? withoutTrailing(withoutTrailing(number, "0"), ".") : number;
};

const canonicalOne = (field: FieldFact, value: Json): Json => {
  if (field.message && isObject(value)) return canonicalMessage(field.message, value);
  if (typeof value !== "string") return value;
  if (field.kind === "duration") return canonicalDuration(value);
  return field.kind === "bytes" ? withoutTrailing(value, "=") : value;
};

const isDefault = (field: FieldFact, value: Json): boolean => {
  if (field.shape !== "one") return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
  return !field.presence && field.oneof === undefined && isDefaultValue(field, value);
};

const canonicalMessage = (message: MessageFact, value: JsonObject): Json =>
  message.fields.flatMap((field) => {
    const held = value[field.json];
    if (held === undefined || held === null || isDefault(field, held)) return [];
    if (Array.isArray(held)) return [[field.number, held.map((entry) => canonicalOne(field, entry))]];
    if (field.shape !== "map" || !isObject(held)) return [[field.number, canonicalOne(field, held)]];
    const entries = Object.entries(held).sort(compareKeys);
    return [[field.number, entries.map(([key, entry]) => [key, canonicalOne(field, entry)])]];
  });

/** Returns a mask's paths in JSON names, independent of order and spelling. */
const canonicalMask = (message: MessageFact, mask: string): string[] => {
  const pathOf = (name: string): string => {
    let within: MessageFact | undefined = message;
    return name
      .trim()
      .split(".")
      .map((step) => {
        const field: FieldFact | undefined = within?.byName.get(step);
        within = field?.message;
        return field?.json ?? step;
      })
      .join(".");
  };
  return [...new Set(mask.split(",").map(pathOf))].sort();
};

const isSaid = (message: MessageFact, value: JsonObject, path: string): boolean => {
  const [first = "", ...rest] = path.split(".");
  const field = message.byName.get(first);
  const held = value[first];
  if (!field || held === undefined || held === null) return false;
  if (rest.length > 0) return field.message !== undefined && isObject(held) && isSaid(field.message, held, rest.join("."));
  return !isDefault(field, held);
};

/** Returns an update's mask; without one, the fields that REST clears by name, as gRPC cannot. */
const changesOf = ({ method, request, bodyPaths }: Call, resource: FieldFact | undefined): Json => {
  if (!resource?.message || !method.input.byName.has("update_mask")) return null;
  const { message } = resource;
  const mask = text(request, "updateMask");
  if (mask !== "") return canonicalMask(message, mask);
  const held = request[resource.json];
  const cleared = (bodyPaths ?? []).filter((path) => !isSaid(message, isObject(held) ? held : {}, path));
  return { cleared: [...new Set(cleared)].sort() };
};

/** Returns the same digest for equal requests, over any protocol. */
export const requestDigestOf = (call: Call): string => {
  const { method, request } = call;
  const body = method.http[0]?.body ?? "";
  const resource = body === "" || body === "*" ? undefined : method.input.byName.get(body);
  const { updateMask: _mask, ...said } = request;
  // Over REST, an empty body is still present.
  const whole = resource ? { ...said, [resource.json]: said[resource.json] ?? {} } : said;
  return hash("sha256", JSON.stringify([method.name, canonicalMessage(method.input, whole), changesOf(call, resource)]), "base64url");
};
