// What every format is: a name, what it is recognised by, and what its documents tell. Pure: parsed values in, records
// out; what must not be kept is refused with its path (field.ts).

import type { JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { FeedRecord } from "../record.ts";
import type { Field } from "../field.ts";
import type { FieldError } from "../invalid.ts";

/** What `gantry import` fills. */
export const feedKinds = ["advisories", "vulnerabilities", "libraries", "images", "lifecycle"] as const;
export type FeedKind = (typeof feedKinds)[number];

export interface ReadOptions {
  readonly kind: FeedKind;
  /** Who wrote it, where the operator names somebody (--author). */
  readonly author: string | undefined;
  /** Told why a document's ranges cannot be read: it is kept as it came in, and tells no advisories. */
  readonly leaveUnmatched?: (reason: FieldError) => void;
}

/** What a document says of itself. */
export interface Origin {
  /** Its number in its own form; "" where it has none. */
  readonly id: string;
  /** RFC 3339; "" where the document as a whole does not tell. */
  readonly modifyTime: string;
  /** Its own licence; "" where it names none. */
  readonly license: string;
}

/** @param modifyTime Field of the time */
export const originOf = (id: string, modifyTime?: Field, license = ""): Origin => {
  const time = modifyTime?.time();
  return { id, modifyTime: time === undefined ? "" : timestamp(time), license };
};

export interface Format {
  readonly name: string;
  /** What messages call a file of this format. */
  readonly title: string;
  readonly kinds: readonly FeedKind[];
  /** Whether a document is of this format, by what only this format has. */
  readonly matches: (document: JsonObject) => boolean;
  /** What a document of advisories or vulnerability records calls itself: it is kept beside the records that it tells. */
  readonly origin?: (document: Field) => Origin;
  /** The documents that a document holds, each with its own number, where it may be a page of several. */
  readonly entries?: (document: JsonObject) => readonly JsonObject[];
  /** The records of a document; none where it tells nothing of this kind. */
  readonly read: (document: Field, options: ReadOptions) => FeedRecord[];
}
