// Searches resources by a part of a name, and resolves paths of names. The store finds candidates; each kind's own List decides which of
// them the caller sees, and what of them.

import { visiblePaths } from "#authz";
import { findAffectedPackagesByStart, findVulnerabilitiesByStart, placesAt } from "#advisories/store";
import { invalid, missing } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ancestry, isRoot, isUid, parentOf } from "#base/uid.ts";
import { type BoundResource, boundOf, listByUids, listedBranches, listMethodOf, type Outcome, type ReadContext, resource } from "#kernel";
import { findByDigest, findByName, findByPartOfName, findChildrenByName } from "#db";

const groupMessage = "chainguard.platform.iam.v2.Group";
const tagMessage = "chainguard.platform.registry.v2.Tag";

interface Result {
  readonly type: string;
  readonly uid: string;
  readonly name: string;
  readonly description: string;
}

interface Found {
  readonly results: readonly Result[];
  readonly isCut: boolean;
}

const nothing: Found = { results: [], isCut: false };

const hasName = ({ shape }: BoundResource): boolean => shape.table.columns.includes("name");

/** Kinds with names, in groups or groups themselves. */
const isNamed = (each: BoundResource): boolean => hasName(each) && (each.fact.name === groupMessage || each.parentMessage === groupMessage);

const isOf = (types: readonly string[], type: string): boolean => types.length === 0 || types.includes(type);

/** The kinds that the request asks for. */
const kindsOf = ({ request, resources }: ReadContext, isSearched: (each: BoundResource) => boolean): BoundResource[] => {
  const types = texts(request, "types");
  return [...resources.values()].filter((each) => listMethodOf(each) !== undefined && isSearched(each) && isOf(types, each.fact.short));
};

const resultOf = ({ fact }: BoundResource, record: JsonObject): Result => ({
  type: fact.short,
  uid: text(record, "uid"),
  name: text(record, "name"),
  description: text(record, fact.name === tagMessage ? "digest" : "description").split("\n", 1)[0] ?? "",
});

/** The candidates that the caller's List contains, if they still match as it shows them. */
const show = async (context: ReadContext, kind: BoundResource, uids: readonly string[], matches: (result: Result) => boolean): Promise<Result[]> => {
  const records = await listByUids(context, kind, uids.slice(0, limits.pageSizeMax));
  return records.map((record) => resultOf(kind, record)).filter(matches);
};

const findNames = async (context: ReadContext, kind: BoundResource, query: string, limit: number): Promise<Found> => {
  const method = listMethodOf(kind);
  if (!method) return nothing;
  const branches = await listedBranches(context, kind, method);
  const uids = await findByPartOfName(context.rows, kind.shape.table.name, branches, query, limit + 1);
  return { results: await show(context, kind, uids, ({ name }) => name.toLowerCase().includes(query.toLowerCase())), isCut: uids.length > limit };
};

const findDigests = async (context: ReadContext, query: string, limit: number): Promise<Found> => {
  const [kind] = kindsOf(context, ({ fact }) => fact.name === tagMessage);
  const method = kind && listMethodOf(kind);
  if (!kind || !method || !/^sha\d+:[0-9a-f]*$/.test(query)) return nothing;
  const uids = await findByDigest(context.rows, kind.shape.table.name, await listedBranches(context, kind, method), query, limit + 1);
  return { results: await show(context, kind, uids, ({ description }) => description.startsWith(query)), isCut: uids.length > limit };
};

const findUids = async (context: ReadContext, uids: readonly string[]): Promise<Result[]> => {
  const shown = await Promise.all(kindsOf(context, () => true).map((kind) => show(context, kind, uids, ({ uid }) => uids.includes(uid))));
  return shown.flat();
};

/** Spellings of an ID: databases write CVE-2024-1, but GHSA-j8r2-6x86-q33q. */
const idsOf = (query: string): string[] => [
  ...new Set([query, query.toUpperCase(), query.toLowerCase(), query.replace(/^ghsa-/i, "GHSA-").replace(/^cga-/i, "CGA-")]),
];

