#!/usr/bin/env node
// The command `gantry`.

import { join } from "node:path";
import { runNode } from "./node.js";

// An import makes garbage faster than V8's young generation grows: with the smallest one, a fifth of its CPU time is collection.
const importFlags = ["--min-semi-space-size=16", "--max-semi-space-size=16"];

await runNode([join(import.meta.dirname, "..", "cli", "main.ts"), ...process.argv.slice(2)], process.argv[2] === "import" ? importFlags : []);
