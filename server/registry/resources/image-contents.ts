// Contents of images by their pushed SBOMs: the original document, its graph, and packages of several images. Without a pushed SBOM, the
// document is made of the packages in the layers. Version 1 only; the state of each document is in /gantry/v1/imageSboms.

import { missingCapability } from "#authz";
import { blocked, type Fault, invalid, missing, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { graphOf, openShownSboms, type SbomGraph, sbomWriters, type ShownSbom } from "#advisories/feeds";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { knownLifecycles, namesOfPackage } from "#registry/lifecycle";
import { findManifestByTag, findRepoBlob } from "#registry/store";
import { findReadSboms, findSbomPackages, type ReadSbomRow } from "#advisories/store";
import { isAnythingRead, type ReadPackages, readPackages } from "./contents/read-packages.ts";
import { sbomContentsOf } from "./contents/sbom-contents.ts";
import { findPlatformDigest, noSuchImage } from "./images/platform-manifest.ts";
import { packageNameOf, releaseOfPackage } from "./lifecycle/inside.ts";

const shown = openShownSboms();

/** Returns the pushed SBOM of an image: its own before its index's, then the latest. */
const findSbom = async ({ rows, request }: ReadContext): Promise<ReadSbomRow | undefined> => {
  const [repo, digest, architecture] = [text(request, "repoId"), text(request, "digest"), text(request, "arch")];
  const platform = await findPlatformDigest(rows, repo, digest, architecture);
  if (platform === undefined && architecture !== "") throw noSuchImage(digest, architecture);
  const found = await findReadSboms(rows, repo, [...new Set([platform ?? digest, digest])]);
  return found.find((each) => each.digest === platform) ?? found[0];
};

interface MadeSbom {
  readonly image: ReadPackages;
  readonly document: JsonObject;
}

/** Returns an SBOM of the packages in the layers; throws NOT_FOUND if they were not read, or the caller may not list them. */
const makeSbom = async (context: ReadContext): Promise<MadeSbom> => {
  const { request, rights } = context;
  const [repo, digest, architecture] = [text(request, "repoId"), text(request, "digest"), text(request, "arch")];
  const absent = missing("registry", "Sbom", digest);
  if (missingCapability(rights, ["manifest.metadata.list"], repo) !== undefined) throw absent;
  const image = await readPackages(context, { repo, reference: digest, architecture });
  if (!isAnythingRead(image)) throw absent;
  return { image, document: sbomWriters.SPDX_2_3(await sbomContentsOf(context, image)) };
};

const tooLarge = (what: string): Fault =>
  blocked("SBOM_TOO_LARGE", "", [`the SBOM has ${what}, too large for one response. Pull its blob, which /gantry/v1/imageSboms names`]);

const readShown = async ({ caller, rows, request, services }: ReadContext, sbom: ReadSbomRow): Promise<Extract<ShownSbom, { text: string }>> => {
  const repo = text(request, "repoId");
  const gone = (): Fault => missing("registry", "Sbom", text(request, "digest"));
  const blob = await findRepoBlob(rows, repo, sbom.documentDigest);
  if (!blob) throw gone();
  const reading = await shown.show({ organization: rootOf(repo), identity: caller?.uid ?? "" }, sbom.digest, async () => {
    const content = await services.blobs.read(blob.key);
    if (content) return content;
    services.log("blobs.missing", { digest: blob.sha256, key: blob.key });
    throw gone();
  });
  if ("text" in reading) return reading;
  if ("sizeBytes" in reading) throw tooLarge(`${reading.sizeBytes} bytes`);
  if ("problem" in reading) throw blocked("SBOM_UNREADABLE", "", [`the SBOM ${reading.problem}`]);
  throw gone();
};

const checkReference = async ({ rows, request }: ReadContext): Promise<void> => {
  const reference = text(request, "reference");
  if (reference === "") return;
  const [, named = ""] = /@([^@]*)$/.exec(reference) ?? [];
  const [, tag = ""] = named === "" ? (/[:]([A-Za-z0-9_][A-Za-z0-9._-]{0,127})$/.exec(reference) ?? []) : [];
  const found = tag === "" ? named : ((await findManifestByTag(rows, text(request, "repoId"), tag))?.sha256 ?? "");
  if (found !== text(request, "digest")) throw invalid([{ field: "reference", description: "reference must name the image of the digest" }]);
};

const getRawSbom = async (context: ReadContext): Promise<Outcome> => {
  await checkReference(context);
  const pushed = await findSbom(context);
  return { reply: { rawSbom: pushed ? (await readShown(context, pushed)).text : JSON.stringify((await makeSbom(context)).document) } };
};

const graphReply = ({ format, name, tool, authors, generateTime, packages, edges }: SbomGraph): JsonObject => ({
  graph: { nodes: packages.map((each) => ({ package: { ...each } })), edges: edges.map((each) => ({ ...each })) },
  tool,
  format,
  ...(generateTime === "" ? {} : { generatedAt: generateTime }),
  authors,
  name,
});

const getSbom = async (context: ReadContext): Promise<Outcome> => {
  const row = await findSbom(context);
  if (!row) {
    const { image, document } = await makeSbom(context);
    const { uid = "", updateTime = "" } = image.contents ?? {};
    return { reply: { ...graphReply(graphOf(document)), id: uid, lastSeen: updateTime, source: "GENERATED", digest: image.digest } };
  }
  const { sbom } = await readShown(context, row);
  if (sbom.isTooLarge) throw tooLarge(`more than ${limits.shownSbomNodesMax} packages or ${limits.shownSbomEdgesMax} relations`);
  return { reply: { ...graphReply(sbom), id: row.uid, lastSeen: row.updateTime, source: "INGESTED", digest: row.documentDigest } };
};

const digestForm = /^sha256:[0-9a-f]{64}$/;

interface RequestedImage {
  readonly digest: string;
  readonly architecture: string;
  readonly isIndex: boolean;
}

const askedImages = (request: JsonObject): RequestedImage[] => {
  const items = objectList(request, "items");
  if (items.length > limits.manifestMetadataItemsMax)
    throw invalid([{ field: "items", description: `items must be at most ${limits.manifestMetadataItemsMax}` }]);
  const violations: Violation[] = [];
  const asked = items.map((item, index): RequestedImage => {
    const filter = part(item, "indexFilter");
    const isIndex = item.indexFilter !== undefined;
    const digest = isIndex ? text(filter, "digest") : text(item, "imageDigest");
    const field = `items[${index}].${isIndex ? "indexFilter.digest" : "imageDigest"}`;
    if (!digestForm.test(digest)) violations.push({ field, description: "must be sha256: and 64 hex characters" });
    return { digest, architecture: isIndex ? text(filter, "arch") : "", isIndex };
  });
  if (violations.length > 0) throw invalid(violations);
  return asked;
};

/** Returns the package URLs of "pkg:deb/debian/libssl3?distro=debian-12&upstream=openssl" with a version, and of its source package. */
const purlsOf = (name: string, version: string): { readonly purl: string; readonly originPurl: string } => {
  const [path = "", query = ""] = name.split("?", 2);
  const qualifiers = query.split("&").filter((each) => each !== "" && !each.startsWith("upstream="));
  const behind = `${qualifiers.length === 0 ? "" : `?${qualifiers.join("&")}`}`;
  const purl = `${path}@${encodeURIComponent(version)}${behind}`;
  const upstream = query.split("&").find((each) => each.startsWith("upstream="));
  if (upstream === undefined) return { purl, originPurl: purl };
  const origin = `${path.slice(0, path.lastIndexOf("/") + 1)}${upstream.slice("upstream=".length)}`;
  // An apk subpackage has its origin's version; a deb or rpm may have another.
  return { purl, originPurl: path.startsWith("pkg:apk/") ? `${origin}@${encodeURIComponent(version)}${behind}` : `${origin}${behind}` };
};

/** Package types that use product names; a library of another type may share a name with an unrelated product. */
const namesProducts = (purl: string): boolean => /^pkg:(?:apk|deb|rpm)\//.test(purl);

const listManifestMetadata = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const repo = text(request, "repoId");
  const images: { readonly digest: string; readonly about: readonly string[] }[] = [];
  for (const { digest, architecture, isIndex } of askedImages(request)) {
    const platform = await findPlatformDigest(rows, repo, digest, architecture);
    if (platform !== undefined && (isIndex || platform === digest)) images.push({ digest: platform, about: [platform, digest] });
  }
  const sboms = images.length === 0 ? [] : await findReadSboms(rows, repo, [...new Set(images.flatMap(({ about }) => about))]);
  const chosen = images.map(({ digest, about }) => {
    const own = sboms.filter((sbom) => sbom.digest === digest);
    return { digest, sboms: own.length > 0 ? own : sboms.filter((sbom) => about.includes(sbom.digest)) };
  });
  const total = chosen.flatMap((each) => each.sboms).reduce((sum, { packageCount }) => sum + packageCount, 0);
  if (total > limits.manifestMetadataPackagesMax)
    throw blocked("TOO_MANY_PACKAGES", "", [
      `these images have ${total} packages; at most ${limits.manifestMetadataPackagesMax} are given at once: ask for fewer images`,
    ]);
  const uids = [...new Set(chosen.flatMap((each) => each.sboms.map(({ uid }) => uid)))];
  const packages = uids.length === 0 ? [] : await findSbomPackages(rows, uids, undefined, limits.manifestMetadataPackagesMax + 1);
  const bySbom = Map.groupBy(packages, ({ sbom }) => sbom);
  const group = parentOf(repo);
  const products = new Set(packages.filter(({ name }) => namesProducts(name)).flatMap(({ name }) => namesOfPackage(packageNameOf(name))));
  const find = await knownLifecycles(rows, [group], [...products]);
  const endOf = (name: string, version: string): string => {
    if (!namesProducts(name)) return "";
    const base = packageNameOf(name);
    const lifecycle = find(group, namesOfPackage(base));
    const end = (lifecycle && releaseOfPackage(lifecycle, base, version)?.end) ?? "";
    return end === "true" ? "" : end;
  };
  const metadataOf = ({ name, version }: (typeof packages)[number]): JsonObject => {
    const end = endOf(name, version);
    return { ...purlsOf(name, version), ...(end === "" ? {} : { eolDate: `${end}T00:00:00.000Z` }) };
  };
  return {
    reply: {
      items: chosen.map(({ digest, sboms: own }) => {
        // Several documents may have the same package.
        const told = new Map(own.flatMap(({ uid }) => bySbom.get(uid) ?? []).map((each) => [`${each.name} ${each.version}`, each]));
        return { digest, pkgMetadata: [...told.values()].map(metadataOf) };
      }),
    },
  };
};

export const imageContents = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.ManifestMetadata",
  methods: {
    GetSbom: { reads: getSbom },
    GetRawSbom: { reads: getRawSbom },
    ListManifestMetadata: { reads: listManifestMetadata },
  },
});
