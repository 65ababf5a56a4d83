// Table audit_entries: the audit log, partitioned by month of sealing.

import {
  type Column,
  columns,
  expression,
  json,
  nullableNumber,
  nullableText,
  number,
  type Read,
  type RowOf,
  type StatementCost,
  text,
  timeText,
  type Write,
} from "#db";

export interface AuditEntry {
  /** The path where it is logged, and its sequence. */
  readonly uid: string;
  /** From 1, without gaps within an organization. */
  readonly sequence: number;
  /** RFC 3339 with milliseconds. */
  readonly createTime: string;
  readonly sealTime: string;
  readonly callerUid: string;
  readonly act: Readonly<Record<string, string>>;
  readonly operation: string;
  readonly subject: string;
  readonly type: string;
  readonly code: string;
  readonly count: number;
  readonly bindingUids: readonly string[];
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly requestId: string;
  readonly eventId: string;
  /** The rows that a batch created or deleted; otherwise empty. */
  readonly resourceUids: readonly string[];
  /** Covers the entry and its predecessor (server/audit/log/chain.ts). */
  readonly hash: string;
}

/** Untrusted: anyone with database access may have changed it. */
export type StoredAuditEntry = RowOf<typeof storedEntry>;

const insertText = `
  insert into audit_entries
    (uid, sequence, create_time, seal_time, caller_uid, act, operation, subject, type, code, count, binding_uids, remote_address, user_agent, request_id,
     event_id, resource_uids, hash)
  select uid, sequence, "createTime", "sealTime", "callerUid", act, operation, subject, type, code, count, "bindingUids", "remoteAddress", "userAgent",
    "requestId", "eventId", "resourceUids", hash
  from jsonb_to_recordset($1::jsonb) as entry(
    uid text, sequence bigint, "createTime" timestamptz, "sealTime" timestamptz, "callerUid" text, act jsonb, operation text, subject text, type text,
    code text, count bigint, "bindingUids" jsonb, "remoteAddress" text, "userAgent" text, "requestId" text, "eventId" text, "resourceUids" jsonb, hash text)`;

export const insertAuditEntries = async (rows: Write, entries: readonly AuditEntry[]): Promise<void> => {
  await rows.query(insertText, [JSON.stringify(entries)]);
};

// Years before 1 are otherwise formatted like later ones.
const exactTime = (column: string): Column<string> => expression(`case when ${column} > '0001-01-01' then ${timeText(column)} else ${column}::text end`, text);

const storedEntry = columns({
  uid: text,
  sequence: number,
  createTime: exactTime("create_time"),
  sealTime: exactTime("seal_time"),
  callerUid: text,
  act: json,
  operation: text,
  subject: text,
  type: text,
  code: text,
  count: number,
  bindingUids: json,
  remoteAddress: text,
  userAgent: text,
  requestId: text,
  eventId: text,
  resourceUids: json,
  hash: text,
});

const entriesText = `
  select ${storedEntry.list} from audit_entries
  where left(uid, 40) = $1 and sequence > $2 and sequence <= $3 order by sequence, uid limit $4`;

/** Returns entries with after < sequence <= until. A valid chain has each number once, so a higher `count` reveals duplicates. */
export const findAuditEntries = (rows: Read, root: string, after: number, until: number, count: number, cost?: StatementCost): Promise<StoredAuditEntry[]> =>
  storedEntry.find(rows, entriesText, [root, after, until, count], cost);

const lastEntry = columns({ sequence: number, hash: text });

const lastEntryText = `
  select ${lastEntry.list} from audit_entries where left(uid, 40) = $1 and sequence < $2 order by sequence desc, uid desc limit 1`;

/** Returns the last entry with sequence < `below`. */
export const findLastAuditEntry = (rows: Read, root: string, below: number): Promise<{ readonly sequence: number; readonly hash: string } | undefined> =>
  lastEntry.findOne(rows, lastEntryText, [root, below]);

const firstSealedText = `
  select sequence from audit_entries where left(uid, 40) = $1 and sequence > $2 and seal_time >= $3 order by sequence limit 1`;

/** Returns the first sequence after `after` sealed at `time` or later. */
export const findFirstSealedSince = async (rows: Read, root: string, after: number, time: string): Promise<number | undefined> => {
  const [row] = await rows.query(firstSealedText, [root, after, time]);
  return row === undefined ? undefined : Number(row[0]);
};

/** The sealed head, and the first and last sequence. */
export type ChainEnds = RowOf<typeof chainEnds>;

const chainEnds = columns({
  sealed: expression("(select sealed from audit_chains where root = $1)", nullableText),
  /** Undefined if there are no entries. */
  firstSequence: expression("(select sequence from audit_entries where left(uid, 40) = $1 order by sequence limit 1)", nullableNumber),
  lastSequence: expression("(select sequence from audit_entries where left(uid, 40) = $1 order by sequence desc limit 1)", nullableNumber),
});

/** Returns seal and entries from one snapshot. */
export const findChainEnds = async (rows: Read, root: string): Promise<ChainEnds> =>
  (await chainEnds.findOne(rows, `select ${chainEnds.list}`, [root])) ?? { sealed: undefined, firstSequence: undefined, lastSequence: undefined };

