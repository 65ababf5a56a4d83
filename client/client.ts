// A client of one server: calls with token, timeout and retries.

import type { JsonObject } from "#base/json.ts";
import { clientLimits } from "#base/client-limits.ts";
import { withoutTrailing } from "#base/trailing.ts";
import type { Answer, ApiFile, Attempt, Transport } from "./answer.ts";
import type { Caller, CallOptions } from "./caller.ts";
import { ApiError } from "./error.ts";
import { isSafeToRepeat, type OperationShape, takesIdempotencyKey } from "./operation.ts";
import { itemsOf, type PagesOptions, pagesOf } from "./pages.ts";
import { type Fetch, restTransport } from "./rest.ts";
import { pause, pauseBeforeRetry } from "./retries.ts";
import type { TokenSource } from "./tokens.ts";

export interface ClientOptions {
  /** The server's URL: "https://gantry.example.com". */
  readonly server: string;
  /** A token or a token source. Without one, requests are anonymous. */
  readonly token?: string | TokenSource | undefined;
  /** Sends requests instead of the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Headers of every request, such as `user-agent` in Node. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How long a request may take, retries included (default: a minute). */
  readonly timeoutMs?: number | undefined;
  /** The largest response that is read (default: 100 MiB). */
  readonly answerBytesMax?: number | undefined;
  /** Called before each retry. */
  readonly onRetry?: ((error: ApiError, pauseMs: number) => void) | undefined;
  /** Milliseconds of any origin, for tests. */
  readonly clock?: (() => number) | undefined;
  /** Waits before a retry, for tests. */
  readonly wait?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

export interface Client extends Caller<OperationShape> {
  readonly server: string;
  /** Calls an operation that returns a file, always over HTTP. The timeout ends when the response starts. */
  file(operation: OperationShape, request: JsonObject, options?: CallOptions): Promise<ApiFile>;
}

/** Throws INVALID_ARGUMENT if the URL is invalid. */
const checkedServer = (server: string): string => {
  const url = URL.parse(server);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:") || url.username !== "" || url.search !== "" || url.hash !== "")
    throw new ApiError("INVALID_ARGUMENT", `server must be an address such as https://gantry.example.com, not ${JSON.stringify(server)}`);
  return withoutTrailing(server, "/");
};

const headersOfCall = (own: ClientOptions, options: CallOptions, key: string | undefined): Record<string, string> => {
  const named = { "idempotency-key": key, "if-match": options.ifMatch, "if-none-match": options.ifNoneMatch };
  const given = Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...own.headers, ...options.headers, ...Object.fromEntries(given) };
};

/** 128 random bits. Not randomUUID, which requires TLS in browsers. */
const newIdempotencyKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Returns the error for a write whose response was lost, if its one-time secret cannot be shown again (decisions: Safe writes). */
const answerLost = ({ requestId, headers }: Answer, method: OperationShape): ApiError =>
  new ApiError(
    "ABORTED",
    `${method.rpc} succeeded, but its response was lost, and ${headers["gantry-left-out"]} is shown only once. Undo the change and repeat it`,
    {
      reason: "ANSWER_LOST",
      requestId,
      headers,
    },
  );

/** Creates a client; it sends nothing before the first call. `otherTransport` replaces REST. */
export const createClient = (own: ClientOptions, otherTransport?: (server: string, answerBytesMax: number) => Transport): Client => {
  const server = checkedServer(own.server);
  const clock = own.clock ?? Date.now;
  const wait = own.wait ?? pause;
  const rest = restTransport(server, own.fetch ?? ((url, init) => fetch(url, init)));
  const answerBytesMax = own.answerBytesMax ?? clientLimits.clientAnswerBytesMax;
  const transport = otherTransport?.(server, answerBytesMax) ?? rest;
  const { token: given } = own;
  const source: TokenSource | undefined = typeof given === "string" ? () => given : given;

  /** Sends with a token, and again with another one if the first is rejected, since nothing was done yet. */
  const tryWithToken = async <T>(attempt: Attempt, send: (attempt: Attempt) => Promise<T>): Promise<T> => {
    if (!source) return send(attempt);
    const { signal } = attempt;
    const withToken = (token: string): Attempt => ({ ...attempt, headers: { ...attempt.headers, authorization: `Bearer ${token}` } });
    const token = await source({ signal });
    try {
      return await send(withToken(token));
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.code !== "UNAUTHENTICATED" || attempt.method.open) throw thrown;
      const another = await source({ signal, refused: token });
      if (another === token) throw thrown;
      return send(withToken(another));
    }
  };

  /** Retries until success or a permanent error. `key` makes all attempts one write. */
  const tryUntilDone = async <T>(
    method: OperationShape,
    request: JsonObject,
    options: CallOptions,
    send: (attempt: Attempt) => Promise<T>,
    key: string | undefined,
  ): Promise<{ readonly result: T; readonly tries: number }> => {
    const timeoutMs = options.timeoutMs ?? own.timeoutMs ?? clientLimits.clientTimeoutMs;
    const endMs = clock() + timeoutMs;
    const timeLimit = new AbortController();
    const timer = setTimeout(() => timeLimit.abort(), timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, timeLimit.signal]) : timeLimit.signal;
    const validateOnly = options.validateOnly === true;
    const isRepeatable = isSafeToRepeat(method) || validateOnly || (key !== undefined && takesIdempotencyKey(method));
    const attempt = { method, request, headers: headersOfCall(own, options, key), validateOnly, signal, answerBytesMax };
    try {
      for (let tries = 1; ; tries++) {
        try {
          signal.throwIfAborted();
          return { result: await tryWithToken({ ...attempt, timeoutMs: endMs - clock() }, send), tries };
        } catch (thrown) {
          options.signal?.throwIfAborted();
          if (timeLimit.signal.aborted && !(thrown instanceof ApiError))
            throw new ApiError("DEADLINE_EXCEEDED", `${server} did not respond within ${timeoutMs} ms`, { reason: "TIME_LIMIT", cause: thrown });
          if (!(thrown instanceof ApiError) || !isRepeatable) throw thrown;
          const pauseMs = pauseBeforeRetry(thrown, tries, endMs - clock(), Math.random());
          if (pauseMs === undefined) throw thrown;
          own.onRetry?.(thrown, pauseMs);
          await wait(pauseMs, signal);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  };

  const answer = async (method: OperationShape, request: JsonObject, options: CallOptions): Promise<Answer> => {
    const keyed = takesIdempotencyKey(method) && options.validateOnly !== true;
    const key = options.idempotencyKey ?? (keyed ? newIdempotencyKey() : undefined);
    const { result, tries } = await tryUntilDone(method, request, options, transport.call, key);
    if (tries > 1 && result.headers["gantry-left-out"] !== undefined) throw answerLost(result, method);
    return result;
  };

  async function* pages(method: OperationShape, request: JsonObject, options: CallOptions & PagesOptions): AsyncGenerator<JsonObject> {
    yield* pagesOf(method, request, (asked) => answer(method, asked, options), options);
  }

  return {
    server,
    call: async (method, request, options = {}) => (await answer(method, request, options)).reply,
    answer: (method, request, options = {}) => answer(method, request, options),
    pages: (method, request, options = {}) => pages(method, request, options),
    items: (method, request, options = {}) => itemsOf(method, pages(method, request, options)),
    file: async (method, request, options = {}) => (await tryUntilDone(method, request, options, rest.file, undefined)).result,
  };
};
