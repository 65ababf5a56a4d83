// The figures by their names, and their bounds (issue: Speed and memory).

import type { SideName } from "./sides.ts";

export interface Figure {
  readonly name: string;
  readonly unit: "ratio" | "s" | "MB";
  readonly bound: { readonly words: "at least" | "at most" | "below"; readonly value: number };
  /** Of one round. */
  readonly value: (round: Readonly<Record<SideName, number>>) => number;
  readonly sides: readonly SideName[];
  /** Measured and shown in the same turn, without a bound. */
  readonly beside?: readonly SideName[];
}

/** How many times as fast `one` is as `other`. */
const faster = (name: string, one: SideName, other: SideName, least: number): Figure => ({
  name, unit: "ratio", bound: { words: "at least", value: least }, sides: [one, other], value: (round) => round[one] / round[other],
});

/** How many times as long `one` takes as `other`. */
const slower = (name: string, one: SideName, other: SideName, most: number): Figure => ({
  name, unit: "ratio", bound: { words: "at most", value: most }, sides: [one, other], value: (round) => round[other] / round[one],
});

const below = (name: string, side: SideName, unit: "s" | "MB", value: number): Figure => ({
  name, unit, bound: { words: "below", value }, sides: [side], value: (round) => round[side],
});

/** Figures whose sides are measured in turn. `running`: on the server as it runs; else it is started by the side itself. */
export interface Group {
  readonly running: boolean;
  readonly figures: readonly Figure[];
}

export const groups: readonly Group[] = [
  { running: false, figures: [below("idle-memory", "memory", "MB", 150), below("start", "start", "s", 2)] },
  { running: true, figures: [{ ...faster("rest-list-50", "list", "listPgbench", 0.6), beside: ["listTuned"] }, faster("rest-list-naive", "list", "listNaive", 1.5)] },
  { running: true, figures: [faster("rest-get", "get", "getPgbench", 0.5), faster("rest-get-http", "get", "getHttp", 0.3)] },
  { running: true, figures: [faster("grpc-get", "grpc", "grpcJs", 1)] },
  { running: true, figures: [slower("page-depth", "page1000", "page2", 1.5)] },
  { running: true, figures: [slower("neighbour-size", "beside", "alone", 1.5)] },
  { running: true, figures: [slower("count", "counted", "countPgbench", 1.3)] },
];
