// The lifecycle state of tags, from imported lifecycles and the tags' own `deprecated`. Version 1 only: version 2 has just
// `deprecated` (requirement: End-of-life tags).

import { type JsonObject, objectList, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { parentOf } from "#base/uid.ts";
import { boundOf, list, type Outcome, type ReadContext, resource } from "#kernel";
import { endedLife, knownLifecycles, lifeOf, namesOfRepo, releaseOf, unknownLife } from "#registry/lifecycle";
import { findRepoNames, type Lifecycle } from "#registry/store";
import type { LifecycleRelease } from "#advisories/store";
import { releasesInside } from "./lifecycle/inside.ts";
import { packageVersion } from "./lifecycle/package-version.ts";

const listOfTags = "chainguard.platform.registry.v2.TagsService/ListTags";

/** Returns version 2's list of tags, without referrers, which have no versions. */
const findTags = (context: ReadContext): Promise<Outcome> => {
  const { request } = context;
  const tags = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const method = tags.operations.find(({ name }) => name === listOfTags);
  if (!method) throw new Error(`${listOfTags} is not in the contract`);
  const { excludeDates, excludeEpochs, ...asked } = request;
  return list(tags)({
    ...context,
    method,
    request: { ...asked, includeReferrers: false, includeDates: excludeDates !== true, includeEpochs: excludeEpochs !== true },
    order: { column: "uid", descending: false },
  });
};

const shownTag = (tag: JsonObject, lifecycle: Lifecycle | undefined, release: LifecycleRelease | undefined, today: string): JsonObject => {
  // An explicit end overrides the calendar.
  const life = tag.deprecated === true ? endedLife : lifecycle && release ? lifeOf(release, lifecycle.graceMonths, today) : unknownLife;
  return {
    id: text(tag, "uid"),
    name: text(tag, "name"),
    ...(lifecycle ? { mainPackageName: lifecycle.product } : {}),
    ...(release ? { mainPackageVersion: packageVersion(release, today) } : {}),
    tagStatus: life.tagStatus,
    graceStatus: life.graceStatus,
    ...(life.graceEnd === "" ? {} : { gracePeriodExpiryDate: `${life.graceEnd}T00:00:00.000Z` }),
  };
};

const listEolTags = async (context: ReadContext): Promise<Outcome> => {
  const { rows, nowMs } = context;
  const { reply, headers } = await findTags(context);
  const tags = objectList(reply, "tags");
  const repos = await findRepoNames(rows, [...new Set(tags.map((tag) => parentOf(text(tag, "uid"))))]);
  const names = new Map([...repos].map(([uid, name]) => [uid, namesOfRepo(name)]));
  const find = await knownLifecycles(rows, [...repos.keys()].map(parentOf), [...names.values()].flat());
  const read = tags.map((tag) => {
    const repoUid = parentOf(text(tag, "uid"));
    const lifecycle = find(parentOf(repoUid), names.get(repoUid) ?? []);
    return { tag, repoUid, lifecycle, release: lifecycle && releaseOf(lifecycle, text(tag, "name")) };
  });
  // If the tag's name has no version, use the packages of its image.
  const inside = await releasesInside(
    rows,
    read.flatMap(({ tag, repoUid, lifecycle, release }) => (lifecycle && !release ? [{ repoUid, digest: text(tag, "digest"), lifecycle }] : [])),
  );
  const today = timestamp(nowMs).slice(0, 10);
  const items = read.map(({ tag, repoUid, lifecycle, release }) => shownTag(tag, lifecycle, release ?? inside(repoUid, text(tag, "digest")), today));
  const next = text(reply, "nextPageToken");
  return { reply: { items, ...(next === "" ? {} : { nextPageToken: next }) }, ...(headers ? { headers } : {}) };
};

export const eolTag = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.EolTag",
  methods: { ListEolTags: { reads: listEolTags } },
});
