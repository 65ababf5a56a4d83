// Keeps the call's concurrency slot while its file is generated and sent. This bounds the files in progress per organization, not only
// the started requests.

import { limits } from "#base/limits.ts";
import type { ReplyFile } from "./call.ts";

/** Calls `leave` once: after the last chunk, when the reader stops, or on timeout of the exchange. */
export const fileInTurn = ({ type, pieces }: ReplyFile, leave: () => void): ReplyFile => {
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    leave();
  };
  // A client that disconnects before the response starts reads no chunk and never calls `return`.
  const timer = setTimeout(end, limits.exchangeTimeoutMs + limits.hangUpMs).unref();
  // Not a generator: calling `return` before the first `next` would skip its cleanup.
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
