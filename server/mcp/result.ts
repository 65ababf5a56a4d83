// What a tool gives back. A result goes into a conversation, so it is short: at most limits.mcpItemsMax entries and
// limits.mcpResultBytesMax bytes, and it says what it left out. What tenants have written is data in it: characters that are not
// seen, or that turn the text around them, are written out.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { MethodFact } from "#contract/facts.ts";

/** The two joiners are letters' own business in several scripts; line ends and tabs are seen. */
const unseen = /(?![\n\r\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|[\u{e0100}-\u{e01ef}]/gu;

/** The text with what cannot be seen written as escapes ("\u202e"). */
export const seenText = (text: string): string => text.replaceAll(unseen, (mark) => `\\u${(mark.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);

/** The value with all its texts and keys so. */
export const seenValue = (value: Json): Json => {
  if (typeof value === "string") return seenText(value);
  if (Array.isArray(value)) return value.map(seenValue);
  return isObject(value) ? seenObject(value) : value;
};

const seenObject = (value: JsonObject): JsonObject => Object.fromEntries(Object.entries(value).map(([key, held]) => [seenText(key), seenValue(held)]));

export const bytesOf = (value: JsonObject): number => new TextEncoder().encode(JSON.stringify(value)).length;

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

const shorten = (value: Json, bounds: Bounds, at: string, note: (sentence: string) => void): Json => {
  const { textMax, entriesMax } = bounds;
  if (typeof value === "string") {
    if (value.length <= textMax) return value;
    note(`${at} has ${value.length} characters, of which the first ${textMax} are here`);
    return `${value.slice(0, textMax).toWellFormed()}…`;
  }
  if (Array.isArray(value)) {
    if (value.length > entriesMax) note(`${at} has ${value.length} entries, of which the first ${entriesMax} are here`);
    return value.slice(0, entriesMax).map((entry, index) => shorten(entry, bounds, `${at}[${index}]`, note));
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  // Fields of a message are few; a map may hold any number.
  const shown = entries.length > limits.mcpKeysMax ? entries.slice(0, limits.mcpKeysMax) : entries;
  if (shown.length < entries.length) note(`${at === "" ? "the answer" : at} has ${entries.length} keys, of which the first ${shown.length} are here`);
  return Object.fromEntries(shown.map(([key, held]) => [key, shorten(held, bounds, at === "" ? key : `${at}.${key}`, note)]));
};

/** Only what is a single short value: of a message that is too large whatever is shortened. */
const scalarsOf = (message: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(message).filter(([, value]) => (typeof value === "string" ? value.length <= 300 : typeof value !== "object")));

/** The message within the bounds. */
export const boundMessage = (message: JsonObject): BoundedMessage => {
  const seen = seenObject(message);
  for (const bounds of boundSteps) {
    const leftOut: string[] = [];
    const shortened = shorten(seen, bounds, "", (sentence) => {
      if (leftOut.length < limits.mcpNotesMax) leftOut.push(sentence.slice(0, 300));
    });
    if (isObject(shortened) && bytesOf(shortened) <= limits.mcpResultBytesMax) return { message: shortened, leftOut };
  }
  return { message: scalarsOf(seen), leftOut: ["the answer is too large to be shown: only its single values are here; ask for less of it"] };
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
  if (!Array.isArray(entries) || entries.length < 2 || bytesOf(seenObject(message)) <= limits.mcpResultBytesMax) return undefined;
  let bytes = bytesOf(seenObject({ ...message, [field ?? ""]: [] }));
  const fitting = entries.findIndex((entry) => {
    bytes += new TextEncoder().encode(JSON.stringify(seenValue(entry))).length + 1;
    return bytes > limits.mcpResultBytesMax;
  });
  return Math.max(1, fitting);
};
