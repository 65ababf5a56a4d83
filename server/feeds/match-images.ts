// The step behind an import of images, of advisories or of a registry: which images of each organization are affected now
// (docs/decisions/0026). It looks at what has changed since images were last matched, one transaction for each organization: of
// advisories that changed the packages that they name, in all images; of images that changed all that they are made of. What
// fails, or is cut off, is made up for by the next import. One that finds nothing new writes nothing.

import { operatorUid } from "#authz";
import { type Json, type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ancestry, covers, parentOf } from "#base/uid.ts";
import { packageNameKeyOfType } from "#base/versions/package-name.ts";
import { type Cause, type Services, toldEvent } from "#kernel";
import { record } from "#outbox";
import {
  addOrganizationToMatch,
  countImagesOf,
  type AffectedImageDraft,
  affectedImageUid,
  type ChangeToMatch,
  deleteChangesToMatch,
  deleteImageCoverageExcept,
  endAffectedImages,
  findAffectedByPackages,
  findAffectedByRepos,
  findAffectedRepos,
  findChangesToMatch,
  findImageEcosystems,
  findImageRepos,
  findReposChangedSince,
  findFingerprintsOf,
  findSuppressors,
  type HeldRow,
  type Suppressor,
  findImageRoots,
  findInstalledVersions,
  findMatchable,
  findOrigins,
  findTaggedImages,
  lockMatching,
  markMatched,
  refreshAdvisoryCoverage,
  type MatchableAdvisory,
  type ImageRepo,
  type SizedRepo,
  type TaggedImage,
  writeAffectedImages,
  writeImageCoverage,
  type Write,
} from "#store";
import { writeOwnReports } from "./reports/own-reports.ts";
import { architectureOf } from "./judge-statements.ts";
import { judgesOf } from "./judge-advisory.ts";
import { boundedEcosystems, ecosystemKey, imageEcosystemOf } from "./coverage.ts";
import { type InstalledPackage, installedPackageOf, isOfDistribution, type PackageVerdict } from "./judge-package.ts";

/** What tells of them. */
const affectedMessage = "gantry.images.v1.ImagesAffected";
const suppressedMessage = "gantry.images.v1.ImagesSuppressed";

// ---- what has changed -------------------------------------------------------------------------------------------

/** What of an organization is to be matched. */
interface Matching {
  /** All of it. */
  readonly isWhole: boolean;
  /** Packages of advisories that changed. */
  readonly names: ReadonlySet<string>;
  /** Repos whose images changed, by repoKey. */
  readonly repos: ReadonlyMap<string, ImageRepo>;
}

const repoKey = ({ owner, repo }: ImageRepo): string => JSON.stringify([owner, repo]);

/** Undefined where nothing of it is. */
const matchingOf = (root: string, changes: readonly ChangeToMatch[]): Matching | undefined => {
  const own = changes.filter((change) => change.root === "" || change.root === root);
  if (own.length === 0) return undefined;
  return {
    isWhole: own.some(({ name, repo }) => name === "" && repo === ""),
    names: new Set(own.flatMap(({ name }) => (name === "" ? [] : [name]))),
    repos: new Map(own.flatMap((change) => (change.repo === "" ? [] : [[repoKey(change), change] as const]))),
  };
};

// ---- verdicts ---------------------------------------------------------------------------------------------------

/** Versions of a package in the images of groups. */
interface Held {
  readonly installed: InstalledPackage;
  /** Names that advisories may call it: its own, and of a distribution's package its origin's. */
  readonly names: readonly string[];
  /** The groups that have each version. */
  readonly versions: Map<string, Set<string>>;
}

const namesOf = ({ type, name, origin }: InstalledPackage, origins: ReadonlyMap<string, string>): string[] => {
  const others = type === "apk" ? [origins.get(name) ?? name] : [packageNameKeyOfType(type, name)];
  return [...new Set([name, ...others, ...(origin === "" ? [] : [origin])])];
};

