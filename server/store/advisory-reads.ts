// What advisories are asked besides their list by place (list.ts): facets, and the open feed's documents.

import { compareBytes } from "#base/versions/sort-key.ts";
import type { Read, Row } from "./handle.ts";
import { timeText } from "./time-text.ts";

/** What a filter asks of an advisory's types and events; a list means any of its values, an absent one anything. */
export interface FacetFilter {
  readonly artifactTypes?: readonly string[];
  readonly artifactArchitectures?: readonly string[];
  readonly componentTypes?: readonly string[];
  readonly latestEventType?: string;
  readonly eventTypes?: readonly string[];
  readonly eventReviewStates?: readonly string[];
  readonly eventAuthors?: readonly string[];
  readonly eventReviewers?: readonly string[];
  readonly excludeEventAuthors?: readonly string[];
}

/** The facets that a filter lets through. */
export const findFacets = async (rows: Read, filter: FacetFilter): Promise<string[]> => {
  const listOf = (values: readonly string[] | undefined): readonly string[] | null => values ?? null;
  const found = await rows.query(
    `select id from advisory_facets where ($1::text[] is null or artifact_type = any($1)) and ($2::text[] is null or artifact_architecture = any($2))
       and ($3::text[] is null or component_type = any($3)) and ($4::text is null or latest_event_type = $4)
       and ($5::text[] is null or event_types && $5) and ($6::text[] is null or event_review_states && $6)
       and ($7::text[] is null or event_authors && $7) and ($8::text[] is null or event_reviewers && $8)
       and ($9::text[] is null or not event_authors && $9) order by id`,
    [
      listOf(filter.artifactTypes),
      listOf(filter.artifactArchitectures),
      listOf(filter.componentTypes),
      filter.latestEventType ?? null,
      listOf(filter.eventTypes),
      listOf(filter.eventReviewStates),
      listOf(filter.eventAuthors),
      listOf(filter.eventReviewers),
      listOf(filter.excludeEventAuthors),
    ],
  );
  return found.flatMap(([id]) => id ?? []);
};

/** The packages that are built from this one, itself among them. */
export const findSubpackages = async (rows: Read, origin: string): Promise<string[]> => {
  const found = await rows.query("select name from package_origins where origin = $1", [origin]);
  return [...new Set([origin, ...found.flatMap(([name]) => name ?? [])])];
};

export interface DocumentsAsk {
  /** Only the document of this origin package. */
  readonly id: string | undefined;
  /** Only documents about one of these vulnerabilities. */
  readonly aliases: readonly string[];
  readonly descending: boolean;
  readonly after: string | undefined;
  readonly limit: number;
  readonly skip: number;
}

const published = "public and delete_time is null";

/** Names of the documents of the open feed, one for each origin package, in order; and how many there are. */
export const findDocumentIds = async (rows: Read, ask: DocumentsAsk, count: boolean): Promise<{ ids: string[]; total: number | undefined }> => {
  const { id, aliases, descending, after, limit, skip } = ask;
  if (id !== undefined || aliases.length > 0) {
    // A few out of many: found by their own indexes, and put in order then.
    const about = aliases.length > 0 ? "(aliases ?| $1 or advisory_id = any($1))" : "$1::text[] is not null";
    const found = await rows.query(`select distinct origin from advisories where ${published} and ${about} and ($2::text is null or origin = $2)`, [
      aliases,
      id ?? null,
    ]);
    const all = found.flatMap(([origin]) => origin ?? []).sort((one, other) => (descending ? compareBytes(other, one) : compareBytes(one, other)));
    const rest = after === undefined ? all : all.filter((origin) => (descending ? compareBytes(origin, after) < 0 : compareBytes(origin, after) > 0));
    return { ids: rest.slice(skip, skip + limit), total: all.length };
  }
  // From one name to the next, each a probe of the index: a package may have a thousand advisories.
  const [sign, direction] = descending ? ["<", "desc"] : [">", "asc"];
  const next = (than: string): string => `(select origin from advisories where ${published} and origin ${sign} ${than} order by origin ${direction} limit 1)`;
  const start = after === undefined ? `(select origin from advisories where ${published} order by origin ${direction} limit 1)` : next("$1");
  const step = `with recursive document as (select ${start} as origin union all select ${next("document.origin")} from document where document.origin is not null)`;
  const values = after === undefined ? [] : [after];
  const [found, counted] = await Promise.all([
    rows.query(`${step} select origin from document where origin is not null limit $${values.length + 1} offset $${values.length + 2}`, [
      ...values,
      limit,
      skip,
    ]),
    count
      ? rows.query(`with recursive document as (select (select min(origin) from advisories where ${published}) as origin
      union all select (select min(origin) from advisories where ${published} and origin > document.origin) from document where document.origin is not null)
      select count(origin) from document`)
      : undefined,
  ]);
  return { ids: found.flatMap(([origin]) => origin ?? []), total: counted && Number(counted[0]?.[0] ?? 0) };
};

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

