// The public entry: a PostgreSQL of our own in a data directory.

export { databaseUrlOf } from "./address.ts";
export { type EmbeddedOptions, type EmbeddedPostgres, startEmbedded } from "./embedded.ts";
export { prepareInstalledPrograms } from "./installation.ts";
export type { Tuning } from "./tuning.ts";
