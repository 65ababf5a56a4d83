// Search in lower-case columns, for the `query` of lists. Pure.

/** Returns a LIKE pattern with special characters escaped. */
export const containingPattern = (query: string): string => `%${query.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;

const trigramForm = /[a-z0-9]{3}/i;

/** Returns whether a trigram index can find this text. Only ASCII counts, because other letters depend on the database's locale. */
export const hasTrigram = (query: string): boolean => trigramForm.test(query);
