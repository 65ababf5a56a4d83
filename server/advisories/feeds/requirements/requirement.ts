// The common model of requirement lists.

import { limits } from "#base/limits.ts";
import { DocumentError } from "../invalid.ts";

export interface Requirement {
  /** Without options and credentials. */
  readonly text: string;
  /** Normalized for its ecosystem; "" if missing. */
  readonly name: string;
  /** "" if there is none. */
  readonly version: string;
  /** "" if it can be requested. */
  readonly problem: string;
}

export const unpinned = "names no exact version";

// Not to be stored or shown; PostgreSQL cannot store NUL.
const controlForm = /[\p{Cc}\p{Cs}]/u;

/** Distinct entries up to the maximum of a request. Throws DocumentError. */
export class FoundRequirements {
  readonly #found = new Map<string, Requirement>();

  get list(): readonly Requirement[] {
    return [...this.#found.values()];
  }

  /** @param line from 1 */
  add(line: number, requirement: Requirement): void {
    const { text, name, version, problem } = requirement;
    for (const value of [text, name, version]) {
      if (value.length > limits.requirementLengthMax) throw new DocumentError(line, `must have at most ${limits.requirementLengthMax} characters`);
      if (controlForm.test(value)) throw new DocumentError(line, "must not contain control characters");
    }
    const key = JSON.stringify(name === "" ? [text] : [name, version, version === "" ? text : "", problem]);
    if (this.#found.has(key)) return;
    if (this.#found.size >= limits.requestItemsMax) throw new DocumentError(line, `exceeds the maximum of ${limits.requestItemsMax} requirements in one list`);
    this.#found.set(key, requirement);
  }
}

/** Removes user, password and query from URLs. */
export const withoutCredentials = (text: string): string => text.replace(/:\/\/[^\s/@]*@/g, "://").replace(/\?[^\s#]*/g, "");

/** "#" at the start or after a blank, and the rest. */
export const withoutComment = (text: string): string => {
  for (let at = text.indexOf("#"); at >= 0; at = text.indexOf("#", at + 1)) if (at === 0 || /\s/.test(text[at - 1] ?? "")) return text.slice(0, at).trim();
  return text.trim();
};
