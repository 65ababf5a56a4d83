// Table advisories: vulnerabilities in artifacts, from feeds and authors; list.ts serves the API's list. Rows are never
// deleted: a dropped record is withdrawn and stays readable by ID.

import { addFacets, type AdvisoryFacet } from "./advisory-facets.ts";
import { type AdvisoryEvent, advisoryEventsOf, facetOf } from "./advisory-events.ts";
import {
  type Columns,
  columns,
  expression,
  flag,
  nullableText,
  type Param,
  type Read,
  type RowOf,
  type StatementCost,
  text,
  textList,
  time,
  timeText,
  wideCount,
  type Write,
} from "#db";
import { noCounts } from "./feed-counts.ts";
import {
  columnOf,
  type FindAsserted,
  lastByKey,
  recordDigestOf,
  type Refreshed,
  refreshStatistics,
  sharedColumnOf,
  sharedOr,
  stepRows,
  textDigestOf,
} from "./feed-rows.ts";
import { isWithin, type Part, partsOf, type Reader, rootsOf } from "./visibility.ts";
import type { AdvisoryRecord, RecordTarget, WriteCounts } from "./records.ts";

interface AdvisoryDraft {
  readonly uid: string;
  readonly record: AdvisoryRecord;
  readonly digest: string;
  readonly isPublic: boolean;
  /** False if it certainly has no row, since its feed is locked. */
  readonly isKnown: boolean;
  /** The asserting document, and its form. */
  readonly documentId: string;
  readonly form: string;
  /** Authored events, and the facet of all events; if absent, both derive from the record. */
  readonly own?: { readonly events: readonly AdvisoryEvent[]; readonly facet: AdvisoryFacet };
}

const searchTextOf = ({ artifactName, componentName = "", aliases }: AdvisoryRecord): string =>
  [artifactName, componentName, ...aliases].join("\n").toLowerCase();

const createTimeOf = ([first]: readonly AdvisoryEvent[], now: string): string => (first && first.createTime < now ? first.createTime : now);

const advisoryUid = columns({ uid: text });
const namedAdvisory = columns({ uid: text, advisoryId: text });
const storedAdvisory = columns({
  uid: text,
  digest: text,
  isListed: expression("delete_time is null", flag),
  isPublic: expression("public", flag),
  documentId: nullableText,
  form: text,
});

const replacingAdvisory = `on conflict (uid) do update set
  advisory_id = excluded.advisory_id, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms'),
  delete_time = excluded.delete_time, author = excluded.author, artifact_name = excluded.artifact_name,
  artifact_type = excluded.artifact_type, artifact_architecture = excluded.artifact_architecture,
  component_name = excluded.component_name, component_location = excluded.component_location,
  component_type = excluded.component_type, aliases = excluded.aliases, events = excluded.events,
  legacy_advisory_id = excluded.legacy_advisory_id, origin = excluded.origin, namespace = excluded.namespace,
  facet = excluded.facet, search = excluded.search, public = excluded.public, feed = excluded.feed, digest = excluded.digest,
  document_id = excluded.document_id, form = excluded.form
where held.digest <> excluded.digest or held.public <> excluded.public`;

