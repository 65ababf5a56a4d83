// The list of repositories (`_catalog`), of those that the caller can list. The order is that of the uids, so that a page is a range of
// the primary key for each branch of the caller, whatever the number of repositories.

import { missingCapability, visiblePaths } from "#authz";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ancestry, EVERYWHERE, isUid, parentOf } from "#base/uid.ts";
import { boundOf, type Outcome, type ReadContext } from "#kernel";
import { findGroupNames, findRepoByName } from "#registry/store";
import { type Branch, listRows, wholeTable } from "#db";
import { catalogScopeMissing, lastUnknown } from "./faults.ts";
import { pageSizeOf } from "./page-size.ts";
import { isPath } from "./place.ts";

const branchOf = (path: string): Branch => (path === EVERYWHERE ? wholeTable : { low: path, high: `${path}0` });

/** Returns the caller's rights for the list; throws a challenge if the registry token does not include it. */
const rightsFor = ({ caller, rights }: ReadContext): ReadContext["rights"] => {
  if (!caller?.registry) return rights;
  if (!caller.registry.catalog || !rights.beforeRegistry) throw catalogScopeMissing();
  return rights.beforeRegistry;
};

/** Returns the uid at which the page starts. Links have uids, so that a deleted repository does not end the list. */
const startOf = async ({ request, rows, method }: ReadContext, rights: ReadContext["rights"]): Promise<string> => {
  const last = text(request, "last");
  if (last === "" || isUid(last)) return last;
  const found = isPath(last) ? await findRepoByName(rows, last) : undefined;
  if (!found || missingCapability(rights, method.capabilities, found.uid) !== undefined) throw lastUnknown();
  return found.uid;
};

export const listCatalog = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, method } = context;
  const rights = rightsFor(context);
  const count = pageSizeOf(text(request, "n"), limits.catalogNamesMax);
  const start = await startOf(context, rights);
  const branches = visiblePaths(rights, method.capabilities)
    .map(branchOf)
    .sort((one, other) => (one.low < other.low ? -1 : 1));
  if (count === 0 || branches.length === 0) return { reply: { repositories: [] } };
  const { shape } = boundOf(context, "chainguard.platform.registry.v2.Repo");
  const page = await listRows(rows, shape.table, {
    branches,
    conditions: [],
    order: { column: "uid", descending: false },
    after: start === "" ? undefined : { value: start, uid: start },
    skip: 0,
    limit: count + 1,
    count: false,
    size: undefined,
  });
  const repos = page.rows.slice(0, count).map((row) => shape.read(row, page.offset));
  const groups = await findGroupNames(rows, [...new Set(repos.flatMap((repo) => ancestry(parentOf(text(repo, "uid")))))]);
  const repositories = repos.map((repo) => {
    const uid = text(repo, "uid");
    const names = ancestry(parentOf(uid))
      .reverse()
      .map((group) => groups.get(group));
    const path = [...names, text(repo, "name")].join("/");
    // A path that does not lead to the repository, or that clients refuse: its uid is a name too.
    return names.includes(undefined) || !isPath(path) ? uid : path;
  });
  const isLast = page.rows.length <= count;
  return { reply: { repositories, ...(isLast ? {} : { next: text(repos.at(-1) ?? {}, "uid") }) } };
};
