// Reads a request's body: size limit, content types, and JSON. Invalid JSON becomes a problem instead of an error, so that the kernel
// can authorize the caller first.

import { isUtf8 } from "node:buffer";
import { Fault, type Violation } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { findRepeatedKey } from "#base/json-keys.ts";
import { limits } from "#base/limits.ts";
import { type Budget, jsonExcess } from "./budget.ts";
import { headerOf, type HttpRequest } from "./http-message.ts";
import type { ServerContext } from "./server-context.ts";

const unsupportedMediaType = (message: string, headers: Readonly<Record<string, string>>): Fault =>
  new Fault("INVALID_ARGUMENT", message, { httpStatus: 415, headers });

/** Returns the content type without parameters. Throws 415 unless the headers describe unencoded UTF-8. */
const textTypeOf = (request: HttpRequest): string | undefined => {
  const encoding = headerOf(request, "content-encoding");
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    throw unsupportedMediaType(`content-encoding ${JSON.stringify(encoding)} is not supported. Send the body as it is`, { "accept-encoding": "identity" });
  }
  const type = headerOf(request, "content-type");
  if (type === undefined) return undefined;
  const [essence = "", ...options] = type
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = options
    .find((option) => option.startsWith("charset="))
    ?.slice("charset=".length)
    .replaceAll('"', "");
  if (charset !== undefined && charset !== "utf-8" && charset !== "utf8") {
    throw unsupportedMediaType(`charset ${JSON.stringify(charset)} is not supported. Send UTF-8`, { accept: "application/json" });
  }
  return essence;
};

/** Returns the format of the body by its headers. Throws 415 (decisions: JSON). A body without a type is JSON. */
export const contentTypeOf = (request: HttpRequest): "json" | "form" => {
  const essence = textTypeOf(request);
  if (essence === undefined) return "json";
  if (essence === "" || essence === "application/json" || /^[a-z0-9.-]+\/[a-z0-9.-]+\+json$/.test(essence)) return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  throw unsupportedMediaType(`content-type ${JSON.stringify(headerOf(request, "content-type"))} is not supported. Send application/json`, {
    accept: "application/json",
  });
};

const bodyTooLarge = (max: number): Fault => new Fault("INVALID_ARGUMENT", `the request body is larger than ${max} bytes`, { httpStatus: 413 });

/** The bytes of all requests are bounded too, or a few connections could fill the memory with partial bodies. */
export const tooManyBodies = (): Fault => new Fault("UNAVAILABLE", "too many request bodies at once; try again");

/**
 * Returns the body, up to `bytesMax`. Throws if it is too large, too slow, or the client disconnects. The bytes count against the
 * memory of all bodies until the read ends.
 */
export const readRequestBody = (context: ServerContext, request: HttpRequest, bytesMax: number): Promise<Buffer> => {
  const { requestTimeoutMs } = context.bounds;
  const { source } = request;
  if (!request.hasBody) return Promise.resolve(Buffer.alloc(0));
  if (Number(headerOf(request, "content-length") ?? 0) > bytesMax) return Promise.reject(bodyTooLarge(bytesMax));
  // Without listeners during authentication, an empty body may have ended, and a client may have disconnected.
  if (source.readableEnded) return Promise.resolve(Buffer.alloc(0));
  if (source.destroyed) return Promise.reject(senderGone());
  request.sendContinue?.();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let reservedBytes = 0;
    const finish = (fault: Fault | undefined): void => {
      clearTimeout(timer);
      source.off("data", onData).off("end", onEnd).off("close", onGone).off("aborted", onGone);
      context.releaseBytes(reservedBytes);
      if (fault) {
        // Discard the rest; the server's own time limit closes the connection of a peer that never stops.
        source.resume();
        reject(fault);
      } else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, reservedBytes));
    };
    const onData = (chunk: Buffer): void => {
      if (!context.reserveBytes(chunk.length)) return finish(tooManyBodies());
      reservedBytes += chunk.length;
      request.call.receivedBytes += chunk.length;
      if (reservedBytes > bytesMax) return finish(bodyTooLarge(bytesMax));
      chunks.push(chunk);
    };
    const onEnd = (): void => finish(undefined);
    const onGone = (): void => finish(senderGone());
    const timer = setTimeout(() => finish(new Fault("DEADLINE_EXCEEDED", "the request body took too long", { httpStatus: 408 })), requestTimeoutMs);
    // "aborted" before "end": node:http2 ends a reset stream as if it were complete.
    source.on("aborted", onGone).on("data", onData).on("end", onEnd).on("close", onGone).on("error", onGone);
  });
};

/** Returns the body as text. Throws 415, and INVALID_ARGUMENT if it is not UTF-8. */
export const readRequestText = async (context: ServerContext, request: HttpRequest, bytesMax: number): Promise<string> => {
  textTypeOf(request);
  const bytes = await readRequestBody(context, request, bytesMax);
  if (!isUtf8(bytes)) throw new Fault("INVALID_ARGUMENT", "the request body is not valid UTF-8");
  return bytes.toString("utf8");
};

const senderGone = (): Fault => new Fault("CANCELLED", "the client disconnected");

/** Keys become own properties, including "__proto__". */
const parseJson = (text: string): Json => JSON.parse(text) as Json;

/** Returns the object of a body, or the list if `wantsList`; undefined for an empty body, and for other JSON, which is a problem. */
export const readJson = (bytes: Buffer, budget: Budget, wantsList = false): { body: JsonObject | Json[] | undefined; problems: Violation[] } => {
  const refuse = (description: string): { body: undefined; problems: Violation[] } => ({ body: undefined, problems: [{ field: "body", description }] });
  if (bytes.length === 0) return { body: undefined, problems: [] };
  if (!isUtf8(bytes)) return refuse("is not valid UTF-8");
  const excess = jsonExcess(bytes, budget);
  if (excess !== undefined) return refuse(excess);
  // RFC 8259, 8.1 permits readers to skip a byte order mark, which some editors write.
  const hasByteOrderMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const text = bytes.toString("utf8", hasByteOrderMark ? 3 : 0);
  let body: Json;
  try {
    body = parseJson(text);
  } catch (error) {
    return refuse(`is not valid JSON: ${error instanceof Error ? error.message : "it cannot be read"}`);
  }
  if (wantsList && !Array.isArray(body)) return refuse("must be a JSON list");
  if (!wantsList && !isObject(body)) return refuse("must be a JSON object");
  const repeated = findRepeatedKey(text);
  if (repeated !== undefined) return refuse(`gives the key ${JSON.stringify(repeated)} twice in one object`);
  return { body: isObject(body) || Array.isArray(body) ? body : undefined, problems: [] };
};

export const readJsonText = (text: string): { body: JsonObject | Json[] | undefined; problems: Violation[] } =>
  readJson(Buffer.from(text), { valuesMax: limits.messageValuesMax, depthMax: limits.jsonDepthMax });
