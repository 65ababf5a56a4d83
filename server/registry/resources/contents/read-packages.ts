// The packages of a stored image: composed of what was read in its layers, and of its pushed SBOMs. Nothing is stored for it: images share
// the contents of their layers.

import { openFairQueue } from "#base/fair-queue.ts";
import { missing } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { packageOfLabel } from "#advisories/feeds";
import { findContents, findContentsPackages, findReadSboms, findSbomPackages, type ReadSbomRow, type StoredContents } from "#advisories/store";
import type { ReadContext } from "#kernel";
import { type ImagePackage, openComposer, readerVersion, readImage, unpackContents } from "#registry/contents";
import { findLayerContents, findManifestByDigest, findManifestByTag, findRepoBlob, type RequestedManifest } from "#registry/store";
import { findPlatformDigest, noSuchImage } from "../images/platform-manifest.ts";

export type PackageOrigin = "LAYERS" | "SBOM" | "ATTESTATION";

export interface ShownPackage {
  readonly name: string;
  readonly version: string;
  readonly type: string;
  readonly purl: string;
  readonly architecture: string;
  /** "" if unknown, as are the position (0), the path and the database. */
  readonly layer: string;
  readonly layerPosition: number;
  readonly path: string;
  readonly database: string;
  readonly origins: readonly PackageOrigin[];
}

export interface ReadPackages {
  readonly repo: string;
  readonly digest: string;
  /** Undefined for artifacts without layers to read. */
  readonly contents: StoredContents | undefined;
  readonly hasSbom: boolean;
  readonly packages: readonly ShownPackage[];
}

const turns = openFairQueue({
  name: "image-contents",
  what: "contents of images are read",
  places: limits.shownContentsPlaces,
  placesEach: 1,
  placesAlone: 1,
  waiting: limits.shownContentsWaiting,
  waitingEach: limits.shownContentsWaitingEach,
  waitMs: limits.shownContentsWaitMs,
});
const compose = openComposer();

const layersOf = (content: string): JsonObject[] => {
  const parsed = JSON.parse(content) as Json;
  return isObject(parsed) ? objectList(parsed, "layers") : [];
};

const composePackages = async ({ caller, rows }: ReadContext, repo: string, { content }: RequestedManifest): Promise<readonly ImagePackage[]> => {
  const key = { organization: rootOf(repo), identity: caller?.uid ?? "" };
  const find = async (digest: string) => {
    // What was read in a layer counts only in repos that have its blob (attack 355).
    const blob = await findRepoBlob(rows, repo, digest);
    const packed = blob && (await findLayerContents(rows, blob.sha256, readerVersion));
    return packed && unpackContents(packed);
  };
  if (!turns.tryAcquire(key)) await turns.wait(key);
  try {
    return (await readImage(content, find, { compose, longestMs: limits.shownContentsReadMs })).packages;
  } finally {
    turns.leave(key);
  }
};

const keyOf = ({ type, name, version }: Pick<ShownPackage, "type" | "name" | "version">): string => JSON.stringify([type, name, version]);

/** Returns the packages in the layers, with those whose layer is too large to be stored. */
const layerPackages = async (context: ReadContext, repo: string, manifest: RequestedManifest, contents: StoredContents): Promise<ShownPackage[]> => {
  const isCurrent = contents.readerVersion === readerVersion && contents.state !== "IMAGE_CONTENTS_STATE_PENDING";
  const composed = isCurrent ? await composePackages(context, repo, manifest) : [];
  const positions = new Map<string, number>();
  for (const [index, layer] of layersOf(manifest.content).entries()) if (!positions.has(text(layer, "digest"))) positions.set(text(layer, "digest"), index + 1);
  const found = composed.map((each): ShownPackage => ({ ...each, layerPosition: positions.get(each.layer) ?? 0, origins: ["LAYERS"] }));
  const known = new Set(found.map(keyOf));
  for (const { name, version } of await findContentsPackages(context.rows, contents.uid, limits.layerPackagesMax)) {
    const named = packageOfLabel(name, version);
    if (known.has(keyOf(named))) continue;
    found.push({ ...named, layer: "", layerPosition: 0, path: "", database: "", origins: ["LAYERS"] });
  }
  return found;
};

