#!/usr/bin/env node
// The command `gantry`.

import { join } from "node:path";
import { runNode } from "./node.js";

await runNode([join(import.meta.dirname, "..", "cli", "main.ts"), ...process.argv.slice(2)]);
