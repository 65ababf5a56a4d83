// Table advisories: what is known about a vulnerability in an artifact, as feeds bring it, each row written once and again
// only when it changes; read here for the open feed's documents (the list of the API is list.ts). Rows are kept for good:
// what a source tells no longer is withdrawn and stays for whoever asks by its number.

import { addFacets, type AdvisoryFacet } from "./advisory-facets.ts";
import { type AdvisoryEvent, advisoryEventsOf, facetOf } from "./advisory-events.ts";
import { columns, expression, flag, nullableText, text, textList, time } from "./columns.ts";
import { noCounts } from "./feed-counts.ts";
import { columnOf, lastByKey, recordDigestOf, refreshStatistics, stepRows } from "./feed-rows.ts";
import type { Read, Write } from "./handle.ts";
import type { AdvisoryRecord, RecordTarget, WriteCounts } from "./records.ts";
import { timeText } from "./time-text.ts";

interface AdvisoryDraft {
  readonly uid: string;
  readonly record: AdvisoryRecord;
  readonly digest: string;
}

const searchTextOf = ({ artifactName, componentName = "", aliases }: AdvisoryRecord): string =>
  [artifactName, componentName, ...aliases].join("\n").toLowerCase();

const createTimeOf = (events: readonly AdvisoryEvent[], nowMs: number): string => {
  const first = Date.parse(events[0]?.createTime ?? "");
  return new Date(first < nowMs ? first : nowMs).toISOString();
};

const advisoryUid = columns({ uid: text });
const storedAdvisory = columns({ uid: text, digest: text, isListed: expression("delete_time is null", flag) });

/** The uids of those that were written. */
const upsertAdvisories = async (rows: Write, target: RecordTarget, drafts: readonly AdvisoryDraft[]): Promise<Set<string>> => {
  const now = new Date(target.nowMs).toISOString();
  const facets = new Map<string, AdvisoryFacet>();
  const full = drafts.map(({ uid, record, digest }) => {
    const events = advisoryEventsOf(record, uid);
    const facet = facetOf(record, events);
    const facetDigest = recordDigestOf(Object.values(facet));
    facets.set(facetDigest, facet);
    return { uid, record, digest, events, facetDigest };
  });
  const facetIds = await addFacets(rows, facets);
  const written = await advisoryUid.find(
    rows,
    `insert into advisories as held (uid, advisory_id, create_time, update_time, delete_time, author, artifact_name, artifact_type,
       artifact_architecture, component_name, component_location, component_type, aliases, events, legacy_advisory_id, origin,
       namespace, facet, search, public, feed, digest)
     select uid, advisory_id, create_time::timestamptz, $20::timestamptz, nullif(delete_time, '')::timestamptz, author, artifact_name,
       artifact_type, artifact_architecture, component_name, component_location, component_type, aliases::jsonb, events::jsonb,
       legacy, origin, namespace, facet, search, $21::boolean, $22, digest
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
       $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[])
       as given(uid, advisory_id, create_time, delete_time, author, artifact_name, artifact_type, artifact_architecture, component_name,
       component_location, component_type, aliases, events, legacy, origin, namespace, facet, search, digest)
     on conflict (uid) do update set
       advisory_id = excluded.advisory_id, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms'),
       delete_time = excluded.delete_time, author = excluded.author, artifact_name = excluded.artifact_name,
       artifact_type = excluded.artifact_type, artifact_architecture = excluded.artifact_architecture,
       component_name = excluded.component_name, component_location = excluded.component_location,
       component_type = excluded.component_type, aliases = excluded.aliases, events = excluded.events,
       legacy_advisory_id = excluded.legacy_advisory_id, origin = excluded.origin, namespace = excluded.namespace,
       facet = excluded.facet, search = excluded.search, public = excluded.public, feed = excluded.feed, digest = excluded.digest
     where held.digest <> excluded.digest
     returning ${advisoryUid.list}`,
    [
      columnOf(full, ({ uid }) => uid),
      columnOf(full, ({ record }) => record.advisoryId),
      columnOf(full, ({ events }) => createTimeOf(events, target.nowMs)),
      columnOf(full, ({ record }) => record.withdrawnTime ?? ""),
      columnOf(full, ({ record }) => record.author),
      columnOf(full, ({ record }) => record.artifactName),
      columnOf(full, ({ record }) => record.artifactType),
      columnOf(full, ({ record }) => record.artifactArchitecture ?? ""),
      columnOf(full, ({ record }) => record.componentName ?? ""),
      columnOf(full, ({ record }) => record.componentLocation ?? ""),
      columnOf(full, ({ record }) => record.componentType ?? ""),
      columnOf(full, ({ record }) => JSON.stringify([...new Set(record.aliases)])),
      columnOf(full, ({ events }) => JSON.stringify(events)),
      columnOf(full, ({ record }) => record.legacyAdvisoryId ?? ""),
      columnOf(full, ({ record }) => record.origin ?? record.artifactName),
      columnOf(full, ({ record }) => record.namespace ?? ""),
      columnOf(full, ({ facetDigest }) => facetIds.get(facetDigest) ?? ""),
      columnOf(full, ({ record }) => searchTextOf(record)),
      columnOf(full, ({ digest }) => digest),
      now,
      target.public,
      target.feed,
    ],
  );
  return new Set(written.map(({ uid }) => uid));
};

