// Capabilities by their names: the symbol that roles show in v2 (CAP_REPO_LIST) and the string that the contract's
// options, tokens and the command line use (repo.list).

import { CapabilitySchema } from "./gen/chainguard/capabilities/capabilities_pb.js";
import { capability, CapabilityFactSchema } from "./gen/gantry/annotations/v1/annotations_pb.js";
import { messageOption } from "./options.ts";

export interface CapabilityFact {
  readonly symbol: string;
  readonly name: string;
  readonly number: number;
  /** Only a role that carries "internal" too may carry it. */
  readonly internalOnly: boolean;
}

/** Every capability that can be granted, by number. UNKNOWN is none. */
export const capabilities: readonly CapabilityFact[] = CapabilitySchema.values
  .flatMap((value): CapabilityFact[] => {
    const option = messageOption(value, capability, CapabilityFactSchema);
    return option ? [{ symbol: value.name, name: option.name, number: value.number, internalOnly: option.internalOnly }] : [];
  })
  .sort((one, other) => one.number - other.number);

const bySymbol = new Map(capabilities.map((fact) => [fact.symbol, fact]));
const byName = new Map(capabilities.map((fact) => [fact.name, fact]));

export const capabilityBySymbol = (symbol: string): CapabilityFact | undefined => bySymbol.get(symbol);
export const capabilityByName = (name: string): CapabilityFact | undefined => byName.get(name);

/** The same symbols, each once, in the order of their numbers; unknown ones are left out. */
export const sortCapabilities = (symbols: readonly string[]): string[] => {
  const wanted = new Set(symbols);
  return capabilities.filter(({ symbol }) => wanted.has(symbol)).map(({ symbol }) => symbol);
};
