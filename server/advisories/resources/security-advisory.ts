// The security advisory feed. Documents and vulnerability records are public; resolved vulnerabilities are computed from images'
// packages and their advisories' fixes.

import { invalid } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { pageOf } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { covers, rootOf } from "#base/uid.ts";
import { answerPage, type Outcome, type ReadContext, requireAnywhere, resource } from "#kernel";
import {
  countDocuments,
  countVulnerabilities,
  derivedUidOf,
  type DocumentFilter,
  findDocuments,
  findImagePackages,
  findLeftAdvisories,
  findOnPackages,
  findOrigins,
  findPublished,
  findPublicSuccessors,
  findVulnerabilities,
  type AdvisoryRow,
  type ImageOwners,
  type ImagePackages,
  readSeverities,
  severitiesOf,
  type VulnerabilityFilter,
  type VulnerabilityRow,
} from "#advisories/store";
import type { Read } from "#db";
import { feedDocument } from "./rules/document.ts";
import { type ImageSet, reportedPackages, resolvedIn, versionsByName } from "./rules/resolved.ts";

/** decisions: Lists. A gRPC request without the additive page fields comes from an existing client, and gets everything. */
const wantsAll = ({ pageSize, pageToken, orderBy, skip }: JsonObject): boolean =>
  pageSize === undefined && pageToken === undefined && orderBy === undefined && skip === undefined;

const byOrigin = (advisories: readonly AdvisoryRow[]): Map<string, AdvisoryRow[]> => {
  const found = new Map<string, AdvisoryRow[]>();
  for (const advisory of advisories) {
    const known = found.get(advisory.origin);
    if (known) known.push(advisory);
    else found.set(advisory.origin, [advisory]);
  }
  return found;
};

const listDocuments = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const filter: DocumentFilter = { id: text(request, "id") || undefined, aliases: texts(request, "cves") };
  return answerPage(
    context,
    async (page) => {
      const [found, counted] = await Promise.all([findDocuments(rows, filter, page), page.total ?? countDocuments(rows, filter)]);
      const advisories = byOrigin(
        await findPublished(
          rows,
          found.map(({ origin }) => origin),
        ),
      );
      return pageOf(
        page,
        found.map((row) => ({ key: row.key, record: feedDocument(row, advisories.get(row.origin) ?? []) })),
        counted,
      );
    },
    wantsAll(request),
  );
};

const withoutUnspecified = (list: string): JsonObject[] => {
  const entries = JSON.parse(list) as Json;
  return (Array.isArray(entries) ? entries.filter(isObject) : []).map(({ type, ...rest }) =>
    type === undefined || type === "TYPE_UNSPECIFIED" ? rest : { type, ...rest },
  );
};

const knownExploitedOf = ({ dateAdded, dueDate, ransomware, requiredAction }: VulnerabilityRow): JsonObject => ({
  dateAdded,
  ...(dueDate === "" ? {} : { dueDate }),
  ...(ransomware ? { ransomware } : {}),
  ...(requiredAction === "" ? {} : { requiredAction }),
});

const metadataMessage = (row: VulnerabilityRow, successors: ReadonlyMap<string, string>): JsonObject => {
  const { id, summary, details, links, severities, createTime, updateTime, withdrawTime, dateAdded, score, percentile, scoreDate } = row;
  const withdrawnBy = successors.get(id);
  const [references, scores] = [withoutUnspecified(links), withoutUnspecified(severities)];
  return {
    id,
    ...(summary === "" ? {} : { summary }),
    ...(details === "" ? {} : { details }),
    ...(references.length > 0 ? { references } : {}),
    ...(scores.length > 0 ? { severities: scores } : {}),
    uid: derivedUidOf("vulnerability", id),
    createTime,
    updateTime,
    ...(dateAdded === "" ? {} : { knownExploited: knownExploitedOf(row) }),
    ...(score === undefined || percentile === undefined ? {} : { exploitPrediction: { score, percentile, date: scoreDate } }),
    ...(withdrawTime === "" ? {} : { withdrawnTime: withdrawTime, ...(withdrawnBy === undefined ? {} : { withdrawnBy }) }),
  };
};

