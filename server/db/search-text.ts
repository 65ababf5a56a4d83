// How a text is looked for in columns that hold what a List's `query` searches, in lower case. Pure.

/** The pattern of LIKE for any text that contains this one; what is special in patterns is a letter like any other. */
export const containingPattern = (query: string): string => `%${query.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;

const trigramForm = /[a-z0-9]{3}/i;

/**
 * Whether an index of trigrams leads to the texts that contain this one. Of a text without any, such as "a" or "--", it would
 * be read whole. Which other letters are letters is the database's locale to say.
 */
export const hasTrigram = (query: string): boolean => trigramForm.test(query);
