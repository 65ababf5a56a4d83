// Sends one request over REST and over gRPC, and fails if the responses differ.

import assert from "node:assert/strict";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { methodByName } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import { callOver } from "../client.ts";
import { full, type World } from "../world.ts";

/** A REST response, as curl prints it. */
export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: JsonObject;
}

/** Sends one HTTP request with this path and body. */
export const http = async (
  base: string,
  verb: string,
  path: string,
  { token, body, headers = {} }: { readonly token?: string | undefined; readonly body?: string; readonly headers?: Record<string, string> } = {},
): Promise<RestAnswer> => {
  const response = await fetch(`${base}${path}`, {
    method: verb,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const parsed = (text.startsWith("{") ? JSON.parse(text) : {}) as Json;
  return { status: response.status, headers: response.headers, text, body: isObject(parsed) ? parsed : {} };
};

/** Normalizes a reply of either protocol. */
const canonicalReply = (name: string, reply: JsonObject): JsonObject => {
  const method = methodByName(full(name));
  if (!method) throw new Error(`no operation ${name}`);
  const descriptor = messageDescriptor(method.output);
  const { nextPageToken, ...rest } = toJson(descriptor, fromJson(descriptor, reply, { registry }), { registry }) as JsonObject;
  // Page tokens differ in each response, so only their presence is compared.
  return { ...rest, ...(nextPageToken === undefined ? {} : { nextPageToken: "" }) };
};

/** Removes the request ID from the details. */
const withoutRequestInfo = (details: readonly Json[]): Json[] =>
  details.filter((detail) => isObject(detail) && !String(detail["@type"]).endsWith("RequestInfo"));

/** Sends the request over REST and gRPC; returns the REST response. */
export const callBoth = async (
  world: World,
  token: string | undefined,
  rest: readonly [verb: string, path: string, body?: JsonObject],
  rpc: readonly [name: string, request: JsonObject],
): Promise<RestAnswer> => {
  const [verb, path, body] = rest;
  const [name, request] = rpc;
  const answered = await http(world.url, verb, path, { token, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const answer = await callOver("grpc", world.url, full(name), request, { token });
  if (answered.status < 300) {
    assert.equal(answer.code, 0, `${path}: gRPC refuses what REST answers: ${answer.message}`);
    assert.deepEqual(canonicalReply(name, answer.reply), canonicalReply(name, answered.body), path);
  } else {
    const { code, message, details } = answered.body;
    assert.deepEqual(
      { code: answer.code, message: answer.message, details: withoutRequestInfo(answer.details) },
      { code, message, details: withoutRequestInfo(Array.isArray(details) ? details : []) },
      path,
    );
  }
  return answered;
};

export const items = (body: JsonObject, key: string): JsonObject[] => {
  const list = body[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
};

export const column = (body: JsonObject, key: string, field: string): string[] => items(body, key).map((each) => String(each[field]));
