// The lists around request groups: of groups, of one group's items, and of what all submitted groups ask for.

import { RequestGroupSchema } from "#contract/gen/chainguard/platform/libraries/v2beta1/request_groups_pb.js";
import { missing } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { pageOf } from "#base/page.ts";
import { normalizePythonName } from "#base/versions/python-name.ts";
import { answerPage, boundOf, list, type Outcome, type ReadContext } from "#kernel";
import {
  type Condition,
  type Contribution,
  countRequestedLibraries,
  countRequestedVersions,
  countRequestItems,
  findContributions,
  findRequestedLibraries,
  findRequestedVersions,
  findRequestItems,
  findRow,
} from "#store";
import { upgradeOf } from "./coverage.ts";

/** An enum's value in a filter; "" where it says none. */
const chosen = (request: JsonObject, key: string): string => {
  const value = text(request, key);
  return value.endsWith("_UNSPECIFIED") ? "" : value;
};

const draftStatuses = ["REQUEST_GROUP_STATUS_CREATING", "REQUEST_GROUP_STATUS_PENDING", "REQUEST_GROUP_STATUS_EXPIRED"];
const submittedStatuses = ["REQUEST_GROUP_STATUS_PROCESSING", "REQUEST_GROUP_STATUS_COMPLETED"];

/** Of the filters that are no comparison of one column. */
export const requestGroupConditions = ({ request }: ReadContext): Promise<Condition[]> => {
  const conditions: Condition[] = [];
  const state = text(request, "state");
  if (state === "REQUEST_GROUP_STATE_DRAFT") conditions.push({ column: "status", comparison: "any", value: draftStatuses });
  if (state === "REQUEST_GROUP_STATE_SUBMITTED") conditions.push({ column: "status", comparison: "any", value: submittedStatuses });
  if (typeof request.forCveRemediation === "boolean")
    conditions.push({ column: "for_cve_remediation", comparison: "equal", value: String(request.forCveRemediation) });
  return Promise.resolve(conditions);
};

/** The capability is asked for at the parent: what lies there and below is seen. */
export const listRequestGroups = (context: ReadContext): Promise<Outcome> =>
  list(boundOf(context, RequestGroupSchema))({ ...context, visiblePaths: [text(context.request, "parent")] });

/** A message without its empty texts. */
const withoutEmpty = (message: JsonObject): JsonObject => Object.fromEntries(Object.entries(message).filter(([, value]) => value !== ""));

const withUpgrade = (message: JsonObject, upgrade: JsonObject | undefined): JsonObject => (upgrade ? { ...message, upgrade } : message);

/** Nothing is scanned here, so nothing has a status of remediation. */
const asksForRemediation = (request: JsonObject, key: string): boolean => chosen(request, key) !== "";

export const listItems = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const resource = boundOf(context, RequestGroupSchema);
  const group = text(request, "uid");
  if (!(await findRow(rows, { name: "request_groups", columns: ["uid"] }, group))) throw missing(resource.domain, resource.fact.short, group);
  const filter = {
    group,
    availability: chosen(request, "availability"),
    minUpdateTime: text(request, "minUpdateTime"),
    includeRemoved: request.includeRemoved === true,
  };
  return answerPage(context, async (page) => {
    if (asksForRemediation(request, "cveRemediationStatus")) return pageOf(page, [], 0);
    const [found, total] = await Promise.all([findRequestItems(rows, filter, page), page.total ?? countRequestItems(rows, filter)]);
    const records = found.map(({ key, closestVersion, latestVersion, ...item }) => ({
      key,
      record: withUpgrade(withoutEmpty(item), upgradeOf({ closestVersion, latestVersion })),
    }));
    return pageOf(page, records, total);
  });
};

/** The request groups that ask for a library, as messages; or for one of its versions. */
const refsOf = (contributions: readonly Contribution[]): JsonObject[] =>
  contributions.map(({ uid, requestName }) => ({ uid, ...(requestName === "" ? {} : { name: requestName }) }));

export const listRequestedLibraries = (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const parent = text(request, "parent");
  const filter = { parent, ecosystem: chosen(request, "ecosystem"), query: text(request, "query"), buildStatus: chosen(request, "buildStatus") };
  return answerPage(context, async (page) => {
    if (asksForRemediation(request, "cveStatus")) return pageOf(page, [], 0);
    const [found, total] = await Promise.all([findRequestedLibraries(rows, filter, page), page.total ?? countRequestedLibraries(rows, filter)]);
    const names = [...new Set(found.map(({ name }) => name))];
    const contributions = names.length === 0 ? [] : await findContributions(rows, parent, names, limits.contributingGroupsMax, false);
    const records = found.map(({ key, name, ecosystem, groupCount, ...library }) => ({
      key,
      record: {
        ...library,
        name,
        ecosystem,
        sources: [...library.sources],
        contributingGroups: refsOf(contributions.filter((one) => one.name === name && one.ecosystem === ecosystem)),
        contributingGroupCount: groupCount,
      },
    }));
    return pageOf(page, records, total);
  });
};

export const listRequestedVersions = (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const parent = text(request, "parent");
  const ecosystem = chosen(request, "ecosystem");
  const asked = text(request, "name");
  const name = ecosystem === "ECOSYSTEM_PYTHON" ? normalizePythonName(asked) : asked;
  const filter = { parent, ecosystem, name, availability: chosen(request, "availability") };
  return answerPage(context, async (page) => {
    if (asksForRemediation(request, "cveRemediationStatus")) return pageOf(page, [], 0);
    const [found, total] = await Promise.all([findRequestedVersions(rows, filter, page), page.total ?? countRequestedVersions(rows, filter)]);
    const contributions = found.length === 0 ? [] : await findContributions(rows, parent, [name], limits.contributingGroupsMax, true);
    const records = found.map(({ key, closestVersion, latestVersion, sources, ...version }) => {
      const own = contributions.filter((one) => one.ecosystem === ecosystem && one.version === version.version);
      const requesters = [...new Set(own.map(({ submittedBy }) => submittedBy))];
      const message = { ...withoutEmpty(version), sources: [...sources], requestedBy: requesters, contributingGroups: refsOf(own) };
      return { key, record: withUpgrade(message, upgradeOf({ closestVersion, latestVersion })) };
    });
    return pageOf(page, records, total);
  });
};
