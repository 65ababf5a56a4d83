// The text of a token, read and not yet verified: form, header and claims of a compact JWS, and its times.
// Whatever is odd is refused here, before any key is looked for; each refusal says what is wrong.

import type { CompactVerifyGetKey } from "jose";
import * as errors from "jose/errors";
import { compactVerify } from "jose/jws/compact/verify";
import { Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { jsonEscapeOf, withUnseenAs } from "#base/unseen.ts";

/** The `typ` header of tokens that only the registry accepts (docs/decisions/0069). All our other tokens say "JWT". */
export const registryTokenType = "gantry-registry+jwt";

export interface Token {
  readonly text: string;
  readonly isForRegistry: boolean;
  readonly algorithm: string;
  readonly kid: string | undefined;
  readonly issuer: string;
  readonly subject: string;
  readonly audience: readonly string[];
  readonly expireTimeMs: number;
  readonly claims: JsonObject;
}

/** What our own tokens are signed with; nothing else is read as ours. */
export const ownAlgorithms: readonly string[] = ["RS256"];

// Asymmetric only. A list that held HS256 would let a public key serve as a shared secret (attack 14).
export const foreignAlgorithms: readonly string[] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];

// Headers that bring or point to a key of the sender's choice (attack 15), or change what is signed (attack 16):
// `crit` names extensions, of which we understand none, and `b64` is one.
const refusedHeaders = ["crit", "b64", "jwk", "jku", "x5c", "x5u"];

// jose decodes base64url leniently (whitespace, padding); a token has one spelling.
const compactJwsForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const bearerScheme = /^bearer +/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });
/** The last instant that a Date can hold. */
const endOfTimeMs = 8.64e15;

/** The token of an Authorization header. */
export const readBearer = (authorization: string | undefined): string => {
  if (authorization === undefined || authorization === "") throw unauthenticated("authentication required: send Authorization: Bearer <token>");
  const start = bearerScheme.exec(authorization)?.[0].length;
  if (start === undefined) throw unauthenticated("the Authorization header is not of the form Bearer <token>");
  return authorization.slice(start);
};

const decodeJsonPart = (part: string, what: string): JsonObject => {
  let value: Json;
  try {
    value = JSON.parse(utf8.decode(Buffer.from(part, "base64url"))) as Json;
  } catch {
    throw unauthenticated(`the token is malformed: its ${what} is not JSON`);
  }
  if (!isObject(value)) throw unauthenticated(`the token is malformed: its ${what} is not a JSON object`);
  return value;
};

/** The claim of that name, if the token has it: never what a prototype has. */
export const claimOf = (claims: JsonObject, name: string): Json | undefined => (Object.hasOwn(claims, name) ? claims[name] : undefined);

/**
 * True for a text without control characters and lone surrogates. What a token says of its bearer goes into rows,
 * events and log lines: a NUL would fail the row, a line break could forge the line (attack 28).
 */
export const isClean = (value: string): boolean => value.isWellFormed() && !/\p{Cc}/u.test(value);

const quotedLengthMax = 200;

/** A text from outside as an error carries it: in quotes, visible, and never so long that the error cannot be sent. */
export const quoteForError = (value: string): string =>
  withUnseenAs(JSON.stringify(value.length > quotedLengthMax ? `${value.slice(0, quotedLengthMax)}…` : value), jsonEscapeOf);

/** A claim's value as an error carries it: its JSON, as bounded as a text. */
export const quoteClaim = (value: Json): string => {
  const json = JSON.stringify(value);
  if (json.length <= quotedLengthMax) return withUnseenAs(json, jsonEscapeOf);
  return typeof value === "string" ? quoteForError(value) : `${withUnseenAs(json.slice(0, quotedLengthMax).toWellFormed(), jsonEscapeOf)}…`;
};

const textClaim = (claims: JsonObject, name: string): string => {
  const value = claimOf(claims, name);
  if (typeof value === "string" && value !== "" && isClean(value)) return value;
  throw unauthenticated(`the token is malformed: its claim ${JSON.stringify(name)} is not a printable text`);
};

const timeClaim = (claims: JsonObject, name: string): number | undefined => {
  const value = claimOf(claims, name);
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value * 1000;
  throw unauthenticated(`the token is malformed: its claim ${JSON.stringify(name)} is not a number`);
};

