// Results of tools. They go into a conversation, so they have at most limits.mcpItemsMax entries and limits.mcpResultBytesMax bytes,
// and list omissions. Tenants' text is data: invisible and direction-changing characters are escaped.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { withUnseenAs } from "#base/unseen.ts";
import type { MessageFact, MethodFact } from "#contract/facts.ts";

/** Escapes invisible characters ("\u202e"). */
export const seenText = (text: string): string => withUnseenAs(text, (mark) => `\\u${(mark.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);

const encoder = new TextEncoder();

/** Returns the size of the value's escaped JSON in bytes; Infinity beyond `most`, without counting on. */
export const seenBytesOf = (value: Json, most: number): number => {
  if (typeof value === "string") return value.length > most ? Number.POSITIVE_INFINITY : encoder.encode(JSON.stringify(seenText(value))).length;
  if (Array.isArray(value)) return sumWithin(value, most, (entry, left) => seenBytesOf(entry, left) + 1);
  if (!isObject(value)) return String(value).length;
  return sumWithin(Object.entries(value), most, ([key, held], left) => {
    const ofKey = seenBytesOf(key, left) + 2;
    return ofKey + seenBytesOf(held, left - ofKey);
  });
};

/** Includes the brackets; entries include separators. */
const sumWithin = <T>(entries: readonly T[], most: number, sizeOf: (entry: T, left: number) => number): number => {
  let bytes = entries.length === 0 ? 2 : 1;
  for (const entry of entries) {
    bytes += sizeOf(entry, most - bytes);
    if (bytes > most) return Number.POSITIVE_INFINITY;
  }
  return bytes;
};

export interface BoundedMessage {
  readonly message: JsonObject;
  readonly leftOut: readonly string[];
}

interface Bounds {
  readonly textMax: number;
  readonly entriesMax: number;
}

/** From loose to strict; the first that fits is used. */
const boundSteps: readonly Bounds[] = [
  { textMax: Number.POSITIVE_INFINITY, entriesMax: limits.mcpItemsMax },
  { textMax: 4_000, entriesMax: limits.mcpItemsMax },
  { textMax: 1_000, entriesMax: 15 },
  { textMax: 300, entriesMax: 8 },
  { textMax: 120, entriesMax: 3 },
];

interface Try extends Bounds {
  readonly note: (sentence: string) => void;
  left: number;
}

interface Place {
  /** Uses only the server's own words: user-chosen keys appear as numbers, {0}. */
  readonly at: string;
  /** For a map: type of its values. */
  readonly message: MessageFact | undefined;
  readonly isMap: boolean;
}

const placeWithin = ({ at, message, isMap }: Place, key: string, index: number): Place => {
  const field = isMap ? undefined : message?.byName.get(key);
  if (field === undefined) return { at: `${at}{${index}}`, message: isMap ? message : undefined, isMap: false };
  return { at: at === "" ? key : `${at}.${key}`, message: field.message, isMap: field.shape === "map" };
};

/** Stops once the value is too long, because a response may have any size. */
const shorten = (value: Json, attempt: Try, place: Place): Json => {
  const { at } = place;
  if (attempt.left < 0) return null;
  if (typeof value === "string") {
    const isCut = value.length > attempt.textMax;
    if (isCut) attempt.note(`${at} has ${value.length} characters, of which the first ${attempt.textMax} are here`);
    const cut = isCut ? `${value.slice(0, attempt.textMax).toWellFormed()}…` : value;
    attempt.left -= cut.length;
    return attempt.left < 0 ? null : seenText(cut);
  }
  if (Array.isArray(value)) {
    if (value.length > attempt.entriesMax) attempt.note(`${at} has ${value.length} entries, of which the first ${attempt.entriesMax} are here`);
    return value.slice(0, attempt.entriesMax).map((entry, index) => shorten(entry, attempt, { ...place, at: `${at}[${index}]` }));
  }
  attempt.left -= 1;
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  // Messages have few fields; maps may have any number of keys.
  const shown = entries.slice(0, limits.mcpKeysMax);
  if (shown.length < entries.length) attempt.note(`${at === "" ? "the response" : at} has ${entries.length} keys; the first ${shown.length} are shown`);
  return Object.fromEntries(
    shown.map(([key, held], index) => {
      const seen = seenText(key.slice(0, limits.mcpResultBytesMax));
      attempt.left -= seen.length;
      return [seen, shorten(held, attempt, placeWithin(place, key, index))];
    }),
  );
};

/** For a message that is too large even when shortened. */
const scalarsOf = (message: JsonObject): JsonObject => {
  const short = Object.entries(message).filter(
    ([key, value]) => key.length <= 100 && (typeof value === "string" ? value.length <= 100 : typeof value !== "object"),
  );
  return Object.fromEntries(short.slice(0, 30).map(([key, value]) => [seenText(key), typeof value === "string" ? seenText(value) : value]));
};

/** Shortens a message to the limits and escapes everything in it. @param output type of the message; undefined if not in the contract */
export const boundMessage = (message: JsonObject, output?: MessageFact): BoundedMessage => {
  for (const bounds of boundSteps) {
    const leftOut: string[] = [];
    const note = (sentence: string): void => {
      if (leftOut.length < limits.mcpNotesMax) leftOut.push(sentence.slice(0, 300));
    };
    const attempt: Try = { ...bounds, note, left: limits.mcpResultBytesMax };
    const shortened = shorten(message, attempt, { at: "", message: output, isMap: false });
    if (attempt.left >= 0 && isObject(shortened) && seenBytesOf(shortened, limits.mcpResultBytesMax) <= limits.mcpResultBytesMax)
      return { message: shortened, leftOut };
  }
  return { message: scalarsOf(message), leftOut: ["the response is too large: only its scalar values are shown. Request less"] };
};

/** Returns the JSON name of the list in a paged response; undefined for any other. */
export const pagedFieldOf = ({ input, output }: MethodFact): string | undefined =>
  input.byName.has("page_token") ? output.fields.find(({ shape, message }) => shape === "list" && message)?.json : undefined;

/** Limits the page size of a request to that of a result. The server refuses invalid sizes. */
export const withPageSize = (method: MethodFact, given: JsonObject, most: number = limits.mcpItemsMax): JsonObject => {
  if (pagedFieldOf(method) === undefined) return given;
  const { page_size: written, pageSize = written, ...rest } = given;
  const size = pageSize === undefined || pageSize === null || pageSize === 0 ? most : pageSize;
  return { ...rest, pageSize: typeof size === "number" ? Math.min(size, most) : size };
};

/** Returns how many entries of the page fit, at least one; undefined if all do, or if fewer would not help. */
export const fittingEntries = (method: MethodFact, message: JsonObject): number | undefined => {
  const field = pagedFieldOf(method);
  const entries = field === undefined ? undefined : message[field];
  const most = limits.mcpResultBytesMax;
  if (!Array.isArray(entries) || entries.length < 2 || seenBytesOf(message, most) <= most) return undefined;
  let bytes = seenBytesOf({ ...message, [field ?? ""]: [] }, most);
  const fitting = entries.findIndex((entry) => {
    bytes += seenBytesOf(entry, most) + 1;
    return bytes > most;
  });
  return Math.max(1, fitting);
};