/** Writes what is new or says something else than before. */
export const writeAdvisories = async (rows: Write, target: RecordTarget, records: readonly AdvisoryRecord[]): Promise<WriteCounts> => {
  const drafts = [...lastByKey(records)].map(
    ([key, record]): AdvisoryDraft => ({
      uid: `${target.group}/${key}`,
      record,
      digest: recordDigestOf([target.public, record]),
    }),
  );
  // In one order, so that two imports never wait for each other in a circle.
  drafts.sort((one, other) => (one.uid < other.uid ? -1 : 1));
  const found = await storedAdvisory.find(rows, `select ${storedAdvisory.list} from advisories where uid = any($1)`, [drafts.map(({ uid }) => uid)]);
  const stored = new Map(found.map((each) => [each.uid, each]));
  const different = drafts.filter(({ uid, digest }) => stored.get(uid)?.digest !== digest);
  if (different.length === 0) return { ...noCounts, unchanged: drafts.length };
  const written = await upsertAdvisories(rows, target, different);
  const counts = { new: 0, changed: 0, withdrawn: 0, unchanged: drafts.length - written.size };
  for (const { uid, record } of different) {
    if (!written.has(uid)) continue;
    const before = stored.get(uid);
    if (!before) counts.new++;
    else if (before.isListed && record.withdrawnTime !== undefined) counts.withdrawn++;
    else counts.changed++;
  }
  return counts;
};

/**
 * Withdraws those of a feed whose keys `isKnown` does not know. Their digest goes, so that one that comes back is written anew.
 * Read in steps: a feed may hold millions.
 */
export const withdrawAdvisories = async (rows: Write, target: RecordTarget, isKnown: (key: string) => boolean): Promise<number> => {
  const now = new Date(target.nowMs).toISOString();
  let last = "";
  let withdrawn = 0;
  for (;;) {
    const found = await advisoryUid.find(
      rows,
      `select ${advisoryUid.list} from advisories where feed = $1 and uid > $2 and left(uid, -17) = $3 and delete_time is null order by uid limit ${stepRows}`,
      [target.feed, last, target.group],
    );
    const gone = found.flatMap(({ uid }) => (isKnown(uid.slice(-16)) ? [] : [uid]));
    if (gone.length > 0) {
      await rows.query("update advisories set delete_time = $2, update_time = greatest($2, update_time + interval '1 ms'), digest = '' where uid = any($1)", [
        gone,
        now,
      ]);
      withdrawn += gone.length;
    }
    const end = found.at(-1);
    if (!end) return withdrawn;
    last = end.uid;
  }
};

export const refreshAdvisoryStatistics = (rows: Write): Promise<void> => refreshStatistics(rows, "advisories");

const published = "public and delete_time is null";

