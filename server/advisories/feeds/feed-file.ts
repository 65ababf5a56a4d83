// A file of a feed, independent of where it is stored.

import type { UnpackedEntry } from "./parse/zip.ts";

export interface BundledDocument {
  readonly label: string;
  /** Throws DocumentError. */
  read(): Promise<UnpackedEntry>;
}

/** Documents of a large archive that are tracked as one unit. */
export interface Bundle {
  /** Changes with the content of any document. */
  readonly digest: string;
  readonly documents: readonly BundledDocument[];
}

export interface FeedFile {
  /** Relative to its source; "" if the source is one file. */
  readonly name: string;
  readonly label: string;
  /** Some files in a directory are not feeds, such as a license. */
  readonly isOfMany: boolean;
  readonly bundle?: Bundle;
  /** Unchanged by the source's word; "source" means all its files. */
  readonly unchanged?: "file" | "source";
  /** Bytes held in memory before it is read. */
  readonly heldBytes?: number;
  bytes(): AsyncIterable<Uint8Array>;
  /** Called if a part was refused, so that the next import reads the file again. */
  readonly refused?: () => void;
}
