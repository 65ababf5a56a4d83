// Coverage gaps for all outputs with affected images or their counts (docs/decisions/0074).

import { Fault } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { covers, parentOf } from "#base/uid.ts";
import { type CoverageOf, type CoverageState, type Ecosystem, ecosystemKey, ecosystemOfKey, readCoverage } from "#advisories/feeds";
import type { ReadContext } from "#kernel";
import {
  type CoveragePlace,
  countKnownImages,
  findDigestEcosystems,
  findGroupEcosystems,
  findImagesWith,
  findTagEcosystems,
  findUnreadImages,
  placeBelow,
  placeOnly,
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

const imageMessage = ({ owner, repo, repoUid, digest, tags, architectures }: UnjudgedImage, reason: string, ecosystems: readonly JsonObject[]): JsonObject => ({
  groupUid: owner,
  repo,
  ...(repoUid === "" ? {} : { repoUid }),
  ...(digest === "" ? {} : { digest }),
  ...(tags.length === 0 ? {} : { tags: [...tags] }),
  ...(architectures.length === 0 ? {} : { architectures: [...architectures] }),
  reason: `UNJUDGED_REASON_${reason}`,
  ...(ecosystems.length === 0 ? {} : { ecosystems: [...ecosystems] }),
});

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
  const images = [
    ...unread.images.map((image) => imageMessage(image, "NOT_READ", [])),
    ...others.map((image) =>
      imageMessage(
        image,
        image.ecosystems.length === 0 ? "NO_PACKAGES" : "ECOSYSTEMS",
        image.ecosystems.map((key) => ecosystemMessage(ecosystemOfKey(key), stateOf.get(JSON.stringify([image.owner, key])) ?? "NO_SOURCE")),
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

/** Returns the coverage gaps of unresolved affected images, in their order. */
export const unjudgedOfTags = async (
  context: CoverageContext,
  images: readonly { readonly owner: string; readonly repo: string; readonly tags: readonly string[] }[],
): Promise<JsonObject[][]> => {
  const tags = images.flatMap(({ owner, repo, tags: names }) => names.map((tag) => ({ owner, repo, tag })));
  const keys = new Map<string, string[]>();
  const keyOf = (owner: string, repo: string, tag: string): string => JSON.stringify([owner, repo, tag]);
  for (const { owner, repo, tag, ecosystems } of await findTagEcosystems(context.rows, tags))
    keys.set(keyOf(owner, repo, tag), [...(keys.get(keyOf(owner, repo, tag)) ?? []), ...ecosystems]);
  const asked = tags.flatMap(({ owner, repo, tag }) =>
    (keys.get(keyOf(owner, repo, tag)) ?? []).map((key) => ({ group: owner, ecosystem: ecosystemOfKey(key) })),
  );
  const coverageOf = await coverageNow(context, asked);
  return images.map(({ owner, repo, tags: names }) =>
    unjudgedOf(
      coverageOf,
      owner,
      names.flatMap((tag) => keys.get(keyOf(owner, repo, tag)) ?? []),
    ),
  );
};

/** For an image without tags, the packages are unknown. */
const unknownImage: JsonObject = { ecosystem: "unknown", state: stateName("NO_SOURCE") };

/** Returns the coverage gaps of these images in repos, in their order. */
export const unjudgedOfDigests = async (
  context: CoverageContext,
  images: readonly { readonly repoUid: string; readonly digest: string }[],
): Promise<JsonObject[][]> => {
  const found = await findDigestEcosystems(context.rows, images);
  const keys = new Map<string, string[]>();
  const keyOf = (repoUid: string, digest: string): string => `${repoUid} ${digest}`;
  for (const { repoUid, digest, ecosystems } of found) keys.set(keyOf(repoUid, digest), [...(keys.get(keyOf(repoUid, digest)) ?? []), ...ecosystems]);
  const asked = found.flatMap(({ repoUid, ecosystems }) => ecosystems.map((key) => ({ group: parentOf(repoUid), ecosystem: ecosystemOfKey(key) })));
  const coverageOf = await coverageNow(context, asked);
  return images.map(({ repoUid, digest }) => {
    const own = keys.get(keyOf(repoUid, digest));
    return own === undefined ? [unknownImage] : unjudgedOf(coverageOf, parentOf(repoUid), own);
  });
};
