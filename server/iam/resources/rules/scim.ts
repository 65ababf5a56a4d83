// The SCIM tokens of an identity provider (resources: SCIM token). The creating call returns the token; only its hash is stored.
// Changes require the current etag, so only one of two concurrent changes succeeds.

import { builtInRoleUid } from "#authz";
import { blocked, Fault, invalid, missing, type Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { durationMs, timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { boundOf, change, lockResource, type Outcome, type WriteContext } from "#kernel";
import { countIdentitiesBoundWith, findProvider, lockScim, scimEnabledColumns, scimRevokedColumns, type ScimState, scimTokenColumns } from "#iam/store";
import type { Values } from "#db";

const prefix = "cgscim_";
const tokenBytes = 32;

const hexOf = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const newToken = async (): Promise<{ token: string; hash: string }> => {
  const token = prefix + hexOf(crypto.getRandomValues(new Uint8Array(tokenBytes)));
  return { token, hash: hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)))) };
};

const endpointOf = (publicUrl: string, uid: string): string => `${publicUrl.replace(/\/$/, "")}/scim/v2/${uid}`;

const credentialState = ({ issued, revoked, expireTimeMs, previousExpireTimeMs = 0 }: ScimState, nowMs: number): string => {
  if (!issued) return "CREDENTIAL_STATE_NOT_ISSUED";
  if (revoked) return "CREDENTIAL_STATE_REVOKED";
  if (expireTimeMs <= nowMs) return "CREDENTIAL_STATE_EXPIRED";
  return previousExpireTimeMs > nowMs ? "CREDENTIAL_STATE_ROTATING" : "CREDENTIAL_STATE_LIVE";
};

const timesOf = ({ expireTimeMs, previousExpireTimeMs = 0 }: ScimState, nowMs: number) => ({
  expires: Number.isFinite(expireTimeMs) ? timestamp(expireTimeMs) : undefined,
  previous: previousExpireTimeMs > nowMs ? timestamp(previousExpireTimeMs) : undefined,
});

export const shownScim = (state: ScimState, uid: string, { services, nowMs }: Pick<WriteContext, "services" | "nowMs">): JsonObject => {
  const { expires, previous } = timesOf(state, nowMs);
  return {
    enabled: state.enabled,
    endpointUrl: endpointOf(services.publicUrl, uid),
    ...(expires === undefined ? {} : { tokenExpireTime: expires }),
    ...(previous === undefined ? {} : { previousTokenExpireTime: previous }),
    credentialState: credentialState(state, nowMs),
    etag: state.etag,
  };
};

const providerOf = ({ request }: WriteContext): string => text(request, "identityProviderUid");

const absent = (uid: string): Fault => missing("iam", "IdentityProvider", uid);

const held = async (context: WriteContext): Promise<ScimState> => {
  const state = await lockScim(context.rows, providerOf(context));
  if (!state) throw absent(providerOf(context));
  return state;
};

/** Changes columns of the provider that only the operation's event reports. Returns the new state. */
const changeScim = async (context: WriteContext, columns: Values): Promise<ScimState> => {
  const uid = providerOf(context);
  const provider = boundOf(context, "chainguard.platform.iam.v2.IdentityProvider");
  const before = await lockResource(context, provider, uid);
  if (!before) throw absent(uid);
  await change(context, provider, { kind: "update", before, columns }, "cause");
  return held(context);
};

const matchEtag = ({ etag }: ScimState, { request }: WriteContext): void => {
  if (etag !== text(request, "etag")) throw new Fault("ABORTED", "the SCIM settings have changed since you read their etag. Read them again");
};

const readExpireTime = ({ request, nowMs }: WriteContext): { expireTime: string | null; violations: Violation[] } => {
  const wanted = text(request, "expireTime");
  const violations: Violation[] = [];
  const add = (description: string) => violations.push({ field: "expireTime", description });
  if (request.neverExpires === true) {
    if (wanted) add("excludes neverExpires");
    return { expireTime: null, violations };
  }
  if (wanted && Date.parse(wanted) <= nowMs) add("must be in the future");
  if (wanted && Date.parse(wanted) > nowMs + limits.scimTokenLifetimeMaxMs) add("must be within two years");
  return { expireTime: wanted || timestamp(nowMs + limits.scimTokenLifetimeMs), violations };
};

