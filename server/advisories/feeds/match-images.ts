// Matches images with advisories after an import (docs/decisions/0026), in one transaction for each organization. Changed
// advisories are matched with their packages in all images, changed images with all their packages. The next import catches up on
// failures. Without changes nothing is written.

import { type Json, type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ancestry, covers, parentOf } from "#base/uid.ts";
import { packageNameKeyOfType } from "#base/versions/package-name.ts";
import { type Services, toldEvent } from "#kernel";
import { record } from "#outbox";
import {
  addOrganizationToMatch,
  addPackageLabels,
  type CoveredImage,
  countDeferredFindings,
  countImagesOf,
  countOpenedFindings,
  countResolvedFindings,
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
  type FindingDecision,
  findSuppressors,
  type HeldRow,
  type Suppressor,
  findImageRoots,
  findInstalledVersions,
  findVersionsOf,
  type InstalledVersion,
  findMatchable,
  findOrigins,
  findPackageLabels,
  findPackageNames,
  findTaggedImages,
  lockMatching,
  markMatched,
  type OpenedRows,
  refreshAdvisoryCoverage,
  replacePackageLabels,
  type MatchableAdvisory,
  type ImageRepo,
  type SizedRepo,
  type TaggedImage,
  writeAffectedImages,
  writeImageCoverage,
  type WrittenRow,
} from "#advisories/store";
import type { Write } from "#db";
import { writeOwnReports } from "./reports/own-reports.ts";
import { architectureOf } from "./judge-statements.ts";
import { judgesOf } from "./judge-advisory.ts";
import { countingDecision, decisionMessage, openDecisions, suppresses } from "./counting-decisions.ts";
import { type CountingStatement, openTrustedStatements, statementMessage } from "./trusted-statements.ts";
import { backgroundCause, FindingDigests } from "./finding-events.ts";
import { openFindingFacts } from "./finding-facts.ts";
import { boundedEcosystems, ecosystemKey, imageEcosystemOf } from "./coverage.ts";
import { type InstalledPackage, installedPackageOf, isOfDistribution, type PackageVerdict } from "./judge-package.ts";

const affectedMessage = "gantry.images.v1.ImagesAffected";
const suppressedMessage = "gantry.images.v1.ImagesSuppressed";

// ---- changes ----------------------------------------------------------------------------------------------------

interface Matching {
  /** Match everything. */
  readonly isWhole: boolean;
  /** Packages of changed advisories. */
  readonly names: ReadonlySet<string>;
  /** Repositories with changed images, by repoKey. */
  readonly repos: ReadonlyMap<string, ImageRepo>;
}

const repoKey = ({ owner, repo }: ImageRepo): string => JSON.stringify([owner, repo]);

/** Returns undefined if there is no work. */
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

interface Held {
  readonly installed: InstalledPackage;
  /** The package's name, and the source package of a distribution package. */
  readonly names: readonly string[];
  /** The groups that have each version. */
  readonly versions: Map<string, Set<string>>;
}

const namesOf = ({ type, name, origin }: InstalledPackage, origins: ReadonlyMap<string, string>): string[] => {
  const others = type === "apk" ? [origins.get(name) ?? name] : [packageNameKeyOfType(type, name)];
  return [...new Set([name, ...others, ...(origin === "" ? [] : [origin])])];
};

/** Returns the packages without their versions. */
const packagesWithNames = async (rows: Write, labels: Iterable<string>): Promise<Map<string, Held>> => {
  const packages = new Map([...labels].map((label) => [label, installedPackageOf(label)]));
  const origins = await findOrigins(
    rows,
    [...packages.values()].filter(({ type }) => type === "apk").map(({ name }) => name),
  );
  return new Map([...packages].map(([label, installed]): [string, Held] => [label, { installed, names: namesOf(installed, origins), versions: new Map() }]));
};

