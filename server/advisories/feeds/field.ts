// Validating access to a document. Each reader returns a value that is safe to store, or refuses it with path and reason. Formats
// use nothing else.

import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import { FieldError, type Path } from "./invalid.ts";

// Control characters act as commands in logs, terminals and headers (attack 28). Prose may have line ends and tabs. PostgreSQL
// cannot store NUL.
const inProse = /[\u0000-\u0008\u000e-\u001f]/;
const inNames = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const feedTimeForm = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)([Zz]|[+-]\d{2}:\d{2})?)?$/;

/** Parses an RFC 3339 time or a date, in UTC by default; undefined if it is neither. */
const readFeedTime = (text: string): number | undefined => {
  const milliseconds = readTimestamp(text);
  if (milliseconds !== undefined) return milliseconds;
  const [, date, clock = "00:00:00", offset = "Z"] = feedTimeForm.exec(text) ?? [];
  return date === undefined ? undefined : readTimestamp(`${date}T${clock}${offset.toUpperCase()}`);
};

/** Times as they are formatted, except for missing milliseconds; not the last days of a month, which may be invalid. */
const usualTimeForm = /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/;

/** Formats a time; undefined if it is invalid. */
const toTimeText = (text: string): string | undefined => {
  if (usualTimeForm.test(text)) return text.length === 24 ? text : `${text.slice(0, -1)}.000Z`;
  const milliseconds = readFeedTime(text);
  return milliseconds === undefined ? undefined : timestamp(milliseconds);
};

const isNameText = (value: Json): boolean =>
  typeof value === "string" && value.length <= limits.feedNameLengthMax && value.trim() !== "" && value.isWellFormed() && !inNames.test(value);

const noteNothing = (): void => {};

export class Field {
  readonly value: Json | undefined;
  private readonly step: string | number;
  private readonly parent: Field | undefined;
  private readonly noteCut: (cut: FieldError) => void;

  /** @param noteCut receives each free text that was cut */
  constructor(value: Json | undefined, step: string | number = "", parent?: Field, noteCut: (cut: FieldError) => void = noteNothing) {
    this.value = value;
    this.step = step;
    this.parent = parent;
    this.noteCut = parent?.noteCut ?? noteCut;
  }

  get path(): Path {
    return this.parent ? [...this.parent.path, this.step] : [];
  }

  refuse(reason: string): never {
    throw new FieldError(this.path, reason);
  }

  /** Null means missing in JSON and YAML. */
  get missing(): boolean {
    return this.value === undefined || this.value === null;
  }

  at(key: string): Field {
    if (this.missing) return new Field(undefined, key, this);
    if (!isObject(this.value)) return this.refuse("must be an object");
    return new Field(Object.hasOwn(this.value, key) ? this.value[key] : undefined, key, this);
  }

  list(): Field[] {
    if (this.missing) return [];
    if (!Array.isArray(this.value)) return this.refuse("must be a list");
    return this.value.map((entry, index) => new Field(entry, index, this));
  }

  /** Requires at least one entry. */
  entries(): Field[] {
    const entries = this.list();
    return entries.length > 0 ? entries : this.refuse("must be a list that is not empty");
  }

  /** Returns the keys, validated as identifiers. */
  keys(): string[] {
    if (this.missing) return [];
    return isObject(this.value) ? Object.keys(this.value).map((key) => new Field(key, key, this).id()) : this.refuse("must be an object");
  }

  object(): this {
    return isObject(this.value) ? this : this.refuse("must be an object");
  }

  private string(): string {
    if (this.missing) return "";
    return typeof this.value === "string" ? this.value : this.refuse("must be a text");
  }

  /** Drops half a surrogate pair at the cut. */
  private cut(value: string, lengthMax: number): string {
    if (value.length <= lengthMax) return value;
    this.noteCut(new FieldError(this.path, `is longer than ${lengthMax} characters: the record is cut off there; the document has the whole text`));
    const start = value.slice(0, lengthMax);
    return /[\ud800-\udbff]$/.test(start) ? start.slice(0, -1) : start;
  }