const columns = `uid, advisory_id, origin, artifact_name, artifact_type, artifact_architecture, author, namespace, aliases, events,
  ${timeText("create_time")}, ${timeText("update_time")}, ${timeText("delete_time")}`;

const advisoryOf = (row: Row): AdvisoryRow => {
  const at = (index: number): string => row[index] ?? "";
  return {
    uid: at(0),
    advisoryId: at(1),
    origin: at(2),
    artifactName: at(3),
    artifactType: at(4),
    artifactArchitecture: at(5),
    author: at(6),
    namespace: at(7),
    aliases: JSON.parse(at(8)) as string[],
    events: at(9),
    createTime: at(10),
    updateTime: at(11),
    deleteTime: row[12] ?? undefined,
  };
};

/** Everything published about these origin packages, in one order. */
export const findPublished = async (rows: Read, origins: readonly string[]): Promise<AdvisoryRow[]> =>
  (await rows.query(`select ${columns} from advisories where ${published} and origin = any($1) order by origin, advisory_id, uid`, [origins])).map(advisoryOf);

/** What is published under this number, withdrawn or not. */
export const findPublishedById = async (rows: Read, advisoryId: string): Promise<AdvisoryRow[]> =>
  (await rows.query(`select ${columns} from advisories where public and advisory_id = $1 order by delete_time is not null, uid limit 1000`, [advisoryId])).map(
    advisoryOf,
  );

/** A document's name and when it was last changed. */
export interface Changed {
  readonly id: string;
  readonly modified: string;
}

const changedOf = ([id, modified]: Row): Changed => ({ id: id ?? "", modified: modified ?? "" });

/**
 * Numbers of what is published or withdrawn, in the order of their changes, behind (since, after). One that several
 * artifacts share comes once for each time at which one of them changed.
 */
export const findChangedAdvisories = async (rows: Read, since: string, after: string, limit: number): Promise<Changed[]> =>
  (
    await rows.query(
      `select advisory_id, ${timeText("update_time")} from (
       select distinct update_time, advisory_id from advisories
       where public and (update_time, advisory_id) > (coalesce(nullif($1, '')::timestamptz, '-infinity'), $2)
       order by update_time, advisory_id limit $3) as changed order by update_time, advisory_id`,
      [since, after, limit],
    )
  ).map(changedOf);

/** Names of the origin packages that something is published about, in the order of their last changes; a withdrawal is one. */
export const findChangedDocuments = async (rows: Read, since: string, after: string, limit: number, newestFirst = false): Promise<Changed[]> =>
  (
    await rows.query(
      `select origin, ${timeText("changed")} from (
       select origin, max(update_time) as changed from advisories where public group by origin having bool_or(delete_time is null)) as document
     where (changed, origin) > (coalesce(nullif($1, '')::timestamptz, '-infinity'), $2)
     order by changed ${newestFirst ? "desc" : "asc"}, origin limit $3`,
      [since, after, limit],
    )
  ).map(changedOf);

/** Places as ranges of uids. */
const withinPlaces = (lows: string, highs: string): string =>
  `exists (select from unnest(${lows}::text[], ${highs}::text[]) as place(low, high) where uid >= low and uid < high)`;

/** The advisories on these packages that are published or lie in one of these places. */
export const findOnPackages = async (rows: Read, places: readonly string[], names: readonly string[]): Promise<AdvisoryRow[]> => {
  const highs = places.map((place) => (place === "" ? "~" : `${place}0`));
  const found = await rows.query(
    `select ${columns} from advisories where ${published} and origin = any($1)
     union
     select ${columns} from advisories where delete_time is null and left(uid, 40) in (select root from access_versions) and artifact_name = any($1) and ${withinPlaces("$2", "$3")}`,
    [names, places, highs],
  );
  return found.map(advisoryOf);
};

/** The origin packages of those that have another than themselves. */
export const findOrigins = async (rows: Read, names: readonly string[]): Promise<Map<string, string>> => {
  const found = await rows.query("select name, origin from package_origins where name = any($1)", [names]);
  return new Map(found.map(([name, origin]) => [name ?? "", origin ?? ""]));
};

/** What the images of a tag are made of, architecture by architecture; public ones, and those of these places. */
export const findImagePackages = async (
  rows: Read,
  places: readonly string[],
  repo: string,
  tags: readonly string[],
): Promise<Readonly<Record<string, string>>[]> => {
  const found = await rows.query(
    `select packages from image_packages where (repo = $1 or short_repo = $1) and tag = any($2) and delete_time is null
       and (owner = '' or exists (select from unnest($3::text[]) as place where place = '' or owner = place or owner like place || '/%'))`,
    [repo, tags, places],
  );
  return found.map(([packages]) => JSON.parse(packages ?? "{}") as Record<string, string>);
};
