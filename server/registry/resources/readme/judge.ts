// Checks whether a readme is safe to show in browsers, since Markdown permits raw HTML. Not a sanitizer: it rejects, and never changes
// the text (attack 35). No Markdown parser guarantees a time, so it runs in a worker thread, one text at a time, with a timeout. Only
// that thread loads the parsers.

import { Worker } from "node:worker_threads";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { tooComplex } from "./bounds.ts";

interface Judged {
  readonly problem: string | undefined;
}

/** Returns the problem of a text, for a violation; undefined if safe. Throws RESOURCE_EXHAUSTED if too many are waiting. */
export type Judge = (markdown: string) => Promise<string | undefined>;

/** Returns a check that runs `script` in a thread, with a time limit per text. */
export const makeJudge = (script: URL, longestMs: number): Judge => {
  let worker: Promise<Worker> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const start = (): Promise<Worker> =>
    new Promise((resolve, reject) => {
      const started = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: limits.readmeMemoryMb } });
      started.once("message", () => resolve(started)).once("error", reject);
    });

  /** Returns the thread's result; without one in time, or if the thread runs out of memory, the text is rejected. */
  const ask: Judge = async (markdown) => {
    worker ??= start();
    const asked = await worker.catch((cause: unknown) => {
      worker = undefined;
      throw cause;
    });
    // Only a busy thread keeps the process alive.
    asked.ref();
    return new Promise((resolve) => {
      const end = (problem: string | undefined): void => {
        clearTimeout(timer);
        asked.removeAllListeners("message").removeAllListeners("error");
        asked.unref();
        resolve(problem);
      };
      const giveUp = (): void => {
        worker = undefined;
        end(tooComplex);
        asked.on("error", () => undefined);
        void asked.terminate();
      };
      const timer = setTimeout(giveUp, longestMs);
      asked.once("message", ({ problem }: Judged) => end(problem));
      asked.once("error", giveUp);
      asked.postMessage(markdown);
    });
  };

  return async (markdown) => {
    if (waiting >= limits.readmesWaitingMax) throw new Fault("RESOURCE_EXHAUSTED", "too many readmes are being checked. Try again in a minute");
    waiting++;
    const judged = last.then(() => ask(markdown));
    last = judged.catch(() => undefined);
    try {
      return await judged;
    } finally {
      waiting--;
    }
  };
};

export const judgeReadme: Judge = makeJudge(new URL("./worker.ts", import.meta.url), limits.readmeJudgeMs);
