// Calls operations of the contract over REST with fetch, or gRPC with @grpc/grpc-js as an independent client. Both return the
// same type, so that tests can compare them.

import { create, fromBinary, fromJson, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import type * as grpc from "@grpc/grpc-js";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { methodByName } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import type { Answer, CallOptions } from "./answer.ts";
import { callDistribution } from "./distribution.ts";
import { StatusSchema } from "../contract/gen/google/rpc/status_pb.js";

export type { Answer, CallOptions } from "./answer.ts";

export type Protocol = "rest" | "grpc";

const valueAt = (request: JsonObject, path: string, message: MessageFact): string => {
  let held: Json | undefined = request;
  let within: MessageFact | undefined = message;
  for (const name of path.split(".")) {
    const field: FieldFact | undefined = within?.byName.get(name);
    held = isObject(held) ? held[field?.json ?? name] : undefined;
    within = field?.message;
  }
  return typeof held === "string" ? held : "";
};

const without = (request: JsonObject, path: readonly string[]): JsonObject => {
  const [first, ...rest] = path;
  const { [first ?? ""]: held, ...others } = request;
  return rest.length > 0 && isObject(held) ? { ...others, [first ?? ""]: without(held, rest) } : others;
};

const queryOf = (value: JsonObject, prefix = ""): [string, string][] =>
  Object.entries(value).flatMap(([key, held]): [string, string][] => {
    const name = prefix ? `${prefix}.${key}` : key;
    if (Array.isArray(held)) return held.map((entry) => [name, isObject(entry) ? JSON.stringify(entry) : String(entry)]);
    return isObject(held) ? queryOf(held, name) : [[name, String(held)]];
  });

/** Returns the HTTP request of a message: method, path with query, body. */
export const restRequest = (method: MethodFact, request: JsonObject): { verb: string; path: string; body: string | undefined } => {
  const [http] = method.http;
  if (!http) throw new Error(`${method.name} has no path`);
  let rest = request;
  const path = http.template.replace(/\{([^}=]+)(?:=[^}]*)?\}/g, (_, name: string) => {
    const value = valueAt(request, name, method.input);
    const json = name.split(".").map((part) => method.input.byName.get(part)?.json ?? part);
    rest = without(rest, json);
    return value;
  });
  if (http.body === "*") return { verb: http.verb, path, body: JSON.stringify(rest) };
  const { [http.body]: body, ...others } = rest;
  const emptyBody = method.input.byName.get(http.body)?.shape === "list" ? [] : {};
  const query = new URLSearchParams(queryOf(http.body === "" ? rest : others)).toString();
  return { verb: http.verb, path: query ? `${path}?${query}` : path, body: http.body === "" ? undefined : JSON.stringify(body ?? emptyBody) };
};

