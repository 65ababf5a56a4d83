// What every format is: a name, what it is recognised by, and what its documents tell. Pure: parsed values in, records
// out; what must not be kept is refused with its path (field.ts).

import type { JsonObject } from "#base/json.ts";
import type { FeedRecord } from "../record.ts";
import type { Field } from "../field.ts";

/** What `gantry import` fills. */
export const feedKinds = ["advisories", "vulnerabilities", "libraries", "images"] as const;
export type FeedKind = (typeof feedKinds)[number];

export interface ReadOptions {
  readonly kind: FeedKind;
  /** Who wrote it, where the operator names somebody (--author). */
  readonly author: string | undefined;
}

export interface Format {
  readonly name: string;
  /** What messages call a file of this format. */
  readonly title: string;
  readonly kinds: readonly FeedKind[];
  /** Whether a document is of this format, by what only this format has. */
  readonly matches: (document: JsonObject) => boolean;
  /** The records of a document; none where it tells nothing of this kind. */
  readonly read: (document: Field, options: ReadOptions) => FeedRecord[];
}
