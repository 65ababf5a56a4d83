// A state that was restored: an earlier one than readers have seen. That it was, and from what, is sealed in three places that fit each
// other alone: a record of its own, the head of each chain, and the seal over all of them. So verification tells it from a state that
// somebody has put back who has only the database; and what was known before and is gone is explained by it as far as it goes, no further.

import { isObject, type Json, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type Binding, lockExclusive, type Read, type Vault, type Write } from "#db";
import { findAllSealed, findRestores, insertRestore } from "#audit/store";
import { combineNonces, emptyProgress, type Head, newNonce, openHead, readProgress, type RestoreMark, writeHead, writeProgress } from "./heads.ts";

/** A restore, as it is told. */
export interface Restore {
  /** Positions and numbers behind it are of the time since. */
  readonly base: number;
  /** RFC 3339. */
  readonly restoreTime: string;
  /** Of the backup; "" where PostgreSQL itself has brought the state back. */
  readonly backupId: string;
  /** RFC 3339: of the state. */
  readonly stateTime: string;
  /** The last event of the state. */
  readonly position: number;
  /** Who ran the command, and on which machine. */
  readonly by: string;
}

const purpose = "restore";

const boundTo = (base: number): Binding => [String(base)];

/** One that is restored later has a larger base, whatever was there in between. */
export const nextBase = async (rows: Read, nowMs: number): Promise<number> => Math.max(nowMs * 1000, ...(await findRestores(rows)).map(({ base }) => base + 1));

/** Every chain goes on behind `base`, and says so. In the transaction of the restore. */
export const writeRestore = async (rows: Write, vault: Pick<Vault, "seal" | "open">, restore: Restore): Promise<void> => {
  await lockExclusive(rows, "sealing");
  const { base, restoreTime } = restore;
  const progress = (await readProgress(rows, vault)) ?? { ...emptyProgress, broken: true };
  let { combinedNonce } = progress;
  for (const { root, sealed } of (await findAllSealed(rows)).heads) {
    const head = openHead(vault, root, sealed);
    // What the key does not open stays as it is, and is told by verification.
    if (!head) continue;
    const nonce = newNonce();
    combinedNonce = combineNonces(combineNonces(combinedNonce, head.nonce), nonce);
    await writeHead(rows, vault, root, { ...head, nonce, restores: [...(head.restores ?? []), { base, at: head.last }] });
  }
  await writeProgress(rows, vault, { ...progress, combinedNonce, restores: [...(progress.restores ?? []), base] });
  await insertRestore(rows, { base, restoreMs: Date.parse(restoreTime), sealed: vault.seal(purpose, JSON.stringify(restore), boundTo(base)) });
};

const openRestore = (vault: Pick<Vault, "open">, base: number, sealed: string): Restore | undefined => {
  const opened = vault.open(purpose, sealed, boundTo(base));
  if (opened === undefined) return undefined;
  const value: Json = JSON.parse(opened);
  if (!isObject(value)) return undefined;
  return {
    base,
    restoreTime: text(value, "restoreTime"),
    backupId: text(value, "backupId"),
    stateTime: text(value, "stateTime"),
    position: Number(value.position),
    by: text(value, "by"),
  };
};

export interface RestoresVerdict {
  readonly restores: readonly Restore[];
  /** What is wrong with their records, in a sentence each. */
  readonly problems: readonly string[];
}

/** What the database was restored from, as far as the secret key proves it. */
export const verifyRestores = async (rows: Read, vault: Pick<Vault, "open">): Promise<RestoresVerdict> => {
  const [found, progress] = [await findRestores(rows), await readProgress(rows, vault)];
  const sealedBases = new Set(progress?.restores ?? []);
  const restores: Restore[] = [];
  const problems: string[] = [];
  for (const { base, restoreMs, sealed } of found) {
    const restore = openRestore(vault, base, sealed);
    if (!restore || restore.restoreTime !== timestamp(restoreMs))
      problems.push(`the record of the restore at ${timestamp(restoreMs)} was not written with this server's secret key`);
    else if (!sealedBases.has(base)) problems.push(`a restore at ${restore.restoreTime} is recorded, but the seal over all chains does not contain it`);
    else restores.push(restore);
  }
  for (const base of sealedBases)
    if (!found.some((row) => row.base === base)) problems.push(`the record of the restore at ${timestamp(Math.trunc(base / 1000))} is missing`);
  return { restores, problems };
};

/** The restore that has taken this entry away, which was known before; undefined: none has. */
export const restoreBefore = ({ restores = [] }: Head, sequence: number): RestoreMark | undefined =>
  restores.find(({ base, at }) => at.sequence < sequence && sequence <= base);