  /** Returns text of any number of lines, cut to its limit; "" if missing. */
  prose(): string {
    const value = this.cut(this.string(), limits.feedProseLengthMax);
    if (!value.isWellFormed()) return this.refuse("must not contain half of a surrogate pair");
    return inProse.test(value) ? this.refuse("must not contain control characters") : value;
  }

  /** Returns one line, such as a name or version; "" if missing. */
  name(lengthMax: number = limits.feedNameLengthMax): string {
    const value = this.string();
    if (value.length > lengthMax) return this.refuse(`must be at most ${lengthMax} characters`);
    if (!value.isWellFormed()) return this.refuse("must not contain half of a surrogate pair");
    return inNames.test(value) ? this.refuse("must not contain control characters") : value;
  }

  /** Returns one line, cut to its limit; "" if missing. IDs, versions and URLs are never cut. */
  freeText(): string {
    const value = this.cut(this.string(), limits.feedNameLengthMax);
    if (!value.isWellFormed()) return this.refuse("must not contain half of a surrogate pair");
    return inNames.test(value) ? this.refuse("must not contain control characters") : value;
  }

  /** Must not be missing or blank. */
  required(): string {
    const value = this.name();
    return value.trim() === "" ? this.refuse("must be a text that is not empty") : value;
  }

  /** Requires a list of non-blank texts. No field for each entry: lists of versions are long. */
  requireNames(): void {
    if (this.missing) return;
    if (!Array.isArray(this.value)) return this.refuse("must be a list");
    for (const [index, entry] of this.value.entries()) if (!isNameText(entry)) new Field(entry, index, this).required();
  }

  /** Gantry never opens the URL. */
  url(): string {
    const value = this.name(limits.feedUrlLengthMax);
    return value.trim() === "" ? this.refuse("must be an address") : value;
  }

  /** One word, short enough for an index. */
  id(): string {
    const value = this.required();
    if (value.length > limits.feedIdLengthMax) return this.refuse(`must be at most ${limits.feedIdLengthMax} characters`);
    return /\s/.test(value) ? this.refuse("must not contain spaces") : value;
  }

  /** May have inner blanks (CSAF 2.0, 3.2.1.12.4). */
  spacedId(): string {
    const value = this.required();
    if (value.length > limits.feedIdLengthMax) return this.refuse(`must be at most ${limits.feedIdLengthMax} characters`);
    return value.trim() === value ? value : this.refuse("must not begin or end with blanks");
  }

  ids(): string[] {
    return [...new Set(this.list().map((entry) => entry.id()))];
  }

  /** Milliseconds since 1970; undefined if missing. */
  time(): number | undefined {
    if (this.missing || this.value === "") return undefined;
    return readFeedTime(this.string()) ?? this.refuse("must be a time such as 2026-01-31T08:00:00Z");
  }

  /** RFC 3339 in UTC; undefined if missing. */
  timeText(): string | undefined {
    if (this.missing || this.value === "") return undefined;
    return toTimeText(this.string()) ?? this.refuse("must be a time such as 2026-01-31T08:00:00Z");
  }

  requiredTime(): number {
    return this.time() ?? this.refuse("must be a time such as 2026-01-31T08:00:00Z");
  }

  /** Undefined if missing. */
  count(): number | undefined {
    if (this.missing) return undefined;
    // 64-bit numbers are texts in JSON (decisions: JSON).
    const value = typeof this.value === "string" && /^\d{1,16}$/.test(this.value) ? Number(this.value) : this.value;
    return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : this.refuse("must be a whole number from 0");
  }

  flag(): boolean {
    if (this.missing) return false;
    return typeof this.value === "boolean" ? this.value : this.refuse("must be true or false");
  }
}
