// Tables vulnerabilities and vulnerability_cves: records from CVE, OSV and RustSec, and their CVE IDs. Records that a source no longer
// publishes are hidden from lists.

import type { PageRequest } from "#base/page.ts";
import type { AssertedRow } from "./advisories.ts";
import {
  addParameter,
  columns,
  expression,
  flag,
  nullableNumber,
  nullableText,
  number,
  orderValue,
  pageClause,
  type PageTerms,
  type Read,
  type RowOf,
  text,
  textList,
  time,
  timeText,
  wideCount,
  type Write,
} from "#db";
import { noCounts, ownerGroup } from "./feed-counts.ts";
import { columnOf, type FindAsserted, lastByKey, recordDigestOf, recordKey, type Refreshed, refreshStatistics, stepRows, uidSegmentOf } from "./feed-rows.ts";
import type { RecordTarget, VulnerabilityRecord, WriteCounts } from "./records.ts";

/** So that times compare as texts. */
const normalTime = (time: string | undefined): string => (time === undefined ? "" : new Date(time).toISOString());

const isHidden = ({ state, withdrawnTime }: VulnerabilityRecord): boolean => state === "REJECTED" || withdrawnTime !== undefined;

// By primary key: in a freshly filled table the planner would read all rows of the owner.
const rowsOfIds = `unnest($2::text[]) as given(number) cross join lateral (
  select * from vulnerabilities where id = given.number and owner = $1 offset 0) as held`;

const storedRecord = columns({
  id: text,
  digest: text,
  hidden: flag,
  feed: text,
  modifyTime: expression(`coalesce(${timeText("modify_time")}, '')`, text),
  documentId: nullableText,
});

/** For records without a document the later modified wins; on a tie the stored one. */
const replaces = (record: VulnerabilityRecord, feed: string, stored: { readonly feed: string; readonly modifyTime: string } | undefined): boolean =>
  stored === undefined || stored.feed === feed || normalTime(record.modifyTime) > stored.modifyTime;

/** The content is unchanged. */
const adoptVulnerabilities = async (
  rows: Write,
  target: RecordTarget,
  drafts: readonly { readonly record: VulnerabilityRecord; readonly documentId: string }[],
): Promise<void> => {
  if (drafts.length === 0) return;
  await rows.query(
    `update vulnerabilities as held set document_id = document::bigint, feed = $4
     from unnest($2::text[], $3::text[]) as given(id, document) where held.id = given.id and held.owner = $1`,
    [ownerGroup(target), columnOf(drafts, ({ record }) => record.id), columnOf(drafts, ({ documentId }) => documentId), target.feed],
  );
};

const recordId = columns({ id: text });

interface NumberedRecord {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly isNew: boolean;
}

const writeCves = async (rows: Write, owner: string, records: readonly NumberedRecord[]): Promise<void> => {
  const known = records.filter(({ isNew }) => !isNew).map(({ id }) => id);
  // As in rowsOfIds.
  if (known.length > 0) {
    await rows.query(
      `delete from vulnerability_cves as held using unnest($2::text[]) as given(number) cross join lateral (
         select named.cve from vulnerability_cves as named where named.owner = $1 and named.id = given.number offset 0) as named
       where held.owner = $1 and held.cve = named.cve and held.id = given.number`,
      [owner, known],
    );
  }
  const named = records.flatMap(({ id, aliases }) => [...new Set([id, ...aliases])].filter((cve) => cve.startsWith("CVE-")).map((cve) => ({ id, cve })));
  if (named.length === 0) return;
  await rows.query("insert into vulnerability_cves (owner, id, cve) select $1, id, cve from unnest($2::text[], $3::text[]) as given(id, cve)", [
    owner,
    columnOf(named, ({ id }) => id),
    columnOf(named, ({ cve }) => cve),
  ]);
};

