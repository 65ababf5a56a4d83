// Is a readme fit to be shown? Markdown lets raw HTML through, and a readme is shown in browsers. Not a sanitizer: it
// refuses, and never changes what was written (attack 35). No parser of Markdown promises a time for every text, so that
// it works in a thread of its own, one text at a time, and is ended when it takes too long. The parsers are loaded there alone.

import { Worker } from "node:worker_threads";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { tooComplex } from "./bounds.ts";

interface Judged {
  readonly problem: string | undefined;
}

/** Says what is wrong with a text, for a violation; undefined: nothing. Throws RESOURCE_EXHAUSTED where too many are waiting. */
export type Judge = (markdown: string) => Promise<string | undefined>;

/** A judge whose thread runs this script and may take so long for one text. */
export const makeJudge = (script: URL, longestMs: number): Judge => {
  let worker: Promise<Worker> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const start = (): Promise<Worker> =>
    new Promise((resolve, reject) => {
      const started = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: limits.readmeMemoryMb } });
      started.once("message", () => resolve(started)).once("error", reject);
    });

  /** The thread's answer; where it has none within the time, or ends by what it needs, the text is at fault. */
  const ask: Judge = async (markdown) => {
    worker ??= start();
    const asked = await worker.catch((cause: unknown) => {
      worker = undefined;
      throw cause;
    });
    // A thread at work keeps the process alive, and an idle one does not.
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
