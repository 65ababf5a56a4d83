// Revocation endpoint (RFC 7009): the bearer of a token revokes its session.
//
// The response is always the same 200 (§2.2), so it is no oracle. Only tokens for this server's API or /mcp count, because others
// are shown to third keysByCaller, such as registries.

import type { Caller } from "#authn";
import { Fault, invalid } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { changeContext } from "#kernel";
import { findRefreshToken, type StoredSession } from "#iam/store";
import type { Write } from "#db";
import { readSingleParameters } from "./oauth-parameters.ts";
import { decodeToken } from "./refresh.ts";
import { audienceOfResource } from "./resources.ts";
import { endNamedSession, recordRevocations, sessionOfFamily } from "./session.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

export const revocationPath = "/oauth/revoke";

interface NamedSession {
  readonly id: string;
  readonly identityUid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
}

const orNothing = async <Value>(read: () => Value | Promise<Value>): Promise<Value | undefined> => {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "UNAUTHENTICATED") return undefined;
    throw thrown;
  }
};

/** Earlier tokens count too, since their reuse ends the session as well. */
const findByRefreshToken = async (rows: Write, token: string, client: string): Promise<NamedSession | undefined> => {
  const decoded = await orNothing(() => decodeToken(`Bearer ${token}`));
  const family = decoded && (await findRefreshToken(rows, decoded.id));
  // RFC 7009 §2.1: another client's token is not this client's to revoke.
  if (!decoded || !family || (family.client !== undefined && client !== "" && family.client !== client)) return undefined;
  return { id: sessionOfFamily(decoded.id, family.client), identityUid: family.identityUid, act: family.act };
};

const findByAccessToken = async (settings: SignInSettings, token: string): Promise<NamedSession | undefined> => {
  const { authn, publicUrl } = settings;
  const mcp = audienceOfResource(settings, [urlOfPath(settings, "/mcp")]);
  const caller: Caller | undefined = await orNothing(() => authn.authenticateAt(mcp, `Bearer ${token}`));
  if (caller?.grant === undefined || !caller.audience.some((each) => each === publicUrl || each === mcp)) return undefined;
  return { id: caller.grant, identityUid: caller.uid, act: caller.act };
};

/** Returns false if the token has no session. */
const revokeToken = async (
  settings: SignInSettings,
  rows: Write,
  { token, client }: { readonly token: string; readonly client: string },
  { requestId, origin }: RequestSource,
): Promise<boolean> => {
  const nowMs = settings.clock();
  const named = (await findByRefreshToken(rows, token, client)) ?? (await findByAccessToken(settings, token));
  if (!named) return false;
  const ended: StoredSession | undefined = await endNamedSession(rows, named.id, named.identityUid, nowMs);
  const actor: JsonObject = { subject: named.identityUid, ...(named.act ? { act: { ...named.act } } : {}) };
  const cause = { operation: revocationPath, actor, bindings: () => [], origin: () => origin, requestId };
  if (ended) await recordRevocations(changeContext(settings.kernel, rows, cause), [ended], ended.id);
  return true;
};

/** Revokes the session of a refresh token that a new sign-in replaces. Ignores anything else. */
export const revokeReplaced = async (settings: SignInSettings, token: string, client: string, requestSource: RequestSource): Promise<void> => {
  if (token !== "" && token.length <= limits.tokenBytesMax) await settings.store.write((rows) => revokeToken(settings, rows, { token, client }, requestSource));
};

/** RFC 7009 §2: handles the form. Throws INVALID_ARGUMENT without a token, and RESOURCE_EXHAUSTED beyond the address's rate limit. */
export const revoke = async (settings: SignInSettings, form: URLSearchParams, requestSource: RequestSource): Promise<JsonObject> => {
  settings.authn.clientLimits.take("exchanges", requestSource.origin.address);
  const lengths = { token: limits.tokenBytesMax, token_type_hint: limits.tokenBytesMax, client_id: limits.clientIdLengthMax };
  const { values, violations } = readSingleParameters(form, lengths);
  if (values.token === "") violations.push({ field: "token", description: "is required" });
  if (violations.length > 0) throw invalid(violations);
  await settings.store.write((rows) => revokeToken(settings, rows, { token: values.token, client: values.client_id }, requestSource));
  return {};
};
