// Findings: the rows of affected images (affected-image.ts) with severity, exploitation and fix. Matching writes these facts, and
// imports update them (server/advisories/feeds/finding-facts.ts).

import { invalid, missing } from "#base/fault.ts";
import { readImageName } from "#base/image-name.ts";
import { type Json, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { pageOf } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { covers, EVERYWHERE, isUid, parentOf, rootOf } from "#base/uid.ts";
import { likePattern } from "#base/wildcards.ts";
import {
  countOpenFindings,
  findFindingDays,
  findFindingGroups,
  findFoundPackages,
  findImagesOnBases,
  findImagesWithLayers,
  type FindingGroup,
  type FindingGroupBy,
  findPendingImages,
  findReposWithVex,
  findSystemsBehind,
  findVexStatements,
  hasExpiredFindings,
  type ImageInRepo,
  isFindingGroupBy,
  noDueDate,
  readExploitFacts,
  type RequestedBases,
  type VexStatement,
  withoutDueTime,
} from "#advisories/store";
import { answerPage, boundOf, findListed, list, type Outcome, type ReadContext, resource } from "#kernel";
import { withEndOfLife } from "#registry/lifecycle";
import { findDigestsInUse, findNamedDigests, findRepoByName, findTaggedDigests, type RepoRange, type ReportedImage } from "#registry/store";
import { type Condition, countRows, countRowsBy, type Selection, wholeTable } from "#db";
import { coverageStatement, placesOf, unjudgedOfDigests, unjudgedOfTags } from "./coverage/statement.ts";
import { baseScopeOf, filterByLayers, findBaseImages, findLayers } from "./rules/base-images.ts";
import { withoutExpiredDecision } from "./rules/expired-decision.ts";

/** By rank. */
const severities = ["UNKNOWN", "NEGLIGIBLE", "LOW", "MEDIUM", "HIGH", "CRITICAL"].map((name) => `FINDING_SEVERITY_${name}`);

const dayMs = 24 * 60 * 60 * 1000;

const imageKey = (repoUid: string, digest: string): string => `${repoUid}@${digest}`;

const rangesOf = ({ visiblePaths }: ReadContext): RepoRange[] =>
  visiblePaths.map((path) => (path === EVERYWHERE ? wholeTable : { low: path, high: `${path}0` }));

interface NamedImage extends ImageInRepo {
  readonly image: string;
}

/** Returns the digests of an image; none if it does not exist or the caller does not see it. */
const findVisibleImages = async ({ rows, services, visiblePaths }: ReadContext, image: string): Promise<ImageInRepo[]> => {
  const name = readImageName(image, new URL(services.publicUrl).host);
  const repo = name === undefined ? undefined : isUid(name.path) ? name.path : (await findRepoByName(rows, name.path))?.uid;
  const isVisible = repo !== undefined && visiblePaths.some((path) => path === EVERYWHERE || covers(path, repo));
  if (name === undefined || !isVisible) return [];
  const named: ReportedImage = { repo, digest: name.digest, tag: name.digest === "" ? name.tag : "" };
  return findNamedDigests(rows, [named]);
};

const readNamedImages = async (context: ReadContext): Promise<NamedImage[]> => {
  const found = await Promise.all(
    [...new Set(texts(context.request, "images"))].map(async (image) => {
      const digests = await findVisibleImages(context, image);
      if (digests.length === 0) throw missing("registry", "Image", image);
      return digests.map((each) => ({ image, ...each }));
    }),
  );
  return found.flat();
};

/** Reads once for each request. */
const once = <Value>(read: (context: ReadContext) => Promise<Value>): ((context: ReadContext) => Promise<Value>) => {
  const known = new WeakMap<ReadContext, Promise<Value>>();
  return (context) => {
    const value = known.get(context) ?? read(context);
    known.set(context, value);
    return value;
  };
};

/** Tags may move during the request. Throws NOT_FOUND for an image that does not exist or that the caller does not see. */
const namedImages = once(readNamedImages);

/** Returns whether findings with an expired decision are still to be matched again. */
const isBehind = once((context) => hasExpiredFindings(context.rows, rangesOf(context), context.nowMs));

/** Returns the platforms of images with their operating systems. */
const platformsOf = async ({ rows, nowMs }: ReadContext, images: readonly NamedImage[]): Promise<(repoUid: string, digest: string) => JsonObject[]> => {
  const found = await findSystemsBehind(rows, images);
  const located = found.map(({ repoUid, operatingSystem }) => ({ group: parentOf(repoUid), system: operatingSystem }));
  const systems = await withEndOfLife(rows, located, nowMs);
  const platforms = found.map(({ repoUid, imageDigest, digest, platform }, index) => ({
    image: imageKey(repoUid, imageDigest),
    shown: { digest, platform, ...(systems[index] ? { operatingSystem: systems[index] } : {}) },
  }));
  const byImage = Map.groupBy(platforms, ({ image }) => image);
  return (repoUid, digest) => (byImage.get(imageKey(repoUid, digest)) ?? []).map(({ shown }) => shown);
};

/** Says what is unknown about the images of the request. */
const requestedImages = async (context: ReadContext): Promise<JsonObject[]> => {
  const named = await namedImages(context);
  if (named.length === 0) return [];
  const pending = new Set((await findPendingImages(context.rows, named)).map(({ repoUid, digest }) => imageKey(repoUid, digest)));
  // The digest of one platform names its index too; if only that has tags, only that is matched.
  const tagged = await findTaggedDigests(context.rows, named);
  const isTagged = new Set(tagged.map(({ repoUid, digest }) => imageKey(repoUid, digest)));
  const shown = named.filter(
    ({ image, ...each }) =>
      isTagged.has(imageKey(each.repoUid, each.digest)) || !named.some((other) => other.image === image && isTagged.has(imageKey(other.repoUid, other.digest))),
  );
  const unjudged = await unjudgedOfDigests(context, shown);
  const platforms = await platformsOf(context, shown);
  return shown.map(({ image, repoUid, digest }, index) => {
    const own = unjudged[index] ?? [];
    return {
      image,
      repoUid,
      digest,
      pending: pending.has(imageKey(repoUid, digest)),
      ...(own.length === 0 ? {} : { unjudged: own }),
      platforms: platforms(repoUid, digest),
    };
  });
};

/** The greatest number below: `after` it means at least the given one. */
const justBelow = (value: number): number => {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigUint64(0, bits.getBigUint64(0) - 1n);
  return bits.getFloat64(0);
};

const openStates = ["AFFECTED_IMAGE_STATE_AFFECTED", "AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION"];

/** An expired decision never counts, even if its findings are still to be matched. */
const stateConditions = async (context: ReadContext): Promise<Condition[]> => {
  const { request, nowMs } = context;
  const decisions = [...new Set(texts(request, "decisionStates"))].filter((state) => state !== "FINDING_DECISION_STATE_UNSPECIFIED");
  const states = [...new Set(texts(request, "states"))].filter((state) => state !== "AFFECTED_IMAGE_STATE_UNSPECIFIED");
  const behind = await isBehind(context);
  const until = (then: string | undefined): Partial<Condition> =>
    behind ? { until: { column: "decided_until", at: timestamp(nowMs), then } } : { indexed: true };
  const out: Condition[] = [];
  if (decisions.length > 0) out.push({ column: "decision_state", comparison: "any", value: decisions, ...until(undefined) });
  if (states.length > 0) out.push({ column: "state", comparison: "any", value: states, ...until("undecided_state") });
  else if (decisions.length > 0) out.push({ column: "end_time", comparison: "null", value: null });
  else if (behind) out.push({ column: "state", comparison: "any", value: openStates, ...until("undecided_state") });
  else out.push({ column: "closed", comparison: "false", value: null });
  return out;
};

/** Suppressed and resolved findings are not overdue. */
const overdueConditions = async (context: ReadContext): Promise<Condition[]> => [
  { column: "due_time", comparison: "before", value: timestamp(context.nowMs), indexed: true },
  (await isBehind(context)) ? { column: "end_time", comparison: "null", value: null } : { column: "closed", comparison: "false", value: null },
];

/** The most selective conditions come first: the first one with an index is searched by it. */
const storedConditions = once(async (context): Promise<Condition[]> => {
  const { request, rows, nowMs } = context;
  const out: Condition[] = [];
  const images = texts(request, "images").length > 0 ? await namedImages(context) : [];
  if (images.length > 0) {
    const keys = new Set(images.map(({ repoUid, digest }) => imageKey(repoUid, digest)));
    out.push({ column: "image", comparison: "any", value: [...keys], indexed: true });
  }
  const ids = [...new Set(texts(request, "advisoryIds"))];
  if (ids.length > 0) out.push({ column: "advisory_ids", comparison: "has", value: ids, indexed: true });
  if (request.inUse === true) {
    const inUse = await findDigestsInUse(rows, rangesOf(context), nowMs);
    const keys = inUse.map(({ repoUid, digest }) => imageKey(repoUid, digest)).sort();
    out.push({ column: "image", comparison: "any", value: keys, indexed: images.length === 0 });
  }
  if (request.exploited === true) out.push({ column: "exploit_due_date", comparison: "after", value: "" });
  if (request.overdue === true) out.push(...(await overdueConditions(context)));
  const least = request.minEpssScore;
  if (typeof least === "number" && least > 0) out.push({ column: "epss_score", comparison: "after", value: justBelow(least) });
  const rank = severities.indexOf(text(request, "minSeverity"));
  if (rank > 0) out.push({ column: "severity_rank", comparison: "after", value: rank - 1 });
  out.push(...(await stateConditions(context)));
  if (request.fixable === true) out.push({ column: "fix_state", comparison: "equal", value: "FINDING_FIX_STATE_FIXABLE" });
  const before = text(request, "appearedBefore");
  if (before !== "") out.push({ column: "create_time", comparison: "before", value: before });
  const tags = [...new Set(texts(request, "tags"))];
  if (tags.length > 0) out.push({ column: "tags", comparison: "matches", value: tags.map(likePattern) });
  return out;
});

/** Returns the base images that the request names. Those that the caller may not list are names like any other in an annotation. */
const requestedBases = async (context: ReadContext): Promise<RequestedBases> => {
  const names = [...new Set(texts(context.request, "baseImages"))];
  const found = await Promise.all(names.map(async (name) => ({ name, images: await findVisibleImages(context, name) })));
  return { images: found.flatMap(({ images }) => images), claims: found.flatMap(({ name, images }) => (images.length === 0 ? [name] : [])) };
};

/** Layers are in no column of a finding, and base images depend on the caller: both are compared before the list is read. */
const layerConditions = once(async (context): Promise<Condition[]> => {
  const { request, rows } = context;
  const layers = new Set(texts(request, "layers"));
  const chosen = text(request, "fromBaseImage");
  const fromBaseImage = chosen === "FROM_BASE_IMAGE_UNSPECIFIED" ? "" : chosen;
  const bases = await requestedBases(context);
  const isOnBase = bases.images.length + bases.claims.length > 0;
  if (!isOnBase && layers.size === 0 && fromBaseImage === "") return [];
  const bound = boundOf(context, "gantry.findings.v1.Finding");
  const listed = await findListed({ ...bound, conditions: storedConditions }, context);
  // A branch of a single finding has no images.
  const branches = texts(part(request, "uidp"), "ids").length > 0 ? rangesOf(context) : listed.branches;
  const scope = baseScopeOf(context, rangesOf(context));
  const keys = [
    ...(isOnBase ? [await findImagesOnBases(rows, bases, scope, branches)] : []),
    ...(layers.size > 0 ? [await findImagesWithLayers(rows, [...layers], branches)] : []),
  ];
  const ofImages = keys.map((value): Condition => ({ column: "image", comparison: "any", value, indexed: true }));
  if (layers.size === 0 && fromBaseImage === "") return ofImages;
  const conditions = [...ofImages, ...listed.conditions];
  const selection = { branches: listed.branches, conditions, order: { column: "uid", descending: false }, after: undefined, skip: 0, count: false };
  const max = limits.layeredFindings;
  const found = await findFoundPackages(rows, bound.shape.table, { ...selection, limit: max, size: undefined }, max + 1);
  if (found.length > max) {
    const field = layers.size > 0 ? "layers" : "from_base_image";
    throw invalid([{ field, description: `compares ${max} findings at most, and the other filters select more: narrow the list by group, image or severity` }]);
  }
  return [{ column: "uid", comparison: "any", value: await filterByLayers(context, found, { layers, fromBaseImage }, scope) }];
});

const conditions = async (context: ReadContext): Promise<Condition[]> => [...(await layerConditions(context)), ...(await storedConditions(context))];

const isOpen = (record: JsonObject): boolean => text(record, "endTime") === "";

/** Returns the images in use among these. */
const findInUse = async ({ rows, nowMs }: ReadContext, records: readonly JsonObject[]): Promise<ReadonlySet<string>> => {
  const repos = [...new Set(records.map((record) => text(record, "repoUid")))].filter((uid) => uid !== "");
  const ranges = repos.map((uid) => ({ low: uid, high: `${uid}/` }));
  const found = ranges.length === 0 ? [] : await findDigestsInUse(rows, ranges, nowMs);
  return new Set(found.map(({ repoUid, digest }) => imageKey(repoUid, digest)));
};

/** Percentiles of all vulnerabilities change daily; they are read for the page. */
const findPercentiles = async ({ rows }: ReadContext, records: readonly JsonObject[]): Promise<ReadonlyMap<JsonObject, number>> => {
  const found = new Map<JsonObject, number>();
  for (const [root, own] of Map.groupBy(records, (record) => rootOf(text(record, "uid")))) {
    const numbersOf = (record: JsonObject): string[] => [text(record, "advisoryId"), ...texts(record, "aliases")];
    const facts = await readExploitFacts(rows, root, own.flatMap(numbersOf));
    for (const record of own) {
      const prediction = facts.predictionOf(numbersOf(record));
      if (prediction) found.set(record, prediction.percentile);
    }
  }
  return found;
};

const shownStatement = ({ status, justification, author, key: _key, number: _number, note, vexSourceUids, ...stated }: VexStatement): JsonObject => ({
  ...stated,
  ...(author === "" ? {} : { claimedAuthor: author }),
  status: `VEX_STATUS_${status.toUpperCase()}`,
  ...(justification === "" ? {} : { justification: `FINDING_DECISION_JUSTIFICATION_${justification.toUpperCase()}` }),
  ...(note === "" ? {} : { note }),
  ...(vexSourceUids.length === 0 ? {} : { vexSourceUids: [...vexSourceUids] }),
});

/** Returns what pushed VEX states about findings, by uid. */
const findStatements = async ({ rows }: ReadContext, records: readonly JsonObject[]): Promise<ReadonlyMap<string, JsonObject[]>> => {
  const repos = [...new Set(records.map((record) => text(record, "repoUid")))].filter((uid) => uid !== "");
  const withVex = repos.length === 0 ? new Set<string>() : await findReposWithVex(rows, repos);
  const packages = records
    .filter((record) => withVex.has(text(record, "repoUid")))
    .flatMap((record) => {
      const [packageName = ""] = text(record, "packageName").split("?", 1);
      const shared = { key: text(record, "uid"), repoUid: text(record, "repoUid"), digest: text(record, "digest") };
      const ids = [...new Set([text(record, "advisoryId"), ...texts(record, "aliases")])];
      return ids.map((vulnerability) => ({ ...shared, vulnerability, packageName, version: text(record, "installedVersion") }));
    });
  const found = packages.length === 0 ? [] : await findVexStatements(rows, packages, limits.findingVexMax);
  const byFinding = new Map<string, JsonObject[]>();
  for (const [uid, stated] of Map.groupBy(found, ({ key }) => key)) {
    // A statement with several IDs is found by each.
    const each = new Map(stated.map((one) => [`${one.manifestDigest} ${one.documentDigest} ${one.number}`, one]));
    const latest = [...each.values()].sort((one, other) => (one.statementTime < other.statementTime ? 1 : one.statementTime > other.statementTime ? -1 : 0));
    byFinding.set(uid, latest.slice(0, limits.findingVexMax).map(shownStatement));
  }
  return byFinding;
};

const severityCountsOf = (countOf: (rank: number) => string | undefined): JsonObject[] =>
  [...severities.entries()].reverse().flatMap(([rank, severity]) => {
    const count = countOf(rank) ?? "0";
    return count === "0" ? [] : [{ severity, count }];
  });

const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === "" || value === 0 || value === false || (Array.isArray(value) && value.length === 0);

const hasOnly = (given: JsonObject, names: readonly string[]): boolean =>
  Object.entries(given).every(([name, value]) => names.includes(name) || isEmpty(value));

/** Fields of lists whose totals are kept by group. */
const countedFields = ["uidp", "minSeverity", "fixable", "exploited", "pageSize", "pageToken", "orderBy", "skip"];

/** Returns the number of findings by rank of severity; undefined if the rows must be counted. */
const findKeptCounts = async (context: ReadContext): Promise<ReadonlyMap<string, number> | undefined> => {
  const { request, rows } = context;
  const isCounted = hasOnly(request, countedFields) && hasOnly(part(request, "uidp"), ["descendantsOf", "childrenOf"]) && !(await isBehind(context));
  if (!isCounted) return undefined;
  const filters = { fixable: request.fixable === true, exploited: request.exploited === true };
  const counts = await countOpenFindings(rows, placesOf(context), { minSeverityRank: severities.indexOf(text(request, "minSeverity")), ...filters });
  return new Map([...counts].map(([rank, count]) => [String(rank), count]));
};

/** The list always includes coverage gaps, and counts by severity on its first page. */
const listFindings = async (context: ReadContext): Promise<Outcome> => {
  const bound = boundOf(context, "gantry.findings.v1.Finding");
  // First: the findings of an image that is not pending by then are complete.
  const requested = await requestedImages(context);
  let counts: ReadonlyMap<string, number> | undefined;
  let overdueCount = 0;
  const outcome = await list(bound, async (rows, selection) => {
    const { table } = bound.shape;
    counts = (await findKeptCounts(context)) ?? (await countRowsBy(rows, table, selection, "severity_rank"));
    const overdue: Selection = { ...selection, conditions: [...(await overdueConditions(context)), ...selection.conditions] };
    overdueCount = await countRows(rows, table, overdue);
    return [...counts.values()].reduce((sum, count) => sum + count, 0);
  })(context);
  const records = objectList(outcome.reply, "findings").map((record) => withoutExpiredDecision(record, context.nowMs));
  // Tags of a resolved image may point elsewhere by now.
  const images = records.map((record) => ({
    owner: parentOf(text(record, "uid")),
    repo: text(record, "repo"),
    tags: isOpen(record) ? texts(record, "tags") : [],
  }));
  const [unjudged, inUse, percentiles, statements, layers] = [
    await unjudgedOfTags(context, images),
    await findInUse(context, records),
    await findPercentiles(context, records.filter(isOpen)),
    await findStatements(context, records.filter(isOpen)),
    await findLayers(context, records, baseScopeOf(context, rangesOf(context))),
  ];
  const shown = records.map(({ exploitDueDate, dueTime, ...record }, index): JsonObject => {
    const own = unjudged[index] ?? [];
    const percentile = percentiles.get(records[index] ?? {});
    const stated = statements.get(text(record, "uid")) ?? [];
    return {
      ...record,
      ...(exploitDueDate === undefined || exploitDueDate === noDueDate ? {} : { exploitDueDate }),
      ...(dueTime === undefined || dueTime === withoutDueTime ? {} : { dueTime }),
      ...(percentile === undefined ? {} : { epssPercentile: percentile }),
      inUse: inUse.has(imageKey(text(record, "repoUid"), text(record, "digest"))),
      ...layers(record),
      ...(own.length === 0 ? {} : { unjudged: own }),
      ...(stated.length === 0 ? {} : { vexStatements: stated }),
    };
  });
  const severityCounts = severityCountsOf((rank) => counts?.get(String(rank))?.toString());
  const coverage = await coverageStatement(context, placesOf(context));
  const summary = {
    ...(severityCounts.length > 0 ? { severityCounts } : {}),
    ...(overdueCount > 0 ? { overdueCount: String(overdueCount) } : {}),
    ...(requested.length > 0 ? { images: requested } : {}),
  };
  return { ...outcome, reply: { ...outcome.reply, findings: shown, summary, coverage } };
};

const vulnerabilityOf = ({ key, advisoryId, aliases }: FindingGroup): JsonObject => {
  const others = [advisoryId, ...aliases].filter((id) => id !== key);
  return { label: key, vulnerability: key, ...(others.length > 0 ? { aliases: [...new Set(others)] } : {}) };
};

const imageOf = ({ groupUid, repo, repoUid, digest, tags }: FindingGroup): JsonObject => {
  const [tag] = tags;
  return {
    label: tag === undefined ? `${repo}@${digest}` : `${repo}:${tag}`,
    groupUid,
    repo,
    ...(repoUid === "" ? {} : { repoUid }),
    ...(digest === "" ? {} : { digest }),
    tags: [...tags],
  };
};

const sharedOf: Readonly<Record<FindingGroupBy, (group: FindingGroup) => JsonObject>> = {
  FINDING_GROUP_BY_VULNERABILITY: vulnerabilityOf,
  FINDING_GROUP_BY_PACKAGE: ({ packageName }) => ({ label: packageName, packageName }),
  FINDING_GROUP_BY_IMAGE: imageOf,
  FINDING_GROUP_BY_GROUP: ({ groupUid }) => ({ label: groupUid, groupUid }),
  FINDING_GROUP_BY_BASE_IMAGE: () => ({}),
};

const groupFindings = async (context: ReadContext): Promise<Outcome> => {
  const bound = boundOf(context, "gantry.findings.v1.Finding");
  const by = text(context.request, "groupBy");
  if (!isFindingGroupBy(by)) throw invalid([{ field: "group_by", description: "must be given" }]);
  const requested = await requestedImages(context);
  const listed = await findListed(bound, context);
  const outcome = await answerPage(context, async (page) => {
    const selection = { ...listed, order: page.order, after: undefined, skip: 0, limit: page.limit, count: false, size: undefined };
    const scope = baseScopeOf(context, rangesOf(context));
    const { groups, total } = await findFindingGroups(context.rows, bound.shape.table, selection, { by, scope, nowMs: context.nowMs, ...page });
    const baseOf = by === "FINDING_GROUP_BY_BASE_IMAGE" ? await findBaseImages(context, groups, scope) : () => ({});
    const rows = groups.map((group) => ({
      key: [group.position, group.key],
      record: {
        ...sharedOf[by](group),
        ...baseOf(group),
        severity: severities[group.severityRank] ?? "",
        severityRank: group.severityRank,
        severityCounts: severityCountsOf((rank) => group.severityCounts[rank]),
        findingCount: group.findingCount,
        imageCount: group.imageCount,
        fixableCount: group.fixableCount,
        exploitedCount: group.exploitedCount,
        overdueCount: group.overdueCount,
        epssScore: group.epssScore,
        firstCreateTime: group.firstCreateTime,
      },
    }));
    return pageOf(page, rows, total);
  });
  const coverage = await coverageStatement(context, placesOf(context));
  return { ...outcome, reply: { ...outcome.reply, ...(requested.length > 0 ? { summary: { images: requested } } : {}), coverage } };
};

/** Days without a count are left out: they are unknown, not free of findings. */
const getFindingHistory = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, nowMs } = context;
  const others = Object.keys(part(request, "uidp")).filter((name) => name !== "descendantsOf" && name !== "childrenOf");
  if (others.length > 0) throw invalid([{ field: "uidp", description: "must have only descendants_of or children_of" }]);
  const given = Number(request.dayCount ?? 0);
  if (given < 0 || given > limits.historyDaysMax) throw invalid([{ field: "day_count", description: `must be from 1 to ${limits.historyDaysMax}` }]);
  const count = given === 0 ? limits.historyDaysDefault : given;
  const found = await findFindingDays(rows, placesOf(context), nowMs - (count - 1) * dayMs, count);
  const days = found.map(({ day, severityCounts }) => {
    const counted = severityCountsOf((rank) => severityCounts[rank]);
    const findingCount = String(severityCounts.reduce((sum, each) => sum + Number(each), 0));
    return { day, findingCount, ...(counted.length > 0 ? { severityCounts: counted } : {}) };
  });
  return { reply: days.length > 0 ? { days } : {} };
};

export const finding = resource({
  service: "gantry.findings.v1.FindingsService",
  message: "gantry.findings.v1.Finding",
  table: "affected_images",
  methodFields: ["epss_percentile", "in_use", "unjudged", "vex_statements", "layer", "layer_position", "from_base_image", "base_image"],
  conditions,
  methods: { ListFindings: { reads: listFindings }, GroupFindings: { reads: groupFindings }, GetFindingHistory: { reads: getFindingHistory } },
});
