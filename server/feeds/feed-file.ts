// A file of a feed as its readers see it, independent of where it is stored.

import type { UnpackedEntry } from "./parse/zip.ts";

/** One document of a bundle. */
export interface BundledDocument {
  readonly label: string;
  /** Throws DocumentError. */
  read(): Promise<UnpackedEntry>;
}

/** A batch of documents of a large archive that is tracked as one unit. */
export interface Bundle {
  /** Changes with the content of any document. */
  readonly digest: string;
  readonly documents: readonly BundledDocument[];
}

export interface FeedFile {
  /** Relative to its source; "" if the source is one file. */
  readonly name: string;
  /** Display name. */
  readonly label: string;
  /** One of several files. Some files in a directory are not feeds, such as a license. */
  readonly isOfMany: boolean;
  /** Set if the file is a batch of documents. */
  readonly bundle?: Bundle;
  /** The source reports that the file is unchanged since the last import; "source" means all files of the source. */
  readonly unchanged?: "file" | "source";
  /** Bytes held in memory before it is read. */
  readonly heldBytes?: number;
  bytes(): AsyncIterable<Uint8Array>;
  /** Called if a part was refused, so that the next import does not skip the file as unchanged. */
  readonly refused?: () => void;
}