/** The holder of the token can use all SCIM operations, so its creator needs these permissions for as long. */
const delegateScim = ({ delegate }: WriteContext, expireTime: string | null): void =>
  delegate({ rights: [], untilMs: expireTime === null ? Number.POSITIVE_INFINITY : Date.parse(expireTime) });

const issue = async (context: WriteContext, before: ScimState, expireTime: string | null, previousExpireTime: string | null): Promise<JsonObject> => {
  const { nowMs, services } = context;
  const uid = providerOf(context);
  const { token, hash } = await newToken();
  const state = await changeScim(context, scimTokenColumns(before, { hash, createTime: timestamp(nowMs), expireTime, previousExpireTime }));
  const { expires } = timesOf(state, nowMs);
  return {
    token,
    endpointUrl: endpointOf(services.publicUrl, uid),
    ...(expires === undefined ? {} : { expireTime: expires }),
    identityProviderUid: uid,
    etag: state.etag,
  };
};

export const generateScimToken = async (context: WriteContext): Promise<Outcome> => {
  const { expireTime, violations } = readExpireTime(context);
  if (violations.length > 0) throw invalid(violations);
  delegateScim(context, expireTime);
  const state = await held(context);
  if (state.issued) throw blocked("SCIM_TOKEN_ISSUED", providerOf(context), ["a SCIM token was made before; regenerate it"]);
  return { reply: await issue(context, state, expireTime, null) };
};

/** Returns how long the old token stays valid: until the overlap ends or either token expires. A revoked or expired token stays invalid. */
const overlapEnd = (state: ScimState, overlapMs: number, expireTime: string | null, nowMs: number): string | null => {
  const endMs = Math.min(
    nowMs + Math.min(overlapMs, limits.scimOverlapMaxMs),
    state.expireTimeMs,
    expireTime === null ? Number.POSITIVE_INFINITY : Date.parse(expireTime),
  );
  return state.revoked || endMs <= nowMs ? null : timestamp(endMs);
};

export const regenerateScimToken = async (context: WriteContext): Promise<Outcome> => {
  const { request, nowMs } = context;
  const { expireTime, violations } = readExpireTime(context);
  const overlap = text(request, "overlap") || `${limits.scimOverlapMs / 1000}s`;
  const overlapMs = durationMs(overlap);
  if (violations.length > 0) throw invalid(violations);
  delegateScim(context, expireTime);
  const state = await held(context);
  if (!state.issued) throw missing("iam", "ScimToken", providerOf(context));
  matchEtag(state, context);
  const previous = overlapEnd(state, overlapMs, expireTime, nowMs);
  const reply = await issue(context, state, expireTime, previous);
  return { reply: { ...reply, ...(previous === null ? {} : { previousTokenExpireTime: previous }), requestedOverlap: overlap } };
};

// Without an etag: revoking a stolen token must not need a read first.
export const revokeScimToken = async (context: WriteContext): Promise<Outcome> => {
  const uid = providerOf(context);
  const state = await changeScim(context, scimRevokedColumns(await held(context)));
  return { reply: { identityProviderUid: uid, etag: state.etag, enabled: state.enabled, revokeTime: timestamp(context.nowMs) } };
};

// SCIM can deactivate any of its users, so owners outside its reach must remain to disable it.
const ownersMin = 2;

const countOwnersOutside = async (context: WriteContext): Promise<number> => {
  const { rows, nowMs, services } = context;
  const provider = providerOf(context);
  const { oidc } = (await findProvider(rows, provider)) ?? {};
  const people = services.authn.issuerSpellings(oidc?.issuer ?? "");
  return countIdentitiesBoundWith(rows, { group: rootOf(provider), role: builtInRoleUid("owner"), now: timestamp(nowMs), provider, people });
};

export const setScimEnabled = async (context: WriteContext): Promise<Outcome> => {
  const { request } = context;
  const uid = providerOf(context);
  const enabled = request.enabled === true;
  // Existing tokens work once SCIM is enabled, so enabling is a grant.
  if (enabled) delegateScim(context, null);
  const before = await held(context);
  matchEtag(before, context);
  if (enabled && (await countOwnersOutside(context)) < ownersMin) {
    const who = `${ownersMin} identities that are owners of the organization and not users of this identity provider`;
    throw blocked("SCIM_OWNERS_MISSING", uid, [`enabling SCIM requires ${who}`]);
  }
  const state = await changeScim(context, scimEnabledColumns(before, enabled));
  return { reply: { identityProviderUid: uid, enabled: state.enabled, etag: state.etag } };
};
