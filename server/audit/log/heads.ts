// State of the chains, sealed with the secret key: each chain's end and dropped beginning, and the overall progress. Database access
// is enough to rewrite entries and hashes, but not to seal the result. An older seal, restored with its entries, contradicts the
// seal over all chains.

import { randomBytes } from "node:crypto";
import type { Binding, Read, Vault, Write } from "#db";
import { findAllSealed, findLastAuditEntry, findSealedHeads, findSealedProgress, type Month, writeSealedHead, writeSealedProgress } from "#audit/store";
import { chainStart, type Link } from "./chain.ts";

export interface MonthEnd {
  readonly month: Month;
  readonly last: Link;
}

/** Continuation of a chain after a restore of the database. */
export interface RestoreMark {
  /** Entries continue after this number. */
  readonly base: number;
  /** Last entry before the restore. */
  readonly at: Link;
}

export interface Head {
  readonly last: Link;
  /** Position of its event in the outbox. */
  readonly position: number;
  /** Month of its seal; "" before the first entry. */
  readonly month: Month;
  /** End of each earlier month that is still kept, so that dropping a month depends on no unsealed data. */
  readonly monthEnds: readonly MonthEnd[];
  /** Last entry dropped by retention. */
  readonly dropped: Link;
  /** In hex, new for each last entry, and unreadable without the key. */
  readonly nonce: string;
  /** Number at which an unreadable seal was replaced; earlier entries are not proven. */
  readonly brokenAt?: number;
  readonly restores?: readonly RestoreMark[];
}

const emptyHead: Head = Object.freeze({ last: chainStart, position: 0, month: "", monthEnds: [], dropped: chainStart, nonce: "" });

/**
 * Returns the head of a chain without entries. After a restore it starts behind the base, because readers may have seen other entries
 * of the lost state.
 */
export const newHead = ({ restores = [] }: Progress): Head => {
  const base = restores.at(-1);
  return base === undefined ? emptyHead : { ...emptyHead, restores: [{ base, at: chainStart }] };
};

/** An event that could not be sealed in turn. The log continues without it and retries. */
export interface SetAsideEvent {
  readonly position: number;
  /** Consecutive failures, and the time of the next retry in RFC 3339. */
  readonly failures: number;
  readonly tryTime: string;
}

/** State of all chains together. */
export interface Progress {
  /** In the outbox. */
  readonly position: number;
  readonly entries: number;
  /** Time of the last seal in RFC 3339; "" for none. */
  readonly sealTime: string;
  /** Earlier events that are not sealed yet; absent: none. */
  readonly setAside?: readonly SetAsideEvent[];
  /** XOR of all heads' nonces: matches exactly this set of heads, not a mix with older ones. */
  readonly combinedNonce: string;
  /** True if a seal was unreadable once, or events were removed before sealing, and the count restarted. */
  readonly broken?: boolean;
  readonly restores?: readonly number[];
}

export const emptyProgress: Progress = Object.freeze({ position: 0, entries: 0, sealTime: "", combinedNonce: "" });

type Opener = Pick<Vault, "open">;
type Sealer = Pick<Vault, "seal">;

const headPurpose = "audit chain";
const progressPurpose = "audit progress";

/** The sealed text names its organization; the progress is unique. */
const boundWithin: Binding = [];

export const newNonce = (): string => randomBytes(32).toString("hex");

const nonceNumber = (nonce: string): bigint => BigInt(`0x0${nonce}`);

/** Adds or removes a nonce by XOR. */
export const combineNonces = (combined: string, nonce: string): string => (nonceNumber(combined) ^ nonceNumber(nonce)).toString(16);

export const isSameNonce = (one: string, other: string): boolean => nonceNumber(one) === nonceNumber(other);

