// A DNS server on loopback, which resolves every name to 127.0.0.1, fails on demand, or does not respond.

import { createSocket } from "node:dgram";
import { once } from "node:events";

export type NameServerMode = "good" | "failing" | "silent";

export interface NameServer {
  mode: NameServerMode;
  close(): Promise<void>;
}

const headerBytes = 12;
const serverFailure = 2;
const ipv4 = 1;

/** Returns the response to a query of one question, which it repeats (RFC 1035, 4.1). */
const respond = (query: Buffer, fails: boolean): Buffer => {
  const end = query.indexOf(0, headerBytes) + 5;
  const question = query.subarray(headerBytes, end);
  const hasAddress = !fails && question.readUInt16BE(question.length - 4) === ipv4;
  const header = Buffer.alloc(headerBytes);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 + (fails ? serverFailure : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(hasAddress ? 1 : 0, 6);
  // The name is a pointer to the question's; no lifetime, so that nothing is cached.
  const address = Buffer.from("c00c00010001000000000004" + "7f000001", "hex");
  return Buffer.concat([header, question, ...(hasAddress ? [address] : [])]);
};

/** Listens at port 53 of the address, which needs root. */
export const startNameServer = async (address: string): Promise<NameServer> => {
  const socket = createSocket("udp4");
  const server: NameServer = {
    mode: "good",
    async close() {
      socket.close();
      await once(socket, "close");
    },
  };
  socket.on("message", (query, { port, address: to }) => {
    if (server.mode !== "silent") socket.send(respond(query, server.mode === "failing"), port, to);
  });
  socket.bind(53, address);
  await once(socket, "listening");
  return server;
};
