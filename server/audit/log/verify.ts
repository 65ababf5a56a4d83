// Verifies the log: every chain from its first kept entry to its sealed head.

import { isObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { findAuditEntries, findChainEnds, type StoredAuditEntry } from "#audit/store";
import type { Read, StatementCost, Vault } from "#db";
import { type Entry, hashEntry, type Link } from "./chain.ts";
import { type Head, isSameNonce, markAt, openHead, readSealSummary } from "./heads.ts";
import { type RestoresVerdict, restoreBefore, verifyRestores } from "./restores.ts";
import { continuedPart, type VerifiedEntry, type VerifiedPart } from "./verified-part.ts";

export interface Problem {
  /** One sentence. */
  readonly description: string;
  /** The entry that is changed or missing; undefined if the whole log is concerned. */
  readonly sequence?: number;
  /** Untrusted uid of the stored entry; undefined if it is missing. */
  readonly uid?: string;
}

export interface Verdict {
  readonly root: string;
  /** The sealed end of the chain; undefined if the seal cannot be opened. Kept elsewhere, it proves that no earlier entry was removed later. */
  readonly last: Link | undefined;
  readonly entries: number;
  /** First and last verified entry; undefined if none was verified. */
  readonly span: VerifiedSpan | undefined;
  /** The bounds ended the verification before the end of the chain. */
  readonly isUnfinished: boolean;
  /** Start of the verification that this one continued, if any. */
  readonly sinceMs: number | undefined;
  /** Empty if intact. */
  readonly problems: readonly Problem[];
  /** One sentence per known entry that a restore removed, and one about a part that an earlier run verified. */
  readonly notes: readonly string[];
}

export interface VerifiedSpan {
  readonly first: VerifiedEntry;
  readonly last: VerifiedEntry;
}

/** Bounds of a verification that another one continues. */
export interface VerifyBounds {
  readonly entriesMax: number;
  /** Entries read and hashed at once. */
  readonly batchMax: number;
  readonly cost: StatementCost;
  /** Checked after each batch. */
  readonly isLate: () => boolean;
}

export interface VerifyOptions {
  /** An earlier end of the chain, kept elsewhere. */
  readonly known?: Link | undefined;
  /** What an interrupted run verified; the verification continues after it, if the chain still contains it. */
  readonly part?: VerifiedPart | undefined;
  /** Absent: the verification ends at the end of the chain. */
  readonly bounds?: VerifyBounds | undefined;
  /** Called after each batch with the number of verified entries, including those of the part. */
  readonly tell?: (entries: number, span: VerifiedSpan, sinceMs: number | undefined) => void;
}

/** Undefined if a column has an impossible type. */
const entryFromRow = (stored: StoredAuditEntry): Entry | undefined => {
  const { act, bindingUids, resourceUids } = stored;
  if (!isObject(act) || !Array.isArray(bindingUids) || !Array.isArray(resourceUids)) return undefined;
  return { ...stored, act: act as Record<string, string>, bindingUids: bindingUids as string[], resourceUids: resourceUids as string[] };
};

interface ChainState {
  readonly head: Head | undefined;
  /** Undefined if there are no entries. */
  readonly first: number | undefined;
  readonly last: number | undefined;
}

const readChain = async (read: Read, vault: Pick<Vault, "open">, root: string): Promise<ChainState> => {
  const { sealed, firstSequence, lastSequence } = await findChainEnds(read, root);
  return { head: sealed ? openHead(vault, root, sealed) : undefined, first: firstSequence, last: lastSequence };
};

const missingEntries = (from: number, to: number): Problem => ({
  description: from === to ? `entry ${from} is missing` : `entries ${from} to ${to} are missing`,
  sequence: from,
});

type EntriesVerdict = Pick<Verdict, "entries" | "span" | "isUnfinished"> & { readonly problem?: Problem };

/** Stops at the first break, because nothing after it can be verified. */
const verifyEntries = async (read: Read, root: string, head: Head, { known, part, bounds, tell }: VerifyOptions): Promise<EntriesVerdict> => {
  let { sequence, hash } = part?.last ?? head.dropped;
  let entries = part?.entries ?? 0;
  let span: VerifiedSpan | undefined = part;
  const { entriesMax, batchMax, isLate } = bounds ?? { entriesMax: Number.POSITIVE_INFINITY, batchMax: limits.verifiedMax, isLate: () => false };
  const entriesEnd = entries + entriesMax;
  const verdict = (problem?: Problem): EntriesVerdict => ({ entries, span, isUnfinished: false, ...(problem ? { problem } : {}) });
  const differsFromKnown = (): boolean => known?.sequence === sequence && known.hash !== hash;
  const otherThanKnown = (): EntriesVerdict => verdict({ description: `entry ${sequence} is not the one that was known before`, sequence });
  if (differsFromKnown()) return otherThanKnown();
  while (sequence < head.last.sequence) {
    const mark = markAt(head, sequence);
    if (mark && mark.at.hash !== hash) return verdict({ description: `entry ${sequence} is not the one that the restore behind it went on from`, sequence });
    sequence = mark?.base ?? sequence;
    const nextMark = (head.restores ?? []).find(({ at }) => at.sequence > sequence)?.at.sequence;
    const end = Math.min(nextMark ?? Number.POSITIVE_INFINITY, head.last.sequence);
    const until = Math.min(sequence + Math.min(batchMax, entriesEnd - entries), end);
    for (const stored of await findAuditEntries(read, root, sequence, until, batchMax + 1, bounds?.cost)) {
      const { uid, sequence: found, sealTime } = stored;
      if (found === sequence) return verdict({ description: `entry ${sequence} occurs twice`, sequence, uid });
      if (found !== sequence + 1) return verdict(missingEntries(sequence + 1, sequence + 1));
      const entry = entryFromRow(stored);
      hash = entry ? hashEntry(hash, entry) : "";
      if (hash !== stored.hash) return verdict({ description: `entry ${found} (${uid}) or the entry before it has been changed`, sequence: found, uid });
      sequence = found;
      if (differsFromKnown()) return otherThanKnown();
      const last = { sequence, hash, sealTime };
      span = { first: span?.first ?? last, last };
      entries++;
    }
    if (span) tell?.(entries, span, part?.sinceMs);
    if (sequence < until) {
      const [next] = await findAuditEntries(read, root, sequence, end, 1, bounds?.cost);
      return verdict(missingEntries(sequence + 1, next === undefined ? end : sequence + 1));
    }
    if (sequence < head.last.sequence && (entries >= entriesEnd || isLate())) return { ...verdict(), isUnfinished: true };
  }
  return head.last.hash === hash ? verdict() : verdict({ description: `entry ${sequence} is not the one that was sealed`, sequence });
};

/** Ignores a known end that a restore removed, with a note. */
const explainKnown = (
  head: Head,
  known: Link | undefined,
  restores: RestoresVerdict["restores"],
): { readonly known: Link | undefined; readonly notes: readonly string[] } => {
  const mark = known && restoreBefore(head, known.sequence);
  const restore = mark && restores.find(({ base }) => base === mark.base);
  if (!known || !mark || !restore) return { known, notes: [] };
  const { stateTime, restoreTime, by } = restore;
  return {
    known: undefined,
    notes: [
      `entry ${known.sequence} was known before, and is gone: ${restoreTime} the state of ${stateTime} was restored by ${by}, up to entry ${mark.at.sequence}`,
    ],
  };
};

/** Verifies one organization's chain. */
export const verifyChain = async (read: Read, vault: Pick<Vault, "open">, root: string, options: VerifyOptions = {}): Promise<Verdict> => {
  const { known: knownBefore } = options;
  const { head, first, last } = await readChain(read, vault, root);
  const restores = knownBefore === undefined ? [] : (await verifyRestores(read, vault)).restores;
  if (!head) {
    const nothing = { root, last: undefined, entries: 0, span: undefined, isUnfinished: false, sinceMs: undefined };
    const since = knownBefore && restores.find(({ base }) => base >= knownBefore.sequence);
    const isAbsent = last === undefined && since !== undefined;
    // The seal over all chains would reveal a deletion together with the seal.
    if (isAbsent)
      return {
        ...nothing,
        problems: [],
        notes: [`it is gone: ${since.restoreTime} the state of ${since.stateTime} was restored by ${since.by}, which had none`],
      };
    return { ...nothing, problems: [{ description: "the chain's seal is missing, or cannot be opened with this server's secret key" }], notes: [] };
  }
  const { known, notes: knownNotes } = explainKnown(head, knownBefore, restores);
  const part = continuedPart(head, options.part, known);
  const notes = part
    ? [...knownNotes, `entries up to ${part.last.sequence} were verified by an interrupted run that began at ${timestamp(part.sinceMs)}`]
    : knownNotes;
  const problems: Problem[] = [];
  const { brokenAt } = head;
  if (brokenAt !== undefined)
    problems.push({
      description: `a seal could not be opened when entry ${brokenAt + 1} was written: entries up to ${brokenAt} are not proven`,
      sequence: brokenAt + 1,
    });
  if (known && known.sequence > head.last.sequence)
    problems.push({ description: `the chain ends at entry ${head.last.sequence}, and entry ${known.sequence} was known before`, sequence: known.sequence });
  const { entries, span, isUnfinished, problem } = await verifyEntries(read, root, head, { ...options, known, part });
  // A month was dropped meanwhile.
  const now = problem === undefined ? undefined : await readChain(read, vault, root);
  if (now?.head && now.head.dropped.sequence > head.dropped.sequence) return verifyChain(read, vault, root, options);
  if (problem !== undefined) problems.push(problem);
  if (first !== undefined && first <= head.dropped.sequence && head.brokenAt === undefined)
    problems.push({ description: `entry ${first} exists, but the first kept entry is ${head.dropped.sequence + 1}`, sequence: first });
  if (last !== undefined && last > head.last.sequence)
    problems.push({ description: `entry ${head.last.sequence + 1} and those after it were never sealed`, sequence: head.last.sequence + 1 });
  return { root, last: head.last, entries, span, isUnfinished, sinceMs: part?.sinceMs, problems, notes };
};

/**
 * Returns the problems of all chains together, one sentence each: a chain that was cut with its older seal restored, or deleted with
 * its seal, is intact in itself.
 */
export const verifyAllChains = async (read: Read, vault: Pick<Vault, "open">): Promise<string[]> => {
  const { progress, unsealedPosition, entries, combinedNonce } = await readSealSummary(read, vault);
  if (!progress) return ["the seal over all chains is missing, or cannot be opened with this server's secret key"];
  const problems: string[] = [...(await verifyRestores(read, vault)).problems];
  if (unsealedPosition !== progress.position)
    problems.push(`events up to ${unsealedPosition} are marked as sealed, and it is those up to ${progress.position} that are`);
  for (const { position } of progress.setAside ?? [])
    problems.push(`the event at position ${position} could not be sealed yet and has no entry; it is tried again`);
  if (progress.broken) return [...problems, "the seal over all chains could not be decrypted at some time, or events were removed before they were sealed"];
  if (entries < progress.entries) problems.push(`${progress.entries - entries} entries that were sealed are in no chain`);
  else if (entries > progress.entries)
    problems.push(`${entries - progress.entries} entries more are in the chains than the seal over all of them knows: it is an older one`);
  else if (!isSameNonce(combinedNonce, progress.combinedNonce))
    problems.push("the chains' seals and the seal over all of them are not of the same time: some of them are older ones");
  return problems;
};
