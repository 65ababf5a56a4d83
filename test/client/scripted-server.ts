// An HTTP/1.1 server on a real socket with scripted failures, as a client may see between itself and Gantry.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** The reaction to one request: a response, or a cut connection. */
export type Scripted = "cut" | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export interface Received {
  readonly verb: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ScriptedServer {
  readonly url: string;
  /** All received requests, in order. */
  readonly received: Received[];
  /** Sets the reactions to the next requests, the last one for all that follow, and forgets received ones. */
  readonly play: (...script: Scripted[]) => void;
  readonly close: () => Promise<void>;
}

/** Returns an error in Gantry's format. */
export const refusal = (status: number, code: number, details: readonly object[] = [], headers: Readonly<Record<string, string>> = {}): Scripted => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify({ code, message: "refused", details }),
});

export const openScriptedServer = async (): Promise<ScriptedServer> => {
  const received: Received[] = [];
  let script: readonly Scripted[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const step = script[Math.min(received.length, script.length - 1)] ?? { status: 200, body: "{}" };
      received.push({ verb: request.method ?? "", target: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString("utf8") });
      if (step === "cut") request.socket.destroy();
      else response.writeHead(step.status, { "content-type": "application/json", ...step.headers }).end(step.body ?? "{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    play: (...next) => {
      script = next;
      received.length = 0;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
};