const capabilitiesOf = (context: ReadContext, message: Parameters<typeof boundOf>[1]): readonly string[] =>
  listMethodOf(boundOf(context, message))?.capabilities ?? [];

const findVulnerabilities = async (context: ReadContext, query: string, limit: number): Promise<Found> => {
  if (!isOf(texts(context.request, "types"), "Vulnerability")) return nothing;
  const places = placesAt(visiblePaths(context.rights, capabilitiesOf(context, "chainguard.platform.vulnerabilities.v2.Advisory")));
  const found = await findVulnerabilitiesByStart(context.rows, places, idsOf(query), limit + 1);
  return {
    results: found.slice(0, limit).map(({ id, summary }) => ({ type: "Vulnerability", uid: "", name: id, description: summary.split("\n", 1)[0] ?? "" })),
    isCut: found.length > limit,
  };
};

const findPackages = async (context: ReadContext, query: string, limit: number): Promise<Found> => {
  if (!isOf(texts(context.request, "types"), "Package")) return nothing;
  const paths = visiblePaths(context.rights, capabilitiesOf(context, "gantry.images.v1.AffectedImage"));
  if (paths.length === 0) return nothing;
  const found = await findAffectedPackagesByStart(context.rows, placesAt(paths), query, limit + 1);
  return { results: found.slice(0, limit).map((name) => ({ type: "Package", uid: "", name, description: "" })), isCut: found.length > limit };
};

/** Adds the paths of names, from the highest group that the caller can list. */
const withPaths = async (context: ReadContext, results: readonly Result[]): Promise<JsonObject[]> => {
  const above = new Set(results.flatMap(({ uid }) => (uid === "" || isRoot(uid) ? [] : ancestry(parentOf(uid)))));
  const kinds = [...context.resources.values()].filter((each) => each.fact.name === groupMessage || each.children.some((child) => hasName(child)));
  const names = new Map<string, string>();
  for (const kind of kinds) {
    const uids = [...above];
    for (let first = 0; first < uids.length; first += limits.pageSizeMax) {
      for (const record of await listByUids(context, kind, uids.slice(first, first + limits.pageSizeMax))) names.set(text(record, "uid"), text(record, "name"));
    }
  }
  return results.map(({ type, uid, name, description }) => {
    const line =
      uid === "" || isRoot(uid)
        ? []
        : ancestry(parentOf(uid))
            .sort()
            .map((each) => names.get(each));
    const visible = line.slice(line.findIndex((each) => each !== undefined));
    const isHidden = uid === "" || (line.length > 0 && line.every((each) => each === undefined)) || visible.includes(undefined);
    const path = isHidden ? "" : [visible.join("/"), name].filter((each) => each !== "").join(type === "Tag" ? ":" : "/");
    return { type, ...(uid === "" ? {} : { uid }), name, ...(path === "" ? {} : { path }), ...(description === "" ? {} : { description }) };
  });
};

/** Exact names first, then those that start with the query, then shorter ones. */
const rankOf = ({ name, uid }: Result, query: string): number => {
  const [lower, wanted] = [name.toLowerCase(), query.toLowerCase()];
  if (lower === wanted || uid === query) return 0;
  return lower.startsWith(wanted) ? 1 : 2;
};

const requireTypes = ({ request, resources }: ReadContext): void => {
  const known = new Set([
    "Package",
    "Vulnerability",
    ...[...resources.values()].filter((each) => listMethodOf(each) !== undefined).map(({ fact }) => fact.short),
  ]);
  const unknown = texts(request, "types").filter((type) => !known.has(type));
  if (unknown.length > 0)
    throw invalid([{ field: "types", description: `unknown type ${JSON.stringify(unknown[0])}; must be one of ${[...known].sort().join(", ")}` }]);
};

