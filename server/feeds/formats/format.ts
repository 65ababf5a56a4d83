// The interface of a format: its name, how it is recognized, and how its documents become records. Pure. Invalid values are
// refused
// with their path (field.ts).

import type { JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { FeedRecord } from "../record.ts";
import type { Field } from "../field.ts";
import type { FieldError } from "../invalid.ts";

/** The kinds of `gantry import`. */
export const feedKinds = ["advisories", "vulnerabilities", "libraries", "images", "lifecycle"] as const;
export type FeedKind = (typeof feedKinds)[number];

export interface ReadOptions {
  readonly kind: FeedKind;
  /** Overrides the author (--author). */
  readonly author: string | undefined;
  /** Called with the reason if a document's ranges are unreadable: it is stored, but yields no advisories. */
  readonly leaveUnmatched?: (reason: FieldError) => void;
}

/** A document's metadata. */
export interface Origin {
  /** Its ID in its own format; "" if it has none. */
  readonly id: string;
  /** RFC 3339; "" if the document as a whole has no time. */
  readonly modifyTime: string;
  /** The license it states; "" if none. */
  readonly license: string;
}

/** @param modifyTime the field with the time */
export const originOf = (id: string, modifyTime?: Field, license = ""): Origin => {
  const time = modifyTime?.time();
  return { id, modifyTime: time === undefined ? "" : timestamp(time), license };
};

export interface Format {
  readonly name: string;
  /** The name of a file of this format in messages. */
  readonly title: string;
  readonly kinds: readonly FeedKind[];
  /** Returns true for documents of this format, by features that no other format has. */
  readonly matches: (document: JsonObject) => boolean;
  /** Set if documents of this format are stored with their records. */
  readonly origin?: (document: Field) => Origin;
  /** Splits a page into its documents, each with its own ID. */
  readonly entries?: (document: JsonObject) => readonly JsonObject[];
  /** Returns the records of a document; none if it has no records of this kind. */
  readonly read: (document: Field, options: ReadOptions) => FeedRecord[];
}
