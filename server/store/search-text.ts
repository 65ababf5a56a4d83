// Text search in lower-case columns, for the `query` of lists. Pure.

/** Returns the LIKE pattern for texts that contain this one; special characters are escaped. */
export const containingPattern = (query: string): string => `%${query.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;

const trigramForm = /[a-z0-9]{3}/i;

/**
 * Returns whether a trigram index can find texts that contain this one. Without a trigram ("a", "--") the whole index would be read. Only
 * ASCII counts, because other letters depend on the database's locale.
 */
export const hasTrigram = (query: string): boolean => trigramForm.test(query);
