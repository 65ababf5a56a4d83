// Calls operations of the OCI Distribution protocol by the contract's facts, with sample content.

import { hash } from "node:crypto";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import type { MethodFact } from "#contract/facts.ts";
import type { Answer, CallOptions } from "./answer.ts";

export const sampleBlob = Buffer.from("a blob");
/** The smallest manifest: an empty index. */
export const sampleManifest = Buffer.from('{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}');

export const digestOf = (bytes: Uint8Array | string, algorithm: "sha256" | "sha512" = "sha256"): string => `${algorithm}:${hash(algorithm, bytes, "hex")}`;

const contentFor = (method: MethodFact): Buffer => (method.output.name.endsWith("Push") && method.input.byName.has("reference") ? sampleManifest : sampleBlob);

/** Fields sent as headers. */
const headerNames: Readonly<Record<string, string>> = {
  content_type: "content-type",
  content_range: "content-range",
  range: "range",
  if_match: "if-match",
  if_none_match: "if-none-match",
};
/** Fields with other names in the protocol. */
const parameterNames: Readonly<Record<string, string>> = { digest_algorithm: "digest-algorithm", artifact_type: "artifactType" };

const codesOfStatuses: Readonly<Record<number, number>> = {
  400: codes.INVALID_ARGUMENT,
  401: codes.UNAUTHENTICATED,
  403: codes.PERMISSION_DENIED,
  404: codes.NOT_FOUND,
  405: codes.UNIMPLEMENTED,
  408: codes.DEADLINE_EXCEEDED,
  409: codes.ABORTED,
  412: codes.ABORTED,
  413: codes.INVALID_ARGUMENT,
  416: codes.OUT_OF_RANGE,
  429: codes.RESOURCE_EXHAUSTED,
  503: codes.UNAVAILABLE,
};

const headerText = (text_: string): string =>
  Buffer.from(text_)
    .toString("latin1")
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, " ");

/** Returns the HTTP request of a message. */
export const distributionRequest = (method: MethodFact, request: JsonObject): { verb: string; path: string; headers: Record<string, string> } => {
  const { distribution, input } = method;
  if (!distribution) throw new Error(`${method.name} has no path in the protocol`);
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const { name, json } of input.fields) {
    const value = request[json];
    if (value === undefined || name === "head" || distribution.template.includes(`{${name}}`)) continue;
    const header = headerNames[name];
    if (header !== undefined) headers[header] = headerText(String(value));
    else for (const each of Array.isArray(value) ? value : [value]) query.append(parameterNames[name] ?? name, String(each));
  }
  const path = distribution.template.replace(/\{(\w+)\}/g, (_, name: string) => text(request, input.byName.get(name)?.json ?? name));
  return { verb: request.head === true ? "HEAD" : distribution.verb, path: query.size > 0 ? `${path}?${query.toString()}` : path, headers };
};

/** Sends one call. The response has the code of its HTTP status, and the protocol's codes as details. */
export const callDistribution = async (
  url: string,
  method: MethodFact,
  request: JsonObject,
  {
    token,
    headers = {},
    content = method.distribution?.takesContent ? contentFor(method) : undefined,
  }: CallOptions & { readonly content?: Uint8Array | undefined },
): Promise<Answer> => {
  const { verb, path, headers: own } = distributionRequest(method, request);
  const response = await fetch(`${url}${path}`, {
    method: verb,
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...own, ...headers },
    ...(content === undefined ? {} : { body: new Uint8Array(content) }),
  });
  const raw = await response.text();
  const shared = { status: response.status, headers: Object.fromEntries(response.headers), raw };
  const isJson = response.headers.get("content-type")?.endsWith("json") === true && raw !== "";
  const body: Json = isJson ? (JSON.parse(raw) as Json) : {};
  if (response.ok || response.status === 304) return { ...shared, code: 0, reply: isObject(body) ? body : {}, message: "", details: [] };
  const errors = isObject(body) && Array.isArray(body.errors) ? body.errors.filter(isObject) : [];
  return {
    ...shared,
    code: codesOfStatuses[response.status] ?? codes.UNKNOWN,
    reply: {},
    message: errors.map((error) => text(error, "message")).join("; "),
    details: errors,
  };
};

export const errorCodesOf = ({ details }: Answer): string[] => details.map((error) => text(error, "code"));
