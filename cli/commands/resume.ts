// `gantry resume`: opens a suspended organization again.

import type { Command } from "commander";
import { newSuspensionCommand } from "../suspension.ts";
import type { Terminal } from "../terminal.ts";

export const resumeCommand = (terminal: Terminal): Command =>
  newSuspensionCommand(terminal, {
    name: "resume",
    suspended: false,
    effect: "Opens a suspended organization to its members again: all rights in it count as before.",
    outcome: "is open again",
  });
