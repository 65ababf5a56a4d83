// Public entry of the module: the tables of audit, and the statements on them.

export * from "./audit-entries.ts";
export * from "./audit-seals.ts";
export * from "./audit-targets.ts";
export * from "./restores.ts";
