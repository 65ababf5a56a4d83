// Which tools a client is shown: sets of them by name, and only what reads unless it asks for more. Model providers bound how many
// tools there may be, and each makes every conversation longer (cli: 5).

import { invalid } from "#base/fault.ts";
import { methods } from "#contract/catalog.ts";
import { commandDomainOf } from "#contract/command-domain.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";

export interface Toolsets {
  readonly toolsets: ReadonlySet<string>;
  /** Shown are the usual operations and a search for the others (discovery.ts). */
  readonly isSearched: boolean;
}

export interface Selection extends Toolsets {
  /** Tools that change something, too. */
  readonly writes: boolean;
}

const hasField = ({ fields }: MessageFact, wanted: (field: FieldFact) => boolean, above: readonly MessageFact[] = []): boolean =>
  fields.some(
    (field) => wanted(field) || (field.message !== undefined && !above.includes(field.message) && hasField(field.message, wanted, [...above, field.message])),
  );

/** It makes a secret and shows it, or is given one to keep. */
const handlesSecret = ({ writes, input, output }: MethodFact): boolean =>
  writes && (hasField(output, ({ shownOnce }) => shownOnce) || hasField(input, ({ inputOnly, redacted, kind }) => inputOnly && redacted && kind === "string"));

/**
 * True for what can be a tool. Images and files come as bytes, which no conversation can hold; what takes or gives a credential
 * would leave it in one. What a user answers in person shows text of organizations that the user has not joined (attack 265).
 */
export const isToolOperation = (method: MethodFact): boolean =>
  !method.distribution && !method.givesFile && !method.credentials && !method.personal && method.http.length > 0 && !handlesSecret(method);

/** The names of all sets, in their order. */
const toolsetNames = (): ReadonlySet<string> => new Set(methods.filter(isToolOperation).map(commandDomainOf).sort());

/** Stands for every set. */
const everyToolset = "all";

/**
 * The sets that a text names, separated by commas; without one a search in all of them.
 * Throws INVALID_ARGUMENT for a name of none.
 */
export const readToolsets = (text: string | undefined): Toolsets => {
  const names = (text ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const known = toolsetNames();
  if (names.length === 0) return { toolsets: known, isSearched: true };
  if (names.includes(everyToolset)) return { toolsets: known, isSearched: false };
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) {
    const description = `unknown toolset ${JSON.stringify(unknown.slice(0, 64))}; must be one of ${[...known].join(", ")}, ${everyToolset}`;
    throw invalid([{ field: "toolsets", description }]);
  }
  return { toolsets: new Set(names), isSearched: false };
};
