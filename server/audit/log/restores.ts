// Restores of the database, sealed in three places that must match: a record, the head of each chain, and the seal over all chains.
// So verification distinguishes a restore from tampering, and a restore explains only the entries that it removed.

import { isObject, type Json, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type Binding, lockExclusive, type Read, type Vault, type Write } from "#db";
import { findAllSealed, findRestores, insertRestore } from "#audit/store";
import { combineNonces, emptyProgress, type Head, newNonce, openHead, readProgress, type RestoreMark, writeHead, writeProgress } from "./heads.ts";

export interface Restore {
  /** Later positions and numbers belong to the time after the restore. */
  readonly base: number;
  /** RFC 3339. */
  readonly restoreTime: string;
  /** ID of the backup; "" for a restore by PostgreSQL's own tools. */
  readonly backupId: string;
  /** RFC 3339. */
  readonly stateTime: string;
  /** Last event of the restored state. */
  readonly position: number;
  /** User and machine of the command. */
  readonly by: string;
}

const purpose = "restore";

const boundTo = (base: number): Binding => [String(base)];

/** Returns a base larger than that of any earlier restore. */
export const nextBase = async (rows: Read, nowMs: number): Promise<number> => Math.max(nowMs * 1000, ...(await findRestores(rows)).map(({ base }) => base + 1));

/** Continues every chain behind `base` and seals that, in the restore's transaction. */
export const writeRestore = async (rows: Write, vault: Pick<Vault, "seal" | "open">, restore: Restore): Promise<void> => {
  await lockExclusive(rows, "sealing");
  const { base, restoreTime } = restore;
  const progress = (await readProgress(rows, vault)) ?? { ...emptyProgress, broken: true };
  let { combinedNonce } = progress;
  for (const { root, sealed } of (await findAllSealed(rows)).heads) {
    const head = openHead(vault, root, sealed);
    // An unreadable seal stays; verification reports it.
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
  readonly problems: readonly string[];
}

/** Returns the restores that the secret key proves. */
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

/** Returns the restore that removed this known entry, if any. */
export const restoreBefore = ({ restores = [] }: Head, sequence: number): RestoreMark | undefined =>
  restores.find(({ base, at }) => at.sequence < sequence && sequence <= base);
