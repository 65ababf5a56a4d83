// Capabilities by symbol (CAP_REPO_LIST, in roles of version 2) and by name (repo.list, in options, tokens and the command line).

import type { CapabilityFact } from "./facts.ts";
import { contractFacts } from "./gen/facts.ts";

export type { CapabilityFact };

/** Every capability that can be granted, by number. */
export const capabilities: readonly CapabilityFact[] = contractFacts.capabilities;

const bySymbol = new Map(capabilities.map((fact) => [fact.symbol, fact]));
const byName = new Map(capabilities.map((fact) => [fact.name, fact]));

export const capabilityBySymbol = (symbol: string): CapabilityFact | undefined => bySymbol.get(symbol);
export const capabilityByName = (name: string): CapabilityFact | undefined => byName.get(name);

/** Returns the known symbols without duplicates, ordered by number. */
export const sortCapabilities = (symbols: readonly string[]): string[] => {
  const wanted = new Set(symbols);
  return capabilities.filter(({ symbol }) => wanted.has(symbol)).map(({ symbol }) => symbol);
};
