// Table vulnerabilities: what CVE, OSV and RustSec say of a vulnerability; written by imports, read by the open list and by
// whoever asks how severe an advisory is. Kept for good: what a source tells no longer is hidden from lists.

import type { PageRequest } from "#base/page.ts";
import { columns, expression, flag, nullableNumber, number, text, textList } from "./columns.ts";
import { noCounts, ownerGroup } from "./feed-counts.ts";
import { columnOf, lastByKey, recordDigestOf, refreshStatistics, stepRows, uidSegmentOf } from "./feed-rows.ts";
import { type Read, wideCount, type Write } from "./handle.ts";
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

/** A record as the open list shows it: columns in the contract's words, lists as JSON, facts where there are any. */
export interface VulnerabilityRow {
  readonly id: string;
  readonly summary: string;
  readonly details: string;
  readonly links: string;
  readonly severities: string;
  /** "" where nothing says that it is exploited. */
  readonly dateAdded: string;
  readonly dueDate: string;
  readonly ransomware: boolean;
  readonly requiredAction: string;
  readonly score: number | undefined;
  readonly percentile: number | undefined;
  readonly scoreDate: string;
}

const vulnerabilityRow = columns<VulnerabilityRow>({
  id: expression("held.id", text),
  summary: text,
  details: text,
  links: text,
  severities: text,
  dateAdded: text,
  dueDate: text,
  ransomware: flag,
  requiredAction: text,
  score: nullableNumber,
  percentile: nullableNumber,
  scoreDate: text,
});

/** Which records; all that are neither rejected nor withdrawn where nothing is set. */
export interface VulnerabilityFilter {
  /** Of these numbers, rejected and withdrawn ones too. */
  readonly ids: readonly string[] | undefined;
  readonly exploited: boolean;
  readonly ransomware: boolean;
  readonly scoreMin: number;
}

/** How the list is ordered: by number, by a fact and then by number. Without the fact a record stands at the lower end. */
type OrderBy = "id" | "known_exploited" | "exploit_prediction";

/** Columns of the index that has the order: the fact, the number, whose it is. */
const factKeys = {
  known_exploited: ["known.date_added", "known.id", "known.owner"],
  exploit_prediction: ["predicted.score", "predicted.id", "predicted.owner"],
} as const;

export const vulnerabilityOrderOf = (column: string): OrderBy => (column === "known_exploited" || column === "exploit_prediction" ? column : "id");

/** Public records and their facts. A list by a fact starts at the fact's own index; those without the fact come before or behind them all. */
interface Selected {
  readonly from: string;
  readonly terms: readonly string[];
}

class ListStatement {
  readonly values: (string | number | readonly string[])[] = [];
  add(value: string | number | readonly string[]): string {
    return `$${this.values.push(value)}`;
  }
}

const known = "known_exploits as known on known.id = held.id and known.owner = ''";
const predicted = "exploit_predictions as predicted on predicted.id = held.id and predicted.owner = ''";

const selectVulnerabilities = (
  statement: ListStatement,
  { ids, exploited, ransomware, scoreMin }: VulnerabilityFilter,
  by: OrderBy,
  withFact: boolean,
): Selected => {
  const isKnown = exploited || ransomware || (by === "known_exploited" && withFact);
  const isPredicted = scoreMin > 0 || (by === "exploit_prediction" && withFact);
  return {
    from: `vulnerabilities as held ${isKnown ? "join" : "left join"} ${known} ${isPredicted ? "join" : "left join"} ${predicted}`,
    terms: [
      "held.owner = ''",
      ids ? `held.id = any(${statement.add(ids)})` : "not held.hidden",
      ...(ransomware ? ["known.ransomware"] : []),
      ...(scoreMin > 0 ? [`predicted.score >= ${statement.add(scoreMin)}`] : []),
      ...(by !== "id" && !withFact ? [`${by === "known_exploited" ? "known" : "predicted"}.id is null`] : []),
    ],
  };
};

interface PartOfList {
  readonly by: OrderBy;
  /** The rows with the fact that orders the list, or those without; false where the number does. */
  readonly withFact: boolean;
  readonly descending: boolean;
  readonly after: readonly string[] | undefined;
}

