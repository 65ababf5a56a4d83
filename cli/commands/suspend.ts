// `gantry suspend`: closes an organization to its members.

import type { Command } from "commander";
import { newSuspensionCommand } from "../suspension.ts";
import type { Terminal } from "../terminal.ts";

export const suspendCommand = (terminal: Terminal): Command =>
  newSuspensionCommand(terminal, {
    name: "suspend",
    suspended: true,
    effect: `Closes an organization to its members at once, on every server: no right in it counts any more but the operator's, and
its identities can neither be assumed nor ask for anything. Nothing in it is lost.`,
    outcome: "is suspended",
  });
