// Unwraps pushed documents: an in-toto statement, a DSSE envelope (cosign, BuildKit), or a Sigstore bundle. Push permission on the
// repository is sufficient for them; only VEX has signatures verified (../vex/signatures.ts).

import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { Field } from "../field.ts";

export interface Unreadable {
  readonly problem: string;
}

/** The message says why the document is refused. */
export class UnreadableError extends Error {}

/** A valid statement of another kind. */
export class OtherStatementError extends Error {}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** By separators: objects take many times the memory of their text. */
export const hasTooManyValues = (text: string): boolean => {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++;
    } else if (code === 0x2c || code === 0x7b || code === 0x5b) count++;
  }
  return count > limits.sbomValuesMax;
};

export const tooManyValues = `contains more than ${limits.sbomValuesMax} values`;

export const decode = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new UnreadableError("is not UTF-8");
  }
};

/** Refuses a statement about another image. */
const checkSubject = (statement: Field, about: readonly string[]): void => {
  const named = statement
    .at("subject")
    .list()
    .flatMap((subject) => {
      const digests = subject.at("digest");
      return digests.keys().map((algorithm) => `${algorithm}:${digests.at(algorithm).name()}`);
    });
  if (named.length > 0 && !named.some((digest) => about.includes(digest))) throw new UnreadableError("is a statement about other digests than this image's");
};

const payloadTypes = new Set(["application/vnd.in-toto+json", "application/json"]);

/** A DSSE envelope. */
export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly signatures: Json | undefined;
}

/** Returns the envelope of a document or Sigstore bundle; undefined if it is not in one. */
export const readEnvelope = (value: Json): Envelope | undefined => {
  if (!isObject(value)) return undefined;
  if (isObject(value.dsseEnvelope)) return readEnvelope(value.dsseEnvelope);
  if (value.payload === undefined || value.payloadType === undefined) return undefined;
  const payloadType = new Field(value).at("payloadType").name();
  if (!payloadTypes.has(payloadType)) throw new UnreadableError("is an envelope around something else than a statement");
  if (typeof value.payload !== "string") throw new UnreadableError("is an envelope without a payload");
  return { payloadType, payload: Buffer.from(value.payload, "base64"), signatures: value.signatures };
};

/** @param wanted matches accepted predicate types */
export const unwrapStatement = async (value: Json, about: readonly string[], wanted: RegExp, parse: (text: string) => Promise<Json>): Promise<Json> => {
  if (!isObject(value)) return value;
  const envelope = readEnvelope(value);
  if (envelope) return unwrapStatement(await parse(decode(envelope.payload)), about, wanted, parse);
  const field = new Field(value);
  if (typeof value._type === "string" && value._type.startsWith("https://in-toto.io/Statement/")) {
    const type = field.at("predicateType").name();
    if (type !== "" && !wanted.test(type)) throw new OtherStatementError();
    checkSubject(field, about);
    const { predicate } = value;
    // Some tools embed a text.
    const document = typeof predicate === "string" ? await parse(predicate) : predicate;
    if (!isObject(document)) throw new UnreadableError("is a statement without a document");
    return document;
  }
  return value;
};
