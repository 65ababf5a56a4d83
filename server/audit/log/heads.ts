// How far each chain goes, how much of its beginning has been dropped, and how far all of them have come together, sealed
// with the server's secret key. Whoever has only the database can change entries and chain them anew, but cannot seal
// that; and who puts an older seal back with its older entries has the seal over all chains against them.

import { randomBytes } from "node:crypto";
import type { Binding, Read, Vault, Write } from "#db";
import { findAllSealed, findLastAuditEntry, findSealedHeads, findSealedProgress, type Month, writeSealedHead, writeSealedProgress } from "#audit/store";
import { chainStart, type Link } from "./chain.ts";

/** The last entry of a chain in a month. */
export interface MonthEnd {
  readonly month: Month;
  readonly last: Link;
}

/** Where a chain goes on since its database was restored. */
export interface RestoreMark {
  /** Behind this number. */
  readonly base: number;
  /** Its last entry then. */
  readonly at: Link;
}

export interface Head {
  readonly last: Link;
  /** Of its event in the outbox. */
  readonly position: number;
  /** The month that it was sealed in; "" before the first. */
  readonly month: Month;
  /** Where each earlier month ends that is still kept: when one is dropped, nothing that stands in a table says how far it went. */
  readonly monthEnds: readonly MonthEnd[];
  /** The last entry that was dropped when its time was over. */
  readonly dropped: Link;
  /** In hex. Drawn anew for each last entry; nobody can read it without the key. */
  readonly nonce: string;
  /** Where a seal could not be opened and the chain went on all the same: what is before that is not proven. */
  readonly brokenAt?: number;
  /** One for each restore (restores.ts). */
  readonly restores?: readonly RestoreMark[];
}

const emptyHead: Head = Object.freeze({ last: chainStart, position: 0, month: "", monthEnds: [], dropped: chainStart, nonce: "" });

/**
 * Of a chain that has no entry yet. After a restore it begins behind that: its entries may be others than those that readers have seen
 * of the state that is gone.
 */
export const newHead = ({ restores = [] }: Progress): Head => {
  const base = restores.at(-1);
  return base === undefined ? emptyHead : { ...emptyHead, restores: [{ base, at: chainStart }] };
};

/** An event that could not be sealed when its turn came: the log went on without it, and it is tried again. */
export interface SetAsideEvent {
  readonly position: number;
  /** In a row; and when it is tried again, RFC 3339. */
  readonly failures: number;
  readonly tryTime: string;
}

/** All chains together. */
export interface Progress {
  /** Of the outbox. */
  readonly position: number;
  /** Entries that were ever sealed. */
  readonly entries: number;
  /** RFC 3339: of the last ones; "" for none. */
  readonly sealTime: string;
  /** Before the position, and not sealed yet; there are none without it. */
  readonly setAside?: readonly SetAsideEvent[];
  /** The nonces of all heads, combined: fits these heads and none that were there at another time, also not some of each. */
  readonly combinedNonce: string;
  /** True: a seal could not be opened at some time, or events were taken away, and the count began anew. */
  readonly broken?: boolean;
  /** The bases of the restores that this database has been through. */
  readonly restores?: readonly number[];
}

export const emptyProgress: Progress = Object.freeze({ position: 0, entries: 0, sealTime: "", combinedNonce: "" });

type Opener = Pick<Vault, "open">;
type Sealer = Pick<Vault, "seal">;

const headPurpose = "audit chain";
const progressPurpose = "audit progress";

/** The text says itself which organization's head it is; of the progress there is one. */
const boundWithin: Binding = [];

export const newNonce = (): string => randomBytes(32).toString("hex");

const nonceNumber = (nonce: string): bigint => BigInt(`0x0${nonce}`);

/** Adds a nonce to combined ones, or takes it out again: XOR. */
export const combineNonces = (combined: string, nonce: string): string => (nonceNumber(combined) ^ nonceNumber(nonce)).toString(16);

export const isSameNonce = (one: string, other: string): boolean => nonceNumber(one) === nonceNumber(other);

/** The head that was sealed for this organization; undefined for a seal that is another's, damaged or of another key. */
export const openHead = (vault: Opener, root: string, sealed: string): Head | undefined => {
  const opened = vault.open(headPurpose, sealed, boundWithin);
  if (opened === undefined) return undefined;
  const { root: sealedFor, ...head } = JSON.parse(opened) as Head & { readonly root: string };
  return sealedFor === root ? head : undefined;
};

export const writeHead = (rows: Write, vault: Sealer, root: string, head: Head): Promise<void> =>
  writeSealedHead(rows, root, vault.seal(headPurpose, JSON.stringify({ root, ...head }), boundWithin));

/** Numbers that a chain reaches by counting. Whoever writes a larger one in must not end the count. */
const countedMax = 2 ** 52;

/** The last entry that is there, whatever a seal says. */
const lastLink = async (rows: Read, root: string): Promise<Link> => {
  const entry = await findLastAuditEntry(rows, root, countedMax);
  return entry ? { sequence: Math.max(entry.sequence, 0), hash: entry.hash } : chainStart;
};

/**
 * The heads of these organizations, by root. A seal that cannot be opened does not stop the log: the chain goes on
 * behind the last entry that is there, and its head says for ever where that was.
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

/** How far all chains are; undefined where the seal cannot be opened. */
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

/** The mark of the restore behind which a chain with this last number goes on elsewhere; undefined: it goes on with the next number. */
export const markAt = ({ restores = [] }: Pick<Head, "restores">, sequence: number): RestoreMark | undefined =>
  restores.findLast(({ at }) => at.sequence === sequence);

/** How many entries the chain has had: its numbers have a gap behind each restore. */
const countEntries = (head: Pick<Head, "last" | "restores">): number => {
  const { last, restores = [] } = head;
  const gaps = restores.filter((mark) => mark.base < last.sequence && markAt(head, mark.at.sequence) === mark);
  return gaps.reduce((count, { base, at }) => count - (base - at.sequence), last.sequence);
};

/** Every seal of one moment. */
export interface SealSummary {
  readonly progress: Progress | undefined;
  /** The position beside its seal, which anybody could have changed. */
  readonly unsealedPosition: number;
  /** Of all heads that can be opened. */
  readonly entries: number;
  readonly combinedNonce: string;
  /** The furthest that one of them has come. */
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
