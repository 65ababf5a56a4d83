// The bench's report: medians, spreads, bounds, and the machine.

import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, totalmem, type as osType, release } from "node:os";
import { join } from "node:path";
import type { Figure } from "./figures.ts";
import { median } from "./median.ts";

export interface Result {
  readonly figure: Figure;
  readonly value: number;
  /** Minimum and maximum of the rounds. */
  readonly spread: readonly [number, number];
  readonly passed: boolean;
}

export const resultOf = (figure: Figure, values: readonly number[]): Result => {
  const value = median(values);
  const { words, value: limit } = figure.bound;
  // A median that misses the bound is not rounded into it.
  const passed = words === "at least" ? value >= limit : words === "at most" ? value <= limit : value < limit;
  return { figure, value, spread: [Math.min(...values), Math.max(...values)], passed };
};

const shortNumber = (value: number): string => (value >= 1000 ? Math.round(value).toLocaleString("en-US") : value >= 100 ? value.toFixed(0) : value.toFixed(2));

const boundText = ({ bound }: Figure): string => `${bound.words} ${bound.value}`;

/** decisions: Command line. One line per figure. */
export const jsonLine = ({ figure, value }: Result): string =>
  JSON.stringify({ name: figure.name, value: Number(value.toPrecision(4)), unit: figure.unit, bound: boundText(figure) });

const unitOf = ({ unit }: Figure): string => (unit === "ratio" ? "" : ` ${unit}`);

const spreadText = ([least, most]: readonly [number, number]): string => `(${shortNumber(least)} … ${shortNumber(most)})`;

export const variantLine = (label: string, unit: string, values: readonly number[]): string =>
  `    ${label.padEnd(52)} ${`${shortNumber(median(values))} ${unit}`.padStart(12)}   ${spreadText([Math.min(...values), Math.max(...values)])}`;

/** Returns a report line: mark, name, value, bound, and range of the rounds. */
export const valueLine = (mark: string, name: string, value: string, bound: string, spread: readonly [number, number]): string =>
  `  ${mark}  ${name.padEnd(28)} ${value.padStart(10)}   ${bound.padEnd(14)} ${spreadText(spread)}`;

export const resultLine = ({ figure, value, spread, passed }: Result): string =>
  valueLine(passed ? "PASS" : "FAIL", figure.name, `${shortNumber(value)}${unitOf(figure)}`, boundText(figure), spread);

export const commitOf = (checkout: string): string => {
  try {
    const git = (...args: string[]): string => execFileSync("git", args, { encoding: "utf8", cwd: checkout, stdio: ["ignore", "pipe", "ignore"] }).trim();
    return `${git("rev-parse", "--short", "HEAD")}${git("status", "--porcelain", "--", ".") === "" ? "" : " with changes"}`;
  } catch {
    return "unknown";
  }
};

export const machine = (tools: readonly string[], database: string): string[] => {
  const [cpu] = cpus();
  return [
    `machine    ${cpu?.model.trim() ?? "unknown"}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${osType()} ${release()}`,
    `versions   Gantry ${commitOf(join(import.meta.dirname, ".."))}, Node ${process.version}, ${database}`,
    `tools      ${tools.join(", ")}`,
  ];
};

/** Other load worsens every figure and makes ratios uncertain. */
export const busyLine = (): string | undefined => {
  const [load = 0] = loadavg();
  return load > availableParallelism() / 4
    ? `NOTE       the machine was busy when this began (load ${load.toFixed(1)}): compare ratios only, and run again`
    : undefined;
};
