// Records of vulnerabilities: written by imports, read by the open list and by whoever asks how severe an advisory is.

import { column, digestOf, lastOfEach, nothing, segmentOf, stepRows } from "./feed-rows.ts";
import type { Read, Write } from "./handle.ts";
import type { RecordTarget, VulnerabilityRecord, Written } from "./records.ts";

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
  const drafts = [...lastOfEach(records).values()].map((record) => ({ record, digest: digestOf(record) })).sort((one, other) => (one.record.id < other.record.id ? -1 : 1));
  const found = await rows.query(
    `select id, digest, hidden, feed, coalesce(to_char(modify_time, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '') from vulnerabilities where owner = $1 and id = any($2)`,
    [owner, drafts.map(({ record }) => record.id)],
  );
  const held = new Map(found.map(([id, digest, hidden, feed, modified]) => [id ?? "", { digest, hidden: hidden === "t", feed: feed ?? "", modified: modified ?? "" }]));
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
     on conflict (owner, id) do update set state = excluded.state, summary = excluded.summary, details = excluded.details,
       links = excluded.links, severities = excluded.severities, aliases = excluded.aliases, publish_time = excluded.publish_time,
       modify_time = excluded.modify_time, withdraw_time = excluded.withdraw_time, hidden = excluded.hidden, feed = excluded.feed,
       digest = excluded.digest, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms')
     where held.digest <> excluded.digest
     returning id`,
    [
      owner, target.feed, new Date(target.nowMs).toISOString(),
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

/** What is known of the severity of some vulnerabilities: the record's number, its aliases, its severities (JSON). */
export interface SeverityRow {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly severities: string;
}

/**
 * The severities of everything that these numbers name: the records of that number, and those that these name as their
 * aliases. Public records, and those of the organization.
 */
export const findSeverities = async (rows: Read, roots: readonly string[], ids: readonly string[]): Promise<SeverityRow[]> => {
  if (ids.length === 0) return [];
  const found = await rows.query(
    `with owners as (select '' as owner union select uid from groups where left(uid, 40) = any($1)),
     named as (select id, aliases, severities from vulnerabilities where owner in (select owner from owners) and id = any($2) and not hidden)
     select id, aliases, severities from named
     union
     select other.id, other.aliases, other.severities from vulnerabilities as other
     where not other.hidden and other.owner in (select owner from owners)
       and other.id in (select jsonb_array_elements_text(aliases) from named)`,
    [roots, ids],
  );
  return found.map(([id, aliases, severities]) => ({ id: id ?? "", aliases: JSON.parse(aliases ?? "[]") as string[], severities: severities ?? "[]" }));
};
