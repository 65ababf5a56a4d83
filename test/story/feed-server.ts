// A feed server for import tests: responses can change, and requests are recorded.

import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface FeedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Closes the connection after this many bytes of the body. */
  readonly cutAt?: number;
}

export interface FeedServer {
  readonly url: string;
  /** By path and query; 404 for others. */
  readonly answers: Map<string, FeedAnswer>;
  /** By path, for APIs with responses that depend on the request. */
  readonly routes: Map<string, (url: URL, headers: IncomingHttpHeaders) => FeedAnswer>;
  readonly asked: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
}

/** Starts the server; it answers 304 to a request with the current ETag. */
export const openFeedServer = async (): Promise<FeedServer> => {
  const answers = new Map<string, FeedAnswer>();
  const routes: FeedServer["routes"] = new Map();
  const asked: { path: string; headers: IncomingHttpHeaders }[] = [];
  const routeAnswer = (path: string, headers: IncomingHttpHeaders): FeedAnswer | undefined => {
    const url = new URL(path, "http://feed.test");
    return routes.get(url.pathname)?.(url, headers);
  };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push({ path, headers: request.headers });
    const { status = 200, headers = {}, body = "", cutAt } = answers.get(path) ?? routeAnswer(path, request.headers) ?? { status: 404 };
    if (cutAt !== undefined) {
      response.writeHead(status, { ...headers, "content-length": String(Buffer.byteLength(body)) });
      response.write(Buffer.from(body).subarray(0, cutAt), () => response.destroy());
      return;
    }
    const isKnown = headers.etag !== undefined && request.headers["if-none-match"] === headers.etag;
    response.writeHead(isKnown ? 304 : status, headers).end(isKnown ? undefined : body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    routes,
    asked,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
};