const answerSearch = async (context: ReadContext): Promise<Outcome> => {
  requireTypes(context);
  const query = text(context.request, "query").trim();
  if (query.length < limits.trigramLength)
    throw invalid([{ field: "query", description: `must have at least ${limits.trigramLength} characters besides blanks at its ends` }]);
  const limit = Number(context.request.limit ?? limits.searchResultsDefault);
  const found = await Promise.all([
    isUid(query) ? { results: await findUids(context, [query]), isCut: false } : nothing,
    findDigests(context, query, limit),
    findVulnerabilities(context, query, limit),
    findPackages(context, query, limit),
    ...kindsOf(context, isNamed).map((kind) => findNames(context, kind, query, limit)),
  ]);
  const results = found
    .flatMap((each) => each.results)
    .sort((one, other) => rankOf(one, query) - rankOf(other, query) || one.name.length - other.name.length || (one.name < other.name ? -1 : 1));
  const isMore = results.length > limit || found.some(({ isCut }) => isCut);
  const shown = await withPaths(context, results.slice(0, limit));
  return { reply: { ...(shown.length > 0 ? { results: shown } : {}), more: isMore } };
};

const findIn = async (context: ReadContext, kind: BoundResource, parents: readonly string[] | undefined, name: string): Promise<Result[]> => {
  const method = listMethodOf(kind);
  if (!method) return [];
  const table = kind.shape.table.name;
  const uids = parents
    ? await findChildrenByName(context.rows, table, parents, name, limits.searchResultsMax)
    : await findByName(context.rows, table, await listedBranches(context, kind, method), name, limits.searchResultsMax);
  return show(context, kind, uids, (result) => result.name === name);
};

const uidsOf = (results: readonly Result[]): string[] => results.map(({ uid }) => uid);

/** Resolves the path's groups downwards; the last name may be of any kind. */
const findAt = async (context: ReadContext, names: readonly string[], isKind: (each: BoundResource) => boolean): Promise<Result[]> => {
  const groups = boundOf(context, groupMessage);
  let above: string[] | undefined;
  for (const name of names.slice(0, -1)) above = uidsOf(await findIn(context, groups, above, name));
  const last = names.at(-1) ?? "";
  const found = await Promise.all([...context.resources.values()].filter(isKind).map((kind) => findIn(context, kind, above, last)));
  return found.flat();
};

/** Returns the places where the path can be cut into the path of a repo and a tag; names may contain colons. */
const cutsOf = (path: string): { readonly repo: string; readonly tag: string }[] => {
  const at = path.lastIndexOf(":");
  return at > 0 ? [{ repo: path.slice(0, at), tag: path.slice(at + 1) }] : [];
};

const answerResolve = async (context: ReadContext): Promise<Outcome> => {
  requireTypes(context);
  const path = text(context.request, "path").replace(/^\/|\/$/g, "");
  const names = path.split("/");
  if (names.length > limits.pathNamesMax || names.some((name) => name === ""))
    throw invalid([{ field: "path", description: `must have 1 to ${limits.pathNamesMax} names with "/" between them` }]);
  const asked = new Set(kindsOf(context, () => true));
  const named = await findAt(context, names, (each) => asked.has(each) && isNamed(each));
  const tags = boundOf(context, tagMessage);
  const tagged = await Promise.all(
    cutsOf(path).map(async ({ repo, tag }) => {
      if (!asked.has(tags)) return [];
      const repos = await findAt(context, repo.split("/"), ({ fact }) => fact.name === tags.parentMessage);
      return findIn(context, tags, uidsOf(repos), tag);
    }),
  );
  const results = [...named, ...tagged.flat()].slice(0, limits.searchResultsMax);
  if (results.length === 0) throw missing("names", "Resource", path);
  return { reply: { results: await withPaths(context, results) } };
};

const answerLookup = async (context: ReadContext): Promise<Outcome> => {
  requireTypes(context);
  const uids = [...new Set(texts(context.request, "uids"))];
  const results = (await findUids(context, uids)).sort((one, other) => uids.indexOf(one.uid) - uids.indexOf(other.uid));
  return { reply: results.length > 0 ? { results: await withPaths(context, results) } : {} };
};

export const search = resource({
  service: "gantry.names.v1.NamesService",
  message: "gantry.names.v1.SearchResult",
  methods: { Search: { reads: answerSearch }, Resolve: { reads: answerResolve }, Lookup: { reads: answerLookup } },
});
