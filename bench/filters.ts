// Queries of a million advisories: each filter with realistic values, frequent and rare if plans may differ, and the same
// condition in plain SQL.

import type { JsonObject } from "#base/json.ts";
import { methodByName } from "#contract/catalog.ts";

export const listAdvisories = "chainguard.platform.vulnerabilities.v2.AdvisoriesService/ListAdvisories";

export interface FilterQuery {
  /** "event-types, rare" */
  readonly label: string;
  /** "event_types"; "" for the unfiltered list. */
  readonly field: string;
  /** Values, or SQL that finds them. */
  readonly values: readonly string[] | { readonly found: string };
  /** The SQL condition; $3 is the value or the list of values. */
  readonly condition: string;
}

export const unfiltered: FilterQuery = { label: "no filter", field: "", values: [], condition: "delete_time is null and $3::text[] is not null" };

type Values = FilterQuery["values"];

const notDeleted = (condition: string): string => `delete_time is null and ${condition}`;
const ofFacets = (condition: string): string => notDeleted(`facet = any(array(select id::text from advisory_facets where ${condition}))`);

/** Enough for a second page. */
const valuesFound = (expression: string, where = "true"): Values => ({
  found: `select ${expression} as value from advisories where delete_time is null and ${where} order by uid offset 5000 limit 101`,
});
const rareAliases = Array.from({ length: 20 }, (_, index) => `CVE-2025-${60_000 + index}`);

const knownFilters: Readonly<Record<string, { readonly condition: string; readonly values: Readonly<Record<string, Values>> }>> = {
  advisory_ids: { condition: "advisory_id = any($3)", values: { several: valuesFound("advisory_id") } },
  legacy_advisory_ids: { condition: "legacy_advisory_id = any($3)", values: { several: valuesFound("legacy_advisory_id", "legacy_advisory_id <> ''") } },
  artifact_names: {
    condition: notDeleted("artifact_name = any($3)"),
    values: { frequent: ["package-0"], rare: ["package-2900", "package-2901"], several: Array.from({ length: 30 }, (_, index) => `package-${index * 90}`) },
  },
  artifact_types: { condition: ofFacets("artifact_type = any($3)"), values: { frequent: ["apk"], rare: ["image"] } },
  artifact_architectures: { condition: ofFacets("artifact_architecture = any($3)"), values: { frequent: ["x86_64"] } },
  component_names: { condition: notDeleted("component_name = any($3)"), values: { frequent: ["openssl-component-0"] } },
  component_types: { condition: ofFacets("component_type = any($3)"), values: { frequent: ["go-module"] } },
  component_locations: { condition: notDeleted("component_location = any($3)"), values: { frequent: ["/usr/lib/libcomponent-0/1"] } },
  aliases: { condition: notDeleted("aliases ?| $3"), values: { frequent: ["CVE-2025-10000"], rare: rareAliases } },
  origin: { condition: notDeleted("artifact_name = any(array(select name from package_origins where origin = $3))"), values: { frequent: ["package-8"] } },
  event_review_states: { condition: ofFacets("event_review_states && $3"), values: { frequent: ["REVIEW_STATE_APPROVED"], rare: ["REVIEW_STATE_PENDING"] } },
  event_authors: { condition: ofFacets("event_authors && $3"), values: { frequent: ["analyst@example.com"], rare: ["visitor@example.com"] } },
  exclude_event_authors: { condition: ofFacets("not event_authors && $3"), values: { frequent: ["analyst@example.com"] } },
  event_reviewers: { condition: ofFacets("event_reviewers && $3"), values: { frequent: ["lead@example.com"] } },
  event_types: { condition: ofFacets("event_types && $3"), values: { frequent: ["EVENT_TYPE_FILTER_DETECTION"], rare: ["EVENT_TYPE_FILTER_FIX_NOT_PLANNED"] } },
  latest_event_type: {
    condition: ofFacets("latest_event_type = $3"),
    values: { frequent: ["EVENT_TYPE_FILTER_FIXED"], rare: ["EVENT_TYPE_FILTER_FIX_NOT_PLANNED"] },
  },
  query: { condition: notDeleted("search like '%' || lower($3) || '%'"), values: { frequent: ["golang"], rare: ["CVE-2025-1234"] } },
  updated_since: {
    condition: "update_time > $3",
    values: { frequent: ["2026-06-01T00:00:00.000Z"], some: ["2027-01-25T00:00:00.000Z"], rare: ["2027-02-10T00:00:00.000Z"] },
  },
};

export interface Filter {
  /** "event-types" */
  readonly name: string;
  /** The most frequent one first. */
  readonly queries: readonly FilterQuery[];
}

/** Every filter of the contract. */
export const filters: readonly Filter[] = (methodByName(listAdvisories)?.input.fields ?? []).flatMap((field) => {
  if (!field.filter) return [];
  const name = field.name.replaceAll("_", "-");
  const known = knownFilters[field.name];
  if (!known) throw new Error(`the bench knows no values for the filter ${field.name}`);
  return [
    {
      name,
      queries: Object.entries(known.values).map(
        ([kind, values]): FilterQuery => ({ label: `${name}, ${kind}`, field: field.name, values, condition: known.condition }),
      ),
    },
  ];
});

/** Returns whether the filter takes several values. */
export const isList = ({ field }: FilterQuery): boolean => methodByName(listAdvisories)?.input.byName.get(field)?.shape === "list";

export const requestOf = (query: FilterQuery, values: readonly string[]): JsonObject => {
  const field = methodByName(listAdvisories)?.input.byName.get(query.field);
  return field ? { [field.json]: isList(query) ? [...values] : (values[0] ?? "") } : {};
};
