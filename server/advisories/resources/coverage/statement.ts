// Coverage gaps for all outputs with affected images or their counts (docs/decisions/0074).

import { Fault } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { covers, parentOf } from "#base/uid.ts";
import { type CoverageOf, type CoverageState, type Ecosystem, ecosystemKey, ecosystemOfKey, readCoverage } from "#advisories/feeds";
import type { Read } from "#db";
import type { ReadContext } from "#kernel";
import {
  type CoveragePlace,
  countKnownImages,
  findContentsBehind,
  findDigestEcosystems,
  findGroupEcosystems,
  findImagesWith,
  findTagEcosystems,
  findUnreadImages,
  placeBelow,
  placeOnly,
  type TaggedContents,
  type UnjudgedImage,
} from "#advisories/store";

type CoverageContext = Pick<ReadContext, "rows" | "nowMs" | "services">;

const statePrefix = "COVERAGE_STATE_";

export const stateName = (state: CoverageState): string => `${statePrefix}${state}`;

export const coverageNow = (
  { rows, nowMs, services }: CoverageContext,
  asked: readonly { readonly group: string; readonly ecosystem: Ecosystem }[],
): Promise<CoverageOf> => {
  const groups = [...new Set(asked.map(({ group }) => group))];
  return readCoverage(rows, { groups, ecosystems: asked.map(({ ecosystem }) => ecosystem), nowMs, staleAfterMs: services.feedStaleMs });
};

/** Returns the groups of a list: visible ones, narrowed by the request's uidp filter. */
export const placesOf = ({ request, visiblePaths }: Pick<ReadContext, "request" | "visiblePaths">): CoveragePlace[] => {
  const uidp = part(request, "uidp");
  const [below, directlyIn] = [text(uidp, "descendantsOf"), text(uidp, "childrenOf")];
  if (directlyIn !== "") {
    const isSeen = visiblePaths.some((path) => covers(path, directlyIn)) && (below === "" || covers(below, directlyIn));
    return isSeen ? [placeOnly(directlyIn)] : [];
  }
  return visiblePaths.flatMap((path) => (covers(path, below) ? [placeBelow(below === "" ? path : below)] : covers(below, path) ? [placeBelow(path)] : []));
};

export const readGroupCoverage = async (
  context: CoverageContext,
  places: readonly CoveragePlace[],
): Promise<{ readonly uid: string; readonly group: string; readonly ecosystem: Ecosystem; readonly state: CoverageState }[]> => {
  const found = await findGroupEcosystems(context.rows, places, limits.coverageRowsMax + 1);
  if (found.length > limits.coverageRowsMax)
    throw new Fault("FAILED_PRECONDITION", `the request covers more than ${limits.coverageRowsMax} ecosystems of groups. Narrow it by uidp`);
  const asked = found.map(({ uid, ecosystem, release }) => ({ uid, group: parentOf(uid), ecosystem: { ecosystem, release } }));
  const coverageOf = await coverageNow(context, asked);
  return asked.map((each) => ({ ...each, state: coverageOf(each.group, each.ecosystem).state }));
};

const ecosystemMessage = ({ ecosystem, release }: Ecosystem, state: CoverageState): JsonObject => ({
  ecosystem,
  ...(release === "" ? {} : { release }),
  state: stateName(state),
});

const unjudgedOf = (coverageOf: CoverageOf, group: string, keys: Iterable<string>): JsonObject[] =>
  [...new Set(keys)].sort().flatMap((key) => {
    const ecosystem = ecosystemOfKey(key);
    const { state } = coverageOf(group, ecosystem);
    return state === "MATCHED" ? [] : [ecosystemMessage(ecosystem, state)];
  });

/** Whether the layers of this platform belong to the image, and were not read completely. */
const isGap = ({ architectures }: UnjudgedImage, { state, architectures: own }: TaggedContents): boolean =>
  state !== "IMAGE_CONTENTS_STATE_INDEXED" && (architectures.length === 0 || own.length === 0 || own.some((each) => architectures.includes(each)));

const contentsMessage = ({ digest, state, problems, problemCount }: TaggedContents): JsonObject => ({
  digest,
  state,
  ...(problemCount === 0 ? {} : { problems, problemCount }),
});

const imageMessage = (
  { owner, repo, repoUid, digest, tags, architectures }: UnjudgedImage,
  reason: string,
  ecosystems: readonly JsonObject[],
  contents: readonly TaggedContents[],
): JsonObject => ({
  groupUid: owner,
  repo,
  ...(repoUid === "" ? {} : { repoUid }),
  ...(digest === "" ? {} : { digest }),
  ...(tags.length === 0 ? {} : { tags: [...tags] }),
  ...(architectures.length === 0 ? {} : { architectures: [...architectures] }),
  reason: `UNJUDGED_REASON_${reason}`,
  ...(ecosystems.length === 0 ? {} : { ecosystems: [...ecosystems] }),
  ...(contents.length === 0 ? {} : { contents: contents.map(contentsMessage) }),
});

const findGaps = async (rows: Read, images: readonly UnjudgedImage[]): Promise<(image: UnjudgedImage) => readonly TaggedContents[]> => {
  const found = images.length === 0 ? [] : await findContentsBehind(rows, images);
  const byImage = Map.groupBy(found, ({ repoUid, tagDigest }) => `${repoUid} ${tagDigest}`);
  return (image) => (byImage.get(`${image.repoUid} ${image.digest}`) ?? []).filter((contents) => isGap(image, contents)).slice(0, limits.unjudgedShownMax);
};