interface PartStatement {
  readonly statement: ListStatement;
  readonly selected: string;
  readonly order: string;
}

const partStatement = (filter: VulnerabilityFilter, { by, withFact, descending, after }: PartOfList): PartStatement => {
  const statement = new ListStatement();
  const { from, terms } = selectVulnerabilities(statement, filter, by, withFact);
  const [direction, beyond] = descending ? ["desc", "<"] : ["asc", ">"];
  // Of two tables that are joined by it, the number comes from the one whose index has the order.
  const [fact, id, owner] = by !== "id" && withFact ? factKeys[by] : ["", "held.id", "held.owner"];
  const position: string[] = [];
  if (after !== undefined && fact === "") position.push(`${id} ${beyond} ${statement.add(after.at(-1) ?? "")}`);
  if (after !== undefined && fact !== "") {
    const key = by === "exploit_prediction" ? Number(after[0]) : (after[0] ?? "");
    position.push(`(${fact}, ${id}) ${beyond} (${statement.add(key)}, ${statement.add(after[1] ?? "")})`);
  }
  return {
    statement,
    selected: `from ${from} where ${[...terms, `${owner} = ''`, ...position].join(" and ")}`,
    order: `order by ${fact === "" ? "" : `${fact} ${direction}, `}${id} ${direction}`,
  };
};

const findPart = (rows: Read, filter: VulnerabilityFilter, part: PartOfList, skip: number, limit: number): Promise<VulnerabilityRow[]> => {
  const { statement, selected, order } = partStatement(filter, part);
  const page = `limit ${statement.add(limit)} offset ${statement.add(skip)}`;
  return vulnerabilityRow.find(rows, `select ${vulnerabilityRow.list} ${selected} ${order} ${page}`, statement.values, { rows: limit, wide: true });
};

const recordCount = columns({ records: expression("count(*)", number) });

const countPart = async (rows: Read, filter: VulnerabilityFilter, part: PartOfList): Promise<number> => {
  const { statement, selected } = partStatement(filter, part);
  const counted = `select ${recordCount.list} ${selected}`;
  const found = filter.ids ? await recordCount.findOne(rows, counted, statement.values) : await recordCount.findOne(rows, counted, statement.values, wideCount);
  return found?.records ?? 0;
};

/** How many public records there are. */
export const countVulnerabilities = (rows: Read, filter: VulnerabilityFilter): Promise<number> =>
  countPart(rows, filter, { by: "id", withFact: false, descending: false, after: undefined });

/** The key of a row in its list: what stands for the fact is empty where there is none. */
export const vulnerabilityKeyOf = (by: OrderBy, { id, dateAdded, score }: VulnerabilityRow): readonly string[] => {
  if (by === "id") return [id];
  return [by === "known_exploited" ? dateAdded : String(score ?? ""), id];
};

/**
 * A page of public records. By a fact, those without it come first, or last where it descends: two statements, each in the
 * order of an index, since one over both would sort everything.
 */
export const findVulnerabilities = async (rows: Read, filter: VulnerabilityFilter, page: PageRequest): Promise<VulnerabilityRow[]> => {
  const { order, after, skip, limit } = page;
  const by = vulnerabilityOrderOf(order.column);
  const whole: PartOfList = { by, withFact: false, descending: order.descending, after };
  if (by === "id") return findPart(rows, filter, whole, skip, limit);
  const parts: PartOfList[] = (order.descending ? [true, false] : [false, true]).map((withFact) => ({ ...whole, withFact, after: undefined }));
  // The page before ended in this part.
  const from = after === undefined ? 0 : parts.findIndex(({ withFact }) => withFact === (after[0] !== ""));
  const found: VulnerabilityRow[] = [];
  let toSkip = skip;
  for (const [index, each] of parts.entries()) {
    if (index < from || found.length >= limit) continue;
    const part = index === from ? { ...each, after } : each;
    const read = await findPart(rows, filter, part, toSkip, limit - found.length);
    found.push(...read);
    toSkip = read.length > 0 || toSkip === 0 ? 0 : Math.max(0, toSkip - (await countPart(rows, filter, part)));
  }
  return found;
};

export const refreshVulnerabilityStatistics = (rows: Write): Promise<void> => refreshStatistics(rows, "vulnerabilities");
