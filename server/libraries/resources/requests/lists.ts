// Lists of request groups, of a group's items, and of the libraries that all submitted groups request.

import { hash } from "node:crypto";
import { missing } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { pageOf } from "#base/page.ts";
import { covers, parentOf } from "#base/uid.ts";
import { normalizePythonName } from "#base/versions/python-name.ts";
import { answerPage, boundOf, list, type Outcome, type ReadContext } from "#kernel";
import { type Condition, findRow } from "#db";
import {
  type Contribution,
  countRequestedLibraries,
  countRequestedVersions,
  countRequestItems,
  findContributions,
  findLibraryRequests,
  findRequestedLibraries,
  findRequestedVersions,
  findRequestItems,
  type RequestedPlace,
} from "#libraries/store";
import { upgradeOf } from "./coverage.ts";

const chosen = (request: JsonObject, key: string): string => {
  const value = text(request, key);
  return value.endsWith("_UNSPECIFIED") ? "" : value;
};

const draftStatuses = ["REQUEST_GROUP_STATUS_CREATING", "REQUEST_GROUP_STATUS_PENDING", "REQUEST_GROUP_STATUS_EXPIRED"];
const submittedStatuses = ["REQUEST_GROUP_STATUS_PROCESSING", "REQUEST_GROUP_STATUS_COMPLETED"];

/** Returns the conditions of filters that do not compare a single column. */
export const requestGroupConditions = ({ request }: ReadContext): Promise<Condition[]> => {
  const conditions: Condition[] = [];
  const state = text(request, "state");
  if (state === "REQUEST_GROUP_STATE_DRAFT") conditions.push({ column: "status", comparison: "any", value: draftStatuses });
  if (state === "REQUEST_GROUP_STATE_SUBMITTED") conditions.push({ column: "status", comparison: "any", value: submittedStatuses });
  if (typeof request.forCveRemediation === "boolean")
    conditions.push({ column: "for_cve_remediation", comparison: "equal", value: String(request.forCveRemediation) });
  return Promise.resolve(conditions);
};

const requireParent = async ({ request, rows, resources }: ReadContext): Promise<string> => {
  const above = boundOf({ resources }, "chainguard.platform.libraries.v2beta1.RequestGroup").parent;
  const parent = text(request, "parent");
  if (above?.table && !(await findRow(rows, { name: above.table, columns: ["uid"] }, parent))) throw missing(above.domain, above.fact.short, parent);
  return parent;
};

/** The capability is required at the parent, so all its descendants are visible. */
export const listRequestGroups = async (context: ReadContext): Promise<Outcome> => {
  const parent = await requireParent(context);
  return list(boundOf(context, "chainguard.platform.libraries.v2beta1.RequestGroup"))({ ...context, visiblePaths: [parent] });
};

/** Returns the request groups of `parent` and below, narrowed by the filter; undefined if that leaves none. */
const placeOf = (request: JsonObject, parent: string): RequestedPlace | undefined => {
  const [descendantsOf, childrenOf] = ["descendantsOf", "childrenOf"].map((key) => text(part(request, "uidp"), key));
  let below = parent;
  for (const other of [descendantsOf, childrenOf]) {
    if (!other || covers(other, below)) continue;
    if (!covers(below, other)) return undefined;
    below = other;
  }
  return { below, directlyIn: childrenOf ?? "" };
};

const withoutEmpty = (message: JsonObject): JsonObject => Object.fromEntries(Object.entries(message).filter(([, value]) => value !== ""));

const withUpgrade = (message: JsonObject, upgrade: JsonObject | undefined): JsonObject => (upgrade ? { ...message, upgrade } : message);

/** Gantry scans nothing, so no item has a remediation status. */
const asksForRemediation = (request: JsonObject, key: string): boolean => chosen(request, key) !== "";

const isNamed = (request: JsonObject, group: string): boolean => {
  const place = placeOf(request, parentOf(group));
  return place !== undefined && covers(place.below, group) && (place.directlyIn === "" || place.directlyIn === parentOf(group));
};

