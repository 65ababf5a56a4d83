// Capabilities by their names: the symbol that roles show in v2 (CAP_REPO_LIST) and the string that the contract's
// options, tokens and the command line use (repo.list).

import type { CapabilityFact } from "./facts.ts";
import { contractFacts } from "./gen/facts.ts";

export type { CapabilityFact };

/** Every capability that can be granted, by number. UNKNOWN is none. */
export const capabilities: readonly CapabilityFact[] = contractFacts.capabilities;

const bySymbol = new Map(capabilities.map((fact) => [fact.symbol, fact]));
const byName = new Map(capabilities.map((fact) => [fact.name, fact]));

export const capabilityBySymbol = (symbol: string): CapabilityFact | undefined => bySymbol.get(symbol);
export const capabilityByName = (name: string): CapabilityFact | undefined => byName.get(name);

/** The same symbols, each once, in the order of their numbers; unknown ones are left out. */
export const sortCapabilities = (symbols: readonly string[]): string[] => {
  const wanted = new Set(symbols);
  return capabilities.filter(({ symbol }) => wanted.has(symbol)).map(({ symbol }) => symbol);
};
