// `gantry admin migrate`: run migrations only, as the owner of the database.

import type { Command } from "commander";
import { migrateDatabase, readDatabaseSettings } from "#application";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export const migrateCommand = ({ environment, log, out, err }: Terminal): Command =>
  newCommand({
    name: "migrate",
    usage: "[--while-servers-run]",
    description: `Migrate the database to this version of Gantry, and grant the server's role the permissions that it needs. Servers without
the owner's connection require this before they start. Servers can be running or stopped, except for a
breaking migration: it is refused while servers or commands of the previous version are connected.

  GANTRY_MIGRATE_URL      connection of the role that owns the database (default: DATABASE_URL)
  DATABASE_URL            connection of the server; its role gets the permissions
  GANTRY_AUDIT_MONTHS     months of the audit log to keep, regardless of the servers' setting (default: 13)`,
    notes: `Exit status: 0 the database is current, 1 failed.

Example:  GANTRY_MIGRATE_URL=postgresql://gantry@db.example.com/gantry gantry admin migrate`,
  })
    .option("--while-servers-run", "Also run breaking migrations while servers are connected, which then fail")
    .action(async ({ whileServersRun = false }: { readonly whileServersRun?: boolean }) => {
      await migrateDatabase({ settings: readDatabaseSettings(environment), log, progress: (line) => err.write(`${line}\n`), whileServersRun });
      out.write("The database is current\n");
    });
