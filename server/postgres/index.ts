// Entry point: the embedded PostgreSQL.

export { databaseUrlOf } from "./address.ts";
export { type EmbeddedOptions, type EmbeddedPostgres, startEmbedded } from "./embedded.ts";
export { prepareInstalledPrograms } from "./installation.ts";
export type { Tuning } from "./tuning.ts";
