// For the tests of this room: doors on a free port in front of a kernel that says what it was asked. It is a real
// Serve, so everything before and behind it is the real thing.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Fault, invalid } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { part, text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import type { Call, Reply } from "#kernel";
import { type Config, type Transport, type Dependencies, openTransport } from "./index.ts";

export interface Echo extends Transport {
  /** Every call that reached the kernel, in order. */
  readonly calls: Call[];
  readonly url: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** What the echo kernel answers; names of groups choose its moods. */
const echo = async (call: Call): Promise<Reply> => {
  if (call.problems.length > 0) throw invalid(call.problems);
  if (call.method.output.name === "google.protobuf.Empty") return { message: {} };
  const uid = text(call.request, "uid") || text(part(call.request, "group"), "uid") || text(call.request, "parent");
  switch (uid) {
    case "boom":
      throw new Error("a secret cause");
    case "unauthenticated":
      throw new Fault("UNAUTHENTICATED", "no token");
    case "etag":
      return call.ifNoneMatch === '"1"' ? { message: {}, httpStatus: 304, headers: { etag: '"1"' } } : { message: { uid }, headers: { etag: '"1"' } };
    case "never":
      return new Promise(() => {});
    default:
      return { message: call.method.rpc.startsWith("List") || call.method.rpc === "Ping" ? {} : group(call, uid) };
  }
};

const group = (call: Call, uid: string): JsonObject => ({ ...part(call.request, "group"), uid, createTime: "2026-01-31T08:00:00.000Z" });

const services: Dependencies = {
  serve: echo,
  issuer: {
    endpoints: new Map(),
    beginDevice: async () => ({ device_code: "code" }),
    discovery: () => ({ issuer: "https://issuer.test", jwks_uri: "https://issuer.test/.well-known/jwks.json" }),
    keys: async () => ({ keys: [] }),
    exchangeToken: async (form) => {
      if (form.get("subject_token") !== "good") throw new Fault("UNAUTHENTICATED", "the subject token is not valid");
      return { access_token: "token", token_type: "Bearer", issued_token_type: "urn:ietf:params:oauth:token-type:access_token" };
    },
  },
  ready: async () => true,
};

export const openEcho = async (config: Partial<Config> = {}, rooms: Partial<Dependencies> = {}): Promise<Echo> => {
  const calls: Call[] = [];
  const serve = rooms.serve ?? services.serve;
  const doors = await openTransport(
    {
      host: "127.0.0.1",
      port: 0,
      serviceDomain: "example.test",
      publicUrl: "http://127.0.0.1",
      corsOrigins: [],
      log: silent,
      version: "0.0.0-test",
      ...config,
    },
    {
      ...services,
      ...rooms,
      serve: (call) => {
        calls.push(call);
        return serve(call);
      },
    },
  );
  const url = `${config.tls ? "https" : "http"}://127.0.0.1:${doors.port}`;
  return { ...doors, calls, url, [Symbol.asyncDispose]: doors.close };
};

/** A bare connection: what it is sent, and all that comes back until the server ends it. */
export const dial = async (doors: Transport): Promise<{ socket: Socket; heard: Promise<string> }> => {
  const socket = connect(doors.port, "127.0.0.1");
  await once(socket, "connect");
  const heard = new Promise<string>((resolve) => {
    let out = "";
    socket.on("data", (chunk) => (out += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => resolve(out));
  });
  return { socket, heard };
};

/** One raw exchange on a connection of its own. */
export const say = async (doors: Transport, bytes: string | Buffer): Promise<string> => {
  const { socket, heard } = await dial(doors);
  socket.end(bytes);
  return heard;
};
