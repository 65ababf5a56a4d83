// Converts a Fault to gRPC trailers: google.rpc.Status with the same details as REST (render.ts).

import { create, fromJson, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { codes, type Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { registry } from "#contract/descriptors.ts";
import { StatusSchema } from "#contract/gen/google/rpc/status_pb.js";
import { type ErrorContext, jsonDetailsOf } from "./render.ts";

// Clients bound header blocks (grpc-java: 8 KiB), and details are in a trailer: ten thousand violations would break the stream.
const trailerBytesMax = limits.headerBytesMax / 4;
const messageBytesMax = limits.headerBytesMax / 8;

const encodeStatus = (fault: Fault, message: string, details: readonly JsonObject[]): Uint8Array =>
  toBinary(
    StatusSchema,
    create(StatusSchema, {
      code: codes[fault.code],
      message,
      details: details.flatMap((detail) => {
        const { "@type": url, ...value } = detail;
        const schema = registry.getMessage(String(url).slice("type.googleapis.com/".length));
        return schema ? [anyPack(schema, fromJson(schema, value))] : [];
      }),
    }),
  );

/** Returns the detail with half of its longest list; undefined if there is no list to shorten. */
const withHalfOfList = (detail: JsonObject): JsonObject | undefined => {
  for (const [key, value] of Object.entries(detail)) {
    if (Array.isArray(value) && value.length > 1) return { ...detail, [key]: value.slice(0, value.length >> 1) };
  }
  return undefined;
};

const boundedStatus = (fault: Fault, message: string, context: ErrorContext): Uint8Array | undefined => {
  let details = jsonDetailsOf(fault, context);
  for (;;) {
    const bytes = encodeStatus(fault, message, details);
    if (bytes.length <= trailerBytesMax) return bytes;
    const last = details.at(-1);
    if (!last) return undefined;
    const shorter = withHalfOfList(last);
    details = shorter ? [...details.slice(0, -1), shorter] : details.slice(0, -1);
  }
};

/** gRPC over HTTP/2, Percent-Byte: printable ASCII except "%" unchanged, all other bytes of UTF-8 as %XX. */
const percentEncode = (text: string): string => {
  if (/^[ -$&-~]*$/.test(text)) return text;
  let out = "";
  for (const byte of Buffer.from(text)) {
    out += byte >= 0x20 && byte <= 0x7e && byte !== 0x25 ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
};

/** Returns the trailers of a failed call, which are headers if there is no data. */
export const errorTrailers = (fault: Fault, context: ErrorContext): Record<string, string | number> => {
  let { message } = fault;
  while (percentEncode(message).length > messageBytesMax) message = `${message.slice(0, message.length >> 1).toWellFormed()}…`;
  const bytes = boundedStatus(fault, message, context);
  return {
    ...fault.headers,
    "grpc-status": codes[fault.code],
    "grpc-message": percentEncode(message),
    ...(bytes ? { "grpc-status-details-bin": withoutTrailing(Buffer.from(bytes).toString("base64"), "=") } : {}),
  };
};