/** Returns the coverage of a list of affected images. */
export const coverageStatement = async (context: CoverageContext, places: readonly CoveragePlace[]): Promise<JsonObject> => {
  const { rows } = context;
  const gaps = (await readGroupCoverage(context, places)).filter(({ state }) => state !== "MATCHED");
  const groupGaps = gaps.map(({ group, ecosystem }) => ({ owner: group, key: ecosystemKey(ecosystem) }));
  const stateOf = new Map(gaps.map(({ group, ecosystem, state }) => [JSON.stringify([group, ecosystemKey(ecosystem)]), state]));
  const [{ known, unjudged }, unread] = await Promise.all([countKnownImages(rows, places, groupGaps), findUnreadImages(rows, places, limits.unjudgedShownMax)]);
  const left = limits.unjudgedShownMax - unread.images.length;
  const others = unjudged > 0 && left > 0 ? await findImagesWith(rows, places, groupGaps, left) : [];
  const ecosystems = new Map(gaps.map(({ ecosystem, state }) => [`${ecosystemKey(ecosystem)} ${state}`, ecosystemMessage(ecosystem, state)]));
  const named = [...ecosystems.keys()].sort().flatMap((key) => ecosystems.get(key) ?? []);
  const contentsOf = await findGaps(rows, [...unread.images, ...others.filter(({ partlyRead }) => partlyRead)]);
  const images = [
    ...unread.images.map((image) => imageMessage(image, "NOT_READ", [], contentsOf(image))),
    ...others.map((image) =>
      imageMessage(
        image,
        image.partlyRead ? "NOT_READ" : image.ecosystems.length === 0 ? "NO_PACKAGES" : "ECOSYSTEMS",
        image.ecosystems.map((key) => ecosystemMessage(ecosystemOfKey(key), stateOf.get(JSON.stringify([image.owner, key])) ?? "NO_SOURCE")),
        image.partlyRead ? contentsOf(image) : [],
      ),
    ),
  ];
  return {
    imageCount: known + unread.count,
    unjudgedImageCount: unjudged + unread.count,
    ...(named.length === 0 ? {} : { ecosystems: named.slice(0, limits.unjudgedShownMax) }),
    furtherEcosystemCount: Math.max(0, named.length - limits.unjudgedShownMax),
    ...(images.length === 0 ? {} : { images }),
  };
};

/** Packages of an image without tags, or in layers that were not read. */
const unknownPackages: JsonObject = { ecosystem: "unknown", state: stateName("NO_SOURCE") };

/** Returns the coverage gaps of unresolved affected images, in their order. */
export const unjudgedOfTags = async (
  context: CoverageContext,
  images: readonly { readonly owner: string; readonly repo: string; readonly tags: readonly string[] }[],
): Promise<JsonObject[][]> => {
  const tags = images.flatMap(({ owner, repo, tags: names }) => names.map((tag) => ({ owner, repo, tag })));
  const keys = new Map<string, string[]>();
  const partlyRead = new Set<string>();
  const keyOf = (owner: string, repo: string, tag: string): string => JSON.stringify([owner, repo, tag]);
  for (const { owner, repo, tag, ecosystems, partlyRead: isPart } of await findTagEcosystems(context.rows, tags)) {
    keys.set(keyOf(owner, repo, tag), [...(keys.get(keyOf(owner, repo, tag)) ?? []), ...ecosystems]);
    if (isPart) partlyRead.add(keyOf(owner, repo, tag));
  }
  const asked = tags.flatMap(({ owner, repo, tag }) =>
    (keys.get(keyOf(owner, repo, tag)) ?? []).map((key) => ({ group: owner, ecosystem: ecosystemOfKey(key) })),
  );
  const coverageOf = await coverageNow(context, asked);
  return images.map(({ owner, repo, tags: names }) => [
    ...(names.some((tag) => partlyRead.has(keyOf(owner, repo, tag))) ? [unknownPackages] : []),
    ...unjudgedOf(
      coverageOf,
      owner,
      names.flatMap((tag) => keys.get(keyOf(owner, repo, tag)) ?? []),
    ),
  ]);
};

/** Returns the coverage gaps of these images in repos, in their order. */
export const unjudgedOfDigests = async (
  context: CoverageContext,
  images: readonly { readonly repoUid: string; readonly digest: string }[],
): Promise<JsonObject[][]> => {
  const found = await findDigestEcosystems(context.rows, images);
  const keys = new Map<string, string[]>();
  const keyOf = (repoUid: string, digest: string): string => `${repoUid} ${digest}`;
  const partlyRead = new Set(found.filter((each) => each.partlyRead).map(({ repoUid, digest }) => keyOf(repoUid, digest)));
  for (const { repoUid, digest, ecosystems } of found) keys.set(keyOf(repoUid, digest), [...(keys.get(keyOf(repoUid, digest)) ?? []), ...ecosystems]);
  const asked = found.flatMap(({ repoUid, ecosystems }) => ecosystems.map((key) => ({ group: parentOf(repoUid), ecosystem: ecosystemOfKey(key) })));
  const coverageOf = await coverageNow(context, asked);
  return images.map(({ repoUid, digest }) => {
    const own = keys.get(keyOf(repoUid, digest));
    if (own === undefined) return [unknownPackages];
    return [...(partlyRead.has(keyOf(repoUid, digest)) ? [unknownPackages] : []), ...unjudgedOf(coverageOf, parentOf(repoUid), own)];
  });
};
