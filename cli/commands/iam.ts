// `gantry iam`: identities and what they may do, at any server, as the API shows them to whoever is signed in.

import type { Command } from "commander";
import { newGroup } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { capabilitiesCommand } from "./iam-capabilities.ts";
import { pullTokensCommand } from "./iam-pull-tokens.ts";

export const iamCommand = (terminal: Terminal): Command =>
  newGroup("iam", [pullTokensCommand(terminal), capabilitiesCommand(terminal)], "what of iam? gantry iam pull-tokens create, list and revoke are for tokens that pull images");