const addVersions = (held: ReadonlyMap<string, Held>, found: readonly InstalledVersion[]): void => {
  for (const { owner, name, version } of found) {
    const versions = held.get(name)?.versions;
    const groups = versions?.get(version);
    if (groups) groups.add(owner);
    else versions?.set(version, new Set([owner]));
  }
};

const findHeld = async (rows: Write, repos: readonly SizedRepo[]): Promise<Map<string, Held>> => {
  const found = new Map<string, InstalledVersion>();
  for (const chunk of chunksOf(repos)) {
    for (const each of await findInstalledVersions(rows, chunk)) found.set(versionKey(each.owner, each.name, each.version), each);
  }
  const held = await packagesWithNames(rows, new Set([...found.values()].map(({ name }) => name)));
  addVersions(held, [...found.values()]);
  return held;
};

/** Returns the names of packages in the organization's images. Too many kept names may be those of images that are gone: then the images are read. */
const findLabels = async (rows: Write, root: string, repos: readonly SizedRepo[]): Promise<readonly string[]> => {
  const kept = await findPackageLabels(rows, root, limits.packageLabelsMax + 1);
  if (kept.length <= limits.packageLabelsMax) return kept;
  const found = new Set<string>();
  for (const chunk of chunksOf(repos)) for (const name of await findPackageNames(rows, chunk)) found.add(name);
  await replacePackageLabels(rows, root, [...found]);
  return [...found];
};

interface HeldInRepos {
  readonly held: ReadonlyMap<string, Held>;
  readonly repos: readonly SizedRepo[];
}

/** Returns the packages of these with one of the names, and the repos that have any of them. */
const findHeldWith = async (rows: Write, labels: readonly string[], repos: readonly SizedRepo[], names: ReadonlySet<string>): Promise<HeldInRepos> => {
  const all = await packagesWithNames(rows, labels);
  const named = new Map([...all].filter(([, each]) => each.names.some((name) => names.has(name))));
  if (named.size === 0) return { held: named, repos: [] };
  const having = new Set<string>();
  for (const chunk of chunksOf(repos)) {
    const found = await findVersionsOf(rows, chunk, [...named.keys()]);
    addVersions(named, found);
    for (const each of found) having.add(repoKey(each));
  }
  return { held: new Map([...named].filter(([, { versions }]) => versions.size > 0)), repos: repos.filter((each) => having.has(repoKey(each))) };
};

/** An advisory applies to its group and those below, a public one everywhere. */
const isAdvisoryFor = (owner: string, { uid, isPublic }: MatchableAdvisory): boolean => isPublic || covers(parentOf(uid), owner);

interface Affecting {
  readonly advisory: MatchableAdvisory;
  readonly verdict: PackageVerdict;
  /** The organization's false positives about the advisory. */
  readonly suppressors: readonly Suppressor[];
  /** The organization's decisions about the advisory, in the order in which they count. */
  readonly decisions: readonly FindingDecision[];
}

const versionKey = (owner: string, name: string, version: string): string => JSON.stringify([owner, name, version]);

