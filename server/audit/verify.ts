// Whether the log is what was written: every chain from its first kept entry to its sealed head.

import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { type Read, type Row, timeText, type Vault } from "#store";
import { type Entry, hashOf, type Link } from "./chain.ts";
import { type Head, openHead, readTogether } from "./heads.ts";
import { rootsIn } from "./months.ts";

export interface Verdict {
  readonly root: string;
  /** The chain's end, as it is sealed; undefined where the seal cannot be opened. Kept elsewhere, it proves that nothing before it was taken away later. */
  readonly last: Link | undefined;
  /** Entries that were looked at. */
  readonly entries: number;
  /** What is wrong, in a sentence each; empty: nothing is. */
  readonly problems: readonly string[];
}

// A time before the year 1 has the same letters as one after it.
const whole = (column: string): string => `case when ${column} > '0001-01-01' then ${timeText(column)} else ${column}::text end`;

// By numbers, of which a whole chain has each once: so many rows and one more show any that is there twice.
const page = `
  select uid, sequence, ${whole("create_time")}, ${whole("seal_time")}, caller_uid, act, operation, subject, type, code, count, binding_uids, remote_address, user_agent, request_id, event_id, hash
  from audit_entries where left(uid, 40) = $1 and sequence > $2 and sequence <= $3 order by sequence, uid limit $4`;

// The seal and what there is, of one moment.
const ends = `
  select (select sealed from audit_chains where root = $1),
    (select sequence from audit_entries where left(uid, 40) = $1 order by sequence limit 1),
    (select sequence from audit_entries where left(uid, 40) = $1 order by sequence desc limit 1)`;

const text = (value: string | null | undefined): string => value ?? "";

/** Undefined where a column holds what none of ours ever held. */
const entryOf = (row: Row): Entry | undefined => {
  const [act, bindings] = [JSON.parse(text(row[5])) as Json, JSON.parse(text(row[11])) as Json];
  if (!isObject(act) || !Array.isArray(bindings)) return undefined;
  return {
    uid: text(row[0]),
    sequence: Number(row[1]),
    createTime: text(row[2]),
    sealTime: text(row[3]),
    callerUid: text(row[4]),
    act: act as Record<string, string>,
    operation: text(row[6]),
    subject: text(row[7]),
    type: text(row[8]),
    code: text(row[9]),
    count: Number(row[10]),
    bindingUids: bindings as string[],
    remoteAddress: text(row[12]),
    userAgent: text(row[13]),
    requestId: text(row[14]),
    eventId: text(row[15]),
  };
};

interface Ends {
  readonly head: Head | undefined;
  /** Numbers of the entries that are there; undefined: there are none. */
  readonly first: number | undefined;
  readonly last: number | undefined;
}

const endsOf = async (read: Read, vault: Pick<Vault, "open">, root: string): Promise<Ends> => {
  const [row] = await read.query(ends, [root]);
  const [sealed, first, last] = row ?? [];
  return { head: sealed ? openHead(vault, root, sealed) : undefined, first: first ? Number(first) : undefined, last: last ? Number(last) : undefined };
};

/** Walks from the first kept entry to the sealed end; stops at the first break, since nothing behind it can be told apart. */
const walk = async (read: Read, root: string, head: Head, known: Link | undefined): Promise<{ readonly entries: number; readonly problem?: string }> => {
  let { sequence, hash } = head.dropped;
  let entries = 0;
  const unlike = (): boolean => known?.sequence === sequence && known.hash !== hash;
  if (unlike()) return { entries, problem: `entry ${sequence} is not the one that was known before` };
  while (sequence < head.last.sequence) {
    const until = Math.min(sequence + limits.verifiedMax, head.last.sequence);
    const rows = await read.query(page, [root, sequence, until, limits.verifiedMax + 1]);
    for (const row of rows) {
      const [uid, number] = [text(row[0]), Number(row[1])];
      if (number !== sequence + 1) return { entries, problem: number === sequence ? `entry ${sequence} is there twice` : `entry ${sequence + 1} is missing` };
      const entry = entryOf(row);
      hash = entry ? hashOf(hash, entry) : "";
      if (hash !== row[16]) return { entries, problem: `entry ${number} (${uid}) is not what was written, or the one before it is not` };
      sequence = number;
      if (unlike()) return { entries, problem: `entry ${sequence} is not the one that was known before` };
      entries++;
    }
    if (sequence < until) return { entries, problem: until === sequence + 1 ? `entry ${until} is missing` : `entries ${sequence + 1} to ${until} are missing` };
  }
  return head.last.hash === hash ? { entries } : { entries, problem: `entry ${sequence} is not the one that was sealed` };
};

/**
 * Looks at one organization's chain.
 * @param known what the chain's end was at some earlier time, as somebody kept it elsewhere
 */
export const verifyChain = async (read: Read, vault: Pick<Vault, "open">, root: string, known?: Link): Promise<Verdict> => {
  const { head, first, last } = await endsOf(read, vault, root);
  if (!head) return { root, last: undefined, entries: 0, problems: ["the chain's seal is missing, or cannot be opened with this server's secret key"] };
  const problems: string[] = [];
  if (head.brokenAt !== undefined)
    problems.push(`a seal could not be opened when entry ${head.brokenAt + 1} was written: entries up to ${head.brokenAt} are not proven`);
  if (known && known.sequence > head.last.sequence)
    problems.push(`the chain ends at entry ${head.last.sequence}, and entry ${known.sequence} was known before`);
  const { entries, problem } = await walk(read, root, head, known);
  // A month went while we were on the way.
  const now = problem === undefined ? undefined : await endsOf(read, vault, root);
  if (now?.head && now.head.dropped.sequence > head.dropped.sequence) return verifyChain(read, vault, root, known);
  if (problem !== undefined) problems.push(problem);
  if (first !== undefined && first <= head.dropped.sequence && head.brokenAt === undefined)
    problems.push(`entry ${first} is there, and the first one kept is ${head.dropped.sequence + 1}`);
  if (last !== undefined && last > head.last.sequence) problems.push(`entry ${head.last.sequence + 1} and those after it were never sealed`);
  return { root, last: head.last, entries, problems };
};

/** The organizations that have a chain, or entries. */
export const chainRoots = async (read: Read): Promise<string[]> => {
  const found = await read.query(`${rootsIn("audit_entries")} union select root from audit_chains order by 1`);
  return found.flatMap(([root]) => root ?? []);
};

/**
 * What is wrong with all chains together, in a sentence each: a chain that was cut off with its older seal put back, or
 * deleted whole, is whole in itself.
 */
export const verifySum = async (read: Read, vault: Pick<Vault, "open">): Promise<string[]> => {
  const { progress, plain, entries, marks } = await readTogether(read, vault);
  if (!progress) return ["the seal over all chains is missing, or cannot be opened with this server's secret key"];
  const problems: string[] = [];
  if (plain !== progress.position) problems.push(`events up to ${plain} are marked as sealed, and it is those up to ${progress.position} that are`);
  if (progress.broken) return [...problems, "the seal over all chains could not be opened at some time, or events were taken away before they were sealed"];
  if (entries < progress.entries) problems.push(`${progress.entries - entries} entries that were sealed are in no chain`);
  else if (entries > progress.entries)
    problems.push(`${entries - progress.entries} entries more are in the chains than the seal over all of them knows: it is an older one`);
  else if (BigInt(`0x0${marks}`) !== BigInt(`0x0${progress.marks}`))
    problems.push("the chains' seals and the seal over all of them are not of the same time: some of them are older ones");
  return problems;
};
