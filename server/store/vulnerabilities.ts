// Records of vulnerabilities: written by imports, read by the open list and by whoever asks how severe an advisory is.

import { column, digestOf, lastOfEach, nothing, segmentOf, stepRows } from "./feed-rows.ts";
import type { Read, Write } from "./handle.ts";
import type { RecordTarget, VulnerabilityRecord, Written } from "./records.ts";
import { timeText } from "./time-text.ts";

/** The owner of what is public. */
export const everybody = "";

export const ownerOf = (target: RecordTarget): string => (target.public ? everybody : target.group);

const timeOf = (time: string | undefined): string => (time === undefined ? "" : new Date(time).toISOString());

const isHidden = ({ state, withdrawnTime }: VulnerabilityRecord): boolean => state === "REJECTED" || withdrawnTime !== undefined;

/** The later modified of two sources' records of one number; the one that is there where they are equally old. */
const replaces = (record: VulnerabilityRecord, feed: string, held: { feed: string; modified: string } | undefined): boolean =>
  held === undefined || held.feed === feed || timeOf(record.modifyTime) > held.modified;

/** Writes what is new or says something else than before. */
export const writeVulnerabilities = async (rows: Write, target: RecordTarget, records: readonly VulnerabilityRecord[]): Promise<Written> => {
  const owner = ownerOf(target);
  const drafts = [...lastOfEach(records).values()]
    .map((record) => ({ record, digest: digestOf(record) }))
    .sort((one, other) => (one.record.id < other.record.id ? -1 : 1));
  const found = await rows.query(
    `select id, digest, hidden, feed, coalesce(${timeText("modify_time")}, '') from vulnerabilities where owner = $1 and id = any($2)`,
    [owner, drafts.map(({ record }) => record.id)],
  );
  const held = new Map(
    found.map(([id, digest, hidden, feed, modified]) => [id ?? "", { digest, hidden: hidden === "t", feed: feed ?? "", modified: modified ?? "" }]),
  );
  const other = drafts.filter(({ record, digest }) => {
    const before = held.get(record.id);
    // What vanished from its source has no digest any more, and gives way to whoever knows it still.
    return before?.digest !== digest && (before?.digest === "" || replaces(record, target.feed, before));
  });
  if (other.length === 0) return { ...nothing, unchanged: drafts.length };
  const written = await rows.query(
    `insert into vulnerabilities as held (owner, id, state, summary, details, links, severities, aliases, publish_time, modify_time,
       withdraw_time, hidden, feed, digest, create_time, update_time)
     select $1, id, state, summary, details, links::jsonb, severities::jsonb, aliases::jsonb, nullif(published, '')::timestamptz,
       nullif(modified, '')::timestamptz, nullif(withdrawn, '')::timestamptz, hidden = 'true', $2, digest, $3::timestamptz, $3::timestamptz
     from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[])
       as given(id, state, summary, details, links, severities, aliases, published, modified, withdrawn, hidden, digest)
     on conflict (id, owner) do update set state = excluded.state, summary = excluded.summary, details = excluded.details,
       links = excluded.links, severities = excluded.severities, aliases = excluded.aliases, publish_time = excluded.publish_time,
       modify_time = excluded.modify_time, withdraw_time = excluded.withdraw_time, hidden = excluded.hidden, feed = excluded.feed,
       digest = excluded.digest, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms')
     where held.digest <> excluded.digest
     returning id`,
    [
      owner,
      target.feed,
      new Date(target.nowMs).toISOString(),
      column(other, ({ record }) => record.id),
      column(other, ({ record }) => record.state),
      column(other, ({ record }) => record.summary),
      column(other, ({ record }) => record.details),
      column(other, ({ record }) => JSON.stringify(record.references)),
      column(other, ({ record }) => JSON.stringify(record.severities)),
      column(other, ({ record }) => JSON.stringify([...new Set(record.aliases)])),
      column(other, ({ record }) => timeOf(record.publishTime)),
      column(other, ({ record }) => timeOf(record.modifyTime)),
      column(other, ({ record }) => timeOf(record.withdrawnTime)),
      column(other, ({ record }) => String(isHidden(record))),
      column(other, ({ digest }) => digest),
    ],
  );
  const ids = new Set(written.map(([id]) => id));
  const tally = { new: 0, changed: 0, withdrawn: 0, unchanged: drafts.length - ids.size };
  for (const { record } of other) {
    if (!ids.has(record.id)) continue;
    const before = held.get(record.id);
    if (!before) tally.new++;
    else if (!before.hidden && isHidden(record)) tally.withdrawn++;
    else tally.changed++;
  }
  return tally;
};