/** What the images of these repos are made of, by the packages' labels. */
const findHeld = async (rows: Write, repos: readonly ImageRepo[]): Promise<Map<string, Held>> => {
  const found = await findInstalledVersions(rows, repos);
  const packages = new Map(found.map(({ name }) => [name, installedPackageOf(name)]));
  const origins = await findOrigins(
    rows,
    [...packages.values()].filter(({ type }) => type === "apk").map(({ name }) => name),
  );
  const held = new Map(
    [...packages].map(([label, installed]): [string, Held] => [label, { installed, names: namesOf(installed, origins), versions: new Map() }]),
  );
  for (const { owner, name, version } of found) {
    const versions = held.get(name)?.versions;
    const groups = versions?.get(version);
    if (groups) groups.add(owner);
    else versions?.set(version, new Set([owner]));
  }
  return held;
};

/** An advisory counts for its own group and those below it; a published one for everybody. */
const isAdvisoryFor = (owner: string, { uid, isPublic }: MatchableAdvisory): boolean => isPublic || covers(parentOf(uid), owner);

interface Affecting {
  readonly advisory: MatchableAdvisory;
  readonly verdict: PackageVerdict;
  /** False positives of the organization about it. */
  readonly suppressors: readonly Suppressor[];
}

const versionKey = (owner: string, name: string, version: string): string => JSON.stringify([owner, name, version]);

/** Which advisories say what of these versions, by versionKey. Of as many packages at a time as have few enough advisories. */
const findAffecting = async (rows: Write, root: string, held: ReadonlyMap<string, Held>): Promise<Map<string, Affecting[]>> => {
  const byName = new Map<string, Held[]>();
  for (const each of held.values()) {
    for (const name of each.names) {
      const known = byName.get(name);
      if (known) known.push(each);
      else byName.set(name, [each]);
    }
  }
  const groups = new Set([...held.values()].flatMap(({ versions }) => [...versions.values()].flatMap((owners) => [...owners].flatMap(ancestry))));
  const suppressorsFor = await openSuppressors(rows, root);
  const found = new Map<string, Affecting[]>();
  const names = [...byName.keys()];
  for (let from = 0; from < names.length; from += limits.matchedNames) {
    const advisories = await findMatchable(rows, root, [...groups], names.slice(from, from + limits.matchedNames));
    for await (const [advisory, judge] of judgesOf(rows, advisories)) {
      for (const { installed, names: own, versions } of byName.get(advisory.artifactName) ?? []) {
        if (installed.type !== advisory.artifactType) continue;
        const suppressors = suppressorsFor(advisory, installed, own);
        for (const [version, owners] of versions) {
          const verdict = judge(installed, version);
          if (!verdict) continue;
          for (const owner of owners) {
            if (!isAdvisoryFor(owner, advisory)) continue;
            const key = versionKey(owner, installed.label, version);
            const known = found.get(key);
            const affecting = { advisory, verdict, suppressors: suppressors.filter(({ uid }) => covers(parentOf(uid), owner)) };
            if (known) known.push(affecting);
            else found.set(key, [affecting]);
          }
        }
      }
    }
  }
  return found;
};

// ---- false positives of the organization ------------------------------------------------------------------------

/** Whether an authored advisory is about the package in an image. */
const isAboutPackage = ({ artifactName, artifactType, distribution }: Suppressor, installed: InstalledPackage, names: readonly string[]): boolean => {
  if (artifactType !== installed.type || !names.some((name) => name === artifactName || name === packageNameKeyOfType(artifactType, artifactName)))
    return false;
  return isOfDistribution(distribution, installed);
};

const basisOf = ({ suppression = {} }: Suppressor): JsonObject => part(suppression, "basis");

/** Finds the false positives about an advisory in a package: those whose reviewers saw the advisory as it is now. */
const openSuppressors = async (rows: Write, root: string) => {
  const all = await findSuppressors(rows, root);
  const seen = all.flatMap((each) => Object.keys(basisOf(each)));
  const now = seen.length === 0 ? new Map<string, string>() : await findFingerprintsOf(rows, [...new Set(seen)]);
  return ({ uid, advisoryId, aliases }: MatchableAdvisory, installed: InstalledPackage, names: readonly string[]): readonly Suppressor[] => {
    const fingerprint = now.get(uid);
    if (fingerprint === undefined) return none;
    const numbers = new Set([advisoryId, ...aliases]);
    return all.filter(
      (each) => basisOf(each)[uid] === fingerprint && each.aliases.some((alias) => numbers.has(alias)) && isAboutPackage(each, installed, names),
    );
  };
};

const none: readonly Suppressor[] = [];

const isForMachine = (architecture: string, machine: string): boolean => architecture === "" || architectureOf(architecture) === machine;

