// What a feed's document holds, read with its path: every reader here either gives a value that may be kept, or refuses it
// with the path and a reason in plain words. Formats are written with these readers and with nothing else.

import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp } from "#base/time.ts";
import { FieldError, type Path } from "./invalid.ts";

// Logs, terminals and headers read these as orders (attack 28). Line ends and tabs are part of prose; PostgreSQL keeps
// no NUL.
const inProse = /[\u0000-\u0008\u000e-\u001f]/;
const inNames = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const feedTimeForm = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)([Zz]|[+-]\d{2}:\d{2})?)?$/;

/** Milliseconds since 1970 of an RFC 3339 time or a date; without an offset it is in UTC. Undefined for what is neither. */
const readFeedTime = (text: string): number | undefined => {
  const milliseconds = readTimestamp(text);
  if (milliseconds !== undefined) return milliseconds;
  const [, date, clock = "00:00:00", offset = "Z"] = feedTimeForm.exec(text) ?? [];
  return date === undefined ? undefined : readTimestamp(`${date}T${clock}${offset.toUpperCase()}`);
};

/** Whether Field.required() takes it. */
const isNameText = (value: Json): boolean =>
  typeof value === "string" && value.length <= limits.feedNameLengthMax && value.trim() !== "" && value.isWellFormed() && !inNames.test(value);

const noteNothing = (): void => {};

/** A value of a parsed document, and the path that leads to it. */
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

  /** Null is how JSON and YAML say that there is no value. */
  get missing(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** The value of a key; missing where this is missing. */
  at(key: string): Field {
    if (this.missing) return new Field(undefined, key, this);
    if (!isObject(this.value)) return this.refuse("must be an object");
    return new Field(Object.hasOwn(this.value, key) ? this.value[key] : undefined, key, this);
  }

  /** The entries of a list; none where it is missing. */
  list(): Field[] {
    if (this.missing) return [];
    if (!Array.isArray(this.value)) return this.refuse("must be a list");
    return this.value.map((entry, index) => new Field(entry, index, this));
  }

  /** The same, but something must be in it. */
  entries(): Field[] {
    const entries = this.list();
    return entries.length > 0 ? entries : this.refuse("must be a list that is not empty");
  }

  /** The keys of an object whose keys say something: identifiers like any other. */
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

  /** Returns the first `lengthMax` characters of a text, and notes that it was longer. Half of a surrogate pair at the cut goes. */
  private cut(value: string, lengthMax: number): string {
    if (value.length <= lengthMax) return value;
    this.noteCut(new FieldError(this.path, `is longer than ${lengthMax} characters: the record is cut off there; the document has the whole text`));
    const start = value.slice(0, lengthMax);
    return /[\ud800-\udbff]$/.test(start) ? start.slice(0, -1) : start;
  }

  /** Returns a free text of any number of lines, cut to its limit; "" if it is missing. */
  prose(): string {
    const value = this.cut(this.string(), limits.feedProseLengthMax);
    if (!value.isWellFormed()) return this.refuse("must not contain half of a surrogate pair");
    return inProse.test(value) ? this.refuse("must not contain control characters") : value;
  }

  /** A text of one line, such as a name or a version; "" where it is missing. */
  name(lengthMax: number = limits.feedNameLengthMax): string {
    const value = this.string();
    if (value.length > lengthMax) return this.refuse(`must be at most ${lengthMax} characters`);
    if (!value.isWellFormed()) return this.refuse("must not contain half of a surrogate pair");
    return inNames.test(value) ? this.refuse("must not contain control characters") : value;
  }

  /** Returns a free text of one line, such as a path, cut to its limit; "" if it is missing. IDs, versions and addresses are never cut. */
  freeText(): string {
    const value = this.cut(this.string(), limits.feedNameLengthMax);
    if (!value.isWellFormed()) return this.refuse("must not contain half of a surrogate pair");
    return inNames.test(value) ? this.refuse("must not contain control characters") : value;
  }

  /** The same, but it must be there. */
  required(): string {
    const value = this.name();
    return value.trim() === "" ? this.refuse("must be a text that is not empty") : value;
  }

  /** Refuses a list if one of its entries is not a text that is not empty. Long lists of versions are checked without a field for each. */
  requireNames(): void {
    if (this.missing) return;
    if (!Array.isArray(this.value)) return this.refuse("must be a list");
    for (const [index, entry] of this.value.entries()) if (!isNameText(entry)) new Field(entry, index, this).required();
  }

  /** An address, not followed by anybody here. */
  url(): string {
    const value = this.name(limits.feedUrlLengthMax);
    return value.trim() === "" ? this.refuse("must be an address") : value;
  }

  /** An identifier: one word, short enough for an index. */
  id(): string {
    const value = this.required();
    if (value.length > limits.feedIdLengthMax) return this.refuse(`must be at most ${limits.feedIdLengthMax} characters`);
    return /\s/.test(value) ? this.refuse("must not contain spaces") : value;
  }

  /** A number that its origin chose as a text, with blanks inside but none around it (CSAF 2.0, 3.2.1.12.4). */
  spacedId(): string {
    const value = this.required();
    if (value.length > limits.feedIdLengthMax) return this.refuse(`must be at most ${limits.feedIdLengthMax} characters`);
    return value.trim() === value ? value : this.refuse("must not begin or end with blanks");
  }

  /** Identifiers, each once, in the file's order. */
  ids(): string[] {
    return [...new Set(this.list().map((entry) => entry.id()))];
  }

  /** Milliseconds since 1970; undefined where it is missing. */
  time(): number | undefined {
    if (this.missing || this.value === "") return undefined;
    return readFeedTime(this.string()) ?? this.refuse("must be a time such as 2026-01-31T08:00:00Z");
  }

  requiredTime(): number {
    return this.time() ?? this.refuse("must be a time such as 2026-01-31T08:00:00Z");
  }

  /** A whole number from 0; undefined where it is missing. */
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
