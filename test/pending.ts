// What the project's rules still find in the transport and the pipeline. This file and what reads it go away with that.

/** Files that still say withdrawn words. */
export const pendingWords = (path: string): boolean =>
  path.startsWith("server/transport/") || ["call", "serve", "validate", "import", "mask.test"].some((name) => path === `server/kernel/${name}.ts`);

export const pendingNames: ReadonlySet<string> = new Set(["plain", "readBody"]);

export const pendingCircle = (sentence: string): boolean => sentence.startsWith("server/transport/");