const audienceClaim = (claims: JsonObject): string[] => {
  const value = claimOf(claims, "aud");
  const audience = Array.isArray(value) ? value : value === undefined ? [] : [value];
  if (audience.every((entry) => typeof entry === "string" && isClean(entry))) return audience as string[];
  throw unauthenticated('the token is malformed: its claim "aud" is neither a printable text nor a list of them');
};

/**
 * Reads a token's text and its times at `nowMs`. Nothing in it is true before `checkSignature`. Throws UNAUTHENTICATED for a
 * registry token, whichever server issued it, unless the caller accepts them: so every verifier refuses them by default.
 */
export const readToken = (text: string, nowMs: number, acceptsRegistryTokens = false): Token => {
  if (text.length > limits.tokenBytesMax) throw unauthenticated(`the token is longer than ${limits.tokenBytesMax} bytes`);
  if (!compactJwsForm.test(text)) throw unauthenticated("the token is malformed: it is not a signed JWT of three parts");
  const [first = "", second = ""] = text.split(".", 2);
  const header = decodeJsonPart(first, "header");
  const claims = decodeJsonPart(second, "payload");
  const algorithm = claimOf(header, "alg");
  if (typeof algorithm !== "string" || !foreignAlgorithms.includes(algorithm))
    throw unauthenticated(`the token's algorithm is not accepted; expected one of ${foreignAlgorithms.join(", ")}`);
  for (const name of refusedHeaders) if (Object.hasOwn(header, name)) throw unauthenticated(`the token's header ${JSON.stringify(name)} is not accepted`);
  const isForRegistry = claimOf(header, "typ") === registryTokenType;
  if (isForRegistry && !acceptsRegistryTokens)
    throw unauthenticated("the token is a registry token: it is accepted only below /v2/. Use the credential that it was issued for");
  const kid = claimOf(header, "kid");
  if (kid !== undefined && typeof kid !== "string") throw unauthenticated('the token is malformed: its header "kid" is not a text');

  const expireMs = timeClaim(claims, "exp");
  if (expireMs === undefined) throw unauthenticated('the token is malformed: it has no claim "exp"');
  if (expireMs + limits.clockSkewMs <= nowMs) throw unauthenticated("the token has expired");
  const fromMs = Math.max(timeClaim(claims, "nbf") ?? 0, timeClaim(claims, "iat") ?? 0);
  if (fromMs - limits.clockSkewMs > nowMs) throw unauthenticated("the token is not valid yet");

  return {
    text,
    isForRegistry,
    algorithm,
    kid,
    issuer: textClaim(claims, "iss"),
    subject: textClaim(claims, "sub"),
    audience: audienceClaim(claims),
    expireTimeMs: Math.min(expireMs, endOfTimeMs),
    claims,
  };
};

/** When a token is expired for us, in milliseconds since 1970. */
export const tokenEndMs = (token: Token): number => token.expireTimeMs + limits.clockSkewMs;

/** Whether one of `keys` signed the token. Throws the Fault that says why not. */
export const checkSignature = async (token: Token, keys: CompactVerifyGetKey, algorithms: readonly string[]): Promise<void> => {
  try {
    await compactVerify(token.text, keys, { algorithms: [...algorithms] });
  } catch (cause) {
    // What looking for the key ran into: an issuer that is down, a key that we do not have.
    if (cause instanceof Fault) throw cause;
    if (cause instanceof errors.JWKSNoMatchingKey) {
      const named = token.kid === undefined ? 'it has no header "kid"' : `its header "kid" is ${quoteForError(token.kid)}`;
      throw unauthenticated(`the token's key is not among its issuer's keys: ${named}, and its "alg" is ${token.algorithm}`, cause);
    }
    if (cause instanceof errors.JWKSMultipleMatchingKeys) throw unauthenticated('the token names none of its issuer\'s keys: it has no header "kid"', cause);
    if (cause instanceof errors.JWSSignatureVerificationFailed) throw unauthenticated("the token's signature is wrong", cause);
    if (cause instanceof errors.JOSEAlgNotAllowed)
      throw unauthenticated(`the token's algorithm is not accepted; expected one of ${algorithms.join(", ")}`, cause);
    // Anything else that jose throws is about this token or this key (a key that is too short, a key of another
    // kind): a wrong token is never our own error.
    throw unauthenticated("the token's signature cannot be verified", cause);
  }
};
