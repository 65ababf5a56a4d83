// Table advisory_facets: the distinct sets of filterable values, shared by advisories. Rows are never deleted, since
// there are few.

import { limits } from "#base/limits.ts";
import { columns, type Read, text, type Write } from "#db";
import { type Refreshed, refreshStatistics } from "./feed-rows.ts";

export interface AdvisoryFacet {
  readonly artifactType: string;
  readonly artifactArchitecture: string;
  readonly componentType: string;
  readonly latestEventType: string;
  readonly eventTypes: readonly string[];
  readonly eventReviewStates: readonly string[];
  readonly eventAuthors: readonly string[];
  readonly eventReviewers: readonly string[];
}

const stored = columns({ digest: text, id: text });

/** Adds missing facets and returns all IDs by digest. */
export const addFacets = async (rows: Write, facets: ReadonlyMap<string, AdvisoryFacet>): Promise<ReadonlyMap<string, string>> => {
  const digests = [...facets.keys()];
  const findIds = async (): Promise<ReadonlyMap<string, string>> => {
    const found = await stored.find(rows, `select ${stored.list} from advisory_facets where digest = any($1)`, [digests]);
    return new Map(found.map(({ digest, id }) => [digest, id]));
  };
  const known = await findIds();
  if (known.size === digests.length) return known;
  const values = [...facets].flatMap(([digest, facet]) =>
    known.has(digest)
      ? []
      : [
          [
            digest,
            facet.artifactType,
            facet.artifactArchitecture,
            facet.componentType,
            facet.latestEventType,
            facet.eventTypes,
            facet.eventReviewStates,
            facet.eventAuthors,
            facet.eventReviewers,
          ],
        ],
  );
  await rows.query(
    `insert into advisory_facets (digest, artifact_type, artifact_architecture, component_type, latest_event_type,
       event_types, event_review_states, event_authors, event_reviewers)
     select each ->> 0, each ->> 1, each ->> 2, each ->> 3, each ->> 4,
       array(select jsonb_array_elements_text(each -> 5)), array(select jsonb_array_elements_text(each -> 6)),
       array(select jsonb_array_elements_text(each -> 7)), array(select jsonb_array_elements_text(each -> 8))
     from jsonb_array_elements($1::jsonb) as each order by each ->> 0 on conflict do nothing`,
    [JSON.stringify(values)],
  );
  return findIds();
};

/** A list matches any of its values; an absent field matches everything. */
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

const facetId = columns({ id: text });

export const findFacets = async (rows: Read, filter: FacetFilter): Promise<string[]> => {
  const anyOf = (values: readonly string[] | undefined): readonly string[] | null => values ?? null;
  const found = await facetId.find(
    rows,
    `select ${facetId.list} from advisory_facets
     where ($1::text[] is null or artifact_type = any($1)) and ($2::text[] is null or artifact_architecture = any($2))
       and ($3::text[] is null or component_type = any($3)) and ($4::text is null or latest_event_type = $4)
       and ($5::text[] is null or event_types && $5) and ($6::text[] is null or event_review_states && $6)
       and ($7::text[] is null or event_authors && $7) and ($8::text[] is null or event_reviewers && $8)
       and ($9::text[] is null or not event_authors && $9) order by id`,
    [
      anyOf(filter.artifactTypes),
      anyOf(filter.artifactArchitectures),
      anyOf(filter.componentTypes),
      filter.latestEventType ?? null,
      anyOf(filter.eventTypes),
      anyOf(filter.eventReviewStates),
      anyOf(filter.eventAuthors),
      anyOf(filter.eventReviewers),
      anyOf(filter.excludeEventAuthors),
    ],
    { rows: limits.facetsMax, wide: true },
  );
  return found.map(({ id }) => id);
};

export const refreshFacetStatistics = (rows: Write, refreshed: Refreshed): Promise<void> => refreshStatistics(rows, "advisory_facets", refreshed);