export const listItems = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const resource = boundOf(context, "chainguard.platform.libraries.v2beta1.RequestGroup");
  const group = text(request, "uid");
  if (!(await findRow(rows, { name: "request_groups", columns: ["uid"] }, group))) throw missing(resource.domain, resource.fact.short, group);
  const filter = {
    group,
    availability: chosen(request, "availability"),
    minUpdateTime: text(request, "minUpdateTime"),
    includeRemoved: request.includeRemoved === true,
  };
  return answerPage(context, async (page) => {
    if (asksForRemediation(request, "cveRemediationStatus") || !isNamed(request, group)) return pageOf(page, [], 0);
    const [found, total] = await Promise.all([findRequestItems(rows, filter, page), page.total ?? countRequestItems(rows, filter)]);
    const records = found.map(({ key, closestVersion, latestVersion, ...item }) => ({
      key,
      record: withUpgrade(withoutEmpty(item), upgradeOf({ closestVersion, latestVersion })),
    }));
    return pageOf(page, records, total);
  });
};

const refsOf = (contributions: readonly Contribution[]): JsonObject[] =>
  contributions.map(({ uid, requestName }) => ({ uid, ...(requestName === "" ? {} : { name: requestName }) }));

/** List entries have no rows: a hash of their name is their ID. */
const identifierOf = (...parts: readonly string[]): string => hash("sha256", JSON.stringify(parts), "hex").slice(0, 16);

export const listRequestedLibraries = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const place = placeOf(request, await requireParent(context));
  const asked = { ecosystem: chosen(request, "ecosystem"), query: text(request, "query"), buildStatus: chosen(request, "buildStatus") };
  return answerPage(context, async (page) => {
    if (asksForRemediation(request, "cveStatus") || !place) return pageOf(page, [], 0);
    const filter = { ...asked, place };
    const [found, total] = await Promise.all([findRequestedLibraries(rows, filter, page), page.total ?? countRequestedLibraries(rows, filter)]);
    const names = [...new Set(found.map(({ name }) => name))];
    const [contributions, requests] =
      names.length === 0
        ? [[], []]
        : await Promise.all([findContributions(rows, place, names, limits.contributingGroupsMax, false), findLibraryRequests(rows, place, names)]);
    const records = found.map(({ key, name, ecosystem, ...library }) => {
      const isOwn = (one: { readonly name: string; readonly ecosystem: string }): boolean => one.name === name && one.ecosystem === ecosystem;
      const counted = requests.find(isOwn);
      const record = {
        uid: identifierOf(ecosystem, name),
        name,
        ecosystem,
        ...library,
        sources: [...(counted?.sources ?? [])],
        contributingGroups: refsOf(contributions.filter(isOwn)),
        contributingGroupCount: counted?.groupCount ?? 0,
      };
      return { key, record };
    });
    return pageOf(page, records, total);
  });
};

export const listRequestedVersions = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const place = placeOf(request, await requireParent(context));
  const ecosystem = chosen(request, "ecosystem");
  const written = text(request, "name");
  const name = ecosystem === "ECOSYSTEM_PYTHON" ? normalizePythonName(written) : written;
  const asked = { ecosystem, name, availability: chosen(request, "availability") };
  return answerPage(context, async (page) => {
    if (asksForRemediation(request, "cveRemediationStatus") || !place) return pageOf(page, [], 0);
    const filter = { ...asked, place };
    const [found, total] = await Promise.all([findRequestedVersions(rows, filter, page), page.total ?? countRequestedVersions(rows, filter)]);
    const contributions = found.length === 0 ? [] : await findContributions(rows, place, [name], limits.contributingGroupsMax, true);
    const records = found.map(({ key, closestVersion, latestVersion, sources, ...version }) => {
      const own = contributions.filter((one) => one.ecosystem === ecosystem && one.version === version.version);
      const requesters = [...new Set(own.map(({ submittedBy }) => submittedBy))];
      const message = {
        uid: identifierOf(ecosystem, name, version.version),
        ...withoutEmpty(version),
        sources: [...sources],
        requestedBy: requesters,
        contributingGroups: refsOf(own),
      };
      return { key, record: withUpgrade(message, upgradeOf({ closestVersion, latestVersion })) };
    });
    return pageOf(page, records, total);
  });
};