/** Returns the organization's sealed head; undefined if the seal belongs to another, is damaged or has another key. */
export const openHead = (vault: Opener, root: string, sealed: string): Head | undefined => {
  const opened = vault.open(headPurpose, sealed, boundWithin);
  if (opened === undefined) return undefined;
  const { root: sealedFor, ...head } = JSON.parse(opened) as Head & { readonly root: string };
  return sealedFor === root ? head : undefined;
};

export const writeHead = (rows: Write, vault: Sealer, root: string, head: Head): Promise<void> =>
  writeSealedHead(rows, root, vault.seal(headPurpose, JSON.stringify({ root, ...head }), boundWithin));

/** A larger number written to the database must not end the count. */
const countedMax = 2 ** 52;

const lastLink = async (rows: Read, root: string): Promise<Link> => {
  const entry = await findLastAuditEntry(rows, root, countedMax);
  return entry ? { sequence: Math.max(entry.sequence, 0), hash: entry.hash } : chainStart;
};

/**
 * Returns the heads of these organizations, by root. An unreadable seal does not stop the log: the chain continues after the last
 * stored entry, and its head records that permanently.
 */
export const readHeads = async (rows: Read, vault: Opener, roots: readonly string[]): Promise<Map<string, Head>> => {
  const heads = new Map<string, Head>();
  for (const { root, sealed } of await findSealedHeads(rows, roots)) {
    const head = openHead(vault, root, sealed);
    const last = head?.last ?? (await lastLink(rows, root));
    heads.set(root, head ?? { ...emptyHead, last, dropped: last, brokenAt: last.sequence });
  }
  return heads;
};

const openProgress = (vault: Opener, sealed: string): Progress | undefined => {
  if (sealed === "") return emptyProgress;
  const opened = vault.open(progressPurpose, sealed, boundWithin);
  return opened === undefined ? undefined : (JSON.parse(opened) as Progress);
};

/** Returns the overall progress; undefined if the seal cannot be opened. */
export const readProgress = async (rows: Read, vault: Opener): Promise<Progress | undefined> => {
  const row = await findSealedProgress(rows);
  return row && openProgress(vault, row.sealed);
};

export const writeProgress = (rows: Write, vault: Sealer, progress: Progress): Promise<void> =>
  writeSealedProgress(rows, {
    position: progress.position,
    setAside: (progress.setAside ?? []).map(({ position }) => position),
    sealed: vault.seal(progressPurpose, JSON.stringify(progress), boundWithin),
  });

/** Returns the restore mark after which a chain with this last number continues; undefined: with the next number. */
export const markAt = ({ restores = [] }: Pick<Head, "restores">, sequence: number): RestoreMark | undefined =>
  restores.findLast(({ at }) => at.sequence === sequence);

/** Excludes the gap in numbers after each restore. */
const countEntries = (head: Pick<Head, "last" | "restores">): number => {
  const { last, restores = [] } = head;
  const gaps = restores.filter((mark) => mark.base < last.sequence && markAt(head, mark.at.sequence) === mark);
  return gaps.reduce((count, { base, at }) => count - (base - at.sequence), last.sequence);
};

/** All seals at one moment. */
export interface SealSummary {
  readonly progress: Progress | undefined;
  /** The unsealed copy of the position, which anyone with database access can change. */
  readonly unsealedPosition: number;
  /** Total over readable heads. */
  readonly entries: number;
  readonly combinedNonce: string;
  /** Maximum over readable heads. */
  readonly position: number;
}

export const readSealSummary = async (rows: Read, vault: Opener): Promise<SealSummary> => {
  const { heads, progress } = await findAllSealed(rows);
  let [entries, combinedNonce, position] = [0, "", 0];
  for (const { root, sealed } of heads) {
    const head = openHead(vault, root, sealed);
    entries += head === undefined ? 0 : countEntries(head);
    combinedNonce = combineNonces(combinedNonce, head?.nonce ?? "");
    position = Math.max(position, head?.position ?? 0);
  }
  return { progress: progress && openProgress(vault, progress.sealed), unsealedPosition: progress?.position ?? 0, entries, combinedNonce, position };
};
