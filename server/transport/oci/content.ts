// Content of a request as it comes, as fast as whoever reads it does: never more of it than one chunk is held here. It ends
// by lack of progress, not by the time that it takes.

import { Fault } from "#base/fault.ts";
import type { CallContent } from "#contract/call.ts";
import { headerOf, type HttpRequest } from "../http-message.ts";

const silent = (): Fault => new Fault("DEADLINE_EXCEEDED", "no more of the content came for too long", { httpStatus: 408 });

const cutOff = (): Fault => new Fault("CANCELLED", "the sender went away");

const wrongLength = (announced: number, received: number): Fault =>
  new Fault("INVALID_ARGUMENT", `Content-Length says ${announced} bytes, and ${received} came`, { details: [{ kind: "reason", reason: "SIZE_INVALID" }] });

/** Node's streams give what they hold when they are destroyed, and node:http2 ends one that was reset as if it were complete. */
const wasCut = ({ source }: HttpRequest): boolean => source.destroyed && (Reflect.get(source, "aborted") === true || !source.readableEnded);

async function* readChunks(request: HttpRequest, silenceMs: number, lengthBytes: number | undefined): AsyncGenerator<Uint8Array> {
  const { source } = request;
  if (source.destroyed && !source.readableEnded) throw cutOff();
  request.sendContinue?.();
  let received = 0;
  // Leaving it early must not destroy it: the answer goes over the same connection.
  const chunks = source.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  // One timer for all chunks: one for each would cost more than the chunk.
  let giveUp = (_fault: Fault): void => {};
  const timer = setTimeout(() => giveUp(silent()), silenceMs);
  const next = (): Promise<IteratorResult<unknown>> =>
    new Promise((resolve, reject) => {
      giveUp = reject;
      timer.refresh();
      chunks.next().then(resolve, () => reject(cutOff()));
    });
  try {
    for (;;) {
      const { done, value } = await next();
      if (done) break;
      if (!(value instanceof Uint8Array)) continue;
      request.progress();
      received += value.length;
      yield value;
    }
  } finally {
    clearTimeout(timer);
  }
  if (wasCut(request)) throw cutOff();
  if (lengthBytes !== undefined && received !== lengthBytes) throw wrongLength(lengthBytes, received);
}

/** The request's body as content; undefined where its headers say that there is none. */
export const contentOf = (request: HttpRequest, silenceMs: number): CallContent | undefined => {
  if (!request.hasBody) return undefined;
  const header = headerOf(request, "content-length");
  const lengthBytes = header === undefined ? undefined : Number(header);
  return { lengthBytes, bytes: readChunks(request, silenceMs, lengthBytes) };
};
