// Advisories as feeds bring them: written in batches, each row once and again only when it changes.

import { column, digestOf, lastOfEach, nothing, segmentOf, stepRows } from "./feed-rows.ts";
import type { Row, Write } from "./handle.ts";
import type { AdvisoryRecord, RecordTarget, Written } from "./records.ts";

/** EventTypeFilter's name of an event, by the member of the oneof that it has. */
const eventTypes = {
  detection: "EVENT_TYPE_FILTER_DETECTION",
  truePositiveDetermination: "EVENT_TYPE_FILTER_TRUE_POSITIVE_DETERMINATION",
  fixed: "EVENT_TYPE_FILTER_FIXED",
  falsePositiveDetermination: "EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION",
  analysisNotPlanned: "EVENT_TYPE_FILTER_ANALYSIS_NOT_PLANNED",
  fixNotPlanned: "EVENT_TYPE_FILTER_FIX_NOT_PLANNED",
  pendingUpstreamFix: "EVENT_TYPE_FILTER_PENDING_UPSTREAM_FIX",
  patched: "EVENT_TYPE_FILTER_PATCHED",
} as const;

const approved = "REVIEW_STATE_APPROVED";

interface Event {
  readonly uid: string;
  readonly createTime: string;
  readonly author: string;
  readonly reviewer?: string;
  readonly reviewState: string;
  readonly issue?: string;
}

/** The events as the contract shows them: by time, and in the source's order where times are equal. */
const eventsOf = (record: AdvisoryRecord, uid: string): Event[] => {
  const sorted = record.events.map((event) => ({ event, timeMs: Date.parse(event.time) })).sort((one, other) => one.timeMs - other.timeMs);
  const given = new Map<string, number>();
  return sorted.map(({ event, timeMs }) => {
    const { author = record.author, reviewer, reviewState = approved, issue, data } = event;
    const content = JSON.stringify([timeMs, data]);
    // Said twice is two events; each keeps its uid whatever is put in before it.
    const earlier = given.get(content) ?? 0;
    given.set(content, earlier + 1);
    return {
      uid: `${uid}/${segmentOf(content, String(earlier))}`,
      createTime: new Date(timeMs).toISOString(),
      author,
      ...(reviewer === undefined ? {} : { reviewer }),
      reviewState,
      ...(issue === undefined ? {} : { issue }),
      ...data,
    };
  });
};

const distinct = (texts: Iterable<string>): string[] => [...new Set(texts)].filter((text) => text !== "").sort();

const typeOf = (event: Event): string => Object.entries(eventTypes).find(([member]) => member in event)?.[1] ?? "";

/** What filters ask of an advisory as one value: few differ among many advisories. */
const facetOf = (record: AdvisoryRecord, events: readonly Event[]) => {
  const latest = events.findLast(({ reviewState }) => reviewState === approved);
  return {
    artifactType: record.artifactType,
    artifactArchitecture: record.artifactArchitecture ?? "",
    componentType: record.componentType ?? "",
    latestEventType: latest ? typeOf(latest) : "",
    eventTypes: distinct(events.map(typeOf)),
    eventReviewStates: distinct(events.map(({ reviewState }) => reviewState)),
    eventAuthors: distinct(events.map(({ author }) => author)),
    eventReviewers: distinct(events.map(({ reviewer }) => reviewer ?? "")),
  };
};

type Facet = ReturnType<typeof facetOf>;

/** Numbers of facets by their digests; those that nobody has seen yet are written down. */
const facetIds = async (rows: Write, facets: ReadonlyMap<string, Facet>): Promise<Map<string, string>> => {
  const digests = [...facets.keys()];
  const find = (): Promise<Row[]> => rows.query("select digest, id from advisory_facets where digest = any($1)", [digests]);
  let found = await find();
  if (found.length < digests.length) {
    const known = new Set(found.map(([digest]) => digest));
    const unseen = [...facets].filter(([digest]) => !known.has(digest));
    await rows.query(
      `insert into advisory_facets (digest, artifact_type, artifact_architecture, component_type, latest_event_type,
         event_types, event_review_states, event_authors, event_reviewers)
       select each ->> 0, each ->> 1, each ->> 2, each ->> 3, each ->> 4,
         array(select jsonb_array_elements_text(each -> 5)), array(select jsonb_array_elements_text(each -> 6)),
         array(select jsonb_array_elements_text(each -> 7)), array(select jsonb_array_elements_text(each -> 8))
       from jsonb_array_elements($1::jsonb) as each order by each ->> 0 on conflict do nothing`,
      [JSON.stringify(unseen.map(([digest, facet]) => [digest, ...Object.values(facet)]))],
    );
    found = await find();
  }
  return new Map(found.map(([digest, id]) => [digest ?? "", id ?? ""]));
};