/** Returns the uids of changed rows. */
const upsertAdvisories = async (rows: Write, target: RecordTarget, drafts: readonly AdvisoryDraft[]): Promise<Set<string>> => {
  const now = new Date(target.nowMs).toISOString();
  const facets = new Map<string, AdvisoryFacet>();
  // Most of a batch share a facet.
  const digests = new Map<string, string>();
  const facetDigestOf = (facet: AdvisoryFacet): string => {
    const values = JSON.stringify(Object.values(facet));
    const known = digests.get(values);
    if (known !== undefined) return known;
    const digest = textDigestOf(values);
    digests.set(values, digest);
    facets.set(digest, facet);
    return digest;
  };
  const full = drafts.map((draft) => {
    const events = draft.own?.events ?? advisoryEventsOf(draft.record, draft.uid);
    const facet = draft.own?.facet ?? facetOf(draft.record, events);
    return { ...draft, events, facetDigest: facetDigestOf(facet) };
  });
  const facetIds = await addFacets(rows, facets);
  const [known, fresh] = [full.filter(({ isKnown }) => isKnown), full.filter(({ isKnown }) => !isKnown)];
  const written: { readonly uid: string }[] = [];
  for (const [some, conflict] of [
    [known, replacingAdvisory],
    [fresh, ""],
  ] as const) {
    if (some.length === 0) continue;
    const uids = await advisoryUid.find(
      rows,
      `insert into advisories as held (uid, advisory_id, create_time, update_time, delete_time, author, artifact_name, artifact_type,
         artifact_architecture, component_name, component_location, component_type, aliases, events, legacy_advisory_id, origin,
         namespace, facet, search, public, feed, digest, document_id, form)
       select uid, advisory_id, ${sharedOr("create_time", 3)}::timestamptz, $20::timestamptz, nullif(${sharedOr("delete_time", 4)}, '')::timestamptz,
         ${sharedOr("author", 5)}, artifact_name, ${sharedOr("artifact_type", 7)}, ${sharedOr("artifact_architecture", 8)},
         ${sharedOr("component_name", 9)}, ${sharedOr("component_location", 10)}, ${sharedOr("component_type", 11)}, aliases::jsonb, events::jsonb,
         ${sharedOr("legacy", 14)}, origin, ${sharedOr("namespace", 16)}, ${sharedOr("facet", 17)}, search, ${sharedOr("shown", 22)} = 'true', $21, digest,
         nullif(document, '')::bigint, ${sharedOr("form", 24)}
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
         $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[],
         $22::text[], $23::text[], $24::text[])
         as given(uid, advisory_id, create_time, delete_time, author, artifact_name, artifact_type, artifact_architecture, component_name,
         component_location, component_type, aliases, events, legacy, origin, namespace, facet, search, digest, shown, document, form)
       ${conflict}
       returning ${advisoryUid.list}`,
      [
        columnOf(some, ({ uid }) => uid),
        columnOf(some, ({ record }) => record.advisoryId),
        sharedColumnOf(some, ({ events }) => createTimeOf(events, now)),
        sharedColumnOf(some, ({ record }) => record.withdrawnTime ?? ""),
        sharedColumnOf(some, ({ record }) => record.author),
        columnOf(some, ({ record }) => record.artifactName),
        sharedColumnOf(some, ({ record }) => record.artifactType),
        sharedColumnOf(some, ({ record }) => record.artifactArchitecture ?? ""),
        sharedColumnOf(some, ({ record }) => record.componentName ?? ""),
        sharedColumnOf(some, ({ record }) => record.componentLocation ?? ""),
        sharedColumnOf(some, ({ record }) => record.componentType ?? ""),
        columnOf(some, ({ record }) => JSON.stringify([...new Set(record.aliases)])),
        columnOf(some, ({ events }) => JSON.stringify(events)),
        sharedColumnOf(some, ({ record }) => record.legacyAdvisoryId ?? ""),
        columnOf(some, ({ record }) => record.origin ?? record.artifactName),
        sharedColumnOf(some, ({ record }) => record.namespace ?? ""),
        sharedColumnOf(some, ({ facetDigest }) => facetIds.get(facetDigest) ?? ""),
        columnOf(some, ({ record }) => searchTextOf(record)),
        columnOf(some, ({ digest }) => digest),
        now,
        target.feed,
        sharedColumnOf(some, ({ isPublic }) => String(isPublic)),
        columnOf(some, ({ documentId }) => documentId),
        sharedColumnOf(some, ({ form }) => form),
      ],
    );
    written.push(...uids);
  }
  return new Set(written.map(({ uid }) => uid));
};

/** Changes only the asserting document. */
const adoptAdvisories = async (rows: Write, target: RecordTarget, drafts: readonly AdvisoryDraft[]): Promise<void> => {
  if (drafts.length === 0) return;
  await rows.query(
    `update advisories as held set document_id = nullif(document, '')::bigint, form = given.form, digest = given.digest, feed = $5
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given(uid, document, form, digest) where held.uid = given.uid`,
    [
      columnOf(drafts, ({ uid }) => uid),
      columnOf(drafts, ({ documentId }) => documentId),
      columnOf(drafts, ({ form }) => form),
      columnOf(drafts, ({ digest }) => digest),
      target.feed,
    ],
  );
};

