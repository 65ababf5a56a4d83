// A file of a feed as it is handed to whoever reads it, wherever it lies.

import type { UnpackedEntry } from "./parse/zip.ts";

/** One of the documents that are remembered together. */
export interface BundledDocument {
  readonly label: string;
  /** Throws DocumentError. */
  read(): Promise<UnpackedEntry>;
}

/** Documents of an archive of very many, remembered together. */
export interface Bundle {
  /** Changes with what any of them holds. */
  readonly digest: string;
  readonly documents: readonly BundledDocument[];
}

export interface FeedFile {
  /** Within its source; "" where the source is one file. */
  readonly name: string;
  /** Its name for people. */
  readonly label: string;
  /** One of many: some of a folder's files are no feed at all, such as a licence. */
  readonly isOfMany: boolean;
  /** Where it is not one document but several. */
  readonly bundle?: Bundle;
  /** Who has it says that it is the same as the last time; "source": all that the source has is. */
  readonly unchanged?: "file" | "source";
  /** What of it is in memory before it is read. */
  readonly heldBytes?: number;
  bytes(): AsyncIterable<Uint8Array>;
  /** Told when something in it was refused: it is not the same as the last time, whoever has it says so. */
  readonly refused?: () => void;
}