/** Hides those of a feed that `seen` does not know; they stay, for whoever asks by their number. */
export const withdrawVulnerabilities = async (rows: Write, target: RecordTarget, seen: (key: string) => boolean): Promise<number> => {
  const owner = ownerOf(target);
  let last = "";
  let withdrawn = 0;
  for (;;) {
    const found = await rows.query(
      `select id, hidden from vulnerabilities where feed = $1 and owner = $2 and id > $3 and digest <> '' order by id limit ${stepRows}`,
      [target.feed, owner, last],
    );
    const gone = found.flatMap(([id]) => (id && !seen(segmentOf(id)) ? [id] : []));
    if (gone.length > 0) {
      await rows.query(
        `update vulnerabilities set hidden = true, digest = '', withdraw_time = coalesce(withdraw_time, $3),
           update_time = greatest($3, update_time + interval '1 ms') where owner = $1 and id = any($2)`,
        [owner, gone, new Date(target.nowMs).toISOString()],
      );
      withdrawn += gone.length;
    }
    const end = found.at(-1)?.[0];
    if (!end) return withdrawn;
    last = end;
  }
};

/** What is known of the severity of a vulnerability: the record's number, its aliases, its severities (JSON). */
export interface SeverityRow {
  readonly id: string;
  readonly owner: string;
  readonly aliases: readonly string[];
  readonly severities: string;
}

/**
 * The records of these numbers, and those that they name as their aliases: public ones, and those of groups in these
 * organizations.
 */
export const findSeverities = async (rows: Read, roots: readonly string[], ids: readonly string[]): Promise<SeverityRow[]> => {
  if (ids.length === 0) return [];
  const seen = "not hidden and (owner = '' or left(owner, 40) = any($1))";
  const found = await rows.query(
    `with named as materialized (select id, owner, aliases, severities from vulnerabilities where id = any($2) and ${seen})
     select id, owner, aliases, severities from named
     union
     select other.id, other.owner, other.aliases, other.severities
     from (select distinct jsonb_array_elements_text(aliases) as id from named) as further
     cross join lateral (select id, owner, aliases, severities from vulnerabilities where id = further.id and ${seen} offset 0) as other`,
    [roots, ids],
  );
  return found.map(([id, owner, aliases, severities]) => ({
    id: id ?? "",
    owner: owner ?? "",
    aliases: JSON.parse(aliases ?? "[]") as string[],
    severities: severities ?? "[]",
  }));
};

/** A record as the open list shows it: columns in the contract's words, lists as JSON. */
export interface VulnerabilityRow {
  readonly id: string;
  readonly summary: string;
  readonly details: string;
  readonly links: string;
  readonly severities: string;
}

export interface VulnerabilitiesAsk {
  readonly descending: boolean;
  readonly after: string | undefined;
  readonly skip: number;
  readonly limit: number;
}

const shownColumns = "id, summary, details, links, severities";

const vulnerabilityOf = ([id, summary, details, links, severities]: readonly (string | null)[]): VulnerabilityRow => ({
  id: id ?? "",
  summary: summary ?? "",
  details: details ?? "",
  links: links ?? "[]",
  severities: severities ?? "[]",
});

/** Public records: those of these numbers, rejected and withdrawn ones too, or all that are neither. */
export const findVulnerabilities = async (rows: Read, ids: readonly string[] | undefined, ask: VulnerabilitiesAsk): Promise<VulnerabilityRow[]> => {
  const { descending, after, skip, limit } = ask;
  const values: (string | number | readonly string[])[] = [limit, skip];
  const place = (value: string | readonly string[]): string => `$${values.push(value)}`;
  const terms = [
    "owner = ''",
    ids ? `id = any(${place(ids)})` : "not hidden",
    ...(after === undefined ? [] : [`id ${descending ? "<" : ">"} ${place(after)}`]),
  ];
  const found = await rows.query(
    `select ${shownColumns} from vulnerabilities where ${terms.join(" and ")} order by id ${descending ? "desc" : "asc"} limit $1 offset $2`,
    values,
  );
  return found.map(vulnerabilityOf);
};

export const countVulnerabilities = async (rows: Read, ids: readonly string[] | undefined): Promise<number> => {
  const [row] = ids
    ? await rows.query("select count(*) from vulnerabilities where owner = '' and id = any($1)", [ids])
    : await rows.query("select count(*) from vulnerabilities where owner = '' and not hidden");
  return Number(row?.[0] ?? 0);
};
