// The rows that say who may be assumed by whom. Read with every question: what an owner changed holds at once.

import type { Log } from "#base/log.ts";
import { timestamp } from "#base/time.ts";
import type { JsonObject } from "#base/json.ts";
import { isRoot, rootOf } from "#base/uid.ts";
import type { Read, Store } from "#store";
import { objectOf } from "./claims.ts";

export interface Identity {
  readonly uid: string;
  /** RELATIONSHIP_TYPE_…; UNSPECIFIED is a human. */
  readonly relationship: string;
  readonly claimMatch: JsonObject | undefined;
  readonly staticKeys: JsonObject | undefined;
  readonly awsIdentity: JsonObject | undefined;
  readonly issuer: string;
  readonly subject: string;
}

/** The identity of that uid, if there is one. */
export const findIdentity = async (rows: Read, uid: string): Promise<Identity | undefined> => {
  const [row] = await rows.query("select relationship_type, claim_match, static_keys, aws_identity, issuer, subject from identities where uid = $1", [uid]);
  if (row === undefined) return undefined;
  const [relationship, claimMatch, staticKeys, awsIdentity, issuer, subject] = row;
  return {
    uid,
    relationship: relationship ?? "",
    claimMatch: objectOf(claimMatch),
    staticKeys: objectOf(staticKeys),
    awsIdentity: objectOf(awsIdentity),
    issuer: issuer ?? "",
    subject: subject ?? "",
  };
};

/**
 * Whether some human is registered with one of these spellings of an issuer: only then is it trusted to name
 * humans. Humans have root uids, and those of one issuer may stand behind any number of assumable identities in
 * the index; an issuer that only those name costs one walk over them.
 */
export const namesPeople = async (rows: Read, spellings: readonly string[]): Promise<boolean> => {
  const [row] = await rows.query(
    `select 1 from identities where issuer = any($1) and length(uid) = 40
       and relationship_type = 'RELATIONSHIP_TYPE_UNSPECIFIED' limit 1`,
    [spellings],
  );
  return row !== undefined;
};

/** Whether the identity lives in an organization that the operator has closed (resources: Groups, status). */
export const isClosed = async (rows: Read, uid: string): Promise<boolean> => {
  if (isRoot(uid)) return false;
  const [row] = await rows.query("select status = 'ORG_STATUS_SUSPENDED' from groups where uid = $1", [rootOf(uid)]);
  return row?.[0] === "t";
};

/** Notes that the identity was assumed. Never waits for another who does the same, and never fails its caller. */
export const noteSeen = async (store: Store, log: Log, uid: string, nowMs: number): Promise<void> => {
  try {
    await store.write((rows) =>
      rows.query(
        `update identities set last_seen_time = $2 where uid = (
           select uid from identities
           where uid = $1 and (last_seen_time is null or last_seen_time < $2) for update skip locked)`,
        [uid, timestamp(nowMs)],
      ),
    );
  } catch (cause) {
    log("authn.seen.failed", { uid, cause });
  }
};
