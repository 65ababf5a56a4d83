// Streams a request's content as fast as its reader, with only a few chunks in memory. Limited by progress, not by total time.

import { releaseBytes } from "#base/bytes.ts";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { CallContent } from "#contract/call.ts";
import { headerOf, type HttpRequest } from "../http-message.ts";

const silent = (): Fault => new Fault("DEADLINE_EXCEEDED", "the content stopped arriving", { httpStatus: 408 });

const cutOff = (): Fault => new Fault("CANCELLED", "the client disconnected");

const wrongLength = (announced: number, received: number): Fault =>
  new Fault("INVALID_ARGUMENT", `Content-Length is ${announced} bytes, but ${received} were received`, {
    details: [{ kind: "reason", reason: "SIZE_INVALID" }],
  });

/** Destroyed Node streams emit their buffer, and node:http2 ends a reset stream as if it were complete. */
const wasCut = ({ source }: HttpRequest): boolean => !source.readableEnded || (source.destroyed && Reflect.get(source, "aborted") === true);

async function* readChunks(request: HttpRequest, silenceMs: number, lengthBytes: number | undefined): AsyncGenerator<Uint8Array> {
  const { source } = request;
  if (source.destroyed && !source.readableEnded) throw cutOff();
  request.sendContinue?.();
  let received = 0;
  /** Chunks that arrived before they were requested; few, because the stream pauses. */
  const come: Uint8Array[] = [];
  let turnBytes = 0;
  let isOver = source.readableEnded;
  let isSilent = false;
  let wake: (() => void) | undefined;
  const onData = (chunk: Uint8Array): void => {
    come.push(chunk);
    if (wake) wake();
    else source.pause();
  };
  const onEnd = (): void => {
    isOver = true;
    wake?.();
  };
  const onSilence = (): void => {
    isSilent = true;
    wake?.();
  };
  const waitForMore = (): Promise<void> =>
    new Promise((resolve) => {
      wake = () => {
        wake = undefined;
        resolve();
      };
      isSilent = false;
      timer.refresh();
      source.resume();
    });
  // One timer for all chunks: one each would cost more than the chunk.
  const timer = setTimeout(onSilence, silenceMs);
  source.on("data", onData).on("end", onEnd).on("close", onEnd).on("error", onEnd);
  try {
    for (;;) {
      const chunk = come.shift();
      if (chunk) {
        request.progress();
        received += chunk.byteLength;
        request.call.receivedBytes += chunk.byteLength;
        turnBytes += chunk.byteLength;
        yield chunk;
        // HTTP/1.1 copies each chunk into its own buffer; HTTP/2 slices several from one (young-memory.ts handles those).
        releaseBytes(chunk);
      } else if (isOver) break;
      else if (turnBytes >= limits.contentTurnBytes) {
        // Yield to other connections: the system delivers up to 32 chunks of one connection in a row, and each is hashed.
        source.pause();
        turnBytes = 0;
        await new Promise((resolve) => setImmediate(resolve));
      } else {
        await waitForMore();
        if (isSilent) throw silent();
      }
    }
  } finally {
    clearTimeout(timer);
    source.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onEnd);
    // Leaving early must neither destroy the stream nor read on: the response uses the same connection.
    if (!isOver) source.pause();
  }
  if (wasCut(request)) throw cutOff();
  if (lengthBytes !== undefined && received !== lengthBytes) throw wrongLength(lengthBytes, received);
}

/** Returns the body as content; undefined if the headers exclude a body. */
export const contentOf = (request: HttpRequest, silenceMs: number): CallContent | undefined => {
  if (!request.hasBody) return undefined;
  const header = headerOf(request, "content-length");
  const lengthBytes = header === undefined ? undefined : Number(header);
  return { lengthBytes, bytes: readChunks(request, silenceMs, lengthBytes) };
};
