// How far a verification has come, sealed with the secret key, so that it can continue after an interruption. An attacker without the key
// can remove this state, which costs time, but not claim that entries were verified.

import { limits } from "#base/limits.ts";
import type { Binding, Vault } from "#db";
import type { Link } from "./chain.ts";
import type { Head } from "./heads.ts";
import { restoreBefore } from "./restores.ts";

export interface VerifiedEntry extends Link {
  /** RFC 3339. */
  readonly sealTime: string;
}

/** The verified beginning of a chain. */
export interface VerifiedPart {
  readonly root: string;
  readonly first: VerifiedEntry;
  readonly last: VerifiedEntry;
  readonly entries: number;
  /** The known end that these entries were compared with. */
  readonly known?: Link;
  /** Start of the verification that read the first of them. */
  readonly sinceMs: number;
}

const purpose = "audit verification";

/** The sealed text names its organization. */
const boundWithin: Binding = [];

export const sealPart = (vault: Pick<Vault, "seal">, part: VerifiedPart): string => vault.seal(purpose, JSON.stringify(part), boundWithin);

/** Returns undefined for a text that was not sealed with this key. */
export const openPart = (vault: Pick<Vault, "open">, sealed: string): VerifiedPart | undefined => {
  const opened = vault.open(purpose, sealed, boundWithin);
  return opened === undefined ? undefined : (JSON.parse(opened) as VerifiedPart);
};

/** Returns a token for callers of the API: bound to the organization, and useless for a verification by command. */
export const sealToken = (vault: Pick<Vault, "seal">, part: VerifiedPart): string => vault.seal(purpose, JSON.stringify(part), [part.root]);

/** Returns undefined for a token that was not issued for this organization. */
export const openToken = (vault: Pick<Vault, "open">, root: string, token: string): VerifiedPart | undefined => {
  const opened = vault.open(purpose, token, [root]);
  return opened === undefined ? undefined : (JSON.parse(opened) as VerifiedPart);
};

/** Old parts prove little: their entries may have changed since. */
export const isRecent = ({ sinceMs }: VerifiedPart, nowMs: number): boolean => sinceMs <= nowMs && nowMs - sinceMs < limits.verifiedPartMs;

/** Returns the part if the chain still continues it, and it was compared with the known end. */
export const continuedPart = (head: Head, part: VerifiedPart | undefined, known: Link | undefined): VerifiedPart | undefined => {
  if (part === undefined) return undefined;
  const { sequence } = part.last;
  const isKept = sequence >= head.dropped.sequence && sequence <= head.last.sequence && restoreBefore(head, sequence) === undefined;
  const isCompared = known === undefined || known.sequence >= sequence || (known.sequence === part.known?.sequence && known.hash === part.known.hash);
  return isKept && isCompared ? part : undefined;
};