/** Writes new and changed records. Without `target.public` a record keeps its visibility. */
export const writeAdvisories = async (rows: Write, target: RecordTarget, records: readonly AdvisoryRecord[]): Promise<WriteCounts> => {
  const byUid = new Map([...lastByKey(records)].map(([key, record]) => [`${target.group}/${key}`, { key, record }]));
  const found = await storedAdvisory.find(rows, `select ${storedAdvisory.list} from advisories where uid = any($1)`, [[...byUid.keys()]]);
  const stored = new Map(found.map((each) => [each.uid, each]));
  const drafts = [...byUid].map(([uid, { key, record }]): AdvisoryDraft => {
    const assertion = target.assertions?.get(key);
    const wanted = target.public ?? stored.get(uid)?.isPublic ?? assertion?.public ?? false;
    const isPublic = wanted && (assertion?.isPublishable ?? true);
    const documentId = assertion?.id ?? "";
    const isKnown = stored.has(uid) || assertion === undefined;
    return { uid, record, digest: recordDigestOf(record), isPublic, isKnown, documentId, form: assertion?.form ?? target.form ?? "" };
  });
  // A fixed order prevents deadlocks.
  drafts.sort((one, other) => (one.uid < other.uid ? -1 : 1));
  const isSame = ({ uid, digest, record, isPublic }: AdvisoryDraft): boolean => {
    const before = stored.get(uid);
    if (before?.isPublic !== isPublic) return false;
    // Earlier versions included visibility in the digest.
    return before.digest === digest || (before.documentId === undefined && before.digest === recordDigestOf([before.isPublic, record]));
  };
  const different = drafts.filter((draft) => !isSame(draft));
  await adoptAdvisories(
    rows,
    target,
    drafts.filter((draft) => {
      const before = stored.get(draft.uid);
      return isSame(draft) && (before?.documentId ?? "") !== draft.documentId;
    }),
  );
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

export interface AuthoredRecord {
  readonly uid: string;
  readonly record: Omit<AdvisoryRecord, "events" | "key">;
  /** In order of approval; `all` also has pending events. */
  readonly approved: readonly AdvisoryEvent[];
  readonly all: readonly AdvisoryEvent[];
}

const authoredFeed = "authored";
/** Without an approved event; excluded from output and matching. */
const draftForm = "draft";

/** Writes the approved state. Pending events change only the facet, which lists filter by. */
export const writeAuthoredRecord = async (rows: Write, { uid, record, approved, all }: AuthoredRecord, nowMs: number): Promise<void> => {
  const full: AdvisoryRecord = { ...record, key: uid, events: [] };
  const facet = facetOf(full, all);
  // An advisory with only component moves is in no output.
  const form = approved.some((event) => !("componentLocationChanged" in event)) ? "wolfi" : draftForm;
  const digest = recordDigestOf([form, full, approved]);
  const target = { group: uid.slice(0, -17), public: false, feed: authoredFeed, nowMs };
  const written = await upsertAdvisories(rows, target, [
    { uid, record: full, digest, isPublic: false, isKnown: true, documentId: "", form, own: { events: approved, facet } },
  ]);
  if (written.has(uid)) return;
  const ids = await addFacets(rows, new Map([[recordDigestOf(Object.values(facet)), facet]]));
  await rows.query("update advisories set facet = $2 where uid = $1 and facet <> $2", [uid, [...ids.values()][0] ?? ""]);
};

/** Withdraws unasserted records; returns how many are newly withdrawn. The empty digest forces a rewrite if a record returns. */
export const withdrawAdvisories = async (rows: Write, uids: readonly string[], nowMs: number): Promise<number> => {
  const gone = await rows.query(
    `update advisories set delete_time = coalesce(delete_time, $2), update_time = greatest($2, update_time + interval '1 ms'), digest = ''
     where uid = any($1) and digest <> '' returning delete_time = $2`,
    [uids, new Date(nowMs).toISOString()],
  );
  // Excludes records withdrawn by their origin.
  return gone.filter(([isNow]) => isNow === "t").length;
};

/** Withdraws the feed's records that neither a document nor `findAsserted` asserts. In steps, for millions of rows. */
export const withdrawUnassertedAdvisories = async (rows: Write, target: RecordTarget, findAsserted: FindAsserted): Promise<number> => {
  let last = "";
  let withdrawn = 0;
  for (;;) {
    const found = await namedAdvisory.find(
      rows,
      `select ${namedAdvisory.list} from advisories
       where feed = $1 and uid collate "POSIX" > $2 and document_id is null and left(uid, -17) = $3 and delete_time is null
       order by uid collate "POSIX" limit ${stepRows}`,
      [target.feed, last, target.group],
    );
    const told = await findAsserted(
      found.map(({ uid }) => uid.slice(-16)),
      found.map(({ advisoryId }) => advisoryId),
    );
    const gone = found.flatMap(({ uid }) => (told.has(uid.slice(-16)) ? [] : [uid]));
    if (gone.length > 0) withdrawn += await withdrawAdvisories(rows, gone, target.nowMs);
    const end = found.at(-1);
    if (!end) return withdrawn;
    last = end.uid;
  }
};

/** A record's row, as source selection needs it. */
export type AssertedRow = RowOf<typeof assertedAdvisory>;

const assertedAdvisory = columns({
  /** See recordKey. */
  key: expression("right(uid, 16)", text),
  documentId: nullableText,
  /** False if withdrawn for lack of a document. */
  isAsserted: expression("digest <> ''", flag),
  isPublic: expression("public", flag),
});

export const findAssertedAdvisories = (rows: Read, group: string, keys: readonly string[]): Promise<AssertedRow[]> =>
  assertedAdvisory.find(rows, `select ${assertedAdvisory.list} from advisories where uid = any($1)`, [keys.map((key) => `${group}/${key}`)]);

const publicNumber = columns({ advisoryId: text });

/** Returns the IDs that a public advisory of the group has. */
export const findPublicNumbers = async (rows: Read, group: string, numbers: readonly string[]): Promise<Set<string>> => {
  const found = await publicNumber.find(
    rows,
    `select distinct ${publicNumber.list} from advisories where public and advisory_id = any($2) and left(uid, -17) = $1`,
    [group, [...new Set(numbers)]],
  );
  return new Set(found.map(({ advisoryId }) => advisoryId));
};

/** Returns how many changed. */
export const markAdvisoriesPublic = async (rows: Write, group: string, keys: readonly string[], isPublic: boolean, nowMs: number): Promise<number> => {
  const marked = await rows.query(
    "update advisories set public = $2, update_time = greatest($3, update_time + interval '1 ms') where uid = any($1) and public <> $2 returning 1",
    [keys.map((key) => `${group}/${key}`), isPublic, new Date(nowMs).toISOString()],
  );
  return marked.length;
};

const difference = columns({ differs: expression("true", flag) });

/** Returns whether a document of the source's kind and group, or an advisory from one, may have another visibility. */
export const mayDifferInVisibility = async (rows: Read, feed: string, isPublic: boolean): Promise<boolean> => {
  const found = await difference.findOne(
    rows,
    `select ${difference.list} from feeds as own where own.id = $1 and (
       exists (select from feeds as other join source_documents as document on document.feed_id = other.id
         where other.kind = own.kind and other.group_uid = own.group_uid and document.public <> $2)
       or own.kind = 'advisories' and exists (select from advisories where left(uid, -17) = own.group_uid and document_id is not null and public <> $2))`,
    [feed, isPublic],
    wideCount,
  );
  return found !== undefined;
};

export const refreshAdvisoryStatistics = (rows: Write, refreshed: Refreshed): Promise<void> => refreshStatistics(rows, "advisories", refreshed);

const published = "public and delete_time is null";

export type AdvisoryRow = RowOf<typeof advisoryRow>;

const advisoryRow = columns({
  uid: text,
  advisoryId: text,
  origin: text,
  artifactName: text,
  artifactType: text,
  artifactArchitecture: text,
  author: text,
  namespace: text,
  aliases: textList,
  /** JSON list of AdvisoryEvent. */
  events: text,
  createTime: time("create_time"),
  updateTime: time("update_time"),
  deleteTime: expression(timeText("delete_time"), nullableText),
});

/** Returns the packages' published advisories, in a fixed order. */
export const findPublished = (rows: Read, origins: readonly string[]): Promise<AdvisoryRow[]> =>
  advisoryRow.find(rows, `select ${advisoryRow.list} from advisories where ${published} and origin = any($1) order by origin, advisory_id, uid`, [origins]);

/** The form that Gantry renders itself. Other forms are published as their sources wrote them (source-documents.ts). */
const own = "form = 'wolfi'";

export const findOwnPublished = (rows: Read, origin: string): Promise<AdvisoryRow[]> =>
  advisoryRow.find(rows, `select ${advisoryRow.list} from advisories where ${published} and ${own} and origin = $1 order by origin, advisory_id, uid`, [
    origin,
  ]);

/** Returns the next packages' advisories, complete per package; empty at the end. */
export const findOwnPublishedBehind = (rows: Read, after: string, limit: number): Promise<AdvisoryRow[]> =>
  advisoryRow.find(
    rows,
    `select ${advisoryRow.list} from advisories where ${published} and ${own} and origin > $1 order by origin fetch first $2 rows with ties`,
    [after, limit],
    { rows: limit, wide: true },
  );

/** Reads the visible advisories of ours part by part, the public ones first. */
const findOwn = async <Fields>(
  { read, visibility }: Reader,
  { find }: Columns<Fields>,
  statement: (terms: string) => string,
  values: readonly Param[],
  cost?: StatementCost,
): Promise<Fields[]> => {
  const found: Fields[] = [];
  for (const part of partsOf(visibility, values.length))
    found.push(...(await find(read, statement(`${part.terms} and ${own}`), [...values, ...part.values], cost)));
  return found;
};

/** Returns up to `limit` public and `limit` private advisories, withdrawn ones last. One ID is a cheap read. */
export const findOwnByIds = async (reader: Reader, advisoryIds: readonly string[], limit: number): Promise<AdvisoryRow[]> => {
  const found = await findOwn(
    reader,
    advisoryRow,
    (terms) => `select ${advisoryRow.list} from advisories where ${terms} and advisory_id = any($1) order by delete_time is not null, uid limit $2`,
    [advisoryIds, limit],
    advisoryIds.length === 1 ? undefined : { rows: limit, wide: true },
  );
  const [listed = [], withdrawn = []] = [true, false].map((isListed) => found.filter(({ deleteTime }) => (deleteTime === undefined) === isListed));
  return [...listed, ...withdrawn];
};

/** Names of packages: `published` ones may have public advisories, `visible` ones also private advisories. */
interface OwnNames {
  readonly published: readonly string[];
  readonly visible: readonly string[];
}

/** Returns up to `limit` public and `limit` private advisories on these packages. */
export const findOwnByArtifacts = async ({ read, visibility }: Reader, { published: names, visible }: OwnNames, limit: number): Promise<AdvisoryRow[]> => {
  const cost = { rows: limit, wide: true };
  const order = "order by advisory_id, uid limit $2";
  const publicText = `select ${advisoryRow.list} from advisories where ${published} and ${own} and artifact_name = any($1) ${order}`;
  const found = names.length === 0 ? [] : await advisoryRow.find(read, publicText, [names, limit], cost);
  if (visibility === "public") return found;
  const { lows, highs } = visibility.places;
  // Organization by organization: otherwise the planner reads the rows of all organizations with these names (attack 116).
  const privateText = `select ${advisoryRow.list} from advisories where uid = any(array(
       select held.uid from (${rootsOf("$3")}) as place(root)
       cross join lateral (
         select uid from advisories
         where left(uid, 40) = place.root and artifact_name = any($1) and delete_time is null and not public and ${own} offset 0) as held))
     and ${isWithin("$3", "$4")} ${order}`;
  return [...found, ...(await advisoryRow.find(read, privateText, [visible, limit, lows, highs], cost))];
};

const isPrivate = ({ isPublic }: Part): boolean => !isPublic;

/** Returns visible private advisories, withdrawn or not. */
export const findOwnPrivate = async ({ read, visibility }: Reader, origins: readonly string[]): Promise<AdvisoryRow[]> => {
  const part = partsOf(visibility, 1).find(isPrivate);
  if (!part) return [];
  return advisoryRow.find(
    read,
    `select ${advisoryRow.list} from advisories where ${part.terms} and ${own} and origin = any($1) order by origin, advisory_id, uid`,
    [origins, ...part.values],
    { rows: origins.length, wide: true },
  );
};

const ownName = columns({ name: text });

/** Yields IDs or packages of visible private advisories in order, in batches; withdrawn advisories count. */
export async function* ownPrivateNames({ read, visibility }: Reader, column: "advisory_id" | "origin", batch: number): AsyncGenerator<string[]> {
  const part = partsOf(visibility, 2).find(isPrivate);
  if (!part) return;
  for (let after = ""; ; ) {
    const found = await ownName.find(
      read,
      `select ${ownName.list} from (select distinct ${column} as name from advisories where ${part.terms} and ${own}) as private
       where name > $1 order by name limit $2`,
      [after, batch, ...part.values],
      { rows: batch, wide: true },
    );
    const last = found.at(-1)?.name;
    if (last === undefined) return;
    yield found.map(({ name }) => name);
    after = last;
  }
}

export type OwnArtifact = RowOf<typeof ownArtifact>;

const ownArtifact = columns({ artifactType: text, namespace: text, author: text });

/** Returns the kinds of artifacts of the visible advisories of ours. */
export const findOwnArtifacts = (reader: Reader): Promise<OwnArtifact[]> =>
  findOwn(reader, ownArtifact, (terms) => `select distinct ${ownArtifact.list} from advisories where ${terms} limit 1000`, [], { rows: 1000, wide: true });

export type ChangedDocument = RowOf<typeof changedDocument>;

/** A row of a form's change list. */
export interface ChangedAdvisory extends ChangedDocument {
  readonly artifactType: string;
  readonly namespace: string;
  readonly author: string;
  /** An event has several patched versions. */
  readonly isPatchedOften: boolean;
  /** Empty while it applies to any artifact. */
  readonly withdrawTime: string;
}

/** `others` selects advisories that keep the ID active. */
const changedAdvisoryOf = (others: string) =>
  columns<ChangedAdvisory>({
    id: expression("advisory_id", text),
    modified: time("update_time"),
    artifactType: text,
    namespace: text,
    author: text,
    isPatchedOften: expression("jsonb_path_exists(events, '$[*].patched.patchedVersions[1]')", flag),
    withdrawTime: expression(
      `coalesce(case when delete_time is not null and not exists (
       select from advisories as other where other.advisory_id = advisories.advisory_id and ${others} and other.form = 'wolfi'
         and other.delete_time is null) then ${timeText("delete_time")} end, '')`,
      text,
    ),
  });
const changedAdvisory = changedAdvisoryOf("other.public");
const changedPrivateAdvisory = changedAdvisoryOf("left(other.uid, 40) = left(advisories.uid, 40)");
const changedDocument = columns({ id: expression("origin", text), modified: time("changed") });

/** Reads a page after (since, after), in order of change. */
export type ReadChanges<Changed> = (since: string, after: string, limit: number) => Promise<Changed[]>;

/** Returns one function for public advisories, and one for visible private ones. Withdrawn ones count. An ID appears once per artifact. */
export const changesOfAdvisories = ({ read, visibility }: Reader): ReadChanges<ChangedAdvisory>[] =>
  partsOf(visibility, 3).map(({ isPublic, terms, values }) => (since, after, limit) => {
    const changed = isPublic ? changedAdvisory : changedPrivateAdvisory;
    return changed.find(
      read,
      `select ${changed.list} from advisories
       where ${terms} and ${own} and (update_time, advisory_id) > (coalesce(nullif($1, '')::timestamptz, '-infinity'), $2)
       -- All of one number and time: the next page begins behind them.
       order by update_time, advisory_id fetch first $3 rows with ties`,
      [since, after, limit, ...values],
      { rows: limit, wide: true },
    );
  });

/** Returns the same for packages, by their last change or withdrawal. */
export const changesOfDocuments = ({ read, visibility }: Reader): ReadChanges<ChangedDocument>[] =>
  partsOf(visibility, 3).map(({ isPublic, terms, values }) => {
    const orPublished = isPublic ? "" : ` or origin in (select origin from advisories where ${published} and ${own})`;
    return (since, after, limit) =>
      changedDocument.find(
        read,
        `select ${changedDocument.list} from (
           select origin, max(update_time) as changed from advisories where ${terms} and ${own}
           group by origin having bool_or(delete_time is null)${orPublished}) as document
         where (changed, origin) > (coalesce(nullif($1, '')::timestamptz, '-infinity'), $2)
         order by changed, origin limit $3`,
        [since, after, limit, ...values],
        { rows: limit, wide: true },
      );
  });

export interface OwnDocument {
  readonly origin: string;
  /** A withdrawal counts as a release. */
  readonly initialReleaseTime: string;
  readonly currentReleaseTime: string;
}

const ownDocumentFields = { origin: text, initialReleaseTime: time("first"), currentReleaseTime: time("changed") };
const ownDocument = columns<OwnDocument>(ownDocumentFields);

/** Returns the page after `behind`, most recently changed first; `year` filters by first release. */
export const findOwnDocuments = (rows: Read, year: string, behind: OwnDocument | undefined, limit: number): Promise<OwnDocument[]> =>
  ownDocument.find(
    rows,
    `select ${ownDocument.list} from (
       select origin, least(min(create_time), max(update_time)) as first, max(update_time) as changed from advisories
       where public and ${own} group by origin having bool_or(delete_time is null)) as document
     where ($1 = '' or to_char(first at time zone 'UTC', 'YYYY') = $1)
       and (changed, origin) < (coalesce(nullif($2, '')::timestamptz, 'infinity'), $3)
     order by changed desc, origin desc limit $4`,
    [year, behind?.currentReleaseTime ?? "", behind?.origin ?? "", limit],
    { rows: limit, wide: true },
  );

/** Returns everything ever published; empty if nothing is published now. */
export const findOwnHistory = (rows: Read, origin: string): Promise<AdvisoryRow[]> =>
  advisoryRow.find(
    rows,
    `select ${advisoryRow.list} from advisories where public and ${own} and origin = $1
       and exists (select from advisories as listed where listed.public and listed.delete_time is null and listed.form = 'wolfi' and listed.origin = $1)
     order by origin, advisory_id, uid`,
    [origin],
  );

/** Returns everything ever published, even if nothing is now. */
export const findOwnPast = (rows: Read, origin: string): Promise<AdvisoryRow[]> =>
  advisoryRow.find(rows, `select ${advisoryRow.list} from advisories where public and ${own} and origin = $1 order by origin, advisory_id, uid`, [origin]);

export type PrivateDocument = RowOf<typeof privateDocument>;

const privateDocument = columns({
  ...ownDocumentFields,
  /** Groups of its private advisories. */
  groups: expression("holding", textList),
});

/** Returns packages with visible private advisories like findOwnDocuments; the times include public advisories. */
export const findOwnPrivateDocuments = async (
  { read, visibility }: Reader,
  year: string,
  behind: OwnDocument | undefined,
  limit: number,
): Promise<PrivateDocument[]> => {
  const part = partsOf(visibility, 4).find(isPrivate);
  if (!part) return [];
  const terms = `${part.terms} and ${own}`;
  return privateDocument.find(
    read,
    `select ${privateDocument.list} from (
       select origin, least(min(create_time), max(update_time)) as first, max(update_time) as changed,
         to_json(array_agg(distinct left(uid, -17)) filter (where not public))::text as holding
       from (
         select uid, origin, create_time, update_time, delete_time, public from advisories where ${terms}
         union all
         select uid, origin, create_time, update_time, delete_time, public from advisories
         where public and ${own} and origin in (select origin from advisories where ${terms})) as seen
       group by origin having bool_or(delete_time is null)) as document
     where ($1 = '' or to_char(first at time zone 'UTC', 'YYYY') = $1)
       and (changed, origin) < (coalesce(nullif($2, '')::timestamptz, 'infinity'), $3)
     order by changed desc, origin desc limit $4`,
    [year, behind?.currentReleaseTime ?? "", behind?.origin ?? "", limit, ...part.values],
    { rows: limit, wide: true },
  );
};

const advisoryState = columns({ advisories: expression("count(*)", text), changed: expression("coalesce(max(update_time)::text, '')", text) });

/** Returns a value that changes with every published own advisory. */
export const readAdvisoryState = async (rows: Read): Promise<string> => {
  const found = await advisoryState.findOne(rows, `select ${advisoryState.list} from advisories where public and ${own}`, [], wideCount);
  return JSON.stringify(found ?? {});
};

/** Returns published advisories and those in these subtrees. */
export const findOnPackages = (rows: Read, paths: readonly string[], names: readonly string[]): Promise<AdvisoryRow[]> => {
  const ends = paths.map((path) => (path === "" ? "~" : `${path}0`));
  return advisoryRow.find(
    rows,
    `select ${advisoryRow.list} from advisories where ${published} and origin = any($1)
     union
     select ${advisoryRow.list} from advisories
     where delete_time is null and form <> '${draftForm}' and left(uid, 40) in (select root from access_versions) and artifact_name = any($1)
       and exists (select from unnest($2::text[], $3::text[]) as place(low, high) where uid >= low and uid < high)`,
    [names, paths, ends],
    { rows: names.length, wide: true },
  );
};

export type MatchableAdvisory = RowOf<typeof matchableAdvisory>;

const matchableAdvisory = columns({
  uid: text,
  advisoryId: text,
  aliases: textList,
  artifactName: text,
  artifactType: text,
  artifactArchitecture: text,
  /** The distribution of its package, if it names one. */
  namespace: text,
  /** An organization authored it. */
  isAuthored: expression(`feed = '${authoredFeed}'`, flag),
  form: text,
  /** Empty if none. */
  documentId: text,
  events: text,
  isPublic: expression("public", flag),
});

/** A digest that changes with the advisory or its document. */
export const fingerprintText = `md5(concat_ws(' ', update_time, digest, document_id, (
  select concat_ws(' ', document.digest, document.change_time) from source_documents as document where document.id = document_id)))`;

const seenAdvisory = columns({ uid: text, fingerprint: expression(fingerprintText, text) });

/** Returns fingerprints by uid of other sources' advisories that the organization sees. */
export const findFingerprints = async (rows: Read, root: string, type: string, numbers: readonly string[], limit: number): Promise<Record<string, string>> => {
  const isSeen = `(public or left(uid, 40) = $1) and feed <> '${authoredFeed}' and delete_time is null and artifact_type = $2`;
  const found = await seenAdvisory.find(
    rows,
    `select ${seenAdvisory.list} from advisories where ${isSeen} and aliases ?| $3::text[]
     union select ${seenAdvisory.list} from advisories where public and ${isSeen} and advisory_id = any($3)
     union select ${seenAdvisory.list} from advisories where left(uid, 40) = $1 and ${isSeen} and advisory_id = any($3) limit $4`,
    [root, type, numbers, limit],
    { rows: limit, wide: true },
  );
  return Object.fromEntries(found.map(({ uid, fingerprint }) => [uid, fingerprint]));
};

/** Returns current fingerprints by uid. */
export const findFingerprintsOf = async (rows: Read, uids: readonly string[]): Promise<Map<string, string>> => {
  const found = await seenAdvisory.find(rows, `select ${seenAdvisory.list} from advisories where uid = any($1)`, [uids], { rows: uids.length, wide: true });
  return new Map(found.map(({ uid, fingerprint }) => [uid, fingerprint]));
};

/** Returns published advisories, and private ones of these groups. */
export const findMatchable = (rows: Read, root: string, groups: readonly string[], names: readonly string[]): Promise<MatchableAdvisory[]> =>
  matchableAdvisory.find(
    rows,
    `select ${matchableAdvisory.list} from advisories where ${published} and origin = any($3) and artifact_name = any($3)
     union all
     select ${matchableAdvisory.list} from advisories
     where not public and delete_time is null and left(uid, 40) = $1 and artifact_name = any($3) and left(uid, -17) = any($2)`,
    [root, groups, names],
  );