/** An advisory as documents need it. */
export interface AdvisoryRow {
  readonly uid: string;
  readonly advisoryId: string;
  readonly origin: string;
  readonly artifactName: string;
  readonly artifactType: string;
  readonly artifactArchitecture: string;
  readonly author: string;
  readonly namespace: string;
  readonly aliases: readonly string[];
  /** The contract's AdvisoryEvent, as JSON. */
  readonly events: string;
  readonly createTime: string;
  readonly updateTime: string;
  readonly deleteTime: string | undefined;
}

const advisoryRow = columns<AdvisoryRow>({
  uid: text,
  advisoryId: text,
  origin: text,
  artifactName: text,
  artifactType: text,
  artifactArchitecture: text,
  author: text,
  namespace: text,
  aliases: textList,
  events: text,
  createTime: time("create_time"),
  updateTime: time("update_time"),
  deleteTime: expression(timeText("delete_time"), nullableText),
});

/** Everything published about these origin packages, in one order. */
export const findPublished = (rows: Read, origins: readonly string[]): Promise<AdvisoryRow[]> =>
  advisoryRow.find(rows, `select ${advisoryRow.list} from advisories where ${published} and origin = any($1) order by origin, advisory_id, uid`, [origins]);

/** What is published under this number, withdrawn or not. */
export const findPublishedById = (rows: Read, advisoryId: string): Promise<AdvisoryRow[]> =>
  advisoryRow.find(rows, `select ${advisoryRow.list} from advisories where public and advisory_id = $1 order by delete_time is not null, uid limit 1000`, [
    advisoryId,
  ]);

/** A document's name and when it was last changed. */
export interface ChangedDocument {
  readonly id: string;
  readonly modified: string;
}

const changedAdvisory = columns<ChangedDocument>({ id: expression("advisory_id", text), modified: time("update_time") });
const changedDocument = columns<ChangedDocument>({ id: expression("origin", text), modified: time("changed") });

/**
 * Numbers of what is published or withdrawn, in the order of their changes, behind (since, after). One that several
 * artifacts share comes once for each time at which one of them changed.
 */
export const findChangedAdvisories = (rows: Read, since: string, after: string, limit: number): Promise<ChangedDocument[]> =>
  changedAdvisory.find(
    rows,
    `select ${changedAdvisory.list} from (
       select distinct update_time, advisory_id from advisories
       where public and (update_time, advisory_id) > (coalesce(nullif($1, '')::timestamptz, '-infinity'), $2)
       order by update_time, advisory_id limit $3) as changed order by update_time, advisory_id`,
    [since, after, limit],
    { rows: limit, wide: true },
  );

/** Names of the origin packages that something is published about, in the order of their last changes; a withdrawal is one. */
export const findChangedDocuments = (rows: Read, since: string, after: string, limit: number, newestFirst = false): Promise<ChangedDocument[]> =>
  changedDocument.find(
    rows,
    `select ${changedDocument.list} from (
       select origin, max(update_time) as changed from advisories where public group by origin having bool_or(delete_time is null)) as document
     where (changed, origin) > (coalesce(nullif($1, '')::timestamptz, '-infinity'), $2)
     order by changed ${newestFirst ? "desc" : "asc"}, origin limit $3`,
    [since, after, limit],
    { rows: limit, wide: true },
  );

/** The advisories on these packages that are published or lie at or below one of these paths. */
export const findOnPackages = (rows: Read, paths: readonly string[], names: readonly string[]): Promise<AdvisoryRow[]> => {
  const ends = paths.map((path) => (path === "" ? "~" : `${path}0`));
  return advisoryRow.find(
    rows,
    `select ${advisoryRow.list} from advisories where ${published} and origin = any($1)
     union
     select ${advisoryRow.list} from advisories
     where delete_time is null and left(uid, 40) in (select root from access_versions) and artifact_name = any($1)
       and exists (select from unnest($2::text[], $3::text[]) as place(low, high) where uid >= low and uid < high)`,
    [names, paths, ends],
    { rows: names.length, wide: true },
  );
};
