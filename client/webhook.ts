// Verifies deliveries with the subscription's secret (Standard Webhooks). Uses Web Crypto, for Node, edge runtimes and browsers,
// which compares signatures in constant time.

import { clientLimits } from "#base/client-limits.ts";
import { isObject, type Json, type JsonObject, part } from "#base/json.ts";

/** A request as a handler has it: one of the Fetch API, or its headers and its body. Pass the body as it came, before any parser. */
export type WebhookRequest =
  | Request
  | {
      readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
      readonly body: string | Uint8Array;
    };

export interface WebhookOptions {
  /** The subscription's secret ("whsec_…"); several while one replaces another. */
  readonly secret: string | readonly string[];
  /** How far its time may be off (default: 5 minutes). */
  readonly toleranceMs?: number | undefined;
  /** Milliseconds since 1970 (default: the clock of this machine). */
  readonly clock?: (() => number) | undefined;
}

/** An event that a subscription received. The signature covers `id`, `sentAt`, `actor` and `body`; the rest is from other headers. */
export interface WebhookEvent {
  /** The same in every attempt: store it, and skip an event that was processed before. */
  readonly id: string;
  /** When this attempt was sent. */
  readonly sentAt: Date;
  /** The caller that caused it. */
  readonly actor: JsonObject;
  /** The message that `bodyType` names. */
  readonly body: JsonObject;
  /** "dev.chainguard.api.iam.group.created.v1" */
  readonly type: string;
  readonly source: string;
  /** Mostly the uid of the resource. */
  readonly subject: string;
  readonly group: string;
  readonly bodyType: string;
  /** When it happened, as RFC 3339. */
  readonly time: string;
}

export type WebhookProblem = "HEADER_MISSING" | "SECRET_INVALID" | "TIME_OUT_OF_RANGE" | "SIGNATURE_MISMATCH" | "BODY_INVALID";

/**
 * Why a delivery was refused. Respond with 401, and do nothing else.
 *
 * @example
 * ```ts
 * try {
 *   const event = await verifyWebhook(new Request("https://ci.example.com/hook"), { secret: "whsec_c2VjcmV0" });
 *   console.log(event.type);
 * } catch (error) {
 *   if (error instanceof WebhookError && error.problem === "TIME_OUT_OF_RANGE") console.error("a replay, or a wrong clock");
 * }
 * ```
 */
export class WebhookError extends Error {
  readonly problem: WebhookProblem;

  constructor(problem: WebhookProblem, message: string) {
    super(message);
    this.name = "WebhookError";
    this.problem = problem;
  }
}

const bytesOfBase64 = (encoded: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
};

const secretPrefix = "whsec_";

const keyOfSecret = async (secret: string) => {
  const bytes = secret.startsWith(secretPrefix) ? bytesOfBase64(secret.slice(secretPrefix.length)) : undefined;
  // Anyone can sign with an empty key.
  if (bytes === undefined || bytes.length === 0) throw new WebhookError("SECRET_INVALID", 'secret must be "whsec_" and base64, as shown for the subscription');
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
};

const isFetchRequest = (request: WebhookRequest): request is Request => "arrayBuffer" in request;

type HeaderReader = (name: string) => string;

const headerReader = (headers: Exclude<WebhookRequest, Request>["headers"]): HeaderReader => {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? "";
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = lower.get(name);
    return typeof value === "string" ? value : "";
  };
};

const bytesOfBody = async (request: WebhookRequest): Promise<Uint8Array> => {
  if (isFetchRequest(request)) return new Uint8Array(await request.arrayBuffer());
  return typeof request.body === "string" ? new TextEncoder().encode(request.body) : request.body;
};

const joinedBytes = (head: string, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const start = new TextEncoder().encode(head);
  const all = new Uint8Array(start.length + body.length);
  all.set(start);
  all.set(body, start.length);
  return all;
};

const isSigned = async (secrets: readonly string[], signatures: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> => {
  const given = signatures.split(" ").flatMap((each) => (each.startsWith("v1,") ? (bytesOfBase64(each.slice("v1,".length)) ?? []) : []));
  for (const secret of secrets) {
    const key = await keyOfSecret(secret);
    for (const signature of given) if (await crypto.subtle.verify("HMAC", key, signature, signed)) return true;
  }
  return false;
};

const parseBody = (body: Uint8Array): JsonObject => {
  let parsed: Json;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as Json;
  } catch {
    throw new WebhookError("BODY_INVALID", "the body must be JSON");
  }
  if (!isObject(parsed)) throw new WebhookError("BODY_INVALID", "the body must be a JSON object");
  return parsed;
};

/** CloudEvents percent-encodes characters other than printable ASCII. */
const attributeOf = (value: string): string => {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
};

/**
 * Verifies that a request was sent by the server for a subscription with this secret, less than five minutes ago, and returns its event.
 * Throws `WebhookError` otherwise. A request that is repeated within these minutes has the same `id`: store the IDs of processed events.
 *
 * @example
 * ```ts
 * export const handler = async (request: Request): Promise<Response> => {
 *   const event = await verifyWebhook(request, { secret: "whsec_c2VjcmV0" });
 *   console.log(event.type, event.subject);
 *   return new Response(undefined, { status: 204 });
 * };
 * ```
 */
export const verifyWebhook = async (
  request: WebhookRequest,
  { secret, toleranceMs = clientLimits.webhookToleranceMs, clock = Date.now }: WebhookOptions,
): Promise<WebhookEvent> => {
  const header = headerReader(request.headers);
  const required = (name: string): string => {
    const value = header(name);
    if (value === "") throw new WebhookError("HEADER_MISSING", `the header ${name} is required`);
    return value;
  };
  const [id, timestamp, signatures] = [required("webhook-id"), required("webhook-timestamp"), required("webhook-signature")];
  const sentMs = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1000 : Number.NaN;
  if (!(Math.abs(clock() - sentMs) <= toleranceMs))
    throw new WebhookError("TIME_OUT_OF_RANGE", `webhook-timestamp must be within ${toleranceMs} ms of this machine's clock`);
  const body = await bytesOfBody(request);
  if (!(await isSigned(typeof secret === "string" ? [secret] : secret, signatures, joinedBytes(`${id}.${timestamp}.`, body))))
    throw new WebhookError("SIGNATURE_MISMATCH", "no signature matches the secret and the body");
  const parsed = parseBody(body);
  const attribute = (name: string): string => attributeOf(header(`ce-${name}`));
  return {
    id,
    sentAt: new Date(sentMs),
    actor: part(parsed, "actor"),
    body: part(parsed, "body"),
    type: attribute("type"),
    source: attribute("source"),
    subject: attribute("subject"),
    group: attribute("group"),
    bodyType: attribute("bodytype"),
    time: attribute("time"),
  };
};