/** Returns advisories by versionKey. Reads packages in batches with a bounded number of advisories. */
const findAffecting = async (rows: Write, root: string, held: ReadonlyMap<string, Held>, nowMs: number): Promise<Map<string, Affecting[]>> => {
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
  const readDecisions = await openDecisions(rows, root, nowMs);
  const found = new Map<string, Affecting[]>();
  const names = [...byName.keys()];
  for (let from = 0; from < names.length; from += limits.matchedNames) {
    const advisories = await findMatchable(rows, root, [...groups], names.slice(from, from + limits.matchedNames));
    const decisionsOf = await readDecisions(advisories);
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
            const affecting = {
              advisory,
              verdict,
              suppressors: suppressors.filter(({ uid }) => covers(parentOf(uid), owner)),
              decisions: decisionsOf(advisory),
            };
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

/** Compares type, name and distribution. */
const isAboutPackage = ({ artifactName, artifactType, distribution }: Suppressor, installed: InstalledPackage, names: readonly string[]): boolean => {
  if (artifactType !== installed.type || !names.some((name) => name === artifactName || name === packageNameKeyOfType(artifactType, artifactName)))
    return false;
  return isOfDistribution(distribution, installed);
};

const basisOf = ({ suppression = {} }: Suppressor): JsonObject => part(suppression, "basis");

/** Finds the organization's false positives. Only those reviewed against the advisory's current content count. */
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

interface ImagePackage {
  readonly image: TaggedImage;
  /** The image's digest, or the digest of its packages if no tag has one. */
  readonly identity: string;
  readonly name: string;
  readonly version: string;
  readonly tags: Set<string>;
  readonly architectures: Set<string>;
  /** Digests of the platforms with the package, and their architectures. */
  readonly platforms: Map<string, string>;
  isFromLayers: boolean;
}

const unqualified = (name: string): string => name.split("?", 1)[0] ?? "";

/**
 * Leaves out what an SBOM names and the layers show: the names of the same package may differ in the distribution or the source package
 * that the author of the SBOM knew.
 */
const withoutRepeated = (packages: readonly ImagePackage[]): ImagePackage[] => {
  const keyOf = ({ image, identity, name, version }: ImagePackage): string => JSON.stringify([image.owner, image.repo, identity, unqualified(name), version]);
  const shown = new Map<string, Set<string>>();
  for (const each of packages) {
    if (each.isFromLayers) shown.set(keyOf(each), (shown.get(keyOf(each)) ?? new Set()).union(each.architectures));
  }
  return packages.filter((each) => each.isFromLayers || !each.architectures.isSubsetOf(shown.get(keyOf(each)) ?? new Set()));
};

/** Groups by digest: an image may have several tags and architectures. */
const packagesOf = (images: readonly TaggedImage[], affecting: ReadonlyMap<string, Affecting[]>): ImagePackage[] => {
  const found = new Map<string, ImagePackage>();
  for (const image of images) {
    const identity = image.digest === "" ? image.packagesDigest : image.digest;
    const versions = Object.entries(JSON.parse(image.packages) as Record<string, string | string[]>);
    for (const [name, version] of versions.flatMap(([each, some]) => [some].flat().map((one): [string, string] => [each, one]))) {
      if (!affecting.has(versionKey(image.owner, name, version))) continue;
      const key = JSON.stringify([image.owner, image.repo, identity, name, version]);
      const fresh = { tags: new Set<string>(), architectures: new Set<string>(), platforms: new Map<string, string>(), isFromLayers: false };
      const known = found.get(key) ?? { image, identity, name, version, ...fresh };
      found.set(key, known);
      known.isFromLayers ||= image.fromLayers;
      known.tags.add(image.tag);
      known.architectures.add(image.architecture);
      known.platforms.set(image.platformDigest, image.architecture);
    }
  }
  return withoutRepeated([...found.values()]);
};

/** The statement of a trusted source counts only without a decision of the organization. */
const draftsOf = (
  packages: readonly ImagePackage[],
  affecting: ReadonlyMap<string, Affecting[]>,
  countingStatement: CountingStatement,
): AffectedImageDraft[] => {
  const drafts = new Map<string, AffectedImageDraft>();
  for (const { image, identity, name, version, tags, architectures, platforms } of packages) {
    const { owner, repo, repoUid, digest } = image;
    for (const { advisory, verdict, suppressors, decisions } of affecting.get(versionKey(owner, name, version)) ?? []) {
      const machines = [...architectures].filter((each) => verdict.isFor?.(each) ?? true);
      if (machines.length === 0) continue;
      // A false positive for one architecture does not cover the others.
      const suppressor = suppressors.find(({ artifactArchitecture }) => machines.every((each) => isForMachine(artifactArchitecture, each)));
      const judged = verdict.state === "affected" ? "AFFECTED_IMAGE_STATE_AFFECTED" : "AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION";
      const undecidedState = suppressor ? "AFFECTED_IMAGE_STATE_SUPPRESSED" : judged;
      const decision = countingDecision(decisions, { image, packageName: name, tags });
      const affected = [...platforms].flatMap(([platform, architecture]) => (machines.includes(architecture) ? [platform] : []));
      const statement = decision ? undefined : countingStatement({ image, name, version, platforms: affected }, advisory);
      const decided = decision ? decisionMessage(decision) : statement && statementMessage(statement);
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
        state: statement || (decision && suppresses(decision)) ? "AFFECTED_IMAGE_STATE_SUPPRESSED" : undecidedState,
        wontFix: verdict.wontFix ?? false,
        suppression: suppressor ? JSON.stringify(suppressionMessage(suppressor)) : "",
        decision: decided ? JSON.stringify(decided) : "",
        undecidedState: decided ? undecidedState : "",
        decidedUntil: decision?.expireTime ?? "",
      });
    }
  }
  // Sorted, so that events list images in a stable order.
  return [...drafts.values()].sort((one, other) => (one.uid < other.uid ? -1 : 1));
};

