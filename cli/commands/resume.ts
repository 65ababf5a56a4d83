// `gantry resume`: reopen a suspended organization.

import type { Command } from "commander";
import { newSuspensionCommand } from "../suspension.ts";
import type { Terminal } from "../terminal.ts";

export const resumeCommand = (terminal: Terminal): Command =>
  newSuspensionCommand(terminal, {
    name: "resume",
    suspended: false,
    effect: "Resume a suspended organization: its members have all their permissions again.",
    outcome: "is resumed",
  });
