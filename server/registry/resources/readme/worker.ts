// The thread that judges readmes, one after another (judge.ts): a text comes in, its problem goes out. The first message
// out says that it has loaded.

import { parentPort } from "node:worker_threads";
import { findProblem } from "./judgement.ts";

parentPort?.on("message", (markdown: string) => parentPort?.postMessage({ problem: findProblem(markdown) }));
parentPort?.postMessage("ready");
