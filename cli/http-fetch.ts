// What client commands send with: the part of fetch that the client uses, over Node's own HTTP. The first use of fetch takes a third of
// a command's processor time, and so does an import of node:http, which reads exports that load what fetch is made of.

import type { IncomingMessage, RequestOptions } from "node:http";
import type { Readable } from "node:stream";
import type { Fetch } from "#contract-client";

type FetchResponse = Awaited<ReturnType<Fetch>>;

/** Node's proxy settings, which fetch follows in each version of Node that Gantry runs on. */
const isProxied = (): boolean =>
  (process.env.NODE_USE_ENV_PROXY ?? "") !== "" || `${process.execArgv.join(" ")} ${process.env.NODE_OPTIONS ?? ""}`.includes("--use-env-proxy");

const gunzipped = (message: IncomingMessage): Readable => {
  if (message.headers["content-encoding"] !== "gzip") return message;
  const gunzip = process.getBuiltinModule("node:zlib").createGunzip();
  // Also where either ends with an error: the other's reader is told.
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

/** Sends one request and follows no redirection. Rejects with Node's own error where no response comes. */
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
