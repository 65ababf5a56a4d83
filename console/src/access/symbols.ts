// Names of capabilities, which roles have as symbols.

import { capabilityChoices } from "../../../client/gen/choices.ts";

const names: ReadonlyMap<string, string> = new Map(capabilityChoices.map(({ symbol, name }) => [symbol, name]));

/** "CAP_REPO_LIST": "repo.list" */
export const nameOfSymbol = (symbol: string): string => names.get(symbol) ?? symbol;
