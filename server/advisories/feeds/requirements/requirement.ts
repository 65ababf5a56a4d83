// What every list of requirements is read to: one entry for each library, and why an entry asks for no exact version of one.

import { limits } from "#base/limits.ts";
import { DocumentError } from "../invalid.ts";

export interface Requirement {
  /** As it was given, without options and without what logs in somewhere. */
  readonly text: string;
  /** As the ecosystem compares names; "" where it names none. */
  readonly name: string;
  /** The exact version; "" where it asks for none. */
  readonly version: string;
  /** Why it cannot be asked for; "" where it can. */
  readonly problem: string;
}

export const unpinned = "names no exact version";

// Neither belongs into a text that is kept and shown; PostgreSQL takes no NUL.
const controlForm = /[\p{Cc}\p{Cs}]/u;

/** Entries as they are read: each library and version once, and no more than a request may have. Throws DocumentError. */
export class FoundRequirements {
  readonly #found = new Map<string, Requirement>();

  get list(): readonly Requirement[] {
    return [...this.#found.values()];
  }

  /** @param line where it stands, from 1 */
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

/** The text of an address without user, password and query: what logs in somewhere is not kept. */
export const withoutCredentials = (text: string): string => text.replace(/:\/\/[^\s/@]*@/g, "://").replace(/\?[^\s#]*/g, "");

/** Without the comment: "#" at the beginning or behind a blank, and all that follows. */
export const withoutComment = (text: string): string => {
  for (let at = text.indexOf("#"); at >= 0; at = text.indexOf("#", at + 1)) if (at === 0 || /\s/.test(text[at - 1] ?? "")) return text.slice(0, at).trim();
  return text.trim();
};
