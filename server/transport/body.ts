// A request's body: how much of it is read, in which content type it may come, and JSON read from it. What is wrong with
// the JSON becomes a problem, not a refusal, so that the kernel can decide about the caller first.

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

/** The content type without its options. Throws 415 where the body is no text of UTF-8 as it comes, by its headers. */
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

/** How the headers say that the body is to be read. Throws 415 (decisions: JSON). A body without a type is JSON. */
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

/** Every request's bytes together are bounded too, or a few connections could fill the memory with halves of bodies. */
export const tooManyBodies = (): Fault => new Fault("UNAVAILABLE", "too many request bodies at once; try again");

/**
 * All bytes of the body, `bytesMax` at most. Throws where it is too large, too slow, or its sender went away. While it comes its bytes are
 * reserved from what all bodies together may hold, and they are released however it ends.
 */
export const readRequestBody = (context: ServerContext, request: HttpRequest, bytesMax: number): Promise<Buffer> => {
  const { requestTimeoutMs } = context.bounds;
  const { source } = request;
  if (!request.hasBody) return Promise.resolve(Buffer.alloc(0));
  if (Number(headerOf(request, "content-length") ?? 0) > bytesMax) return Promise.reject(bodyTooLarge(bytesMax));
  // While its sender was authenticated nobody listened: an empty body may have ended, and a sender may have gone.
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
        // What still comes is thrown away; the server's own time limit ends a peer that never stops.
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
    // "aborted" before "end": node:http2 ends a stream that its sender has reset as if it were complete.
    source.on("aborted", onGone).on("data", onData).on("end", onEnd).on("close", onGone).on("error", onGone);
  });
};

/** The body as text, for whoever reads it otherwise than as a message. Throws 415, and INVALID_ARGUMENT where it is not UTF-8. */
export const readRequestText = async (context: ServerContext, request: HttpRequest, bytesMax: number): Promise<string> => {
  textTypeOf(request);
  const bytes = await readRequestBody(context, request, bytesMax);
  if (!isUtf8(bytes)) throw new Fault("INVALID_ARGUMENT", "the request body is not valid UTF-8");
  return bytes.toString("utf8");
};

const senderGone = (): Fault => new Fault("CANCELLED", "the client disconnected");

/** What JSON.parse reads, typed as what it can read. Its keys are own properties, "__proto__" too. */
const parseJson = (text: string): Json => JSON.parse(text) as Json;

/** The JSON object of a body, or its list where one is wanted; undefined for an empty body and for what is neither, which is then a problem. */
export const readJson = (bytes: Buffer, budget: Budget, wantsList = false): { body: JsonObject | Json[] | undefined; problems: Violation[] } => {
  const refuse = (description: string): { body: undefined; problems: Violation[] } => ({ body: undefined, problems: [{ field: "body", description }] });
  if (bytes.length === 0) return { body: undefined, problems: [] };
  if (!isUtf8(bytes)) return refuse("is not valid UTF-8");
  const excess = jsonExcess(bytes, budget);
  if (excess !== undefined) return refuse(excess);
  // RFC 8259, 8.1 lets a reader skip the byte order mark that some editors leave.
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

/** The JSON object of a text, within the bounds of every message. */
export const readJsonText = (text: string): { body: JsonObject | Json[] | undefined; problems: Violation[] } =>
  readJson(Buffer.from(text), { valuesMax: limits.messageValuesMax, depthMax: limits.jsonDepthMax });
