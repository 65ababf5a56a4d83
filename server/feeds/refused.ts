// What a feed's file holds, read with its place: every reader here either gives a value that may be kept, or refuses it
// with the path in the file and a reason in plain words. Formats stand on these and on nothing else.

import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";

export type Path = readonly (string | number)[];

/** A refusal with its place in the file. */
export class Refused extends Error {
  readonly path: Path;
  constructor(path: Path, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** A text that is not of its notation at all: JSON that ends too early, YAML that is none. */
export class Broken extends Error {
  /** From 1. */
  readonly line: number;
  constructor(line: number, reason: string) {
    super(reason);
    this.line = line;
  }
}

/** "advisories[0].events[2].timestamp" */
export const shown = (path: Path): string => path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("");

// Logs, terminals and headers read these as orders (attack 28). Line ends and tabs are part of prose; PostgreSQL keeps
// no NUL.
const inProse = /[\u0000-\u0008\u000e-\u001f]/;
const inNames = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const timeForm = /^(\d{4}-\d{2}-(\d{2}))(?:[Tt ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)(Z|z|[+-]\d{2}:\d{2})?)?$/;
const firstTime = Date.parse("0001-01-01T00:00:00Z");
const lastTime = Date.parse("9999-12-31T23:59:59.999Z");

/** Milliseconds since 1970 of an RFC 3339 time or a date; without an offset it is in UTC. Undefined where it is none. */
export const timeOf = (given: string): number | undefined => {
  const [, date, day, clock, offset] = timeForm.exec(given) ?? [];
  if (date === undefined) return undefined;
  // Date.parse takes the 30th of February for a day in March.
  if (new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined;
  const value = Date.parse(`${date}T${clock ?? "00:00:00"}${(offset ?? "Z").toUpperCase()}`);
  return value >= firstTime && value <= lastTime ? value : undefined;
};

/** A value of a parsed file, and where it stands. */
export class At {
  readonly value: Json | undefined;
  private readonly step: string | number;
  private readonly around: At | undefined;

  constructor(value: Json | undefined, step: string | number = "", around: At | undefined = undefined) {
    this.value = value;
    this.step = step;
    this.around = around;
  }

  get path(): Path {
    return this.around ? [...this.around.path, this.step] : [];
  }

  refuse(reason: string): never {
    throw new Refused(this.path, reason);
  }

  /** Null is how JSON and YAML say that there is nothing. */
  get missing(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** The value of a key; missing where this is missing. */
  at(key: string): At {
    if (this.missing) return new At(undefined, key, this);
    if (!isObject(this.value)) return this.refuse("must be an object");
    return new At(Object.hasOwn(this.value, key) ? this.value[key] : undefined, key, this);
  }

  /** The entries of a list; none where it is missing. */
  list(): At[] {
    if (this.missing) return [];
    if (!Array.isArray(this.value)) return this.refuse("must be a list");
    return this.value.map((entry, index) => new At(entry, index, this));
  }

  /** The same, but something must be in it. */
  entries(): At[] {
    const entries = this.list();
    return entries.length > 0 ? entries : this.refuse("must be a list that is not empty");
  }

  /** The keys of an object whose keys say something: identifiers like any other. */
  keys(): string[] {
    if (this.missing) return [];
    return isObject(this.value) ? Object.keys(this.value).map((key) => new At(key, key, this).id()) : this.refuse("must be an object");
  }

  object(): this {
    return isObject(this.value) ? this : this.refuse("must be an object");
  }

  private string(): string {
    if (this.missing) return "";
    return typeof this.value === "string" ? this.value : this.refuse("must be a text");
  }

  /** A text of any number of lines; "" where it is missing. */
  prose(): string {
    const given = this.string();
    if (given.length > limits.feedProseLengthMax) return this.refuse(`must be at most ${limits.feedProseLengthMax} characters`);
    if (!given.isWellFormed()) return this.refuse("must not hold half of a surrogate pair");
    return inProse.test(given) ? this.refuse("must not hold control characters") : given;
  }

  /** A text of one line, such as a name or a version; "" where it is missing. */
  name(lengthMax: number = limits.feedNameLengthMax): string {
    const given = this.string();
    if (given.length > lengthMax) return this.refuse(`must be at most ${lengthMax} characters`);
    if (!given.isWellFormed()) return this.refuse("must not hold half of a surrogate pair");
    return inNames.test(given) ? this.refuse("must not hold control characters") : given;
  }

  /** The same, but it must be there. */
  required(): string {
    const given = this.name();
    return given.trim() === "" ? this.refuse("must be a text that is not empty") : given;
  }

  /** An address, not followed by anybody here. */
  url(): string {
    const given = this.name(limits.feedUrlLengthMax);
    return given.trim() === "" ? this.refuse("must be an address") : given;
  }

  /** An identifier: one word, short enough for an index. */
  id(): string {
    const given = this.required();
    if (given.length > limits.feedIdLengthMax) return this.refuse(`must be at most ${limits.feedIdLengthMax} characters`);
    return /\s/.test(given) ? this.refuse("must not hold blanks") : given;
  }

  /** Identifiers, each once, in the file's order. */
  ids(): string[] {
    return [...new Set(this.list().map((entry) => entry.id()))];
  }

  /** Milliseconds since 1970; undefined where it is missing. */
  time(): number | undefined {
    if (this.missing || this.value === "") return undefined;
    return timeOf(this.string()) ?? this.refuse("must be a time such as 2026-01-31T08:00:00Z");
  }

  requiredTime(): number {
    return this.time() ?? this.refuse("must be a time such as 2026-01-31T08:00:00Z");
  }

  /** A whole number from 0; undefined where it is missing. */
  count(): number | undefined {
    if (this.missing) return undefined;
    // 64-bit numbers are texts in JSON (decisions: JSON).
    const given = typeof this.value === "string" && /^\d{1,16}$/.test(this.value) ? Number(this.value) : this.value;
    return typeof given === "number" && Number.isSafeInteger(given) && given >= 0 ? given : this.refuse("must be a whole number from 0");
  }

  flag(): boolean {
    if (this.missing) return false;
    return typeof this.value === "boolean" ? this.value : this.refuse("must be true or false");
  }
}