const isSuppressed = ({ state }: AffectedImageDraft): boolean => state === "AFFECTED_IMAGE_STATE_SUPPRESSED";

/** Splits repositories into batches of a bounded number of images. */
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

/** Newly affected or suppressed images, by advisory, false positive and decision. */
class Newly {
  readonly digests = new FindingDigests();
  readonly groups = new Map<
    string,
    {
      readonly advisoryId: string;
      readonly aliases: readonly string[];
      readonly suppression: string;
      /** Only if it suppresses the match, as `suppression`. */
      readonly decision: string;
      readonly images: Map<string, AffectedImageDraft>;
      count: number;
    }
  >();

  /** Call once for each repository. */
  add(drafts: readonly AffectedImageDraft[]): void {
    const images = new Map<string, Map<string, AffectedImageDraft>>();
    for (const draft of drafts) {
      const { advisoryId, aliases } = draft;
      const [suppression, decision] = isSuppressed(draft) ? [draft.suppression, draft.decision] : ["", ""];
      const key = JSON.stringify([advisoryId, suppression, decision]);
      const of = images.get(key) ?? new Map<string, AffectedImageDraft>();
      images.set(key, of);
      of.set(JSON.stringify([draft.owner, draft.repo, draft.digest, draft.tags]), draft);
      if (!this.groups.has(key)) this.groups.set(key, { advisoryId, aliases, suppression, decision, images: new Map(), count: 0 });
    }
    for (const [key, found] of images) {
      const known = this.groups.get(key);
      if (!known) continue;
      known.count += found.size;
      for (const [image, draft] of found) if (known.images.size < limits.toldDigestsMax) known.images.set(image, draft);
    }
  }
}

const slicesOf = <T>(rows: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(rows.length / limits.matchedRows) }, (_, index) => rows.slice(index * limits.matchedRows, (index + 1) * limits.matchedRows));

/** Returns the written rows that are open and were not before. */
const openedRows = (drafts: readonly AffectedImageDraft[], written: readonly WrittenRow[], before: ReadonlyMap<string, HeldRow>): OpenedRows => {
  const open = new Set(drafts.filter((draft) => !isSuppressed(draft)).map(({ uid }) => uid));
  const opened = written.filter(({ uid }) => open.has(uid));
  const uidsOf = (rows: readonly WrittenRow[]): string[] => rows.map(({ uid }) => uid);
  return {
    made: uidsOf(opened.filter(({ isNew }) => isNew)),
    returned: uidsOf(opened.filter(({ uid, isNew }) => !isNew && !before.has(uid))),
    released: uidsOf(opened.filter(({ uid }) => before.get(uid)?.isSuppressed === true)),
  };
};

