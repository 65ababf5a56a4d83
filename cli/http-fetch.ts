// The part of fetch that client commands use, on top of Node's HTTP. First use of fetch takes a third of a command's CPU time,
// and so does importing node:http, whose exports load fetch's implementation.

import type { IncomingMessage, RequestOptions } from "node:http";
import type { Readable } from "node:stream";
import type { Fetch } from "#contract-client";

type FetchResponse = Awaited<ReturnType<Fetch>>;

/** Node's proxy settings, which fetch follows in every supported version. */
const isProxied = (): boolean =>
  (process.env.NODE_USE_ENV_PROXY ?? "") !== "" || `${process.execArgv.join(" ")} ${process.env.NODE_OPTIONS ?? ""}`.includes("--use-env-proxy");

const gunzipped = (message: IncomingMessage): Readable => {
  if (message.headers["content-encoding"] !== "gzip") return message;
  const gunzip = process.getBuiltinModule("node:zlib").createGunzip();
  // Propagates errors in both directions.
  process.getBuiltinModule("node:stream").pipeline(message, gunzip, () => {});
  return gunzip;
};

const bodyOf = (message: IncomingMessage): FetchResponse["body"] => {
  if (message.statusCode === 204 || message.statusCode === 304) {
    message.resume();
    return null;
  }
  return {
    getReader() {
      const stream = gunzipped(message);
      const chunks: AsyncIterator<Uint8Array, undefined> = stream[Symbol.asyncIterator]();
      return { read: () => chunks.next(), cancel: async () => void stream.destroy() };
    },
  };
};

const responseOf = (message: IncomingMessage): FetchResponse => {
  const { statusCode: status = 0 } = message;
  const headers = new Map(Object.entries(message.headers).map(([name, value = ""]) => [name, typeof value === "string" ? value : value.join(", ")]));
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => headers.get(name) ?? null, [Symbol.iterator]: () => headers.entries() },
    body: bodyOf(message),
  };
};

/** Sends one request without following redirects. Rejects with Node's error if there is no response. */
export const httpFetch: Fetch = (url, init) => {
  if (isProxied()) return fetch(url, init);
  const { method, headers, body, signal } = init;
  const { request } = url.startsWith("https:") ? process.getBuiltinModule("node:https") : process.getBuiltinModule("node:http");
  const options: RequestOptions = { method, headers: { "accept-encoding": "gzip", ...headers }, signal };
  return new Promise((resolve, reject) => {
    request(url, options)
      .on("response", (message) => resolve(responseOf(message)))
      .on("error", reject)
      .end(body);
  });
};