export const writeVulnerabilities = async (rows: Write, target: RecordTarget, records: readonly VulnerabilityRecord[]): Promise<WriteCounts> => {
  const owner = ownerGroup(target);
  const drafts = [...lastByKey(records).values()]
    .map((record) => ({ record, digest: recordDigestOf(record), documentId: target.assertions?.get(recordKey(record))?.id ?? "" }))
    .sort((one, other) => (one.record.id < other.record.id ? -1 : 1));
  const found = await storedRecord.find(rows, `select ${storedRecord.list} from ${rowsOfIds}`, [owner, drafts.map(({ record }) => record.id)]);
  const stored = new Map(found.map((each) => [each.id, each]));
  const different = drafts.filter(({ record, digest }) => {
    const before = stored.get(record.id);
    // With a document the winner is already decided. A record without a digest disappeared from its source and gives way to any other.
    return before?.digest !== digest && (target.assertions !== undefined || before?.digest === "" || replaces(record, target.feed, before));
  });
  await adoptVulnerabilities(
    rows,
    target,
    drafts.filter(({ record, digest, documentId }) => {
      const before = stored.get(record.id);
      return before?.digest === digest && documentId !== "" && before.documentId !== documentId;
    }),
  );
  if (different.length === 0) return { ...noCounts, unchanged: drafts.length };
  const written = await recordId.find(
    rows,
    `insert into vulnerabilities as held (owner, id, state, summary, details, links, severities, aliases, publish_time, modify_time,
       withdraw_time, hidden, feed, digest, document_id, create_time, update_time)
     select $1, id, state, summary, details, links::jsonb, severities::jsonb, aliases::jsonb, nullif(published, '')::timestamptz,
       nullif(modified, '')::timestamptz, nullif(withdrawn, '')::timestamptz, hidden = 'true', $2, digest, nullif(document, '')::bigint,
       $3::timestamptz, $3::timestamptz
     from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
       $14::text[], $15::text[], $16::text[])
       as given(id, state, summary, details, links, severities, aliases, published, modified, withdrawn, hidden, digest, document)
     on conflict (id, owner) do update set state = excluded.state, summary = excluded.summary, details = excluded.details,
       links = excluded.links, severities = excluded.severities, aliases = excluded.aliases, publish_time = excluded.publish_time,
       modify_time = excluded.modify_time, withdraw_time = excluded.withdraw_time, hidden = excluded.hidden, feed = excluded.feed,
       digest = excluded.digest, document_id = excluded.document_id, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms')
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
      columnOf(different, ({ documentId }) => documentId),
    ],
  );
  const ids = new Set(written.map(({ id }) => id));
  await writeCves(
    rows,
    owner,
    different.flatMap(({ record: { id, aliases } }) => (ids.has(id) ? [{ id, aliases, isNew: !stored.has(id) }] : [])),
  );
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

/** Hides records; they remain available by ID. */
export const withdrawVulnerabilities = async (rows: Write, owner: string, ids: readonly string[], nowMs: number): Promise<number> => {
  const gone = await rows.query(
    `update vulnerabilities set hidden = true, digest = '', withdraw_time = coalesce(withdraw_time, $3),
       update_time = greatest($3, update_time + interval '1 ms') where owner = $1 and id = any($2) and digest <> '' returning 1`,
    [owner, ids, new Date(nowMs).toISOString()],
  );
  return gone.length;
};

/** Deletes records that belong to another owner now. Callers without access no longer see them, not even by ID. */
export const deleteVulnerabilities = async (rows: Write, owner: string, ids: readonly string[]): Promise<number> =>
  (await rows.query("delete from vulnerabilities where owner = $1 and id = any($2) returning 1", [owner, ids])).length;

/** Hides the feed's records without a document that `findAsserted` does not return. */
export const withdrawUnassertedVulnerabilities = async (rows: Write, target: RecordTarget, findAsserted: FindAsserted): Promise<number> => {
  let last = "";
  let withdrawn = 0;
  for (;;) {
    const found = await recordId.find(
      rows,
      `select ${recordId.list} from vulnerabilities
       where feed = $1 and owner = $2 and id > $3 and document_id is null and digest <> '' order by id limit ${stepRows}`,
      [target.feed, ownerGroup(target), last],
    );
    const told = await findAsserted(
      found.map(({ id }) => uidSegmentOf(id)),
      found.map(({ id }) => id),
    );
    const gone = found.flatMap(({ id }) => (told.has(uidSegmentOf(id)) ? [] : [id]));
    if (gone.length > 0) withdrawn += await withdrawVulnerabilities(rows, ownerGroup(target), gone, target.nowMs);
    const end = found.at(-1);
    if (!end) return withdrawn;
    last = end.id;
  }
};

const assertedVulnerability = columns({ id: text, documentId: nullableText, isAsserted: expression("digest <> ''", flag) });

export const findAssertedVulnerabilities = async (rows: Read, owner: string, ids: readonly string[]): Promise<AssertedRow[]> => {
  const found = await assertedVulnerability.find(rows, `select ${assertedVulnerability.list} from ${rowsOfIds}`, [owner, ids]);
  return found.map(({ id, documentId, isAsserted }) => ({ key: uidSegmentOf(id), documentId, isAsserted, isPublic: owner === "" }));
};

export const findPublicVulnerabilities = async (rows: Read, feed: string, ids: readonly string[]): Promise<Set<string>> => {
  const found = await recordId.find(
    rows,
    `select ${recordId.list} from vulnerabilities where owner = '' and feed = $1 and document_id is null and id = any($2)`,
    [feed, ids],
  );
  return new Set(found.map(({ id }) => id));
};

export type SeverityRow = RowOf<typeof severityRow>;

const severityRow = columns({ id: text, owner: text, aliases: textList, severities: text });

/** Returns these records and those of their aliases: public ones, and those of these organizations. */
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

/** Columns named as in the contract, lists as JSON. */
export interface VulnerabilityRow {
  readonly key: readonly string[];
  readonly id: string;
  readonly summary: string;
  readonly details: string;
  readonly links: string;
  readonly severities: string;
  readonly createTime: string;
  readonly updateTime: string;
  /** "" if not withdrawn. */
  readonly withdrawTime: string;
  readonly dateAdded: string;
  readonly dueDate: string;
  readonly ransomware: boolean;
  readonly requiredAction: string;
  readonly score: number | undefined;
  readonly percentile: number | undefined;
  readonly scoreDate: string;
}

const vulnerabilityRow = columns<Omit<VulnerabilityRow, "key">>({
  id: expression("held.id", text),
  summary: text,
  details: text,
  links: text,
  severities: text,
  createTime: time("create_time"),
  updateTime: time("update_time"),
  withdrawTime: time("withdraw_time"),
  dateAdded: text,
  dueDate: text,
  ransomware: flag,
  requiredAction: text,
  score: nullableNumber,
  percentile: nullableNumber,
  scoreDate: text,
});

/** By default all that are neither rejected nor withdrawn. */
export interface VulnerabilityFilter {
  /** Includes rejected and withdrawn records. */
  readonly ids: readonly string[] | undefined;
  readonly updatedSince: string;
  readonly exploited: boolean;
  readonly ransomware: boolean;
  readonly scoreMin: number;
}

const vulnerabilityOrders: Readonly<Record<string, readonly string[]>> = {
  id: ["held.id"],
  create_time: ["held.create_time", "held.id"],
  update_time: ["held.update_time", "held.id"],
};

type FactTable = "known" | "predicted";

/** Of several facts of a record, the most severe one counts. */
const factRanks: Readonly<Record<FactTable, (fact: string) => string>> = {
  known: (fact) => `${fact}.ransomware, ${fact}.date_added, ${fact}.id`,
  predicted: (fact) => `${fact}.score, ${fact}.id`,
};

// Table names are written out for the check of modules.json.
const factsOfNumbers: Readonly<Record<FactTable, (fact: string, named: string) => string>> = {
  known: (fact, named) => `vulnerability_cves as ${named} join known_exploits as ${fact} on ${fact}.id = ${named}.cve and ${fact}.owner = '' and ${fact}.shown`,
  predicted: (fact, named) =>
    `vulnerability_cves as ${named} join exploit_predictions as ${fact} on ${fact}.id = ${named}.cve and ${fact}.owner = '' and ${fact}.shown`,
};

const descending = (columns: string): string => columns.replaceAll(",", " desc,").concat(" desc");

const shownFact = (table: FactTable): string =>
  `left join lateral (
     select fact.* from ${factsOfNumbers[table]("fact", "named")} where named.owner = '' and named.id = held.id
     order by ${descending(factRanks[table]("fact"))} limit 1) as ${table} on true`;

const hasFact = (table: FactTable, condition = ""): string =>
  `exists (select from ${factsOfNumbers[table]("fact", "named")} where named.owner = '' and named.id = held.id ${condition})`;

const factsFirst = (table: FactTable): string => `${factsOfNumbers[table](table, "named_first")} join vulnerabilities as held on held.id = named_first.id`;

const countsMost = (table: FactTable): string =>
  `named_first.owner = '' and not exists (
     select from ${factsOfNumbers[table]("other", "rival")} where rival.owner = '' and rival.id = named_first.id
       and (${factRanks[table]("other")}) > (${factRanks[table](table)}))`;

interface FactOrder {
  readonly table: FactTable;
  /** As in the fact's index, then the record's ID. */
  readonly columns: readonly [fact: string, cve: string, id: string];
}

/** Records without a fact are at the lower end, by ID. */
const factOrders: ReadonlyMap<string, FactOrder> = new Map([
  ["known_exploited", { table: "known", columns: ["known.date_added", "known.id", "held.id"] }],
  ["exploit_prediction", { table: "predicted", columns: ["predicted.score", "predicted.id", "held.id"] }],
]);

/** Records with or without the fact. */
interface FactPart {
  readonly table: FactTable;
  readonly isThere: boolean;
}

interface Selected extends PageTerms {
  readonly from: string;
}

const withShownFacts = (from: string, { table, isThere }: Partial<FactPart>): string => {
  const tables: readonly FactTable[] = ["known", "predicted"];
  return [from, ...tables.filter((each) => !(isThere && each === table)).map(shownFact)].join(" ");
};

const selectVulnerabilities = ({ ids, updatedSince, exploited, ransomware, scoreMin }: VulnerabilityFilter, part?: FactPart): Selected => {
  const first = part?.isThere ? part.table : undefined;
  const selected: Selected = {
    from: first ? factsFirst(first) : "vulnerabilities as held",
    values: [],
    terms: ["held.owner = ''"],
  };
  selected.terms.push(ids ? `held.id = any(${addParameter(selected, ids)})` : "not held.hidden");
  if (updatedSince !== "") selected.terms.push(`held.update_time > ${addParameter(selected, updatedSince)}`);
  // If any fact has ransomware, so does the most severe one.
  if (first === "known" && ransomware) selected.terms.push("known.ransomware");
  else if (first !== "known" && (exploited || ransomware)) selected.terms.push(hasFact("known", ransomware ? "and fact.ransomware" : ""));
  if (scoreMin > 0) {
    const least = addParameter(selected, scoreMin);
    selected.terms.push(first === "predicted" ? `predicted.score >= ${least}` : hasFact("predicted", `and fact.score >= ${least}`));
  }
  if (first) selected.terms.push(countsMost(first));
  else if (part) selected.terms.push(`not ${hasFact(part.table)}`);
  return selected;
};

const findPart = async (
  rows: Read,
  { from, ...selected }: Selected,
  order: readonly string[],
  page: PageRequest,
  part: Partial<FactPart> = {},
): Promise<VulnerabilityRow[]> => {
  const clause = pageClause(selected, order, page);
  const listed = `${vulnerabilityRow.list}, ${order.map(orderValue).join(", ")}`;
  const found = await rows.query(`select ${listed} from ${withShownFacts(from, part)} ${clause}`, selected.values, { rows: page.limit, wide: true });
  return found.map((row) => ({ ...vulnerabilityRow.read(row), key: row.slice(-order.length).map((value) => value ?? "") }));
};

const recordCount = columns({ records: expression("count(*)", number) });

const countPart = async (rows: Read, filter: VulnerabilityFilter, part?: FactPart): Promise<number> => {
  const { from, terms, values } = selectVulnerabilities(filter, part);
  const cost = filter.ids ? undefined : wideCount;
  const found = await recordCount.findOne(rows, `select ${recordCount.list} from ${from} where ${terms.join(" and ")}`, values, cost);
  return found?.records ?? 0;
};

export const countVulnerabilities = (rows: Read, filter: VulnerabilityFilter): Promise<number> => countPart(rows, filter);

const isRequired = ({ exploited, ransomware, scoreMin }: VulnerabilityFilter, table: FactTable): boolean =>
  table === "known" ? exploited || ransomware : scoreMin > 0;

/** Runs two statements, each in index order, because one for both would sort everything. The key of a record without a fact has only its ID. */
const findByFact = async (rows: Read, filter: VulnerabilityFilter, { table, columns: order }: FactOrder, page: PageRequest): Promise<VulnerabilityRow[]> => {
  const [, id] = page.after ?? [];
  const isAfterThere = page.after?.[0] !== "";
  const found: VulnerabilityRow[] = [];
  let toSkip = page.skip;
  let isBegun = page.after === undefined;
  for (const isThere of page.order.descending ? [true, false] : [false, true]) {
    // The previous page ended here.
    const isStart = !isBegun && isThere === isAfterThere;
    isBegun ||= isStart;
    if (!isBegun || found.length >= page.limit || (!isThere && isRequired(filter, table))) continue;
    const after = isStart ? (isThere ? page.after : [id ?? ""]) : undefined;
    const request = { ...page, after, skip: toSkip, limit: page.limit - found.length };
    const selected = selectVulnerabilities(filter, { table, isThere });
    const [fact, cve] = page.after ?? [];
    if (isStart && isThere) {
      // The part of the key that the index of facts has.
      const position = [fact ?? "", cve ?? ""].map((value) => addParameter(selected, value)).join(", ");
      selected.terms.push(`(${order[0]}, ${order[1]}) ${page.order.descending ? "<=" : ">="} (${position})`);
    }
    const read = await findPart(rows, selected, isThere ? order : ["held.id"], request, { table, isThere });
    found.push(...(isThere ? read : read.map((row) => ({ ...row, key: ["", row.id] }))));
    // Rows skipped here are not skipped again.
    toSkip = read.length > 0 || toSkip === 0 ? 0 : Math.max(0, toSkip - (await countPart(rows, filter, { table, isThere })));
  }
  return found;
};

export const findVulnerabilities = (rows: Read, filter: VulnerabilityFilter, page: PageRequest): Promise<VulnerabilityRow[]> => {
  const byFact = factOrders.get(page.order.column);
  if (byFact) return findByFact(rows, filter, byFact, page);
  return findPart(rows, selectVulnerabilities(filter), vulnerabilityOrders[page.order.column] ?? [], page);
};

export const refreshVulnerabilityStatistics = (rows: Write, refreshed: Refreshed): Promise<void> => refreshStatistics(rows, "vulnerabilities", refreshed);
