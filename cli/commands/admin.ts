// `gantry admin`: commands that need the data directory or the database.

import type { Command } from "commander";
import { newGroup } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { backupCommand, restoreCommand } from "./admin-backup.ts";
import { endOfLifeCommand } from "./admin-end-of-life.ts";
import { migrateCommand } from "./admin-migrate.ts";
import { namesCommand } from "./admin-names.ts";
import { quotaCommand } from "./admin-quota.ts";
import { registryCommand } from "./admin-registry.ts";

const wrongArguments = "subcommand required: migrate, backup, restore, quota, end-of-life, registry or names. Run gantry help admin for details";

export const adminCommand = (terminal: Terminal): Command =>
  newGroup(
    "admin",
    [
      migrateCommand(terminal),
      backupCommand(terminal),
      restoreCommand(terminal),
      quotaCommand(terminal),
      endOfLifeCommand(terminal),
      registryCommand(terminal),
      namesCommand(terminal),
    ],
    wrongArguments,
  );
