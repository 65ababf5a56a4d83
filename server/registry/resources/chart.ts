// Helm charts pushed as artifacts (docs/decisions/0034): contents, values for an image, and the charts that use a repo's images.
// Version 1 only. Only a chart's bytes are stored; each request reads them.

import { visiblePaths } from "#authz";
import { blocked, type Fault, missing } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { type ChartImage, openShownCharts } from "#advisories/feeds";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { type ChartManifest, findLatestCharts, findManifestByDigest, findManifestByTag, findRepoBlob, findRepoByName } from "#registry/store";
import { findRows } from "#db";
import { findPlatformDigest, noSuchImage } from "./images/platform-manifest.ts";
import { openBlob, readBlob } from "./images/read-blob.ts";

const shown = openShownCharts();

const configType = "application/vnd.cncf.helm.config.v1+json";
/** The second is from older versions of Helm. */
const layerTypes = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];

const parse = (content: string): JsonObject => {
  try {
    const value = JSON.parse(content) as Json;
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
};

const unreadable = (problem: string): Fault => blocked("CHART_UNREADABLE", "", [`the chart ${problem}: pull its layer to look at it`]);

const partyOf = ({ caller }: ReadContext, repo: string): { organization: string; identity: string } => ({
  organization: rootOf(repo),
  identity: caller?.uid ?? "",
});

interface Chart {
  readonly repo: string;
  readonly sha256: string;
  readonly manifest: JsonObject;
}

const findChart = async ({ rows }: ReadContext, repo: string, digest: string): Promise<Chart | undefined> => {
  const found = await findManifestByDigest(rows, repo, digest);
  const manifest = found && parse(found.content);
  return manifest && text(part(manifest, "config"), "mediaType") === configType ? { repo, sha256: found.sha256, manifest } : undefined;
};

/** Reads a chart's archive. Throws FAILED_PRECONDITION if it is too large or unreadable. */
const readChart = async (context: ReadContext, { repo, sha256, manifest }: Chart): Promise<JsonObject> => {
  const layer = objectList(manifest, "layers").find((each) => layerTypes.includes(text(each, "mediaType")));
  const blob = layer && (await findRepoBlob(context.rows, repo, text(layer, "digest")));
  if (!blob) throw unreadable("has no layer with its files");
  if (blob.sizeBytes > limits.chartBytesMax)
    throw blocked("CHART_TOO_LARGE", "", [`the chart has ${blob.sizeBytes} bytes; at most ${limits.chartBytesMax} are read: pull its layer`]);
  const reading = await shown.read(partyOf(context, repo), async () => {
    const content = await openBlob(context, blob);
    if (!content) throw missing("registry", "Chart", sha256);
    return content;
  });
  if ("problem" in reading) throw unreadable(String(reading.problem));
  return reading;
};

const getChart = async (context: ReadContext): Promise<Outcome> => {
  const [repo, digest] = [text(context.request, "repoId"), text(context.request, "digest")];
  const chart = await findChart(context, repo, digest);
  if (!chart) throw missing("registry", "Chart", digest);
  return { reply: await readChart(context, chart) };
};

/** Parses "registry.example.com/acme/nginx:1.27@sha256:…"; undefined for a reference without a registry. */
const readReference = (reference: string): { readonly host: string; readonly path: string; readonly tag: string; readonly digest: string } | undefined => {
  const [, host = "", path = "", tag = "", digest = ""] = /^([^\s/@]+)\/([^\s:@]+)(?::([\w][\w.-]*))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(reference) ?? [];
  return path === "" ? undefined : { host, path, tag, digest };
};

interface Binding {
  readonly chart: Chart;
  readonly images: readonly ChartImage[];
}

interface Bindings {
  readonly found: readonly Binding[];
  /** Repos with an unreadable chart, which may name images of the repo. */
  readonly unread: readonly string[];
}

const annotationOf = async (context: ReadContext, repo: string, manifest: JsonObject): Promise<string | undefined> => {
  const blob = await findRepoBlob(context.rows, repo, text(part(manifest, "config"), "digest"));
  if (!blob || blob.sizeBytes > limits.chartConfigBytesMax) return undefined;
  const content = await readBlob(context, blob);
  const config = content && parse(content.toString("utf8"));
  return config && text(config, "name") !== "" ? text(part(config, "annotations"), "images") : undefined;
};

const imagesOfRepo = async (context: ReadContext, repo: string, name: string, images: readonly ChartImage[]): Promise<ChartImage[]> => {
  const { host } = new URL(context.services.publicUrl);
  const found: ChartImage[] = [];
  for (const image of images) {
    const reference = readReference(image.image);
    if (reference?.host !== host) continue;
    const { path } = reference;
    const isOwn = path === repo || (path.split("/").at(-1) === name && (await findRepoByName(context.rows, path))?.uid === repo);
    if (isOwn) found.push(image);
  }
  return found;
};

/** Returns the organization's latest charts that the caller may read and that name images of the repo. */
const findBindings = async (context: ReadContext, repo: string, capabilities: readonly string[]): Promise<Bindings> => {
  const { rights, rows } = context;
  const [name] = (await findRows(rows, { name: "repos", columns: ["name"] }, [repo]))[0] ?? [];
  if (name === undefined || name === null) throw missing("registry", "Repo", repo);
  const charts = await findLatestCharts(rows, rootOf(repo), visiblePaths(rights, capabilities), limits.chartReposMax + 1);
  if (charts.length > limits.chartReposMax)
    throw blocked("TOO_MANY_CHARTS", "", [`the organization has charts in more than ${limits.chartReposMax} repos; at most so many are read`]);
  const asked: { readonly chart: ChartManifest; readonly manifest: JsonObject; readonly annotation: string | undefined }[] = [];
  for (const chart of charts) {
    const manifest = parse(chart.content);
    asked.push({ chart, manifest, annotation: await annotationOf(context, chart.repo, manifest) });
  }
  const listing = asked.filter(({ annotation }) => annotation !== undefined && annotation !== "");
  const lists = await shown.readImages(
    partyOf(context, repo),
    listing.map(({ annotation }) => annotation ?? ""),
  );
  const unread = asked.filter(({ annotation }) => annotation === undefined).map(({ chart }) => chart.repo);
  const found: Binding[] = [];
  for (const [index, { chart, manifest }] of listing.entries()) {
    const list = lists[index];
    if (list === undefined) unread.push(chart.repo);
    const images = await imagesOfRepo(context, repo, name, list ?? []);
    if (images.length > 0) found.push({ chart: { repo: chart.repo, sha256: chart.sha256, manifest }, images });
  }
  return { found, unread: unread.sort() };
};

const requirementOf = (images: readonly ChartImage[]): JsonObject => {
  const said = images.map((image) => text(image, "requirement"));
  const requirement = ["REQUIREMENT_REQUIRED", "REQUIREMENT_OPTIONAL"].find((each) => said.includes(each));
  return requirement === undefined ? {} : { requirement };
};

const listChartsByImageRepo = async (context: ReadContext): Promise<Outcome> => {
  const { found, unread } = await findBindings(context, text(context.request, "repoId"), ["repo.list"]);
  const bindings = found.map(({ chart, images }) => ({ chartRepo: chart.repo, ...requirementOf(images) }));
  return { reply: { chartImageBindings: bindings, ...(unread.length > 0 ? { unreadChartRepos: [...unread] } : {}) } };
};

/** Returns the chart that names the image by digest, or by a tag that points to it (default: `latest`). */
const chartOfImage = async (context: ReadContext, repo: string, digests: readonly string[]): Promise<Chart | undefined> => {
  const { found } = await findBindings(context, repo, ["repo.list", "tag.list"]);
  const named = found.map(({ chart, images }) => ({ chart, references: images.flatMap(({ image }) => readReference(image) ?? []) }));
  const byDigest = named.find(({ references }) => references.some(({ digest }) => digests.includes(digest)));
  if (byDigest) return byDigest.chart;
  for (const { chart, references } of named) {
    for (const { tag, digest } of references) {
      if (digest !== "") continue;
      const held = await findManifestByTag(context.rows, repo, tag || "latest");
      if (held && digests.includes(held.sha256)) return chart;
    }
  }
  return undefined;
};

const getHelm = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, services } = context;
  const [repo, digest, architecture] = [text(request, "repoId"), text(request, "digest"), text(request, "arch")];
  const platform = await findPlatformDigest(rows, repo, digest, architecture);
  if (platform === undefined) throw noSuchImage(digest, architecture);
  const chart = (await findChart(context, repo, digest)) ?? (await chartOfImage(context, repo, [...new Set([digest, platform])]));
  if (!chart) throw missing("registry", "Helm", digest);
  const { name, version, values } = await readChart(context, chart);
  return {
    reply: {
      chartName: name ?? "",
      chartVersion: version ?? "",
      chartRepository: `oci://${new URL(services.publicUrl).host}/${chart.repo}`,
      chartDigest: chart.sha256,
      values: values ?? "",
    },
  };
};

export const chart = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.Chart",
  methods: {
    GetChart: { reads: getChart },
    GetHelm: { reads: getHelm },
    ListChartsByImageRepo: { reads: listChartsByImageRepo },
  },
});