/** `before` has the affected rows for exactly these packages, by uid; those not found again are removed. */
const matchHeld = async (
  rows: Write,
  root: string,
  repos: readonly SizedRepo[],
  held: ReadonlyMap<string, Held>,
  before: Map<string, HeldRow>,
  nowMs: number,
  newly: Newly,
): Promise<void> => {
  const affecting = await findAffecting(rows, root, held, nowMs);
  const advisories = [...new Set([...affecting.values()].flatMap((each) => each.map(({ advisory }) => advisory)))];
  const readStatements = await openTrustedStatements(rows, root);
  const readFacts = openFindingFacts(rows, root);
  const affectedLabels = [...held].flatMap(([label, { versions }]) =>
    [...versions].some(([version, owners]) => [...owners].some((owner) => affecting.has(versionKey(owner, label, version)))) ? [label] : [],
  );
  for (const chunk of chunksOf(repos)) {
    const images = affectedLabels.length > 0 ? await findTaggedImages(rows, chunk, affectedLabels) : [];
    const drafts = draftsOf(packagesOf(images, affecting), affecting, await readStatements(images, advisories));
    newly.add(drafts.filter((draft) => before.get(draft.uid)?.isSuppressed !== isSuppressed(draft)));
    for (const some of slicesOf(drafts)) {
      const written = await writeAffectedImages(rows, some, await readFacts(some), nowMs);
      newly.digests.add(await countOpenedFindings(rows, openedRows(some, written, before)));
    }
    for (const { uid } of drafts) before.delete(uid);
  }
  for (const some of slicesOf([...before.keys()])) await endAffectedImages(rows, some, nowMs);
  const resolved = [...before].flatMap(([uid, row]) => (row.isSuppressed ? [] : [uid]));
  for (const some of slicesOf(resolved)) newly.digests.add(await countResolvedFindings(rows, some));
};

/** An image has the packages of its layers and of all its SBOMs. An SBOM says what could not be read in the layers. */
const coveredImageOf = (sources: readonly CoveredImage[]): CoveredImage[] =>
  sources.slice(0, 1).map((image) => ({
    ...image,
    ecosystems: boundedEcosystems([...new Set(sources.flatMap(({ ecosystems }) => ecosystems))].sort()),
    partlyRead: sources.every(({ partlyRead }) => partlyRead),
  }));

/** `given` includes repositories without images. */
const writeEcosystems = async (rows: Write, given: readonly ImageRepo[], sized: readonly SizedRepo[], held: ReadonlyMap<string, Held>): Promise<void> => {
  const ecosystems = new Map([...held].map(([label, { installed }]) => [label, ecosystemKey(imageEcosystemOf(installed))]));
  const known = new Set(sized.map(repoKey));
  await writeImageCoverage(
    rows,
    given.filter((each) => !known.has(repoKey(each))),
    [],
  );
  for (const chunk of chunksOf(sized)) {
    const images = Map.groupBy(await findImageEcosystems(rows, chunk, ecosystems), ({ owner, repo, tag, architecture }) =>
      JSON.stringify([owner, repo, tag, architecture]),
    );
    await writeImageCoverage(rows, chunk, [...images.values()].flatMap(coveredImageOf));
  }
};

const matchOrganization = async (rows: Write, root: string, { isWhole, names, repos }: Matching, nowMs: number): Promise<Newly> => {
  const newly = new Newly();
  if (isWhole) {
    const all = await findImageRepos(rows, root);
    const held = await findHeld(rows, all);
    await replacePackageLabels(rows, root, [...held.keys()]);
    await matchHeld(rows, root, all, held, await findAffectedRepos(rows, root), nowMs, newly);
    await deleteImageCoverageExcept(rows, root, all);
    await writeEcosystems(rows, all, all, held);
    await refreshAdvisoryCoverage(rows, root);
    return newly;
  }
  if (repos.size > 0) {
    const changed = await countImagesOf(rows, [...repos.values()]);
    const held = await findHeld(rows, changed);
    await addPackageLabels(rows, root, [...held.keys()]);
    await matchHeld(rows, root, changed, held, await findAffectedByRepos(rows, root, [...repos.values()]), nowMs, newly);
    await writeEcosystems(rows, [...repos.values()], changed, held);
    await refreshAdvisoryCoverage(rows, root);
  }
  if (names.size === 0) return newly;
  const all = await findImageRepos(rows, root);
  const others = all.filter((each) => !repos.has(repoKey(each)));
  const { held, repos: having } = await findHeldWith(rows, await findLabels(rows, root, all), others, names);
  if (held.size === 0) return newly;
  const before = await findAffectedByPackages(rows, root, [...held.keys()]);
  for (const [uid, of] of before) if (repos.has(repoKey(of))) before.delete(uid);
  await matchHeld(rows, root, having, held, before, nowMs, newly);
  return newly;
};

