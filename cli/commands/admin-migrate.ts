// `gantry admin migrate`: migrations alone, with the connection of the database's owner.

import type { Command } from "commander";
import { migrateDatabase, readDatabaseSettings } from "#application";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export const migrateCommand = ({ environment, log, out, err }: Terminal): Command =>
  newCommand({
    name: "migrate",
    description: `Brings the database to what this version of Gantry needs, and lets the server's role work in it. For servers that are
not given the owner's connection themselves: they start where this has run. Beside running servers, or without.

  GANTRY_MIGRATE_URL      the connection of the role that owns the database (DATABASE_URL)
  DATABASE_URL            the server's own connection, whose role is given what it needs
  GANTRY_AUDIT_MONTHS     months of the audit log that the database keeps, whatever a server asks for (13)`,
    notes: `Exit status: 0 the database is current, 1 it is not.

Example:  GANTRY_MIGRATE_URL=postgresql://gantry@db.example.com/gantry gantry admin migrate`,
  }).action(async () => {
    await migrateDatabase({ settings: readDatabaseSettings(environment), log, progress: (line) => err.write(`${line}\n`) });
    out.write("The database is current\n");
  });
