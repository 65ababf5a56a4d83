// How far each chain goes, how much of its beginning has been dropped, and how far all of them have come together, sealed
// with the server's secret key. Whoever has only the database can change entries and chain them anew, but cannot seal
// that; and who puts an older seal back with its older entries has the seal over all chains against them.

import { randomBytes } from "node:crypto";
import type { Read, Vault, Write } from "#store";
import { beginning, type Link } from "./chain.ts";

/** The last entry of a chain in a month ("2026-11"). */
export interface MonthEnd {
  readonly month: string;
  readonly last: Link;
}

export interface Head {
  readonly last: Link;
  /** Of its event in the outbox. */
  readonly position: number;
  /** The month that it was sealed in. */
  readonly month: string;
  /** Where each earlier month ends that is still kept: when one is dropped, nothing that stands in a table says how far it went. */
  readonly ends: readonly MonthEnd[];
  /** The last entry that was dropped when its time was over. */
  readonly dropped: Link;
  /** Drawn anew for each last entry; nobody can read it without the key. */
  readonly mark: string;
  /** Where a seal could not be opened and the chain went on all the same: what is before that is not proven. */
  readonly brokenAt?: number;
}

export const noHead: Head = Object.freeze({ last: beginning, position: 0, month: "", ends: [], dropped: beginning, mark: "" });

/** All chains together. */
export interface Progress {
  /** Of the outbox. */
  readonly position: number;
  /** Entries that were ever sealed. */
  readonly entries: number;
  /** RFC 3339: of the last ones; "" for none. */
  readonly sealTime: string;
  /** The marks of all heads, joined: fits these heads and none that were there at another time, also not some of each. */
  readonly marks: string;
  /** True: a seal could not be opened at some time, or events were taken away, and the count began anew. */
  readonly broken?: boolean;
}

export const nothingSealed: Progress = Object.freeze({ position: 0, entries: 0, sealTime: "", marks: "" });

type Opener = Pick<Vault, "open">;

const purpose = "audit chain";
const progressPurpose = "audit progress";

export const newMark = (): string => randomBytes(32).toString("hex");

/** Adds a mark to joined ones, or takes it out again. */
export const joinMark = (marks: string, mark: string): string => (BigInt(`0x0${marks}`) ^ BigInt(`0x0${mark}`)).toString(16);

/** The head that was sealed for this organization; undefined for a seal that is another's, damaged or of another key. */
export const openHead = (vault: Opener, root: string, sealed: string): Head | undefined => {
  const opened = vault.open(purpose, sealed);
  if (opened === undefined) return undefined;
  const { root: whose, ...head } = JSON.parse(opened) as Head & { readonly root: string };
  return whose === root ? head : undefined;
};

/** Keeps it. */
export const keepHead = async (rows: Write, vault: Pick<Vault, "seal">, root: string, head: Head): Promise<void> => {
  await rows.query("insert into audit_chains (root, sealed) values ($1, $2) on conflict (root) do update set sealed = excluded.sealed", [
    root,
    vault.seal(purpose, JSON.stringify({ root, ...head })),
  ]);
};

/** Numbers that a chain reaches by counting. Whoever writes a larger one in must not end the count. */
const countedMax = 2 ** 52;

/** The last entry that is there, whatever a seal says. */
const lastEntry = async (rows: Read, root: string): Promise<Link> => {
  const [row] = await rows.query(
    "select sequence, hash from audit_entries where left(uid, 40) = $1 and sequence < $2 order by sequence desc, uid desc limit 1",
    [root, countedMax],
  );
  return row ? { sequence: Math.max(Number(row[0]), 0), hash: row[1] ?? "" } : beginning;
};

/**
 * The heads of these organizations, by root. A seal that cannot be opened does not stop the log: the chain goes on
 * behind the last entry that is there, and its head says for ever where that was.
 */
export const readHeads = async (rows: Read, vault: Opener, roots: readonly string[]): Promise<Map<string, Head>> => {
  const heads = new Map<string, Head>();
  for (const [root, sealed] of await rows.query("select root, sealed from audit_chains where root = any($1)", [roots])) {
    if (root === null || root === undefined) continue;
    const head = openHead(vault, root, sealed ?? "");
    const last = head?.last ?? (await lastEntry(rows, root));
    heads.set(root, head ?? { ...noHead, last, dropped: last, brokenAt: last.sequence });
  }
  return heads;
};

const progressOf = (vault: Opener, sealed: string): Progress | undefined => {
  if (sealed === "") return nothingSealed;
  const opened = vault.open(progressPurpose, sealed);
  return opened === undefined ? undefined : (JSON.parse(opened) as Progress);
};

/** How far all chains are; undefined where the seal cannot be opened. */
export const readProgress = async (rows: Read, vault: Opener): Promise<Progress | undefined> => {
  const [row] = await rows.query("select sealed from audit_progress");
  return row ? progressOf(vault, row[0] ?? "") : undefined;
};

/** Keeps it. */
export const keepProgress = async (rows: Write, vault: Pick<Vault, "seal">, progress: Progress): Promise<void> => {
  await rows.query(
    "insert into audit_progress (position, sealed) values ($1, $2) on conflict (one) do update set position = excluded.position, sealed = excluded.sealed",
    [progress.position, vault.seal(progressPurpose, JSON.stringify(progress))],
  );
};

export interface Together {
  readonly progress: Progress | undefined;
  /** The position beside its seal, which anybody could have changed. */
  readonly plain: number;
  /** Of all seals that can be opened. */
  readonly entries: number;
  readonly marks: string;
  /** The furthest that one of them has come. */
  readonly position: number;
}

/** All seals of one moment: between two statements more could be sealed. */
export const readTogether = async (rows: Read, vault: Opener): Promise<Together> => {
  const found = await rows.query("select root, null, sealed from audit_chains union all select null, position, sealed from audit_progress");
  let [progress, plain, entries, marks, furthest]: [Progress | undefined, number, number, string, number] = [undefined, 0, 0, "", 0];
  for (const [root, position, sealed] of found) {
    if (root === null || root === undefined) {
      progress = progressOf(vault, sealed ?? "");
      plain = Number(position);
      continue;
    }
    const head = openHead(vault, root, sealed ?? "");
    entries += head?.last.sequence ?? 0;
    marks = joinMark(marks, head?.mark ?? "");
    furthest = Math.max(furthest, head?.position ?? 0);
  }
  return { progress, plain, entries, marks, position: furthest };
};
