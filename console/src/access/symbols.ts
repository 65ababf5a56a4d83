// Names of capabilities, which roles have as symbols.

/** "CAP_REPO_LIST": "repo.list", by the caller's capabilities, which the API names both ways. */
export const namesBySymbol = (own: ReadonlySet<string>): ReadonlyMap<string, string> => new Map([...own].map((name) => [name.replaceAll(".", "_"), name]));

export const nameOfSymbol = (symbol: string, names: ReadonlyMap<string, string>): string => {
  const plain = symbol.replace(/^CAP_/, "").toLowerCase();
  return names.get(plain) ?? names.get(plain.replace(/^(?:iam|tenant|events)_/, "").replace(/^subscription_/, "subscriptions_")) ?? plain;
};
