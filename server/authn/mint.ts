// Issues and reads this server's tokens (authentication.md: 2).
//
// The public format's claim `cap` lists all permissions of the token. Gantry decides from live permissions, so tokens carry only
// downscoping, in `gantry_cap` (capability names) and `gantry_scopes` (group UIDs). A `cap` with another meaning would mislead
// clients that decode it.

import { unauthenticated } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { RegistryAccess } from "#base/registry-access.ts";
import type { Clock } from "#base/time.ts";
import { isUid } from "#base/uid.ts";
import { type Keys, signToken } from "#signing";
import { type Caller, freezeCaller, issueTimeOf, verifiedEmailOf } from "./caller.ts";
import { readRegistryAccess, registryAudience, registryClaims } from "./registry-token.ts";
import { checkSignature, claimOf, ownAlgorithms, registryTokenType, type Token } from "./token.ts";

export interface MintRequest {
  readonly uid: string;
  readonly audience: readonly string[];
  readonly act?: Readonly<Record<string, string>> | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** Default and maximum: limits.accessTokenLifetimeMs. */
  readonly lifetimeMs?: number | undefined;
  readonly email?: string | undefined;
  /** Sign-in with permissions from groups. */
  readonly session?: string | undefined;
  /** Session that the token is revoked with. */
  readonly grant?: string | undefined;
  /** Makes it a registry token with this access only, for the registry's audience. */
  readonly registry?: RegistryAccess | undefined;
}

const downscopingClaims = { capabilities: "gantry_cap", scopes: "gantry_scopes" } as const;
const sessionClaim = "gantry_session";
const grantClaim = "gantry_grant";

/** Signs a token; returns it with its expiry in milliseconds since 1970. */
export const mintToken = (
  keys: Keys,
  clock: Clock,
  issuer: string,
  request: MintRequest,
): Promise<{ readonly token: string; readonly expireTimeMs: number }> => {
  const claims: JsonObject = {};
  if (request.email !== undefined) Object.assign(claims, { email: request.email, email_verified: true });
  if (request.act !== undefined) claims.act = { ...request.act };
  if (request.capabilities !== undefined) claims[downscopingClaims.capabilities] = [...request.capabilities];
  if (request.scopes !== undefined) claims[downscopingClaims.scopes] = [...request.scopes];
  if (request.session !== undefined) claims[sessionClaim] = request.session;
  if (request.grant !== undefined) claims[grantClaim] = request.grant;
  const { uid, audience, lifetimeMs, registry } = request;
  if (registry === undefined) return signToken(keys, clock, issuer, { uid, audience, lifetimeMs, claims });
  Object.assign(claims, registryClaims(registry));
  return signToken(keys, clock, issuer, { uid, audience: [registryAudience(issuer)], lifetimeMs, claims, type: registryTokenType });
};

const optionalTextsOf = (value: Json | undefined): readonly string[] | undefined => {
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string")) return value;
  throw unauthenticated("the token is malformed: its narrowing is not a list of texts");
};

const readActClaim = (value: Json | undefined): Readonly<Record<string, string>> | undefined => {
  if (!isObject(value)) return undefined;
  const act: Record<string, string> = {};
  for (const [name, entry] of Object.entries(value)) if (typeof entry === "string") act[name] = entry;
  return act;
};

const textClaimOf = ({ claims }: Token, name: string): string | undefined => {
  const value = claimOf(claims, name);
  if (value === undefined || typeof value === "string") return value;
  throw unauthenticated(`the token is malformed: its claim ${JSON.stringify(name)} is not a text`);
};

const readOriginClaims = (token: Token): { readonly session?: string; readonly grant?: string } => {
  const [session, grant] = [textClaimOf(token, sessionClaim), textClaimOf(token, grantClaim)];
  return { ...(session === undefined ? {} : { session }), ...(grant === undefined ? {} : { grant }) };
};

/** Verifies a token of this server, except its audience (audiences.ts), and returns the caller. */
export const readOwnToken = async (keys: Keys, token: Token): Promise<Caller> => {
  if (!ownAlgorithms.includes(token.algorithm)) throw unauthenticated(`the token's algorithm is not accepted; expected ${ownAlgorithms.join(", ")}`);
  const key = await keys.verifyingKey(token.kid);
  await checkSignature(token, () => key, ownAlgorithms);
  if (!isUid(token.subject)) throw unauthenticated('the token is malformed: its claim "sub" is not a uid');
  return freezeCaller({
    uid: token.subject,
    expireTimeMs: token.expireTimeMs,
    issueTimeMs: issueTimeOf(token),
    issuer: token.issuer,
    subject: token.subject,
    audience: [...token.audience],
    act: readActClaim(claimOf(token.claims, "act")),
    capabilities: optionalTextsOf(claimOf(token.claims, downscopingClaims.capabilities)),
    scopes: optionalTextsOf(claimOf(token.claims, downscopingClaims.scopes)),
    ...verifiedEmailOf(token.claims),
    ...readOriginClaims(token),
    ...(token.isForRegistry ? { registry: readRegistryAccess(token) } : {}),
  });
};
