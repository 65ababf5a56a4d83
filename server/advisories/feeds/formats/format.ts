// The interface of a format. Pure. Invalid values are refused with their path (field.ts).

import type { JsonObject } from "#base/json.ts";
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
  /** Called if ranges are unreadable: the document is stored, but yields no advisories. */
  readonly leaveUnmatched?: (reason: FieldError) => void;
}

export interface Origin {
  /** In its own format; "" if it has none. */
  readonly id: string;
  /** RFC 3339; "" if unknown. */
  readonly modifyTime: string;
  /** "" if none is stated. */
  readonly license: string;
}

/** @param modifyTime the field with the time */
export const originOf = (id: string, modifyTime?: Field, license = ""): Origin => ({ id, modifyTime: modifyTime?.timeText() ?? "", license });

export interface Format {
  readonly name: string;
  readonly title: string;
  readonly kinds: readonly FeedKind[];
  /** Tests for features that no other format has. */
  readonly matches: (document: JsonObject) => boolean;
  /** Set if documents are stored with their records. */
  readonly origin?: (document: Field) => Origin;
  /** Splits a page into documents with their own IDs. */
  readonly entries?: (document: JsonObject) => readonly JsonObject[];
  /** Returns no records if the document has none of this kind. */
  readonly read: (document: Field, options: ReadOptions) => FeedRecord[];
}