/** Sends any HTTP request, including ones that the contract cannot express. `body` is sent unchanged. */
export const callHttp = async (
  url: string,
  verb: string,
  path: string,
  { token, headers = {}, body }: CallOptions & { readonly body?: string | undefined } = {},
): Promise<Answer> => {
  const response = await fetch(`${url}${path}`, {
    method: verb,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const raw = await response.text();
  // Files are not parsed.
  const parsed: unknown = raw === "" || !/json/.test(response.headers.get("content-type") ?? "json") ? {} : JSON.parse(raw);
  const reply = isObject(parsed as Json) ? (parsed as JsonObject) : {};
  const shared = { status: response.status, headers: Object.fromEntries(response.headers), raw };
  if (response.ok || response.status === 304) return { ...shared, code: 0, reply, message: "", details: [] };
  const details = Array.isArray(reply.details) ? reply.details.filter(isObject) : [];
  return { ...shared, code: Number(reply.code), reply: {}, message: String(reply.message), details };
};

const overRest = (url: string, method: MethodFact, request: JsonObject, { validateOnly, ...options }: CallOptions): Promise<Answer> => {
  const { verb, path, body } = restRequest(method, request);
  const target = validateOnly ? `${path}${path.includes("?") ? "&" : "?"}validateOnly=true` : path;
  return callHttp(url, verb, target, { ...options, body });
};

/** Loaded by the first call; most test files make none. */
const loadGrpc = (): Promise<typeof grpc> => import("@grpc/grpc-js");

const clients = new Map<string, grpc.Client>();

const clientOf = ({ Client, credentials }: typeof grpc, url: string): grpc.Client => {
  const address = url.replace(/^https?:\/\//, "");
  let client = clients.get(address);
  if (!client) {
    client = new Client(address, credentials.createInsecure());
    clients.set(address, client);
  }
  return client;
};

export const disconnect = (url: string): void => {
  const address = url.replace(/^https?:\/\//, "");
  clients.get(address)?.close();
  clients.delete(address);
};

const textsOf = (metadata: grpc.Metadata): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata.getMap()).map(([key, value]) => [key, String(value)]));

/** Converts a request to a message. Mask paths pass unchanged, because proto JSON accepts only camelCase. */
const messageOf = (method: MethodFact, request: JsonObject): Message => {
  const masks = method.input.fields.filter(({ kind, json }) => kind === "mask" && request[json] !== undefined);
  const rest = Object.fromEntries(Object.entries(request).filter(([key]) => !masks.some(({ json }) => json === key)));
  const message = fromJson(messageDescriptor(method.input), rest, { registry });
  for (const { json, local } of masks) {
    const paths = request[json] === "" ? [] : String(request[json]).split(",");
    Reflect.set(message, local[0], create(FieldMaskSchema, { paths }));
  }
  return message;
};

const overGrpc = async (url: string, method: MethodFact, request: JsonObject, { token, headers = {}, validateOnly }: CallOptions): Promise<Answer> => {
  const library = await loadGrpc();
  const metadata = new library.Metadata();
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  if (validateOnly) metadata.set("validate-only", "true");
  for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
  const message = messageOf(method, request);
  return new Promise((resolve) => {
    let initial: Record<string, string> = {};
    const call = clientOf(library, url).makeUnaryRequest(
      `/${method.name}`,
      (sent: typeof message) => Buffer.from(toBinary(messageDescriptor(method.input), sent)),
      (bytes: Buffer) => fromBinary(messageDescriptor(method.output), bytes),
      message,
      metadata,
      (error, reply) => {
        if (!error) {
          const json = toJson(messageDescriptor(method.output), reply ?? create(messageDescriptor(method.output)), { registry });
          resolve({
            code: 0,
            reply: isObject(json as Json) ? (json as JsonObject) : {},
            message: "",
            details: [],
            status: undefined,
            headers: initial,
            raw: "",
          });
          return;
        }
        const [packed] = error.metadata?.get("grpc-status-details-bin") ?? [];
        const status = packed instanceof Buffer ? fromBinary(StatusSchema, packed) : create(StatusSchema);
        const details = status.details.map((detail) => {
          const json = toJson(registry.getMessage("google.protobuf.Any") ?? StatusSchema.fields[2]?.message ?? StatusSchema, detail, { registry });
          return json as JsonObject;
        });
        const trailing = error.metadata ? textsOf(error.metadata) : {};
        resolve({ code: error.code, reply: {}, message: error.details, details, status: undefined, headers: { ...initial, ...trailing }, raw: "" });
      },
    );
    call.on("metadata", (received: grpc.Metadata) => {
      initial = textsOf(received);
    });
  });
};

/** Calls an operation by full name ("chainguard.platform.iam.v2.GroupsService/GetGroup") over a protocol. */
export const callOver = (protocol: Protocol, url: string, name: string, request: JsonObject, options: CallOptions = {}): Promise<Answer> => {
  const method = methodByName(name);
  if (!method) throw new Error(`no operation ${name}`);
  if (method.distribution) {
    if (protocol === "grpc" || options.validateOnly) throw new Error(`${name}: the OCI protocol is spoken over HTTP, and nothing is rehearsed in it`);
    return callDistribution(url, method, request, options);
  }
  return protocol === "rest" ? overRest(url, method, request, options) : overGrpc(url, method, request, options);
};

export { methodByName };
