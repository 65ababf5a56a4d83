// A file that is made while it is sent keeps its call's turn until then: how many of an organization are under way is bounded,
// and not only how many are begun.

import { limits } from "#base/limits.ts";
import type { ReplyFile } from "./call.ts";

/** `leave` is called once: behind the last piece, when no more are wanted, or when the exchange must be over. */
export const fileInTurn = ({ type, pieces }: ReplyFile, leave: () => void): ReplyFile => {
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    leave();
  };
  // Whoever went away before the answer was begun takes no piece, and ends none.
  const timer = setTimeout(end, limits.exchangeTimeoutMs + limits.hangUpMs).unref();
  // No generator: one that was never begun does nothing when it is ended.
  const source = pieces[Symbol.asyncIterator]();
  const iterator: AsyncIterator<string | Uint8Array> = {
    async next() {
      try {
        const next = await source.next();
        if (next.done) end();
        return next;
      } catch (thrown) {
        end();
        throw thrown;
      }
    },
    async return() {
      end();
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { type, pieces: { [Symbol.asyncIterator]: () => iterator } };
};
