// Parses and validates a token before verification: form, header and claims of a compact JWS, and its times. Malformed tokens are
// refused before any key is looked up.

import type { CompactVerifyGetKey } from "jose";
import * as errors from "jose/errors";
import { compactVerify } from "jose/jws/compact/verify";
import { Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { jsonEscapeOf, withUnseenAs } from "#base/unseen.ts";

/** Header `typ` of registry tokens (docs/decisions/0069). Other tokens of this server have "JWT". */
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

export const ownAlgorithms: readonly string[] = ["RS256"];

// Asymmetric only: with HS256, a public key could serve as a shared secret (attack 14).
export const foreignAlgorithms: readonly string[] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];

// Headers that carry or point to a key of the sender's choice (attack 15), or change what is signed (attack 16): `crit` names
// extensions, such as `b64`.
const refusedHeaders = ["crit", "b64", "jwk", "jku", "x5c", "x5u"];

// jose accepts whitespace and padding; a token must have one spelling.
const compactJwsForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const bearerScheme = /^bearer +/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });
const endOfTimeMs = 8.64e15;

/** Returns the token of an Authorization header. Throws UNAUTHENTICATED. */
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

/** Returns a claim, ignoring the prototype. */
export const claimOf = (claims: JsonObject, name: string): Json | undefined => (Object.hasOwn(claims, name) ? claims[name] : undefined);

/**
 * Returns whether a text has no control characters or lone surrogates. Claims reach rows, events and log lines: a NUL would fail the
 * row, and a line break could forge a log line (attack 28).
 */
export const isClean = (value: string): boolean => value.isWellFormed() && !/\p{Cc}/u.test(value);

const quotedLengthMax = 200;

/** Quotes an untrusted text for an error: visible and bounded. */
export const quoteForError = (value: string): string =>
  withUnseenAs(JSON.stringify(value.length > quotedLengthMax ? `${value.slice(0, quotedLengthMax)}…` : value), jsonEscapeOf);

/** Quotes a claim's value for an error, as bounded JSON. */
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
 * Parses a token and checks its times at `nowMs`; call `checkSignature` before trusting it. Throws UNAUTHENTICATED, by default also
 * for registry tokens of any server.
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

/** Returns the expiry including clock skew, in milliseconds since 1970. */
export const tokenEndMs = (token: Token): number => token.expireTimeMs + limits.clockSkewMs;

/** Verifies the token's signature with `keys`. Throws a Fault with the reason. */
export const checkSignature = async (token: Token, keys: CompactVerifyGetKey, algorithms: readonly string[]): Promise<void> => {
  try {
    await compactVerify(token.text, keys, { algorithms: [...algorithms] });
  } catch (cause) {
    // From the key look-up: an unreachable issuer, or an unknown key.
    if (cause instanceof Fault) throw cause;
    if (cause instanceof errors.JWKSNoMatchingKey) {
      const named = token.kid === undefined ? 'it has no header "kid"' : `its header "kid" is ${quoteForError(token.kid)}`;
      throw unauthenticated(`the token's key is not among its issuer's keys: ${named}, and its "alg" is ${token.algorithm}`, cause);
    }
    if (cause instanceof errors.JWKSMultipleMatchingKeys) throw unauthenticated('the token names none of its issuer\'s keys: it has no header "kid"', cause);
    if (cause instanceof errors.JWSSignatureVerificationFailed) throw unauthenticated("the token's signature is wrong", cause);
    if (cause instanceof errors.JOSEAlgNotAllowed)
      throw unauthenticated(`the token's algorithm is not accepted; expected one of ${algorithms.join(", ")}`, cause);
    // Any other error of jose concerns the token or its key (too short, wrong type), never this server.
    throw unauthenticated("the token's signature cannot be verified", cause);
  }
};