/** Signed or not: statements about the image. */
const statementForm = /^application\/(?:vnd\.in-toto\+json|vnd\.dsse\.envelope\..*|vnd\.dev\.sigstore\.bundle.*)$/;

const originOf = async ({ rows }: ReadContext, repo: string, { manifestDigest, documentDigest }: ReadSbomRow): Promise<PackageOrigin> => {
  const manifest = await findManifestByDigest(rows, repo, manifestDigest);
  const document = layersOf(manifest?.content ?? "{}").find((layer) => text(layer, "digest") === documentDigest);
  return statementForm.test(text(document ?? {}, "mediaType")) ? "ATTESTATION" : "SBOM";
};

const withSboms = async (context: ReadContext, repo: string, sboms: readonly ReadSbomRow[], found: readonly ShownPackage[]): Promise<ShownPackage[]> => {
  if (sboms.length === 0) return [...found];
  const origins = new Map<string, PackageOrigin>();
  for (const sbom of sboms) origins.set(sbom.uid, await originOf(context, repo, sbom));
  const listed = await findSbomPackages(context.rows, [...origins.keys()], undefined, limits.sbomPackagesMax);
  const bySbom = Map.groupBy(
    listed.map(({ sbom, name, version }) => ({ origin: origins.get(sbom) ?? "SBOM", named: packageOfLabel(name, version) })),
    ({ named }) => keyOf(named),
  );
  const merged = found.map((each): ShownPackage => {
    const further = new Set((bySbom.get(keyOf(each)) ?? []).map(({ origin }) => origin));
    return { ...each, origins: [...each.origins, ...[...further].sort()] };
  });
  const known = new Set(found.map(keyOf));
  for (const [key, [first, ...others]] of bySbom) {
    if (known.has(key) || !first) continue;
    const both = new Set([first, ...others].map(({ origin }) => origin));
    merged.push({ ...first.named, layer: "", layerPosition: 0, path: "", database: "", origins: [...both].sort() });
  }
  return merged;
};

export interface RequestedImage {
  readonly repo: string;
  /** A tag or a digest. */
  readonly reference: string;
  /** "" for the image's own, or the default. */
  readonly architecture: string;
}

/** Returns the packages of an image, of an index those of the platform; throws NOT_FOUND. */
export const readPackages = async (context: ReadContext, { repo, reference, architecture }: RequestedImage): Promise<ReadPackages> => {
  const { rows } = context;
  const named = reference.includes(":") ? await findManifestByDigest(rows, repo, reference) : await findManifestByTag(rows, repo, reference);
  if (!named) throw missing("registry", "Image", reference);
  const digest = await findPlatformDigest(rows, repo, named.sha256, architecture);
  const manifest = digest === named.sha256 ? named : digest === undefined ? undefined : await findManifestByDigest(rows, repo, digest);
  if (digest === undefined || !manifest) throw noSuchImage(reference, architecture);
  const contents = await findContents(rows, repo, digest);
  const sboms = await findReadSboms(rows, repo, [...new Set([digest, named.sha256])]);
  const found = contents ? await layerPackages(context, repo, manifest, contents) : [];
  return { repo, digest, contents, hasSbom: sboms.length > 0, packages: await withSboms(context, repo, sboms, found) };
};

const knownStates = new Set(["IMAGE_CONTENTS_STATE_INDEXED", "IMAGE_CONTENTS_STATE_PARTIAL"]);

/** Returns false if nothing is known of the image, so that an empty list would not mean that it has no packages. */
export const isAnythingRead = ({ contents, hasSbom }: ReadPackages): boolean => hasSbom || knownStates.has(contents?.state ?? "");

export const stateOf = ({ contents }: ReadPackages): string => contents?.state ?? "IMAGE_CONTENTS_STATE_UNSUPPORTED";
