// Sessions of users (docs/decisions/0007). Every interactive sign-in begins one, and its tokens name it in the claim gantry_grant.
// Revocation deletes the refresh token, lists the session in revoked_grants, and changes the version of the user's permissions,
// which invalidates every server's cache.
//
// Revocation and rotation lock the refresh token's row first. A later rotation finds no row; tokens of an earlier one name the
// revoked session.

import { createHash, randomBytes } from "node:crypto";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Origin } from "#base/origin.ts";
import { rootOf } from "#base/uid.ts";
import { methodByName } from "#contract/catalog.ts";
import { type Cause, type ChangeContext, eventOf } from "#kernel";
import { record } from "#outbox";
import {
  deleteRefreshToken,
  deleteSignInSession,
  findSessionsToEnd,
  insertRevokedGrant,
  type RefreshTokenFamily,
  type SessionFilter,
  type SessionView,
  type SignInSessionRow,
  type StoredSession,
  writeSignInSession,
} from "#iam/store";
import { growAccessVersion, type Write } from "#db";
import type { Completion } from "./completion.ts";

/** Names of gantry.sessions.v1.Kind. */
const kinds = {
  redirect: "KIND_LOOPBACK",
  device: "KIND_DEVICE",
  headless: "KIND_HEADLESS",
  code: "KIND_AUTHORIZATION_CODE",
} as const satisfies Record<Completion["kind"], string>;

export interface SessionProgram {
  readonly kind: Completion["kind"];
  /** Its own name; "" if none. */
  readonly program: string;
}

/** Returns a new ID of 32 hexadecimal digits. */
export const newSessionId = (): string => randomBytes(16).toString("hex");

/**
 * Returns the session of a refresh token family. The IDs are equal for an authorization code. Otherwise one cannot be derived from the
 * other, because every access token discloses the session's.
 */
export const sessionOfFamily = (familyId: string, client: string | undefined): string =>
  client === undefined ? createHash("sha256").update(familyId).digest("hex").slice(0, 32) : familyId;

/** The provider's UID, and the first 16 digits of the session's ID. */
const uidOfSession = (id: string, identityProviderUid: string): string => `${identityProviderUid}/${id.slice(0, 16)}`;

type BeginningSession = Pick<SignInSessionRow, "id" | "identityUid" | "identityProviderUid" | "refreshTokenId" | "address"> & {
  readonly program: SessionProgram;
  /** Of the access token and the refresh token. */
  readonly expireTimesMs: readonly number[];
};

export const beginSession = (rows: Write, { program: { kind, program }, expireTimesMs, ...session }: BeginningSession, nowMs: number): Promise<void> => {
  const expireTimeMs = Math.max(...expireTimesMs);
  const row = { ...session, uid: uidOfSession(session.id, session.identityProviderUid), kind: kinds[kind], program, createTimeMs: nowMs, expireTimeMs };
  const endTimeMs = session.refreshTokenId === undefined ? expireTimeMs : nowMs + limits.refreshFamilyLifetimeMs + limits.accessTokenLifetimeMs;
  return writeSignInSession(rows, { ...row, endTimeMs }, nowMs);
};

/** Stores the use of a refresh token. Creates the session of a family older than this table. */
export const useSession = (
  rows: Write,
  familyId: string,
  family: RefreshTokenFamily,
  { address, accessExpireTimeMs }: { readonly address: string; readonly accessExpireTimeMs: number },
  nowMs: number,
): Promise<void> => {
  const { identityUid, identityProviderUid, client, createTimeMs } = family;
  const id = sessionOfFamily(familyId, client);
  return writeSignInSession(
    rows,
    {
      id,
      uid: uidOfSession(id, identityProviderUid),
      identityUid,
      identityProviderUid,
      refreshTokenId: familyId,
      kind: client === undefined ? "KIND_UNSPECIFIED" : kinds.code,
      program: client ?? "",
      address,
      createTimeMs,
      expireTimeMs: Math.max(family.expireTimeMs, accessExpireTimeMs),
      endTimeMs: createTimeMs + limits.refreshFamilyLifetimeMs + limits.accessTokenLifetimeMs,
    },
    nowMs,
  );
};

/** Also without a row. */
const refuseTokens = async (rows: Write, id: string, identityUid: string, nowMs: number): Promise<void> => {
  await insertRevokedGrant(rows, id, nowMs);
  await growAccessVersion(rows, rootOf(identityUid));
};

/** Returns false if another transaction ended it. */
const endSession = async (rows: Write, { id, refreshTokenId, identityUid }: StoredSession, nowMs: number): Promise<boolean> => {
  if (refreshTokenId !== undefined) await deleteRefreshToken(rows, refreshTokenId, nowMs);
  const ended = await deleteSignInSession(rows, id);
  if (ended) await refuseTokens(rows, id, identityUid, nowMs);
  return ended !== undefined;
};

/** Ends the sessions that match a filter; returns those that this transaction ended. */
export const endSessions = async (rows: Write, filter: SessionFilter, nowMs: number): Promise<StoredSession[]> => {
  const ended: StoredSession[] = [];
  for (const session of await findSessionsToEnd(rows, filter)) if (await endSession(rows, session, nowMs)) ended.push(session);
  return ended;
};

/** Ends the session that a token of this identity names, even if it has no row, as for authorization codes older than the table. */
export const endNamedSession = async (rows: Write, id: string, identityUid: string, nowMs: number): Promise<StoredSession | undefined> => {
  const [ended] = await endSessions(rows, { id }, nowMs);
  if (ended) return ended;
  await deleteRefreshToken(rows, id, nowMs);
  await refuseTokens(rows, id, identityUid, nowMs);
  return undefined;
};

const revokeName = "gantry.sessions.v1.SessionsService/RevokeSession";
const unseen: Origin = { address: "", userAgent: "" };

/** Returns a session for its user or for an organization, which does not see how it is used. */
export const shownSession = (session: StoredSession, view: SessionView, currentId?: string): JsonObject => ({
  uid: session.uid,
  identityUid: session.identityUid,
  identityProviderUid: session.identityProviderUid,
  kind: session.kind,
  program: session.program,
  address: session.address,
  createTime: session.createTime,
  ...(view === "own" ? { lastUseTime: session.lastUseTime, expireTime: session.expireTime } : { expireTime: session.endTime }),
  current: view === "own" && session.id === currentId,
});

/**
 * Records a user's revocation of own sessions, for each session's organization. Details of the caller are included only if the
 * caller's session belongs to the same organization.
 */
export const recordRevocations = async (context: ChangeContext, ended: readonly StoredSession[], currentId: string | undefined): Promise<void> => {
  const { rows, cause } = context;
  const method = methodByName(revokeName);
  const current = currentId === undefined ? undefined : (ended.find(({ id }) => id === currentId) ?? (await findSessionsToEnd(rows, { id: currentId })).at(0));
  for (const session of ended) {
    const isOwn = current !== undefined && rootOf(current.uid) === rootOf(session.uid);
    const shown: Cause = isOwn ? cause : { ...cause, actor: { subject: text(cause.actor ?? {}, "subject") }, origin: () => unseen };
    const event = method && eventOf({ ...context, cause: shown }, method, { uid: session.uid }, shownSession(session, "organization"));
    if (event) await record(rows, event);
  }
};
