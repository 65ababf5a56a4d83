// The thread that checks readmes (judge.ts): receives texts, returns problems. Its first message signals that it has loaded.

import { parentPort } from "node:worker_threads";
import { findProblem } from "./judgement.ts";

parentPort?.on("message", (markdown: string) => parentPort?.postMessage({ problem: findProblem(markdown) }));
parentPort?.postMessage("ready");
