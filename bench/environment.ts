// The environment of measurements, and the interface of a variant. Types only, below all variants.

import type { Fixture, PreparedFixture } from "./fixture.ts";
import type { Folder, Process } from "./processes.ts";

/** Servers with their rows. Functions create them on first use. */
export interface Environment {
  readonly folder: Folder;
  /** The shared data directory; its server runs except for start figures. */
  readonly prepared: PreparedFixture;
  readonly fixture: () => Fixture;
  /** The server with a neighbour of a million rows. */
  readonly crowded: () => Promise<Fixture>;
  /** A server with an empty organization, for imports. */
  readonly blank: () => Promise<Fixture>;
  /** The server with a million advisories in one organization. */
  readonly advisories: () => Promise<Fixture>;
  /** A separate server that may deliver to local sinks. */
  readonly delivering: () => Promise<Fixture>;
  /** The server with this many audit log entries. */
  readonly audited: (entries: number) => Promise<Fixture>;
  /** Entries of a large audit log. */
  readonly manyEntries: number;
  /** Stops the baseline after the current figures. */
  readonly stopLater: (baseline: Process) => Process;
}

export type Measure = (seconds: number) => Promise<number>;

/** One side of a comparison, prepared once and then measured in turn with the others. */
export interface Variant {
  readonly label: string;
  readonly unit: "1/s" | "s" | "ms" | "MB" | "KiB" | "ratio";
  prepare(environment: Environment): Promise<Measure>;
}
