#!/usr/bin/env node
// The credential helper `docker-credential-gantry`.

import { join } from "node:path";
import { runNode } from "./node.js";

await runNode([join(import.meta.dirname, "..", "cli", "credential-helper.ts"), ...process.argv.slice(2)]);
