// For the tests of this module: a real transport on a free port, in front of a kernel that echoes requests.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Fault, invalid } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { withRequest } from "#contract/call.ts";
import type { Call, Reply, UnreadCall } from "#kernel";
import { type Config, type Dependencies, openTransport, type Transport } from "./index.ts";

export interface Echo extends Transport {
  /** Calls with a message that reached the kernel, in order. */
  readonly calls: Call[];
  readonly url: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

const answerEcho = async (call: Call): Promise<Reply> => {
  if (call.problems.length > 0) throw invalid(call.problems);
  if (call.method.output.name === "google.protobuf.Empty") return { message: {} };
  const uid = text(call.request, "uid") || text(part(call.request, "group"), "uid") || text(call.request, "parent");
  switch (uid) {
    case "boom":
      throw new Error("a secret cause");
    case "unauthenticated":
      throw new Fault("UNAUTHENTICATED", "authentication required");
    case "etag":
      return call.ifNoneMatch === '"1"' ? { message: {}, httpStatus: 304, headers: { etag: '"1"' } } : { message: { uid }, headers: { etag: '"1"' } };
    case "never":
      return new Promise(() => {});
    default:
      return { message: call.method.rpc.startsWith("List") || call.method.rpc === "Ping" ? {} : echoedGroup(call, uid) };
  }
};

const echoedGroup = (call: Call, uid: string): JsonObject => ({ ...part(call.request, "group"), uid, createTime: "2026-01-31T08:00:00.000Z" });

const dependencies: Omit<Dependencies, "serve"> = {
  issuer: {
    endpoints: new Map(),
    registryToken: async () => ({ token: "a token" }),
    revoke: async () => ({}),
    beginDevice: async () => ({ device_code: "code" }),
    authorizationServer: () => ({ issuer: "https://issuer.test" }),
    discovery: () => ({ issuer: "https://issuer.test", jwks_uri: "https://issuer.test/.well-known/jwks.json" }),
    keys: async () => ({ keys: [] }),
    exchangeToken: async (form) => {
      if (form.get("subject_token") !== "good") throw new Fault("UNAUTHENTICATED", "the subject token is not valid");
      return { access_token: "token", token_type: "Bearer", issued_token_type: "urn:ietf:params:oauth:token-type:access_token" };
    },
  },
  ready: async () => true,
};

interface Overrides extends Partial<Omit<Dependencies, "serve">> {
  /** Runs before the message is read, like the kernel's authentication. */
  readonly authenticate?: (call: UnreadCall) => void | Promise<void>;
  readonly serve?: (call: Call) => Promise<Reply>;
}

export const openEcho = async (config: Partial<Config> = {}, { authenticate, serve = answerEcho, ...overrides }: Overrides = {}): Promise<Echo> => {
  const calls: Call[] = [];
  const transport = await openTransport(
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
      ...dependencies,
      ...overrides,
      serve: async (unread) => {
        await authenticate?.(unread);
        const call = withRequest(unread, await unread.read());
        calls.push(call);
        return serve(call);
      },
    },
  );
  const url = `${config.tls ? "https" : "http"}://127.0.0.1:${transport.port}`;
  return { ...transport, calls, url, [Symbol.asyncDispose]: transport.close };
};

/** Opens a raw connection; `received` is everything until the server closes it. */
export const connectRaw = async ({ port }: Transport): Promise<{ socket: Socket; received: Promise<string> }> => {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const received = new Promise<string>((resolve) => {
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
  });
  return { socket, received };
};

export const exchangeRaw = async (transport: Transport, bytes: string | Buffer): Promise<string> => {
  const { socket, received } = await connectRaw(transport);
  socket.end(bytes);
  return received;
};
