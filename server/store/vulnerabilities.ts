// Table vulnerabilities: what CVE, OSV and RustSec say of a vulnerability; written by imports, read by the open list and by
// whoever asks how severe an advisory is. Kept for good: what a source tells no longer is hidden from lists.

import type { PageRequest } from "#base/page.ts";
import { columns, expression, flag, number, text, textList, time } from "./columns.ts";
import { noCounts, ownerGroup } from "./feed-counts.ts";
import { columnOf, lastByKey, recordDigestOf, refreshStatistics, stepRows, uidSegmentOf } from "./feed-rows.ts";
import { type Read, wideCount, type Write } from "./handle.ts";
import { addParameter, orderValue, pageClause, type PageTerms } from "./library-pages.ts";
import type { RecordTarget, VulnerabilityRecord, WriteCounts } from "./records.ts";
import { timeText } from "./time-text.ts";

/** A record's time as the store writes times, so that both compare as texts. */
const normalTime = (time: string | undefined): string => (time === undefined ? "" : new Date(time).toISOString());

const isHidden = ({ state, withdrawnTime }: VulnerabilityRecord): boolean => state === "REJECTED" || withdrawnTime !== undefined;

const storedRecord = columns({ id: text, digest: text, hidden: flag, feed: text, modifyTime: expression(`coalesce(${timeText("modify_time")}, '')`, text) });

/** The later modified of two sources' records of one number; the stored one where they are equally old. */
const replaces = (record: VulnerabilityRecord, feed: string, stored: { readonly feed: string; readonly modifyTime: string } | undefined): boolean =>
  stored === undefined || stored.feed === feed || normalTime(record.modifyTime) > stored.modifyTime;

const recordId = columns({ id: text });

/** Writes what is new or says something else than before. */
export const writeVulnerabilities = async (rows: Write, target: RecordTarget, records: readonly VulnerabilityRecord[]): Promise<WriteCounts> => {
  const owner = ownerGroup(target);
  const drafts = [...lastByKey(records).values()]
    .map((record) => ({ record, digest: recordDigestOf(record) }))
    .sort((one, other) => (one.record.id < other.record.id ? -1 : 1));
  const found = await storedRecord.find(rows, `select ${storedRecord.list} from vulnerabilities where owner = $1 and id = any($2)`, [
    owner,
    drafts.map(({ record }) => record.id),
  ]);
  const stored = new Map(found.map((each) => [each.id, each]));
  const different = drafts.filter(({ record, digest }) => {
    const before = stored.get(record.id);
    // What vanished from its source has no digest any more, and gives way to whoever knows it still.
    return before?.digest !== digest && (before?.digest === "" || replaces(record, target.feed, before));
  });
  if (different.length === 0) return { ...noCounts, unchanged: drafts.length };
  const written = await recordId.find(
    rows,
    `insert into vulnerabilities as held (owner, id, state, summary, details, links, severities, aliases, publish_time, modify_time,
       withdraw_time, hidden, feed, digest, create_time, update_time)
     select $1, id, state, summary, details, links::jsonb, severities::jsonb, aliases::jsonb, nullif(published, '')::timestamptz,
       nullif(modified, '')::timestamptz, nullif(withdrawn, '')::timestamptz, hidden = 'true', $2, digest, $3::timestamptz, $3::timestamptz
     from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
       $14::text[], $15::text[])
       as given(id, state, summary, details, links, severities, aliases, published, modified, withdrawn, hidden, digest)
     on conflict (id, owner) do update set state = excluded.state, summary = excluded.summary, details = excluded.details,
       links = excluded.links, severities = excluded.severities, aliases = excluded.aliases, publish_time = excluded.publish_time,
       modify_time = excluded.modify_time, withdraw_time = excluded.withdraw_time, hidden = excluded.hidden, feed = excluded.feed,
       digest = excluded.digest, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms')
     where held.digest <> excluded.digest
     returning ${recordId.list}`,
    [
      owner,
      target.feed,
      new Date(target.nowMs).toISOString(),
      columnOf(different, ({ record }) => record.id),
      columnOf(different, ({ record }) => record.state),
      columnOf(different, ({ record }) => record.summary),
      columnOf(different, ({ record }) => record.details),
      columnOf(different, ({ record }) => JSON.stringify(record.references)),
      columnOf(different, ({ record }) => JSON.stringify(record.severities)),
      columnOf(different, ({ record }) => JSON.stringify([...new Set(record.aliases)])),
      columnOf(different, ({ record }) => normalTime(record.publishTime)),
      columnOf(different, ({ record }) => normalTime(record.modifyTime)),
      columnOf(different, ({ record }) => normalTime(record.withdrawnTime)),
      columnOf(different, ({ record }) => String(isHidden(record))),
      columnOf(different, ({ digest }) => digest),
    ],
  );
  const ids = new Set(written.map(({ id }) => id));
  const counts = { new: 0, changed: 0, withdrawn: 0, unchanged: drafts.length - ids.size };
  for (const { record } of different) {
    if (!ids.has(record.id)) continue;
    const before = stored.get(record.id);
    if (!before) counts.new++;
    else if (!before.hidden && isHidden(record)) counts.withdrawn++;
    else counts.changed++;
  }
  return counts;
};

