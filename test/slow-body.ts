// A request over HTTP/1.1 whose body comes when the test says so: what happens between its headers and its end.

import { once } from "node:events";
import { connect } from "node:net";
import type { JsonObject } from "#base/json.ts";

export interface BegunRequest {
  /** Sends the body. Returns the status of the answer. */
  end(): Promise<number>;
}

/** Sends the headers of a request, and returns when the server asks for the body, which is when it knows who asks. */
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