const listMetadata = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const asked = [...new Set([text(request, "id"), ...texts(request, "ids")])].filter((id) => id !== "");
  if (asked.length > limits.vulnerabilityIdsMax)
    throw invalid([{ field: "ids", description: `must have at most ${limits.vulnerabilityIdsMax} different entries` }]);
  const filter: VulnerabilityFilter = {
    ids: asked.length > 0 ? asked : undefined,
    updatedSince: text(request, "updatedSince"),
    exploited: request.knownExploited === true,
    ransomware: request.knownRansomware === true,
    scoreMin: Number(request.exploitScoreMin ?? 0),
  };
  return answerPage(context, async (page) => {
    const [found, counted] = await Promise.all([findVulnerabilities(rows, filter, page), page.total ?? countVulnerabilities(rows, filter)]);
    const withdrawn = found.flatMap(({ id, withdrawTime }) => (withdrawTime === "" ? [] : [id]));
    const successors = await findPublicSuccessors(rows, withdrawn, []);
    return pageOf(
      page,
      found.map((row) => ({ key: row.key, record: metadataMessage(row, successors) })),
      counted,
    );
  });
};

const dayMs = 24 * 60 * 60 * 1000;

const daysOf = (request: JsonObject): string[] => {
  const [first, last] = ["startTime", "endTime"].map((key) => Math.floor(Date.parse(text(request, key)) / dayMs));
  if (first === undefined || last === undefined) return [];
  if (last < first) throw invalid([{ field: "end_time", description: "must not be before start_time" }]);
  if (last - first >= limits.reportDaysMax)
    throw invalid([{ field: "end_time", description: `must be at most ${limits.reportDaysMax} days after start_time` }]);
  return Array.from({ length: last - first + 1 }, (_, index) => timestamp((first + index) * dayMs).slice(0, 10));
};

interface Image {
  readonly repo: string;
  readonly tags: readonly string[];
}

/** resources: Advisory. The default tag is `latest`. */
const askedImages = ({ imageRefs }: JsonObject): Image[] =>
  (Array.isArray(imageRefs) ? imageRefs.filter(isObject) : []).map((ref) => {
    const tags = texts(ref, "tags");
    return { repo: text(ref, "repo"), tags: tags.length > 0 ? tags : ["latest"] };
  });

/** Returns the owners of images to include: the public, and groups visible to the caller, narrowed by the filter. */
const imageOwners = ({ request, visiblePaths }: ReadContext): ImageOwners => {
  const [below, group] = ["descendantsOf", "childrenOf"].map((name) => text(part(request, "uidp"), name));
  // Two paths are nested or disjoint.
  const paths = below ? visiblePaths.flatMap((path) => (covers(path, below) ? [below] : covers(below, path) ? [path] : [])) : visiblePaths;
  return { paths, groups: group ? [group] : undefined, public: !below && !group };
};

const imagesOf = async (context: ReadContext): Promise<ImagePackages[]> => {
  const owners = imageOwners(context);
  const found = await Promise.all(askedImages(context.request).map(({ repo, tags }) => findImagePackages(context.rows, owners, repo, tags)));
  return found.flat().map((image) => ({ ...image, packages: reportedPackages(image.packages) }));
};

const tagKey = ({ owner, repo, tag }: Omit<ImagePackages, "packages">): string => JSON.stringify([owner, repo, tag]);