const suppressionMessage = ({ uid, advisoryId, suppression = {} }: Suppressor): JsonObject => ({
  advisoryUid: uid,
  advisoryId,
  eventUid: text(suppression, "eventUid"),
  author: text(suppression, "author"),
  reviewer: text(suppression, "reviewer"),
  type: text(suppression, "type"),
  ...(text(suppression, "note") === "" ? {} : { note: text(suppression, "note") }),
});

// ---- rows -------------------------------------------------------------------------------------------------------

/** A package of an image, in one version. */
interface ImagePackage {
  readonly image: TaggedImage;
  /** The image's digest, or where no tag has it, that of what it is made of. */
  readonly identity: string;
  readonly name: string;
  readonly version: string;
  readonly tags: Set<string>;
  readonly architectures: Set<string>;
}

/** An image is what a digest says, whatever tags and architectures have it. */
const packagesOf = (images: readonly TaggedImage[], affecting: ReadonlyMap<string, Affecting[]>): ImagePackage[] => {
  const found = new Map<string, ImagePackage>();
  for (const image of images) {
    const identity = image.digest === "" ? image.packagesDigest : image.digest;
    const versions = Object.entries(JSON.parse(image.packages) as Record<string, string | string[]>);
    for (const [name, version] of versions.flatMap(([each, some]) => [some].flat().map((one): [string, string] => [each, one]))) {
      if (!affecting.has(versionKey(image.owner, name, version))) continue;
      const key = JSON.stringify([image.owner, image.repo, identity, name, version]);
      const known = found.get(key) ?? { image, identity, name, version, tags: new Set<string>(), architectures: new Set<string>() };
      found.set(key, known);
      known.tags.add(image.tag);
      known.architectures.add(image.architecture);
    }
  }
  return [...found.values()];
};

const draftsOf = (packages: readonly ImagePackage[], affecting: ReadonlyMap<string, Affecting[]>): AffectedImageDraft[] => {
  const drafts = new Map<string, AffectedImageDraft>();
  for (const { image, identity, name, version, tags, architectures } of packages) {
    const { owner, repo, repoUid, digest } = image;
    for (const { advisory, verdict, suppressors } of affecting.get(versionKey(owner, name, version)) ?? []) {
      const machines = [...architectures].filter((each) => verdict.isFor?.(each) ?? true);
      if (machines.length === 0) continue;
      // One that is about a single architecture says nothing of the others.
      const suppressor = suppressors.find(({ artifactArchitecture }) => machines.every((each) => isForMachine(artifactArchitecture, each)));
      const state = verdict.state === "affected" ? "AFFECTED_IMAGE_STATE_AFFECTED" : "AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION";
      const uid = affectedImageUid(owner, repo, identity, name, version, advisory.uid);
      drafts.set(uid, {
        uid,
        owner,
        repo,
        repoUid,
        tags: [...tags].sort(),
        digest,
        architectures: machines.sort(),
        packageName: name,
        installedVersion: version,
        fixedVersion: verdict.fixedVersion,
        advisoryId: advisory.advisoryId,
        aliases: advisory.aliases,
        advisoryUid: advisory.uid,
        state: suppressor ? "AFFECTED_IMAGE_STATE_SUPPRESSED" : state,
        suppression: suppressor ? JSON.stringify(suppressionMessage(suppressor)) : "",
      });
    }
  }
  // In one order, so that an event names the same images each time.
  return [...drafts.values()].sort((one, other) => (one.uid < other.uid ? -1 : 1));
};

/** Repos whose images are read together. */
const chunksOf = function* (repos: readonly SizedRepo[]): Generator<ImageRepo[]> {
  let chunk: ImageRepo[] = [];
  let images = 0;
  for (const each of repos) {
    chunk.push(each);
    images += each.images;
    if (images < limits.matchedImages) continue;
    yield chunk;
    [chunk, images] = [[], 0];
  }
  if (chunk.length > 0) yield chunk;
};

/** Images that became affected, or that a false positive suppresses from now on, by advisory and false positive. */
class Newly {
  readonly groups = new Map<
    string,
    {
      readonly advisoryId: string;
      readonly aliases: readonly string[];
      readonly suppression: string;
      readonly images: Map<string, AffectedImageDraft>;
      count: number;
    }
  >();

