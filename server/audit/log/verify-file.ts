// Verifies exported lines (record.ts) without the server's database or key. A chain proves that nothing between two of its entries
// was changed, added or removed. A cut-off end shows only against the output of `gantry audit verify --json`.

import { limits } from "#base/limits.ts";
import { chainStart, hashEntry, type Link } from "./chain.ts";
import { type AuditRecord, readRecord } from "./record.ts";

export interface RecordsVerdict {
  readonly root: string;
  /** Of the first entry. */
  readonly first: number;
  readonly last: Link;
  /** Distinct entries, and identical repetitions. */
  readonly entries: number;
  readonly repeated: number;
  /** One sentence per problem; empty if intact. */
  readonly problems: readonly string[];
}

export interface RecordsVerdicts {
  /** Sorted by organization UID. */
  readonly verdicts: readonly RecordsVerdict[];
  /** Lines that are no entry, such as one cut off by a crash. */
  readonly otherLines: number;
}

interface ChainSeen {
  readonly first: number;
  last: Link;
  entries: number;
  repeated: number;
  problem: string | undefined;
  /** Hashes of recent entries by number, which repetitions must match. */
  readonly hashes: Map<number, string>;
}

/** Returns the problem, if any. */
const takeRecord = (chain: ChainSeen, record: AuditRecord, known: Link | undefined): string | undefined => {
  const { sequence, hash, previousHash } = record;
  if (hashEntry(previousHash, record) !== hash) return `entry ${sequence} has been changed`;
  if (known?.sequence === sequence && known.hash !== hash) return `entry ${sequence} is not the one that was known before`;
  if (sequence <= chain.last.sequence) {
    const before = chain.hashes.get(sequence);
    if (before === undefined) return `entry ${sequence} is repeated after entry ${chain.last.sequence}, or is out of order`;
    if (before !== hash) return `entry ${sequence} occurs twice with different content`;
    chain.repeated++;
    return undefined;
  }
  if (sequence > chain.last.sequence + 1)
    return chain.last.sequence + 2 === sequence ? `entry ${sequence - 1} is missing` : `entries ${chain.last.sequence + 1} to ${sequence - 1} are missing`;
  if (chain.entries > 0 && previousHash !== chain.last.hash) return `entry ${sequence} does not follow entry ${chain.last.sequence}`;
  chain.entries++;
  chain.last = { sequence, hash };
  chain.hashes.set(sequence, hash);
  chain.hashes.delete(sequence - 2 * limits.auditBatchMax);
  return undefined;
};

/** Verifies all lines in order, of any mix of organizations. @param known known ends of logs by organization, which the lines must contain */
export const verifyRecords = async (lines: AsyncIterable<string>, known: ReadonlyMap<string, Link> = new Map()): Promise<RecordsVerdicts> => {
  const chains = new Map<string, ChainSeen>();
  let otherLines = 0;
  for await (const line of lines) {
    if (line.trim() === "") continue;
    const record = readRecord(line);
    if (!record) {
      otherLines++;
      continue;
    }
    const { organization, sequence, previousHash } = record;
    const chain = chains.get(organization) ?? {
      first: sequence,
      last: { sequence: sequence - 1, hash: previousHash },
      entries: 0,
      repeated: 0,
      problem: undefined,
      hashes: new Map<number, string>(),
    };
    chains.set(organization, chain);
    // Nothing after the first break can be verified.
    chain.problem ??= takeRecord(chain, record, known.get(organization));
  }
  const verdicts = [...chains]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([root, { first, last, entries, repeated, problem }]): RecordsVerdict => {
      const end = known.get(root)?.sequence ?? 0;
      const cut = problem === undefined && end > last.sequence ? `it ends at entry ${last.sequence}, and entry ${end} was known before` : undefined;
      return { root, first, last, entries, repeated, problems: [problem, cut].filter((each) => each !== undefined) };
    });
  for (const root of known.keys())
    if (!chains.has(root)) verdicts.push({ root, first: 0, last: chainStart, entries: 0, repeated: 0, problems: ["all its entries are missing"] });
  return { verdicts, otherLines };
};
