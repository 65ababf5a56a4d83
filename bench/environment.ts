// What a figure's variants are measured on, and what a variant is. Types alone, below everything that has variants.

import type { Fixture, PreparedFixture } from "./fixture.ts";
import type { Folder, Process } from "./processes.ts";

/** The servers and their rows. Those that are functions are made when they are first needed. */
export interface Environment {
  readonly folder: Folder;
  /** The data directory that everything is measured on; its server runs, except for the figures of a start. */
  readonly prepared: PreparedFixture;
  /** Its running server. */
  readonly fixture: () => Fixture;
  /** The server with a neighbour of a million rows. */
  readonly crowded: () => Promise<Fixture>;
  /** A server with an organization of nothing, to import into. */
  readonly blank: () => Promise<Fixture>;
  /** The server with a million advisories in one organization. */
  readonly advisories: () => Promise<Fixture>;
  /** A server of its own that may send events to sinks on this machine. */
  readonly delivering: () => Promise<Fixture>;
  /** The server with an audit log of so many entries. */
  readonly audited: (entries: number) => Promise<Fixture>;
  /** How many entries a large audit log has. */
  readonly manyEntries: number;
  /** Stops the baseline when the figures that are being measured are done. */
  readonly stopLater: (baseline: Process) => Process;
}

/** One run of so many seconds, to one number. */
export type Measure = (seconds: number) => Promise<number>;

/** One side of a comparison. It is prepared once and then measured in turn with the others. */
export interface Variant {
  readonly label: string;
  readonly unit: "1/s" | "s" | "ms" | "MB" | "KiB" | "ratio";
  prepare(environment: Environment): Promise<Measure>;
}
