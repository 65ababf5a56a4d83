// `gantry suspend`: close an organization to its members.

import type { Command } from "commander";
import { newSuspensionCommand } from "../suspension.ts";
import type { Terminal } from "../terminal.ts";

export const suspendCommand = (terminal: Terminal): Command =>
  newSuspensionCommand(terminal, {
    name: "suspend",
    suspended: true,
    effect: `Suspend an organization immediately, on every server. Only the operator has permissions in it, and its identities can
neither be assumed nor send requests. No data is deleted.`,
    outcome: "is suspended",
  });
