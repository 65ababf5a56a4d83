// Advisories: events about a vulnerability in an artifact, from imports and from organizations (authored-advisory.ts).

import { type JsonObject, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { type ReadContext, resource } from "#kernel";
import { type Condition, containingPattern, hasTrigram } from "#db";
import { type FacetFilter, findFacets, findSubpackages } from "#advisories/store";
import { withAuthoredEvents } from "./rules/authoring.ts";
import { withSeverities } from "./rules/severities.ts";
import { withWithdrawals } from "./rules/withdrawals.ts";

const unspecified = /_UNSPECIFIED$/;

/** Ignores unspecified enum values. */
const readFilterValues = (request: JsonObject, key: string): readonly string[] | undefined => {
  const values = texts(request, key).filter((value) => !unspecified.test(value));
  return values.length > 0 ? values : undefined;
};

const readFacetFilter = (request: JsonObject): FacetFilter | undefined => {
  const latest = text(request, "latestEventType");
  const filters = {
    artifactTypes: readFilterValues(request, "artifactTypes"),
    artifactArchitectures: readFilterValues(request, "artifactArchitectures"),
    componentTypes: readFilterValues(request, "componentTypes"),
    latestEventType: latest === "" || unspecified.test(latest) ? undefined : latest,
    eventTypes: readFilterValues(request, "eventTypes"),
    eventReviewStates: readFilterValues(request, "eventReviewStates"),
    eventAuthors: readFilterValues(request, "eventAuthors"),
    eventReviewers: readFilterValues(request, "eventReviewers"),
    excludeEventAuthors: readFilterValues(request, "excludeEventAuthors"),
  };
  const set = Object.entries(filters).filter(([, value]) => value !== undefined);
  return set.length > 0 ? Object.fromEntries(set) : undefined;
};

/** The distinguishing part of a CVE ID, if long enough for the index. */
const cveNumber = new RegExp(`^cve-\\d{4}-(\\d{${limits.trigramLength},})$`, "i");

/** Withdrawn advisories are returned if requested by ID, and to clients that synchronize a copy (docs/decisions). */
const showsWithdrawn = (request: JsonObject): boolean =>
  texts(part(request, "uidp"), "ids").length > 0 ||
  texts(request, "advisoryIds").length > 0 ||
  texts(request, "legacyAdvisoryIds").length > 0 ||
  text(request, "updatedSince") !== "";

const conditions = async ({ request, rows }: ReadContext): Promise<Condition[]> => {
  const found: Condition[] = [];
  if (!showsWithdrawn(request)) found.push({ column: "delete_time", comparison: "null", value: null });
  const origin = text(request, "origin");
  if (origin !== "") found.push({ column: "artifact_name", comparison: "any", value: await findSubpackages(rows, origin), indexed: true });
  const query = text(request, "query");
  if (query !== "") {
    const number = cveNumber.exec(query)?.[1];
    // Nearly every row has the trigrams of the prefix, which would be rechecked for each row that matches the number.
    if (number !== undefined) found.push({ column: "search", comparison: "contains", value: containingPattern(number), indexed: true });
    found.push({ column: "search", comparison: "contains", value: containingPattern(query), indexed: number === undefined && hasTrigram(query) });
  }
  const filter = readFacetFilter(request);
  if (filter) {
    const facets = await findFacets(rows, filter);
    // More facets match most rows, so a scan is faster.
    found.push({ column: "facet", comparison: "any", value: facets, indexed: facets.length <= limits.facetsMax });
  }
  return found;
};

export const advisory = resource({
  service: "chainguard.platform.vulnerabilities.v2.AdvisoriesService",
  message: "chainguard.platform.vulnerabilities.v2.Advisory",
  table: "advisories",
  conditions,
  computedFields: {
    names: ["severities", "withdrawnTime", "withdrawnBy"],
    compute: async (rows, advisories) => withWithdrawals(rows, await withSeverities(rows, await withAuthoredEvents(rows, advisories))),
  },
});