interface Draft {
  readonly uid: string;
  readonly record: AdvisoryRecord;
  readonly digest: string;
}

const searchOf = ({ artifactName, componentName = "", aliases }: AdvisoryRecord): string => [artifactName, componentName, ...aliases].join("\n").toLowerCase();

const earliest = (events: readonly Event[], nowMs: number): string => {
  const first = Date.parse(events[0]?.createTime ?? "");
  return new Date(first < nowMs ? first : nowMs).toISOString();
};

const upsert = async (rows: Write, target: RecordTarget, drafts: readonly Draft[]): Promise<Row[]> => {
  const now = new Date(target.nowMs).toISOString();
  const facets = new Map<string, Facet>();
  const full = drafts.map(({ uid, record, digest }) => {
    const events = eventsOf(record, uid);
    const facet = facetOf(record, events);
    const facetDigest = digestOf(Object.values(facet));
    facets.set(facetDigest, facet);
    return { uid, record, digest, events, facetDigest };
  });
  const ids = await facetIds(rows, facets);
  return rows.query(
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
     returning uid`,
    [
      column(full, ({ uid }) => uid),
      column(full, ({ record }) => record.advisoryId),
      column(full, ({ events }) => earliest(events, target.nowMs)),
      column(full, ({ record }) => record.withdrawnTime ?? ""),
      column(full, ({ record }) => record.author),
      column(full, ({ record }) => record.artifactName),
      column(full, ({ record }) => record.artifactType),
      column(full, ({ record }) => record.artifactArchitecture ?? ""),
      column(full, ({ record }) => record.componentName ?? ""),
      column(full, ({ record }) => record.componentLocation ?? ""),
      column(full, ({ record }) => record.componentType ?? ""),
      column(full, ({ record }) => JSON.stringify([...new Set(record.aliases)])),
      column(full, ({ events }) => JSON.stringify(events)),
      column(full, ({ record }) => record.legacyAdvisoryId ?? ""),
      column(full, ({ record }) => record.origin ?? record.artifactName),
      column(full, ({ record }) => record.namespace ?? ""),
      column(full, ({ facetDigest }) => ids.get(facetDigest) ?? ""),
      column(full, ({ record }) => searchOf(record)),
      column(full, ({ digest }) => digest),
      now,
      target.public,
      target.feed,
    ],
  );
};

/** Writes what is new or says something else than before. */
export const writeAdvisories = async (rows: Write, target: RecordTarget, records: readonly AdvisoryRecord[]): Promise<Written> => {
  const drafts = [...lastOfEach(records)].map(
    ([key, record]): Draft => ({
      uid: `${target.group}/${key}`,
      record,
      digest: digestOf([target.public, record]),
    }),
  );
  // In one order, so that two imports never wait for each other in a circle.
  drafts.sort((one, other) => (one.uid < other.uid ? -1 : 1));
  const found = await rows.query("select uid, digest, delete_time is null from advisories where uid = any($1)", [drafts.map(({ uid }) => uid)]);
  const held = new Map(found.map(([uid, digest, shown]) => [uid ?? "", { digest, shown: shown === "t" }]));
  const other = drafts.filter(({ uid, digest }) => held.get(uid)?.digest !== digest);
  if (other.length === 0) return { ...nothing, unchanged: drafts.length };
  const written = new Set((await upsert(rows, target, other)).map(([uid]) => uid));
  const tally = { new: 0, changed: 0, withdrawn: 0, unchanged: drafts.length - written.size };
  for (const { uid, record } of other) {
    if (!written.has(uid)) continue;
    const before = held.get(uid);
    if (!before) tally.new++;
    else if (before.shown && record.withdrawnTime !== undefined) tally.withdrawn++;
    else tally.changed++;
  }
  return tally;
};

/**
 * Withdraws those of a feed that `seen` does not know. Their digest goes, so that one that comes back is written anew.
 * Read in steps: a feed may hold millions.
 */
export const withdrawAdvisories = async (rows: Write, target: RecordTarget, seen: (key: string) => boolean): Promise<number> => {
  const now = new Date(target.nowMs).toISOString();
  let last = "";
  let withdrawn = 0;
  for (;;) {
    const found = await rows.query(
      `select uid from advisories where feed = $1 and uid > $2 and left(uid, -17) = $3 and delete_time is null order by uid limit ${stepRows}`,
      [target.feed, last, target.group],
    );
    const gone = found.flatMap(([uid]) => (uid && !seen(uid.slice(-16)) ? [uid] : []));
    if (gone.length > 0) {
      await rows.query("update advisories set delete_time = $2, update_time = greatest($2, update_time + interval '1 ms'), digest = '' where uid = any($1)", [
        gone,
        now,
      ]);
      withdrawn += gone.length;
    }
    const end = found.at(-1)?.[0];
    if (!end) return withdrawn;
    last = end;
  }
};
