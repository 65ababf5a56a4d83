// A separate port for documents for the operator only: HTTP/1.1 in clear text, GET and HEAD, no API. Its listen address controls
// access.

import type { EndpointAnswer } from "#base/endpoint.ts";
import { Fault, toFault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { newRequestId } from "#calls";
import { errorBody, errorHeaders, httpStatusOf, logFault, platformDomain } from "./render.ts";
import type { Config } from "./server-context.ts";

export interface PrivatePort {
  readonly close: () => Promise<void>;
}

/** Returns the document of a path, given the request's Authorization header. */
export type PrivateDocument = (authorization: string | undefined) => Promise<EndpointAnswer>;

/** Opens the port; rejects if it is unavailable. */
export const openPrivatePort = async (
  config: Pick<Config, "host" | "port" | "serviceDomain" | "log">,
  documents: Readonly<Record<string, PrivateDocument>>,
): Promise<PrivatePort> => {
  const find = async (verb: string, path: string, authorization: string | undefined): Promise<EndpointAnswer> => {
    const document = Object.hasOwn(documents, path) ? documents[path] : undefined;
    if (document === undefined) throw new Fault("NOT_FOUND", `path not found: ${path}`);
    if (verb !== "GET" && verb !== "HEAD")
      throw new Fault("UNIMPLEMENTED", `${verb} is not supported here`, { httpStatus: 405, headers: { allow: "GET, HEAD" } });
    return document(authorization);
  };
  // Not imported, as in listen.ts.
  const server = process.getBuiltinModule("node:http").createServer(
    {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: 1000,
    },
    (message, response) => {
      // A body is not read, and closes the connection.
      if (message.headers["content-length"] !== undefined || message.headers["transfer-encoding"] !== undefined) response.shouldKeepAlive = false;
      const requestId = newRequestId();
      const verb = message.method ?? "GET";
      const path = (message.url ?? "/").split("?")[0] ?? "/";
      const send = (status: number, headers: readonly string[], body: string): void => {
        response.writeHead(status, ["x-request-id", requestId, "x-content-type-options", "nosniff", ...headers]);
        response.end(verb === "HEAD" ? undefined : body);
      };
      find(verb, path, message.headers.authorization)
        .then(({ status, headers, body }) => send(status, Object.entries(headers).flat(), String(body)))
        .catch((thrown: unknown) => {
          const fault = toFault(thrown);
          const about = { domain: platformDomain, serviceDomain: config.serviceDomain, requestId };
          logFault(config.log, fault, about, `${verb} ${path}`);
          send(httpStatusOf(fault), ["content-type", "application/json", "cache-control", "no-store", ...errorHeaders(fault)], errorBody(fault, about));
        });
    },
  );
  server.maxConnections = limits.privateConnectionsMax;
  server.timeout = limits.idleTimeoutMs;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: config.host, port: config.port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  server.on("error", (error) => config.log("listener", { error }));
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), limits.drainMs).unref();
      }),
  };
};