  /** All that is new of some repos; never again of these. */
  add(drafts: readonly AffectedImageDraft[]): void {
    const images = new Map<string, Map<string, AffectedImageDraft>>();
    for (const draft of drafts) {
      const { advisoryId, aliases, suppression } = draft;
      const key = JSON.stringify([advisoryId, suppression]);
      const of = images.get(key) ?? new Map<string, AffectedImageDraft>();
      images.set(key, of);
      of.set(JSON.stringify([draft.owner, draft.repo, draft.digest, draft.tags]), draft);
      if (!this.groups.has(key)) this.groups.set(key, { advisoryId, aliases, suppression, images: new Map(), count: 0 });
    }
    for (const [key, found] of images) {
      const known = this.groups.get(key);
      if (!known) continue;
      known.count += found.size;
      for (const [image, draft] of found) if (known.images.size < limits.toldDigestsMax) known.images.set(image, draft);
    }
  }
}

/** Rows of one statement. */
const slicesOf = <T>(rows: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(rows.length / limits.matchedRows) }, (_, index) => rows.slice(index * limits.matchedRows, (index + 1) * limits.matchedRows));

/**
 * Matches what these repos hold with what advisories say. `before`: what was affected of just that, by uid; what is not found
 * again of it is affected no longer.
 */
const matchHeld = async (
  rows: Write,
  root: string,
  repos: readonly SizedRepo[],
  held: ReadonlyMap<string, Held>,
  before: Map<string, HeldRow>,
  nowMs: number,
  newly: Newly,
): Promise<void> => {
  const affecting = await findAffecting(rows, root, held);
  const affectedLabels = [...held].flatMap(([label, { versions }]) =>
    [...versions].some(([version, owners]) => [...owners].some((owner) => affecting.has(versionKey(owner, label, version)))) ? [label] : [],
  );
  for (const chunk of chunksOf(repos)) {
    const images = affectedLabels.length > 0 ? await findTaggedImages(rows, chunk, affectedLabels) : [];
    const drafts = draftsOf(packagesOf(images, affecting), affecting);
    newly.add(drafts.filter(({ uid, suppression }) => before.get(uid)?.isSuppressed !== (suppression !== "")));
    for (const { uid } of drafts) before.delete(uid);
    for (const some of slicesOf(drafts)) await writeAffectedImages(rows, some, nowMs);
  }
  for (const some of slicesOf([...before.keys()])) await endAffectedImages(rows, some, nowMs);
};

/** Writes of which ecosystems the images of these repos have packages. `given`: all that were asked for, also those without images. */
const writeEcosystems = async (rows: Write, given: readonly ImageRepo[], sized: readonly SizedRepo[], held: ReadonlyMap<string, Held>): Promise<void> => {
  const ecosystems = new Map([...held].map(([label, { installed }]) => [label, ecosystemKey(imageEcosystemOf(installed))]));
  const known = new Set(sized.map(repoKey));
  await writeImageCoverage(
    rows,
    given.filter((each) => !known.has(repoKey(each))),
    [],
  );
  for (const chunk of chunksOf(sized)) {
    const images = await findImageEcosystems(rows, chunk, ecosystems);
    await writeImageCoverage(
      rows,
      chunk,
      images.map((image) => ({ ...image, ecosystems: boundedEcosystems(image.ecosystems) })),
    );
  }
};

const matchOrganization = async (rows: Write, root: string, { isWhole, names, repos }: Matching, nowMs: number): Promise<Newly> => {
  const newly = new Newly();
  if (isWhole) {
    const all = await findImageRepos(rows, root);
    const held = await findHeld(rows, all);
    await matchHeld(rows, root, all, held, await findAffectedRepos(rows, root), nowMs, newly);
    await deleteImageCoverageExcept(rows, root, all);
    await writeEcosystems(rows, all, all, held);
    await refreshAdvisoryCoverage(rows, root);
    return newly;
  }
  if (repos.size > 0) {
    const changed = await countImagesOf(rows, [...repos.values()]);
    const held = await findHeld(rows, changed);
    await matchHeld(rows, root, changed, held, await findAffectedByRepos(rows, root, [...repos.values()]), nowMs, newly);
    await writeEcosystems(rows, [...repos.values()], changed, held);
    await refreshAdvisoryCoverage(rows, root);
  }
  if (names.size === 0) return newly;
  const others = (await findImageRepos(rows, root)).filter((each) => !repos.has(repoKey(each)));
  const held = new Map([...(await findHeld(rows, others))].filter(([, each]) => each.names.some((name) => names.has(name))));
  if (held.size === 0) return newly;
  const before = await findAffectedByPackages(rows, root, [...held.keys()]);
  for (const [uid, of] of before) if (repos.has(repoKey(of))) before.delete(uid);
  await matchHeld(rows, root, others, held, before, nowMs, newly);
  return newly;
};

