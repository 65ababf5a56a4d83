// A request's body: how much of it is read, in which type it may come, and JSON read from it. What is wrong with
// the JSON becomes a problem, not a refusal, so that the kernel can decide about the caller first.

import { isUtf8 } from "node:buffer";
import { Fault, type Violation } from "#base/fault.ts";
import { isObject, type Json } from "#base/json.ts";
import type { ServerContext } from "./server-context.ts";
import { type HttpRequest, header } from "./http-message.ts";

export type Media = "json" | "form";

const unsupported = (message: string, headers: Readonly<Record<string, string>>): Fault => new Fault("INVALID_ARGUMENT", message, { httpStatus: 415, headers });

/** The body's type, or 415 (decisions: JSON). A body without a type is JSON. */
export const mediaOf = (ask: HttpRequest): Media => {
  const encoding = header(ask, "content-encoding");
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    throw unsupported(`content-encoding ${JSON.stringify(encoding)} is not read here; send the body as it is`, { "accept-encoding": "identity" });
  }
  const type = header(ask, "content-type");
  if (type === undefined) return "json";
  const [essence = "", ...options] = type
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = options
    .find((option) => option.startsWith("charset="))
    ?.slice("charset=".length)
    .replaceAll('"', "");
  if (charset !== undefined && charset !== "utf-8" && charset !== "utf8") {
    throw unsupported(`charset ${JSON.stringify(charset)} is not read here; send UTF-8`, { accept: "application/json" });
  }
  if (essence === "" || essence === "application/json" || /^[a-z0-9.-]+\/[a-z0-9.-]+\+json$/.test(essence)) return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  throw unsupported(`content-type ${JSON.stringify(type)} is not read here; send application/json`, { accept: "application/json" });
};

const tooLarge = (max: number): Fault => new Fault("INVALID_ARGUMENT", `the request body is larger than ${max} bytes`, { httpStatus: 413 });

/** Every request's bytes together are bounded too, or a few connections could fill the memory with halves of bodies. */
export const crowded = (): Fault => new Fault("UNAVAILABLE", "too many request bodies at once; try again");

/** All bytes of the body. Throws where it is too large, too slow, or its sender went away. */
export const readBody = (context: ServerContext, ask: HttpRequest): Promise<Buffer> => {
  const { bodyBytesMax, requestTimeoutMs } = context.bounds;
  if (!ask.bodied) return Promise.resolve(Buffer.alloc(0));
  if (Number(header(ask, "content-length") ?? 0) > bodyBytesMax) return Promise.reject(tooLarge(bodyBytesMax));
  return new Promise((resolve, reject) => {
    const { source } = ask;
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (fault: Fault | undefined): void => {
      clearTimeout(timer);
      source.off("data", take).off("end", end).off("close", gone);
      context.release(size);
      if (fault) {
        // What still comes is thrown away; the door's own time limit ends a peer that never stops.
        source.resume();
        reject(fault);
      } else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size));
    };
    const take = (chunk: Buffer): void => {
      if (!context.hold(chunk.length)) return settle(crowded());
      size += chunk.length;
      if (size > bodyBytesMax) return settle(tooLarge(bodyBytesMax));
      chunks.push(chunk);
    };
    const end = (): void => settle(undefined);
    const gone = (): void => settle(new Fault("CANCELLED", "the sender went away"));
    const timer = setTimeout(() => settle(new Fault("DEADLINE_EXCEEDED", "the request body took too long", { httpStatus: 408 })), requestTimeoutMs);
    source.on("data", take).on("end", end).on("close", gone).on("error", gone);
  });
};

/** True where lists and objects are nested more than `levels` deep. */
const deeper = (value: Json, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const entry of Array.isArray(value) ? value : Object.values(value)) if (deeper(entry, levels - 1)) return true;
  return false;
};

/** What JSON.parse reads, typed as what it can read. Its keys are own properties, "__proto__" too. */
const parse = (text: string): Json => JSON.parse(text) as Json;

/** The JSON of a body. An empty one is an empty object. */
export const readJson = (bytes: Buffer, depthMax: number): { body: Json | undefined; problems: Violation[] } => {
  const refuse = (description: string): { body: undefined; problems: Violation[] } => ({ body: undefined, problems: [{ field: "body", description }] });
  if (bytes.length === 0) return { body: undefined, problems: [] };
  if (!isUtf8(bytes)) return refuse("is not valid UTF-8");
  // RFC 8259, 8.1 lets a reader skip the byte order mark that some editors leave.
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  let body: Json;
  try {
    body = parse(bytes.toString("utf8", marked ? 3 : 0));
  } catch (error) {
    return refuse(`is not valid JSON: ${error instanceof Error ? error.message : "it cannot be read"}`);
  }
  if (!isObject(body)) return refuse("must be a JSON object");
  // V8 parses without recursion; what walks the value after us recurses, so the bound is checked here.
  if (deeper(body, depthMax)) return refuse(`is nested more than ${depthMax} levels deep`);
  return { body, problems: [] };
};
