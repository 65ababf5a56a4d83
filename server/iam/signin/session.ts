// Sessions of people (docs/decisions/0066). Each interactive sign-in begins one with its first token: through a loopback address, a
// device code, an encrypted token or an authorization code. Every access token of a session names it (claim gantry_grant), and so
// does each token that is made from one. Revoking a session ends all of them at once: the refresh token is deleted, the session is
// listed in revoked_grants, and the person's rights get another version, so that no server uses those that it has in memory.
//
// A revocation and a rotation of the same refresh token lock its row first, so that one waits for the other: a rotation that
// comes later finds no row, and the tokens of one that came before name the revoked session.

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

/** How a session's program gets its tokens, by a name of gantry.sessions.v1.Kind. */
const kinds = {
  redirect: "KIND_LOOPBACK",
  device: "KIND_DEVICE",
  headless: "KIND_HEADLESS",
  code: "KIND_AUTHORIZATION_CODE",
} as const satisfies Record<Completion["kind"], string>;

/** The program that a sign-in gives its tokens to. */
export interface SessionProgram {
  readonly kind: Completion["kind"];
  /** What it calls itself; "" if it says nothing. */
  readonly program: string;
}

/** Returns a new ID: 32 hexadecimal digits. */
export const newSessionId = (): string => randomBytes(16).toString("hex");

/**
 * Returns the session of a family of refresh tokens. An authorization code's family has the ID of its session. Any other family's ID
 * does not follow from the session's, which every access token shows.
 */
export const sessionOfFamily = (familyId: string, client: string | undefined): string =>
  client === undefined ? createHash("sha256").update(familyId).digest("hex").slice(0, 32) : familyId;

/** Returns the uid of a session: its identity provider's, and the first 16 digits of its ID. */
const uidOfSession = (id: string, identityProviderUid: string): string => `${identityProviderUid}/${id.slice(0, 16)}`;

type BeginningSession = Pick<SignInSessionRow, "id" | "identityUid" | "identityProviderUid" | "refreshTokenId" | "address"> & {
  readonly program: SessionProgram;
  /** Of its access token and of its refresh token, in milliseconds since 1970. */
  readonly expireTimesMs: readonly number[];
};

/** Stores a new session with its first tokens. */
export const beginSession = (rows: Write, { program: { kind, program }, expireTimesMs, ...session }: BeginningSession, nowMs: number): Promise<void> => {
  const expireTimeMs = Math.max(...expireTimesMs);
  const row = { ...session, uid: uidOfSession(session.id, session.identityProviderUid), kind: kinds[kind], program, createTimeMs: nowMs, expireTimeMs };
  const endTimeMs = session.refreshTokenId === undefined ? expireTimeMs : nowMs + limits.refreshFamilyLifetimeMs + limits.accessTokenLifetimeMs;
  return writeSignInSession(rows, { ...row, endTimeMs }, nowMs);
};

/** Stores the use of a refresh token; a family of before this table gets its session by that. */
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

/** Refuses every token of a session from now on, whether or not it has a row. */
const refuseTokens = async (rows: Write, id: string, identityUid: string, nowMs: number): Promise<void> => {
  await insertRevokedGrant(rows, id, nowMs);
  await growAccessVersion(rows, rootOf(identityUid));
};

/** Ends a session that was found. Returns false if another transaction has ended it. */
const endSession = async (rows: Write, { id, refreshTokenId, identityUid }: StoredSession, nowMs: number): Promise<boolean> => {
  // First, as a rotation does.
  if (refreshTokenId !== undefined) await deleteRefreshToken(rows, refreshTokenId, nowMs);
  const ended = await deleteSignInSession(rows, id);
  if (ended) await refuseTokens(rows, id, identityUid, nowMs);
  return ended !== undefined;
};

/** Ends the sessions that a filter finds. Returns those that this transaction has ended. */
export const endSessions = async (rows: Write, filter: SessionFilter, nowMs: number): Promise<StoredSession[]> => {
  const ended: StoredSession[] = [];
  for (const session of await findSessionsToEnd(rows, filter)) if (await endSession(rows, session, nowMs)) ended.push(session);
  return ended;
};

/**
 * Ends the session that a token of this identity names, whether or not it has a row: sessions of authorization codes of before the
 * table have none. Returns the session if it has one.
 */
export const endNamedSession = async (rows: Write, id: string, identityUid: string, nowMs: number): Promise<StoredSession | undefined> => {
  const [ended] = await endSessions(rows, { id }, nowMs);
  if (ended) return ended;
  await deleteRefreshToken(rows, id, nowMs);
  await refuseTokens(rows, id, identityUid, nowMs);
  return undefined;
};

const revokeName = "gantry.sessions.v1.SessionsService/RevokeSession";
const unseen: Origin = { address: "", userAgent: "" };

/** A session as the contract shows it, to its person or to an organization, which sees nothing that follows a use of it. */
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
 * Records that a person has revoked their own sessions, for the organization of the identity provider that each came through. What the
 * caller's token says of its sign-in, and from where it came, is for that organization only if the token's session came through it.
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