// ---- events -----------------------------------------------------------------------------------------------------

interface Telling {
  readonly operation: string;
  readonly requestId: string;
}

/** One event for each advisory, to the organization alone. */
const tell = async (rows: Write, services: Services, root: string, { operation, requestId }: Telling, { groups }: Newly): Promise<void> => {
  const cause: Cause = {
    operation,
    requestId,
    actor: { subject: operatorUid },
    bindings: () => [],
    origin: () => ({ address: "", userAgent: "gantry import" }),
  };
  for (const { advisoryId, aliases, suppression, images, count } of groups.values()) {
    const body: JsonObject = {
      organizationUid: root,
      advisoryId,
      aliases: [...aliases],
      images: [...images.values()].map(({ repo, repoUid, digest, tags }): Json => ({ repo, repoUid, digest, tags: [...tags] })),
      imageCount: count,
      furtherCount: Math.max(0, count - limits.toldDigestsMax),
      ...(suppression === "" ? {} : { suppression: JSON.parse(suppression) as JsonObject }),
    };
    await record(rows, toldEvent(services, suppression === "" ? affectedMessage : suppressedMessage, body, cause, count));
  }
};

/** The repos whose images have changed, or what affects them. */
const reposToReport = async (rows: Write, root: string, { isWhole, repos }: Matching, nowMs: number): Promise<ImageRepo[]> => {
  if (isWhole) return findImageRepos(rows, root);
  const all = [...repos.values(), ...(await findReposChangedSince(rows, root, nowMs))];
  return [...new Map(all.map(({ owner, repo }) => [repoKey({ owner, repo }), { owner, repo }])).values()];
};

/** Matches one organization; false where that failed. */
const matchRoot = async (services: Services, root: string, matching: Matching, telling: Telling): Promise<boolean> => {
  const { store, clock, log } = services;
  try {
    await store.write(async (rows) => {
      await lockMatching(rows, root);
      const nowMs = clock();
      if (matching.isWhole) await markMatched(rows, root);
      await tell(rows, services, root, telling, await matchOrganization(rows, root, matching, nowMs));
      await writeOwnReports(rows, services, root, await reposToReport(rows, root, matching, nowMs), nowMs);
    });
    return true;
  } catch (cause) {
    log("images.unmatched", { organization: root, cause });
    return false;
  }
};

/** Matches all images of one organization; false where that failed. */
export const matchImagesOf = (services: Services, root: string, telling: Telling): Promise<boolean> =>
  matchRoot(services, root, { isWhole: true, names: new Set(), repos: new Map() }, telling);

/**
 * Matches the images of all organizations with what has changed. What fails of one keeps back no other, and is made up for
 * behind the next import. `ofTags`: only what tags have changed by themselves, and what fails of it with the next such look.
 */
export const matchImages = async (
  services: Services,
  telling: Telling,
  { ofTags = false, goOn = async () => {} }: { readonly ofTags?: boolean; readonly goOn?: () => Promise<void> } = {},
): Promise<void> => {
  const { store } = services;
  // What fails is written down again with each deletion, so that nothing is ever forgotten in between.
  const failed = new Set<string>();
  for (let isLast = false; !isLast; ) {
    const changes = await findChangesToMatch(store.read, limits.matchedChanges, ofTags);
    isLast = changes.length < limits.matchedChanges;
    if (ofTags && changes.length === 0) return;
    for (const root of changes.length > 0 ? await findImageRoots(store.read) : []) {
      await goOn();
      const matching = failed.has(root) ? undefined : matchingOf(root, changes);
      if (matching && !(await matchRoot(services, root, matching, telling))) failed.add(root);
    }
    await store.write(async (rows) => {
      await deleteChangesToMatch(
        rows,
        changes.map(({ id }) => id),
      );
      for (const root of failed) await addOrganizationToMatch(rows, root, ofTags);
    });
  }
};