// One index lookup per organization: a month may have millions of entries.
const rootsWhere = (condition: string): string => `
  with recursive each as (
    (select left(uid, 40) as root from audit_entries where ${condition} order by left(uid, 40) limit 1)
    union all
    select (
      select left(next.uid, 40) from audit_entries as next where left(next.uid, 40) > each.root and ${condition} order by left(next.uid, 40) limit 1
    )
    from each where each.root is not null
  )
  select root from each where root is not null`;

// The bounds limit the scan to one partition, which only the owner can access by name.
const rootsOfMonth = rootsWhere("seal_time >= $1 and seal_time < $2");

/** Returns organizations with entries or a sealed head. */
export const findChainRoots = async (rows: Read): Promise<string[]> => {
  const found = await rows.query(`${rootsWhere("true")} union select root from audit_chains order by 1`);
  return found.flatMap(([root]) => root ?? []);
};

// ---- order of sealing -------------------------------------------------------------------------------------------

/** A position after an entry; `sealTime` is in PostgreSQL's format. */
export type SealPlace = RowOf<typeof sealedPlace>;

export interface SealedEntry {
  readonly place: SealPlace;
  readonly entry: StoredAuditEntry;
}

const sealedPlace = columns({
  sealTime: expression("seal_time::text", text),
  root: expression("left(uid, 40)", text),
  sequence: number,
});

const inSealOrder = "seal_time, left(uid, 40), sequence";

// Estimates the size of a JSON line. Long columns count by stored size, since lists of uids compress to an eighth.
// Serializing rows that are not sent would cost more than the rest.
const entryBytes = "(8 * pg_column_size(resource_uids) + 2 * pg_column_size(binding_uids) + octet_length(subject) + octet_length(user_agent) + 500)::bigint";

const sealedAfterText = `
  select ${sealedPlace.list}, ${storedEntry.list} from (
    select *, sum(${entryBytes}) over (order by ${inSealOrder} rows unbounded preceding) - ${entryBytes} as bytes_before from (
      select * from audit_entries where seal_time >= $1::timestamptz and (${inSealOrder}) > ($1::timestamptz, $2, $3::bigint) order by ${inSealOrder} limit $4
    ) as next
  ) as measured where bytes_before < $5 order by measured.seal_time, left(measured.uid, 40), measured.sequence`;

/** Returns at most `count` entries and about `bytesMax`, but at least one if any exists. */
export const findEntriesSealedAfter = async (rows: Read, after: SealPlace, count: number, bytesMax: number): Promise<SealedEntry[]> => {
  const found = await rows.query(sealedAfterText, [after.sealTime, after.root, after.sequence, count, bytesMax], { rows: count, wide: true });
  return found.map((row) => ({ place: sealedPlace.read(row), entry: storedEntry.read(row, 3) }));
};

const knownHash = columns({ root: expression("given.root", text), sequence: expression("given.sequence", number), hash: text });

/** Omits missing entries. */
export const findEntryHashes = (
  rows: Read,
  entries: readonly { readonly root: string; readonly sequence: number }[],
): Promise<{ readonly root: string; readonly sequence: number; readonly hash: string }[]> =>
  knownHash.find(
    rows,
    `select ${knownHash.list} from unnest($1::text[], $2::bigint[]) as given(root, sequence) cross join lateral (
       select hash from audit_entries where left(uid, 40) = given.root and sequence = given.sequence order by uid limit 1) as entry`,
    [entries.map(({ root }) => root), entries.map(({ sequence }) => String(sequence))],
  );

// ---- months -----------------------------------------------------------------------------------------------------

/** Formatted as "2026-11". */
export type Month = string;

export const monthAfter = (month: Month, step: number): Month => {
  const [year = 0, ordinal = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, ordinal - 1 + step, 1)).toISOString().slice(0, 7);
};

const partitionPrefix = "audit_entries_";

/** Earliest first. */
export const listAuditMonths = async (rows: Read): Promise<Month[]> => {
  const found = await rows.query("select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_entries'::regclass order by 1");
  return found.flatMap(([name]) => name?.slice(partitionPrefix.length).replace("_", "-") ?? []);
};

/** Returns the first month that the database refuses to drop. */
export const findFirstKeptMonth = async (rows: Read): Promise<Month> => {
  const [row] = await rows.query("select first_kept_audit_month()");
  // The owner set no limit: all months are kept.
  return row?.[0] ?? "";
};

export const ensureAuditMonth = async (rows: Write, month: Month): Promise<void> => {
  await rows.query("select create_audit_month($1)", [month]);
};

/** Returns organizations with entries in this month. */
export const findAuditRootsOfMonth = async (rows: Read, month: Month): Promise<string[]> => {
  const found = await rows.query(rootsOfMonth, [`${month}-01T00:00:00Z`, `${monthAfter(month, 1)}-01T00:00:00Z`]);
  return found.flatMap(([root]) => root ?? []);
};

export const dropAuditMonth = async (rows: Write, month: Month): Promise<void> => {
  await rows.query("select drop_audit_month($1)", [month]);
};
