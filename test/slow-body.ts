// An HTTP/1.1 request whose body is sent on demand, to test what happens after its headers.

import { once } from "node:events";
import { connect } from "node:net";
import type { JsonObject } from "#base/json.ts";

export interface BegunRequest {
  /** Sends the body and returns the response status. */
  end(): Promise<number>;
}

/** Sends the headers, and returns when the server requests the body, after it has authenticated the caller. */
export const beginRequest = async (url: string, token: string, document: JsonObject, verb = "POST"): Promise<BegunRequest> => {
  const { hostname, port, pathname } = new URL(url);
  const body = JSON.stringify(document);
  const socket = connect(Number(port), hostname);
  let answered = "";
  socket.setEncoding("utf8").on("data", (piece: string) => (answered += piece));
  const closed = once(socket, "close");
  const head = [`${verb} ${pathname} HTTP/1.1`, `Host: ${hostname}:${port}`, `Authorization: Bearer ${token}`, `Content-Length: ${Buffer.byteLength(body)}`];
  socket.write([...head, "Content-Type: application/json", "Expect: 100-continue", "Connection: close", "", ""].join("\r\n"));
  await once(socket, "data");
  const [asked = "", ...rest] = answered.split("\r\n\r\n");
  if (!asked.startsWith("HTTP/1.1 100 ") || rest.join("") !== "") throw new Error(`the body was not asked for: ${answered}`);
  return {
    async end() {
      socket.write(body);
      await closed;
      return Number(/\r\n\r\nHTTP\/1\.1 (\d{3}) /.exec(answered)?.[1]);
    },
  };
};