// ---- events -----------------------------------------------------------------------------------------------------

interface Telling {
  readonly operation: string;
  readonly requestId: string;
}

/** Records the digests of groups, and one event for each advisory, visible to the organization only. */
const tell = async (
  rows: Write,
  services: Services,
  root: string,
  { operation, requestId }: Telling,
  { groups, digests }: Newly,
  nowMs: number,
): Promise<void> => {
  const cause = backgroundCause(operation, requestId);
  digests.add(await countDeferredFindings(rows, root));
  await digests.record(rows, services, cause, nowMs);
  for (const { advisoryId, aliases, suppression, decision, images, count } of groups.values()) {
    const isNowSuppressed = suppression !== "" || decision !== "";
    const body: JsonObject = {
      organizationUid: root,
      advisoryId,
      aliases: [...aliases],
      images: [...images.values()].map(({ repo, repoUid, digest, tags }): Json => ({ repo, repoUid, digest, tags: [...tags] })),
      imageCount: count,
      furtherCount: Math.max(0, count - limits.toldDigestsMax),
      ...(suppression === "" ? {} : { suppression: JSON.parse(suppression) as JsonObject }),
      ...(decision === "" ? {} : { decision: JSON.parse(decision) as JsonObject }),
    };
    await record(rows, toldEvent(services, isNowSuppressed ? suppressedMessage : affectedMessage, body, cause, count));
  }
};

/** Returns repositories with changed images or matches. */
const reposToReport = async (rows: Write, root: string, { isWhole, repos }: Matching, nowMs: number): Promise<ImageRepo[]> => {
  if (isWhole) return findImageRepos(rows, root);
  const all = [...repos.values(), ...(await findReposChangedSince(rows, root, nowMs))];
  return [...new Map(all.map(({ owner, repo }) => [repoKey({ owner, repo }), { owner, repo }])).values()];
};

/** Matches one organization; returns false on failure. */
const matchRoot = async (services: Services, root: string, matching: Matching, telling: Telling): Promise<boolean> => {
  const { store, clock, log } = services;
  try {
    await store.write(async (rows) => {
      await lockMatching(rows, root);
      const nowMs = clock();
      if (matching.isWhole) await markMatched(rows, root);
      await tell(rows, services, root, telling, await matchOrganization(rows, root, matching, nowMs), nowMs);
      await writeOwnReports(rows, services, root, await reposToReport(rows, root, matching, nowMs), nowMs);
    });
    return true;
  } catch (cause) {
    log("images.unmatched", { organization: root, cause });
    return false;
  }
};

/** Matches all images of one organization; returns false on failure. */
export const matchImagesOf = (services: Services, root: string, telling: Telling): Promise<boolean> =>
  matchRoot(services, root, { isWhole: true, names: new Set(), repos: new Map() }, telling);

/**
 * Matches all organizations with pending changes. A failure does not affect others, and is retried after the next import.
 * `ofTags` limits this to moved tags; failures are then retried on the next such run.
 */
export const matchImages = async (
  services: Services,
  telling: Telling,
  { ofTags = false, goOn = async () => {} }: { readonly ofTags?: boolean; readonly goOn?: () => Promise<void> } = {},
): Promise<void> => {
  const { store } = services;
  // Requeued in the transaction that deletes the changes, so that none is lost.
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
