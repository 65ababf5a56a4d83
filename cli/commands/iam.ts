// `gantry iam`: what stands beside the API's resources.

import type { Command } from "commander";
import type { Terminal } from "../terminal.ts";
import { pullTokensCommand } from "./iam-pull-tokens.ts";

export const iamCommands = (terminal: Terminal): Command[] => [pullTokensCommand(terminal)];
