// The step behind an import of images, of advisories or of a registry: which images of each organization are affected now
// (docs/decisions/0026). It looks at everything an organization has, one transaction for each, so that one that is cut off
// is made up for by the next import, and one that finds nothing new writes nothing.

import { operatorUid } from "#authz";
import type { Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { ancestry, covers, parentOf } from "#base/uid.ts";
import type { Services } from "#kernel";
import { record } from "#outbox";
import {
  type AffectedVersion,
  deleteResolvedBefore,
  findImageRoots,
  findInstalledVersions,
  findMatchable,
  findOrigins,
  findSourceDocuments,
  lockMatching,
  markMatched,
  type MatchableAdvisory,
  type NewlyAffected,
  writeAffectedImages,
  type Write,
} from "#store";
import { rustsecOsvRecord, UnsaidError } from "./documents/rustsec-osv.ts";
import { type InstalledPackage, installedPackageOf, judgeByEvents, judgeByRanges, type PackageVerdict } from "./judge-package.ts";
import { valueOfStored } from "./stored-document.ts";

export const affectedType = "dev.gantry.images.affected.v1";

/** Versions of a package in the images of groups. */
interface Held {
  readonly installed: InstalledPackage;
  /** Names that advisories may call it: its own, and of a distribution's package its origin's. */
  readonly names: readonly string[];
  /** The groups that have each version. */
  readonly versions: Map<string, Set<string>>;
}

const namesOf = ({ type, name, origin }: InstalledPackage, origins: ReadonlyMap<string, string>): string[] => {
  // PyPI's names are the same however they are written (PEP 503).
  const others = type === "pypi" ? [name.toLowerCase().replace(/[-_.]+/g, "-")] : type === "apk" ? [origins.get(name) ?? name] : [];
  return [...new Set([name, ...others, ...(origin === "" ? [] : [origin])])];
};

const findHeld = async (rows: Write, root: string): Promise<Map<string, Held>> => {
  const found = await findInstalledVersions(rows, root);
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

type Judge = (installed: InstalledPackage, version: string) => PackageVerdict | undefined;

const judgeNothing: Judge = () => undefined;

/** What an advisory says by its document, where that has ranges. */
const judgeOfDocument = ({ form, body }: { readonly form: string; readonly body: string }, { artifactName }: MatchableAdvisory): Judge => {
  try {
    const value = valueOfStored(body);
    const osv = form === "rustsec" ? rustsecOsvRecord(value) : value;
    return (installed, version) => judgeByRanges(osv, [artifactName], installed, version);
  } catch (thrown) {
    if (thrown instanceof UnsaidError) return judgeNothing;
    throw thrown;
  }
};

const formsWithRanges = new Set(["osv", "rustsec"]);
/** Their events say from which version on it is fixed. */
const formsWithFixes = new Set(["wolfi", "secdb"]);

/** Wolfi's own advisories say nothing of the packages of other distributions, which have the same names. */
const isOfForm = (form: string, { distribution }: InstalledPackage): boolean => form !== "wolfi" || ["", "wolfi", "chainguard"].includes(distribution);

/** Judges of advisories; documents are read some at a time. */
async function* judgesOf(rows: Write, advisories: readonly MatchableAdvisory[]): AsyncGenerator<readonly [MatchableAdvisory, Judge]> {
  for (const advisory of advisories) {
    // Versions of packages of a distribution alone have one order for all.
    if (formsWithFixes.has(advisory.form) && advisory.artifactType === "apk")
      yield [advisory, (installed, version) => (isOfForm(advisory.form, installed) ? judgeByEvents(advisory.events, version) : undefined)];
  }
  const told = advisories.filter(({ form, documentId }) => formsWithRanges.has(form) && documentId !== "");
  for (let from = 0; from < told.length; from += limits.matchedDocuments) {
    const some = told.slice(from, from + limits.matchedDocuments);
    const documents = new Map((await findSourceDocuments(rows, [...new Set(some.map(({ documentId }) => documentId))])).map((each) => [each.id, each]));
    for (const advisory of some) {
      const document = documents.get(advisory.documentId);
      if (document) yield [advisory, judgeOfDocument(document, advisory)];
    }
  }
}

/** An advisory counts for its own group and those below it; a published one for everybody. */
const isAdvisoryFor = (owner: string, { uid, isPublic }: MatchableAdvisory): boolean => isPublic || covers(parentOf(uid), owner);

const findAffected = async (rows: Write, root: string): Promise<AffectedVersion[]> => {
  const held = await findHeld(rows, root);
  const byName = new Map<string, Held[]>();
  for (const each of held.values()) for (const name of each.names) byName.set(name, [...(byName.get(name) ?? []), each]);
  const groups = new Set([...held.values()].flatMap(({ versions }) => [...versions.values()].flatMap((owners) => [...owners].flatMap(ancestry))));
  const advisories = await findMatchable(rows, root, [...groups], [...byName.keys()]);
  const affected: AffectedVersion[] = [];
  for await (const [advisory, judge] of judgesOf(rows, advisories)) {
    for (const { installed, versions } of byName.get(advisory.artifactName) ?? []) {
      if (installed.type !== advisory.artifactType) continue;
      for (const [version, owners] of versions) {
        const verdict = judge(installed, version);
        if (!verdict) continue;
        for (const owner of owners) {
          if (!isAdvisoryFor(owner, advisory)) continue;
          affected.push({
            owner,
            name: installed.label,
            version,
            state: verdict.state === "affected" ? "AFFECTED_IMAGE_STATE_AFFECTED" : "AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION",
            fixedVersion: verdict.fixedVersion,
            advisoryUid: advisory.uid,
          });
        }
      }
    }
  }
  return affected;
};

interface Telling {
  readonly operation: string;
  readonly requestId: string;
}

/** One event for each advisory, to the organization alone. */
const tell = async (rows: Write, { publicUrl }: Services, root: string, telling: Telling, nowMs: number, newly: readonly NewlyAffected[]): Promise<void> => {
  for (const { advisoryId, aliases, count, images } of newly) {
    await record(rows, {
      type: affectedType,
      source: publicUrl,
      subject: root,
      group: root,
      audience: "customer",
      extensions: { group: root },
      actor: { subject: operatorUid },
      bodyType: "",
      body: {
        advisoryId,
        aliases: [...aliases],
        images: JSON.parse(images) as Json,
        imageCount: count,
        furtherCount: Math.max(0, count - limits.toldDigestsMax),
      },
      requestId: telling.requestId,
      time: timestamp(nowMs),
      auditContext: { operation: telling.operation, bindings: [], origin: { address: "", userAgent: "gantry import" }, count },
    });
  }
};

/** Matches the images of one organization; whoever is told of what is affected is told why by `telling`. */
export const matchImagesOf = async (services: Services, root: string, telling: Telling): Promise<void> => {
  const { store, clock } = services;
  await store.write(async (rows) => {
    await lockMatching(rows, root);
    const nowMs = clock();
    await markMatched(rows, root);
    await tell(rows, services, root, telling, nowMs, await writeAffectedImages(rows, root, await findAffected(rows, root), limits.toldDigestsMax, nowMs));
    await deleteResolvedBefore(rows, root, nowMs - limits.resolvedKeptMs);
  });
};

/**
 * Matches the images of all organizations with what is known of their packages. What fails of one keeps back no other, and
 * is made up for behind the next import.
 */
export const matchImages = async (services: Services, telling: Telling, goOn: () => Promise<void> = async () => {}): Promise<void> => {
  for (const root of await findImageRoots(services.store.read)) {
    await goOn();
    await matchImagesOf(services, root, telling).catch((cause: unknown) => services.log("images.unmatched", { organization: root, cause }));
  }
};
