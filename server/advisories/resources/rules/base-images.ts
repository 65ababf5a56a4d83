// The layer that brought the package of a finding, and the base image of its image.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import type { Branch } from "#db";
import { type BaseScope, type FindingGroup, type FoundPackage, findLayeredPlatforms, type LayeredPlatform, type PackageOfImage } from "#advisories/store";
import type { ReadContext } from "#kernel";

export const baseScopeOf = ({ services }: ReadContext, visible: readonly Branch[]): BaseScope => ({ visible, host: new URL(services.publicUrl).host });

const keyOf = (repoUid: string, digest: string): string => `${repoUid}@${digest}`;

const referenceOf = ({ baseRepo, baseDigest, baseTags: [tag] }: LayeredPlatform): string =>
  tag === undefined ? `${baseRepo}@${baseDigest}` : `${baseRepo}:${tag}`;

const baseImageOf = (platform: LayeredPlatform): JsonObject => {
  const { layerCount, baseRepo, baseRepoUid, baseDigest, baseTags, claimedName, claimedDigest } = platform;
  if (layerCount > 0) {
    const shown = {
      origin: "BASE_IMAGE_ORIGIN_LAYERS",
      reference: referenceOf(platform),
      digest: baseDigest,
      repo: baseRepo,
      repoUid: baseRepoUid,
      layerCount,
    };
    return { ...shown, tags: [...baseTags] };
  }
  return { origin: "BASE_IMAGE_ORIGIN_ANNOTATION", reference: claimedName, ...(claimedDigest === "" ? {} : { digest: claimedDigest }) };
};

/** Of several platforms, the first one with a base image that is known by its layers counts, or else by an annotation. */
const firstBaseImage = (platforms: readonly LayeredPlatform[]): JsonObject | undefined => {
  const first = platforms.find(({ layerCount }) => layerCount > 0) ?? platforms.find(({ claimedName }) => claimedName !== "");
  return first && baseImageOf(first);
};

interface FoundLayer {
  readonly platform: LayeredPlatform;
  readonly lowest: number;
  readonly highest: number;
}

const positionsOf = (value: Json | undefined): [number, number] | undefined => {
  if (!Array.isArray(value)) return undefined;
  const [lowest, highest] = value.map(Number);
  return lowest !== undefined && highest !== undefined && lowest > 0 ? [lowest, highest] : undefined;
};

const layerOf = (platform: LayeredPlatform, name: string, version: string): FoundLayer[] => {
  const versions = isObject(platform.packages) ? platform.packages[name] : undefined;
  const positions = positionsOf(isObject(versions) ? versions[version] : undefined);
  return positions ? [{ platform, lowest: positions[0], highest: positions[1] }] : [];
};

/** A layer that was not read may have brought the package before: then it is unknown whether the image itself did. */
const isFromBase = ({ platform, highest }: FoundLayer): boolean | undefined => {
  if (platform.layerCount === 0) return undefined;
  return highest <= platform.layerCount ? true : platform.isComplete ? false : undefined;
};

const fromBase = (found: readonly FoundLayer[]): string => {
  const each = found.map(isFromBase);
  if (each.includes(false)) return "FROM_BASE_IMAGE_NO";
  return each.length > 0 && each.every((is) => is === true) ? "FROM_BASE_IMAGE_YES" : "FROM_BASE_IMAGE_UNKNOWN";
};

/** Images that were only imported have no layers. */
const hasImage = ({ repoUid, digest }: PackageOfImage): boolean => repoUid !== "" && digest !== "";

const packageOf = (record: JsonObject): PackageOfImage => ({
  repoUid: text(record, "repoUid"),
  digest: text(record, "digest"),
  packageName: text(record, "packageName"),
});

type FindPlatforms = (repoUid: string, digest: string) => readonly LayeredPlatform[];

const findPlatforms = async ({ rows }: ReadContext, requested: readonly PackageOfImage[], scope: BaseScope): Promise<FindPlatforms> => {
  const found = requested.length === 0 ? [] : await findLayeredPlatforms(rows, requested, scope);
  const byImage = Map.groupBy(found, ({ repoUid, imageDigest }) => keyOf(repoUid, imageDigest));
  return (repoUid, digest) => byImage.get(keyOf(repoUid, digest)) ?? [];
};

/** Returns the layer and the base image of each finding. */
export const findLayers = async (context: ReadContext, records: readonly JsonObject[], scope: BaseScope): Promise<(record: JsonObject) => JsonObject> => {
  const platformsOf = await findPlatforms(context, records.map(packageOf).filter(hasImage), scope);
  return (record) => {
    const platforms = platformsOf(text(record, "repoUid"), text(record, "digest"));
    const found = platforms.flatMap((platform) => layerOf(platform, text(record, "packageName"), text(record, "installedVersion")));
    const [first] = found;
    const base = firstBaseImage(found.length > 0 ? found.map(({ platform }) => platform) : platforms);
    return {
      ...(first ? { layer: first.platform.layers[first.lowest - 1] ?? "", layerPosition: first.lowest } : {}),
      fromBaseImage: fromBase(found),
      ...(base ? { baseImage: base } : {}),
    };
  };
};

/** Returns the base images of groups of findings. */
export const findBaseImages = async (context: ReadContext, groups: readonly FindingGroup[], scope: BaseScope): Promise<(group: FindingGroup) => JsonObject> => {
  const known = groups.filter(({ key }) => key !== "").map(({ repoUid, digest }) => ({ repoUid, digest, packageName: "" }));
  const platformsOf = await findPlatforms(context, known, scope);
  return ({ key, repoUid, digest }) => {
    const base = key === "" ? undefined : firstBaseImage(platformsOf(repoUid, digest));
    return base ? { label: text(base, "reference"), baseImage: base } : { label: "unknown" };
  };
};

/** Narrows a list of findings by layer and base image. */
interface LayerFilter {
  readonly layers: ReadonlySet<string>;
  /** "" for any. */
  readonly fromBaseImage: string;
}

/** Returns the uids of the findings that a list would show with one of the layers, and with the value of `from_base_image`. */
export const filterByLayers = async (
  context: ReadContext,
  found: readonly FoundPackage[],
  { layers, fromBaseImage }: LayerFilter,
  scope: BaseScope,
): Promise<string[]> => {
  const layersOf = await findLayers(context, found, scope);
  return found
    .filter((each) => {
      const shown = layersOf(each);
      return (layers.size === 0 || layers.has(text(shown, "layer"))) && (fromBaseImage === "" || text(shown, "fromBaseImage") === fromBaseImage);
    })
    .map(({ uid }) => uid)
    .sort();
};
