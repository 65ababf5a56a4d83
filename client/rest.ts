// REST over fetch, in Node and browsers. Responses are bounded, and redirects are not followed, because a token is meant for one
// server.

import { isObject, type Json } from "#base/json.ts";
import { type Answer, answerWith, type ApiFile, type Attempt, type Transport } from "./answer.ts";
import { ApiError, errorOfHttp } from "./error.ts";
import { restRequest } from "./rest-request.ts";

interface FetchInit extends Pick<RequestInit, "redirect" | "credentials" | "cache"> {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** The part of fetch's response that is used. */
interface FetchResponse {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Iterable<[string, string]> & { get(name: string): string | null };
  readonly body: { getReader(): BodyReader } | null;
}

interface BodyReader {
  read(): Promise<{ readonly done?: false; readonly value: Uint8Array } | { readonly done: true; readonly value?: unknown }>;
  cancel(): Promise<unknown>;
}

export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** Returns why fetch failed: Node's fetch has the reason in the cause, Node's HTTP throws it, browsers hide it. */
const connectionProblem = (thrown: unknown): string => {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const said = cause instanceof Error && cause.message !== "" ? cause.message : thrown instanceof Error ? thrown.message : String(thrown);
  return code === "" ? said : code;
};

const fetchResponse = async (fetch: Fetch, server: string, attempt: Attempt): Promise<FetchResponse> => {
  const { verb, path, body } = restRequest(attempt.method, attempt.request, attempt.validateOnly);
  try {
    return await fetch(`${server}${path}`, {
      method: verb,
      redirect: "manual",
      // The token is the only credential; those stored by the browser are not used.
      credentials: "omit",
      cache: "no-store",
      signal: attempt.signal,
      headers: {
        ...(attempt.method.givesFile ? {} : { accept: "application/json" }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...attempt.headers,
      },
      ...(body === undefined ? {} : { body }),
    });
  } catch (thrown) {
    attempt.signal.throwIfAborted();
    throw new ApiError("UNAVAILABLE", `${server} cannot be reached: ${connectionProblem(thrown)}`, { reason: "NO_CONNECTION", cause: thrown });
  }
};

const headersOf = (response: FetchResponse): Record<string, string> => Object.fromEntries(response.headers);

const readBoundedText = async (response: FetchResponse, { answerBytesMax, signal }: Attempt): Promise<string> => {
  const tooLarge = (): ApiError =>
    new ApiError("RESOURCE_EXHAUSTED", `the response is larger than the client's limit of ${answerBytesMax} bytes`, {
      reason: "ANSWER_TOO_LARGE",
      httpStatus: response.status,
    });
  if (!response.body) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let bytes = 0;
  let out = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return out + decoder.decode();
      bytes += value.length;
      if (bytes > answerBytesMax) {
        void reader.cancel().catch(() => {});
        throw tooLarge();
      }
      out += decoder.decode(value, { stream: true });
    }
  } catch (thrown) {
    if (thrown instanceof ApiError) throw thrown;
    signal.throwIfAborted();
    throw new ApiError("UNAVAILABLE", `the response was cut off: ${connectionProblem(thrown)}`, { reason: "NO_CONNECTION", cause: thrown });
  }
};

const parseAnswer = (raw: string): Json | undefined => {
  try {
    return JSON.parse(raw) as Json;
  } catch {
    return undefined;
  }
};

const readRefusal = async (response: FetchResponse, attempt: Attempt): Promise<ApiError> =>
  errorOfHttp({ status: response.status, headers: headersOf(response), body: parseAnswer(await readBoundedText(response, attempt)), nowMs: Date.now() });

const call = async (fetch: Fetch, server: string, attempt: Attempt): Promise<Answer> => {
  const { method } = attempt;
  if (method.givesFile) throw new ApiError("UNIMPLEMENTED", `${method.name} returns a file. Call file() instead`);
  const response = await fetchResponse(fetch, server, attempt);
  if (response.status === 304) return answerWith({}, headersOf(response), true);
  if (!response.ok) throw await readRefusal(response, attempt);
  const raw = await readBoundedText(response, attempt);
  const reply = raw === "" ? {} : parseAnswer(raw);
  if (!isObject(reply)) throw errorOfHttp({ status: response.status, headers: headersOf(response), body: undefined, nowMs: Date.now() });
  return answerWith(reply, headersOf(response));
};

async function* bytesOf(response: FetchResponse, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (!response.body) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (thrown) {
    signal.throwIfAborted();
    throw new ApiError("UNAVAILABLE", `the file was cut off: ${connectionProblem(thrown)}`, { reason: "NO_CONNECTION", cause: thrown });
  } finally {
    // Cancelling lets the server stop too.
    void reader.cancel().catch(() => {});
  }
}

const file = async (fetch: Fetch, server: string, attempt: Attempt): Promise<ApiFile> => {
  const response = await fetchResponse(fetch, server, attempt);
  if (!response.ok) throw await readRefusal(response, attempt);
  return { type: response.headers.get("content-type") ?? "application/octet-stream", headers: headersOf(response), bytes: bytesOf(response, attempt.signal) };
};

/** Creates the transport. `server` has no trailing slash. */
export const restTransport = (server: string, fetch: Fetch): Transport => ({
  call: (attempt) => call(fetch, server, attempt),
  file: (attempt) => file(fetch, server, attempt),
});
