// Problems of a layer: each names why something in it was not read, so that missing packages are never taken for none.

import { limits } from "#base/limits.ts";

export type ProblemReason =
  /** The layer is damaged, truncated, or not a tar archive. */
  | "LAYER_UNREADABLE"
  /** Encrypted, or packed in a way that is not known. */
  | "LAYER_UNSUPPORTED"
  | "LAYER_MISSING"
  /** A bound on bytes, entries, packages, time or memory. */
  | "LAYER_TOO_LARGE"
  | "LAYER_TOO_SLOW"
  /** A bound on all layers together. */
  | "IMAGE_TOO_LARGE"
  | "IMAGE_TOO_SLOW"
  /** Reading it failed again and again. */
  | "IMAGE_UNREADABLE"
  /** A path with "..". */
  | "PATH_OUTSIDE"
  | "FILE_TOO_LARGE"
  /** A sparse file, or a hard link to a file that was not read. */
  | "FILE_UNSUPPORTED"
  | "DATABASE_UNREADABLE"
  /** A jar without the coordinates of its library. */
  | "JAR_UNIDENTIFIED"
  | "JAR_TOO_DEEP"
  /** A name or version that is too long, or with control characters. */
  | "PACKAGE_INVALID";

export interface Problem {
  readonly reason: ProblemReason;
  /** In a few words: "ends too early". */
  readonly detail: string;
  /** "" for the whole layer. */
  readonly path: string;
}

export interface Problems {
  readonly listed: readonly Problem[];
  /** Includes those that are not listed. */
  readonly count: number;
}

export interface ProblemList extends Problems {
  add(reason: ProblemReason, detail: string, path?: string): void;
}

/** A file is not what its place or its first bytes say. */
export class DatabaseError extends Error {}

const controlForm = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

export const hasControl = (text: string): boolean => text.search(controlForm) >= 0;

/** Replaces what a terminal or a log would obey. */
export const shownPath = (path: string): string => path.replace(controlForm, "\ufffd").slice(0, 1024);

export const openProblems = (): ProblemList => {
  const listed: Problem[] = [];
  let count = 0;
  return {
    listed,
    get count() {
      return count;
    },
    add(reason, detail, path = "") {
      count++;
      if (listed.length < limits.layerProblemsMax) listed.push({ reason, detail, path: shownPath(path) });
    },
  };
};