/** Groups images: each tag with known times by itself, all others together. */
const imageSetsOf = async (rows: Read, images: readonly ImagePackages[], origins: ReadonlyMap<string, string>): Promise<ImageSet[]> => {
  const own = images.filter(({ owner }) => owner !== "");
  const left = new Map<string, Map<string, string>>();
  for (const { advisoryUid, time, ...of } of own.length > 0 ? await findLeftAdvisories(rows, own) : []) {
    const key = tagKey(of);
    left.set(key, (left.get(key) ?? new Map<string, string>()).set(advisoryUid, time));
  }
  const setOf = (of: readonly ImagePackages[], times: ReadonlyMap<string, string>): ImageSet => ({
    versions: versionsByName(
      of.map(({ packages }) => packages),
      origins,
    ),
    left: times,
  });
  const others = images.filter((image) => !left.has(tagKey(image)));
  return [
    setOf(others, new Map()),
    ...[...left].map(([key, times]) =>
      setOf(
        own.filter((image) => tagKey(image) === key),
        times,
      ),
    ),
  ];
};

interface Report {
  readonly vulnerabilities: JsonObject[];
  lastTime: string;
}

const reportsOf = async (context: ReadContext, days: readonly string[]): Promise<Map<string, Report>> => {
  const { rows, visiblePaths } = context;
  const images = await imagesOf(context);
  const origins = await findOrigins(rows, [...new Set(images.flatMap(({ packages }) => Object.keys(packages)))]);
  const sets = await imageSetsOf(rows, images, origins);
  const names = [...new Set(sets.flatMap(({ versions }) => [...versions.keys()]))];
  const advisories = names.length > 0 ? await findOnPackages(rows, visiblePaths, names) : [];
  const resolved = resolvedIn(advisories, sets, days[0] ?? "", days.at(-1) ?? "");
  const severities = await readSeverities(
    rows,
    resolved.map(({ advisory }) => rootOf(advisory.uid)),
    resolved.flatMap(({ id, aliases }) => [id, ...aliases]),
  );
  const found = new Map<string, Report>();
  for (const { day, time, id, aliases, advisory } of resolved) {
    const scores = severitiesOf(severities, rootOf(advisory.uid), [id, ...aliases]);
    const vulnerability = { id, ...(aliases.length > 0 ? { aliases: [...aliases] } : {}), ...(scores.length > 0 ? { cvssSeverities: scores } : {}) };
    const report = found.get(day);
    if (!report) found.set(day, { vulnerabilities: [vulnerability], lastTime: time });
    else {
      report.vulnerabilities.push(vulnerability);
      if (time > report.lastTime) report.lastTime = time;
    }
  }
  return found;
};

/** A report of one day for the requested images. Its times are within the day, so every order is by day. */
const reportMessage = (day: string, images: readonly Image[], report: Report | undefined): JsonObject => {
  const date = `${day}T00:00:00.000Z`;
  return {
    date,
    ...(report ? { resolvedVulns: report.vulnerabilities } : {}),
    uid: derivedUidOf("resolved", day, JSON.stringify(images.map(({ repo, tags }) => [repo, [...tags].sort()]).sort())),
    createTime: date,
    updateTime: report?.lastTime ?? date,
  };
};

const listResolved = async (context: ReadContext): Promise<Outcome> => {
  requireAnywhere(context);
  const days = daysOf(context.request);
  const images = askedImages(context.request);
  return answerPage(
    context,
    async (page) => {
      const { order, after, skip, limit } = page;
      const sorted = order.descending ? days.toReversed() : days;
      const from = after ? sorted.indexOf(after[0] ?? "") + 1 : 0;
      const asked = sorted.slice(from + skip, from + skip + limit);
      const reports = await reportsOf(context, [...asked].sort());
      return pageOf(
        page,
        asked.map((day) => ({ key: [day], record: reportMessage(day, images, reports.get(day)) })),
        days.length,
      );
    },
    wantsAll(context.request),
  );
};

export const securityAdvisory = resource({
  service: "chainguard.platform.advisory.v2.SecurityAdvisoryService",
  message: "chainguard.platform.advisory.v2.Document",
  methods: {
    ListDocuments: { reads: listDocuments, countsAs: "open-reads" },
    ListVulnerabilityMetadata: { reads: listMetadata, countsAs: "open-reads" },
    ListResolvedVulnsReports: { reads: listResolved },
  },
});
