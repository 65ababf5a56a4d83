// `gantry admin`: what needs the data directory or the database itself.

import type { Command } from "commander";
import { newGroup } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { migrateCommand, wrongArguments } from "./admin-migrate.ts";

export const adminCommand = (terminal: Terminal): Command => newGroup("admin", migrateCommand(terminal), wrongArguments);