/** Hides those of a feed whose keys `isKnown` does not know; they stay, for whoever asks by their number. */
export const withdrawVulnerabilities = async (rows: Write, target: RecordTarget, isKnown: (key: string) => boolean): Promise<number> => {
  const owner = ownerGroup(target);
  let last = "";
  let withdrawn = 0;
  for (;;) {
    const found = await recordId.find(
      rows,
      `select ${recordId.list} from vulnerabilities where feed = $1 and owner = $2 and id > $3 and digest <> '' order by id limit ${stepRows}`,
      [target.feed, owner, last],
    );
    const gone = found.flatMap(({ id }) => (isKnown(uidSegmentOf(id)) ? [] : [id]));
    if (gone.length > 0) {
      await rows.query(
        `update vulnerabilities set hidden = true, digest = '', withdraw_time = coalesce(withdraw_time, $3),
           update_time = greatest($3, update_time + interval '1 ms') where owner = $1 and id = any($2)`,
        [owner, gone, new Date(target.nowMs).toISOString()],
      );
      withdrawn += gone.length;
    }
    const end = found.at(-1);
    if (!end) return withdrawn;
    last = end.id;
  }
};

/** What is known of the severity of a vulnerability: the record's number, its aliases, its severities (JSON). */
export interface SeverityRow {
  readonly id: string;
  readonly owner: string;
  readonly aliases: readonly string[];
  readonly severities: string;
}

const severityRow = columns<SeverityRow>({ id: text, owner: text, aliases: textList, severities: text });

/**
 * The records of these numbers, and those that they name as their aliases: public ones, and those of groups in these
 * organizations.
 */
export const findSeverities = async (rows: Read, roots: readonly string[], ids: readonly string[]): Promise<SeverityRow[]> => {
  if (ids.length === 0) return [];
  const visible = "not hidden and (owner = '' or left(owner, 40) = any($1))";
  return severityRow.find(
    rows,
    `with named as materialized (select ${severityRow.list} from vulnerabilities where id = any($2) and ${visible})
     select ${severityRow.list} from named
     union
     select ${severityRow.listOf("other")}
     from (select distinct jsonb_array_elements_text(aliases) as id from named) as further
     cross join lateral (select ${severityRow.list} from vulnerabilities where id = further.id and ${visible} offset 0) as other`,
    [roots, ids],
  );
};

/** A record as the open list shows it: columns in the contract's words, lists as JSON. */
export interface VulnerabilityRow {
  /** What places it in the order. */
  readonly key: readonly string[];
  readonly id: string;
  readonly summary: string;
  readonly details: string;
  readonly links: string;
  readonly severities: string;
  readonly createTime: string;
  readonly updateTime: string;
}

export interface VulnerabilityFilter {
  /** Only these numbers, rejected and withdrawn ones too; undefined: all that are neither. */
  readonly ids: readonly string[] | undefined;
  /** Only what was changed after this time; "": at any. */
  readonly updatedSince: string;
}

const vulnerabilityOrders: Readonly<Record<string, readonly string[]>> = {
  id: ["id"],
  create_time: ["create_time", "id"],
  update_time: ["update_time", "id"],
};

const filterTerms = ({ ids, updatedSince }: VulnerabilityFilter): PageTerms => {
  const page: PageTerms = { values: [], terms: ["owner = ''"] };
  page.terms.push(ids ? `id = any(${addParameter(page, ids)})` : "not hidden");
  if (updatedSince !== "") page.terms.push(`update_time > ${addParameter(page, updatedSince)}`);
  return page;
};

const vulnerabilityRow = columns<Omit<VulnerabilityRow, "key">>({
  id: text,
  summary: text,
  details: text,
  links: text,
  severities: text,
  createTime: time("create_time"),
  updateTime: time("update_time"),
});

/** One page of public records. */
export const findVulnerabilities = async (rows: Read, filter: VulnerabilityFilter, page: PageRequest): Promise<VulnerabilityRow[]> => {
  const order = vulnerabilityOrders[page.order.column] ?? [];
  const terms = filterTerms(filter);
  const clause = pageClause(terms, order, page);
  const found = await rows.query(`select ${vulnerabilityRow.list}, ${order.map(orderValue).join(", ")} from vulnerabilities ${clause}`, terms.values, {
    rows: page.limit,
    wide: true,
  });
  return found.map((row) => ({ ...vulnerabilityRow.read(row), key: row.slice(-order.length).map((value) => value ?? "") }));
};

const recordCount = columns({ records: expression("count(*)", number) });

export const countVulnerabilities = async (rows: Read, filter: VulnerabilityFilter): Promise<number> => {
  const { terms, values } = filterTerms(filter);
  const cost = filter.ids ? undefined : wideCount;
  const found = await recordCount.findOne(rows, `select ${recordCount.list} from vulnerabilities where ${terms.join(" and ")}`, values, cost);
  return found?.records ?? 0;
};

export const refreshVulnerabilityStatistics = (rows: Write): Promise<void> => refreshStatistics(rows, "vulnerabilities");
