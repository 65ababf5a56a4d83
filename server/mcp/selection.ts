// Selects the tools for a client: toolsets by name, and read-only by default. Model providers limit the number of tools, and each
// lengthens every conversation (cli: 5).

import { invalid } from "#base/fault.ts";
import { methods } from "#contract/catalog.ts";
import { commandDomainOf } from "#contract/command-domain.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";

export interface Toolsets {
  readonly toolsets: ReadonlySet<string>;
  /** Show common operations and a search for the others (discovery.ts). */
  readonly isSearched: boolean;
}

export interface Selection extends Toolsets {
  /** Include tools that write. */
  readonly writes: boolean;
}

const hasField = ({ fields }: MessageFact, wanted: (field: FieldFact) => boolean, above: readonly MessageFact[] = []): boolean =>
  fields.some(
    (field) => wanted(field) || (field.message !== undefined && !above.includes(field.message) && hasField(field.message, wanted, [...above, field.message])),
  );

/** Creates and returns a secret, or stores one. */
const handlesSecret = ({ writes, input, output }: MethodFact): boolean =>
  writes && (hasField(output, ({ shownOnce }) => shownOnce) || hasField(input, ({ inputOnly, redacted, kind }) => inputOnly && redacted && kind === "string"));

/**
 * Returns whether the operation can be a tool. Excluded are bytes (images, files), which do not fit a conversation, and credentials,
 * which would stay in it. Operations that a user answers in person are excluded too, because they show text of organizations not
 * joined yet (attack 265).
 */
export const isToolOperation = (method: MethodFact): boolean =>
  !method.distribution && !method.givesFile && !method.credentials && !method.personal && method.http.length > 0 && !handlesSecret(method);

const toolsetNames = (): ReadonlySet<string> => new Set(methods.filter(isToolOperation).map(commandDomainOf).sort());

const everyToolset = "all";

/** Parses a comma-separated list of toolsets; without one, all are searchable. Throws INVALID_ARGUMENT for an unknown name. */
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
