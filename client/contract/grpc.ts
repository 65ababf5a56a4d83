// gRPC over HTTP/2 in Node: the same calls and responses as REST, in its JSON form. Loaded on demand.

import { create, fromBinary, fromJson, type Message, toJson } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { Code as ConnectCode, ConnectError, type Transport as ConnectTransport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { type Answer, answerWith, ApiError, type Attempt, codeOfNumber, listedField, type Transport } from "#client";
import { operationFact } from "./operation.ts";
import { messageDescriptor, methodDescriptor, registry } from "#contract/descriptors.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { bodyPathsOf, jsonOfMessage } from "#contract/read.ts";

const isSetByServer = (message: MessageFact, path: string): boolean => {
  let within: MessageFact | undefined = message;
  return path.split(".").some((name) => {
    const field: FieldFact | undefined = within?.byName.get(name);
    within = field?.message;
    return field?.outputOnly === true;
  });
};

/** Over REST, the keys of an update's body are the default mask; proto3 cannot distinguish empty from absent fields. */
const impliedMask = (method: MethodFact, request: JsonObject): string[] => {
  const body = method.input.byName.get(method.http[0]?.body ?? "");
  const held = body?.message && (request[body.json] ?? request[body.name]);
  if (!body?.message || !isObject(held)) return [];
  const { message } = body;
  return bodyPathsOf(message, held).filter((path) => !isSetByServer(message, path));
};

/** Converts a request to a message. Mask paths pass unchanged, because proto JSON accepts only camelCase. */
const messageOf = (method: MethodFact, given: JsonObject): Message => {
  // Drops undefined values, as JSON does.
  const request = JSON.parse(JSON.stringify(given)) as JsonObject;
  const masks = method.input.fields.filter(({ kind, shape }) => kind === "mask" && shape === "one");
  const rest = Object.fromEntries(Object.entries(request).filter(([key]) => !masks.some(({ json, name }) => key === json || key === name)));
  let message: Message;
  try {
    message = fromJson(messageDescriptor(method.input), rest, { registry });
  } catch (cause) {
    throw new ApiError("INVALID_ARGUMENT", `Invalid argument: ${cause instanceof Error ? cause.message : "the request cannot be read"}`, { cause });
  }
  for (const { json, name, local } of masks) {
    const mask = request[json] ?? request[name];
    const paths = typeof mask === "string" && mask !== "" ? mask.split(",") : mask === undefined || mask === null ? impliedMask(method, request) : [];
    if (paths.length > 0) Reflect.set(message, local[0], create(FieldMaskSchema, { paths }));
  }
  return message;
};

/** Returns the default that REST always includes (decisions: JSON); undefined if REST omits it too. */
const saidDefault = ({ shape, kind, presence, oneof, additive, counterpart }: FieldFact): Json | undefined => {
  if (shape !== "one" || presence || oneof !== undefined || counterpart?.absent) return undefined;
  if (kind === "bool") return additive ? undefined : false;
  if (kind === "int64") return "0";
  return kind === "int32" || kind === "double" ? 0 : undefined;
};

const withDefaults = (message: MessageFact, json: JsonObject): JsonObject => {
  const out: JsonObject = {};
  for (const field of message.fields) {
    const held = json[field.json] ?? saidDefault(field);
    const inner = field.message;
    const each = (value: Json): Json => (inner && isObject(value) ? withDefaults(inner, value) : value);
    if (Array.isArray(held)) out[field.json] = held.map(each);
    else if (field.shape === "map" && isObject(held)) out[field.json] = Object.fromEntries(Object.entries(held).map(([key, value]) => [key, each(value)]));
    else if (held !== undefined) out[field.json] = each(held);
  }
  return out;
};

/** Converts a message to REST's JSON form. REST may omit a zero that was not counted. */
const replyOf = (method: MethodFact, message: Message): JsonObject => {
  const json = withDefaults(method.output, jsonOfMessage(method.output, message));
  const listed = (method.view?.of ?? method).output.byName.has("next_page_token") ? listedField(method) : undefined;
  return listed ? { [listed.json]: [], ...json } : json;
};

const detailsOf = (error: ConnectError): JsonObject[] =>
  error.details.flatMap((detail) => {
    const schema = "type" in detail ? registry.getMessage(detail.type) : undefined;
    if (!schema || !("type" in detail)) return [];
    const json = toJson(schema, fromBinary(schema, detail.value), { registry }) as Json;
    return isObject(json) ? [{ "@type": `type.googleapis.com/${detail.type}`, ...json }] : [];
  });

const errorOf = (thrown: unknown, { signal, answerBytesMax }: Attempt, server: string): unknown => {
  const error = ConnectError.from(thrown);
  const headers = Object.fromEntries(error.metadata);
  const hasAnswer = headers["x-request-id"] !== undefined || error.details.length > 0;
  if (!hasAnswer) {
    if (signal.aborted) return signal.reason;
    if (error.code === ConnectCode.ResourceExhausted)
      return new ApiError("RESOURCE_EXHAUSTED", `the response is larger than the client's limit of ${answerBytesMax} bytes`, {
        reason: "ANSWER_TOO_LARGE",
      });
    if (error.code === ConnectCode.DeadlineExceeded)
      return new ApiError("DEADLINE_EXCEEDED", `${server} did not respond in time`, { reason: "TIME_LIMIT", cause: thrown });
    // Canceled: by the server, which cut the connection or the stream, as the caller's signal is not aborted.
    if (error.code === ConnectCode.Unavailable || error.code === ConnectCode.Canceled || error.cause instanceof Error)
      return new ApiError("UNAVAILABLE", `${server} cannot be reached: ${error.rawMessage}`, { reason: "NO_CONNECTION", cause: thrown });
  }
  return new ApiError(codeOfNumber(error.code), error.rawMessage, { details: detailsOf(error), requestId: headers["x-request-id"], headers, cause: thrown });
};

const call = async (transport: ConnectTransport, server: string, attempt: Attempt): Promise<Answer> => {
  const { signal, timeoutMs } = attempt;
  const method = await operationFact(attempt.method.name);
  const descriptor = methodDescriptor(method);
  if (descriptor.methodKind !== "unary" || method.distribution || method.scim || method.givesFile)
    throw new ApiError("UNIMPLEMENTED", `${method.name} is not served over gRPC`);
  const message = messageOf(method, attempt.request);
  const headers = { ...attempt.headers, ...(attempt.validateOnly ? { "validate-only": "true" } : {}) };
  try {
    const response = await transport.unary({ ...descriptor, methodKind: "unary" }, signal, Math.max(Math.ceil(timeoutMs), 1), headers, message);
    return answerWith(replyOf(method, response.message), Object.fromEntries([...response.header, ...response.trailer]));
  } catch (thrown) {
    if (thrown instanceof ApiError) throw thrown;
    throw errorOf(thrown, attempt, server);
  }
};

export const grpcTransport = (server: string, answerBytesMax: number): Pick<Transport, "call"> => {
  const transport = createGrpcTransport({ baseUrl: server, readMaxBytes: answerBytesMax });
  return { call: (attempt) => call(transport, server, attempt) };
};
