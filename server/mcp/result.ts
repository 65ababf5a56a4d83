// What a tool gives back. A result goes into a conversation, so it is short: at most limits.mcpItemsMax entries and
// limits.mcpResultBytesMax bytes, and it says what it left out. What tenants have written is data in it: characters that are not
// seen, or that turn the text around them, are written out.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { withUnseenAs } from "#base/unseen.ts";
import type { MessageFact, MethodFact } from "#contract/facts.ts";

/** The text with what cannot be seen written as escapes ("\u202e"). */
export const seenText = (text: string): string => withUnseenAs(text, (mark) => `\\u${(mark.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);

const encoder = new TextEncoder();

/** Bytes of the value's JSON once everything in it is seen; Infinity where there are more than `most`, which nobody counts to the end. */
export const seenBytesOf = (value: Json, most: number): number => {
  if (typeof value === "string") return value.length > most ? Number.POSITIVE_INFINITY : encoder.encode(JSON.stringify(seenText(value))).length;
  if (Array.isArray(value)) return sumWithin(value, most, (entry, left) => seenBytesOf(entry, left) + 1);
  if (!isObject(value)) return String(value).length;
  return sumWithin(Object.entries(value), most, ([key, held], left) => {
    const ofKey = seenBytesOf(key, left) + 2;
    return ofKey + seenBytesOf(held, left - ofKey);
  });
};

/** With the two brackets; separators are the entries' own. */
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
  /** What was left out, a sentence each. */
  readonly leftOut: readonly string[];
}

interface Bounds {
  readonly textMax: number;
  readonly entriesMax: number;
}

/** From gentle to rough; the first with which it fits is taken. */
const boundSteps: readonly Bounds[] = [
  { textMax: Number.POSITIVE_INFINITY, entriesMax: limits.mcpItemsMax },
  { textMax: 4_000, entriesMax: limits.mcpItemsMax },
  { textMax: 1_000, entriesMax: 15 },
  { textMax: 300, entriesMax: 8 },
  { textMax: 120, entriesMax: 3 },
];

/** One try to shorten: what it left out, and how many characters it may still use. */
interface Try extends Bounds {
  readonly note: (sentence: string) => void;
  left: number;
}

/** Where a value lies. */
interface Place {
  /** As notes say it. They are the server's own words, so that keys which somebody chose are numbers there: {0}. */
  readonly at: string;
  /** Of a map: what its values are. Undefined where the contract names no fields. */
  readonly message: MessageFact | undefined;
  readonly isMap: boolean;
}

const placeWithin = ({ at, message, isMap }: Place, key: string, index: number): Place => {
  const field = isMap ? undefined : message?.byName.get(key);
  if (field === undefined) return { at: `${at}{${index}}`, message: isMap ? message : undefined, isMap: false };
  return { at: at === "" ? key : `${at}.${key}`, message: field.message, isMap: field.shape === "map" };
};

/** The value with less in it and everything seen. Given up as soon as it is too long: an answer may be of any size. */
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
  // Fields of a message are few; a map may hold any number.
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

/** Only what is a single short value: of a message that is too large whatever is shortened. */
const scalarsOf = (message: JsonObject): JsonObject => {
  const short = Object.entries(message).filter(
    ([key, value]) => key.length <= 100 && (typeof value === "string" ? value.length <= 100 : typeof value !== "object"),
  );
  return Object.fromEntries(short.slice(0, 30).map(([key, value]) => [seenText(key), typeof value === "string" ? seenText(value) : value]));
};

/**
 * The message within the bounds, and everything in it seen.
 *
 * @param output whose fields it has; undefined: of no message of the contract
 */
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

/** JSON name of the list in an answer that comes in pages; undefined for any other. */
export const pagedFieldOf = ({ input, output }: MethodFact): string | undefined =>
  input.byName.has("page_token") ? output.fields.find(({ shape, message }) => shape === "list" && message)?.json : undefined;

/** A request for a page that is no longer than a result may be. What is no size is left for the server to refuse. */
export const withPageSize = (method: MethodFact, given: JsonObject, most: number = limits.mcpItemsMax): JsonObject => {
  if (pagedFieldOf(method) === undefined) return given;
  const { page_size: written, pageSize = written, ...rest } = given;
  const size = pageSize === undefined || pageSize === null || pageSize === 0 ? most : pageSize;
  return { ...rest, pageSize: typeof size === "number" ? Math.min(size, most) : size };
};

/** How many of the page's entries fit, one at least; undefined where all do, or where fewer would not help. */
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
