// A sink for events: a real server on loopback that records deliveries and returns configured responses.

import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedEvent {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Sink {
  readonly url: string;
  readonly got: ReceivedEvent[];
  /** Responds to the next deliveries; 200 by default. */
  answer: (got: ReceivedEvent) => { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };
  close(): Promise<void>;
}

export const openSink = async (): Promise<Sink> => {
  const got: ReceivedEvent[] = [];
  const sink: { answer: Sink["answer"] } = { answer: () => ({ status: 200 }) };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        const one = { headers: request.headers, body: Buffer.concat(chunks).toString() };
        got.push(one);
        const { status, headers = {}, body = "" } = sink.answer(one);
        response.writeHead(status, headers).end(body);
      });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return Object.assign(sink, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    got,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
};
