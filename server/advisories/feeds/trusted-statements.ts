// Statements of trusted sources of VEX (docs/decisions/0095): which one counts for a finding that no decision counts for. Matching writes
// it to the finding's row, as a decision.

import type { JsonObject } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { countVexSources, findTrustedStatements, type MatchableAdvisory, type StatedImage, type TaggedImage, type TrustedStatement } from "#advisories/store";
import type { Read } from "#db";

/** Statements without a justification leave the finding open, although OpenVEX calls them not_affected. */
const silences = ({ status, justification }: TrustedStatement): boolean => status === "fixed" || (status === "not_affected" && justification !== "");

/** A name instead of a digest must be that of the repo; package URLs without version match each version. */
const isAbout = ({ productName, packages }: TrustedStatement, { repo }: TaggedImage, packageName: string, version: string): boolean => {
  const [name = ""] = packageName.split("?", 1);
  return (
    (productName === "" || productName === repo.split("/").at(-1)?.toLowerCase()) &&
    (packages.length === 0 || packages.includes(name) || packages.includes(`${name}@${version}`))
  );
};

const latestFirst = (one: TrustedStatement, other: TrustedStatement): number => other.timeMs - one.timeMs || Number(silences(one)) - Number(silences(other));

/**
 * Returns the IDs that a source must state something about. An advisory with several CVE IDs is about several vulnerabilities, and each
 * of them must be stated, unless the statement names the advisory itself.
 */
const neededIds = ({ advisoryId, aliases }: MatchableAdvisory): ReadonlySet<string>[] => {
  const ids = [...new Set([advisoryId, ...aliases])];
  const cves = ids.filter((id) => id.startsWith("CVE-"));
  if (cves.length <= 1) return [new Set(ids)];
  const others = ids.filter((id) => !id.startsWith("CVE-"));
  return cves.map((cve) => new Set([cve, ...others]));
};

/**
 * Of one source: the statement to show, or that the finding stays open, or undefined if it states too little. Each platform with the package
 * must be stated: by itself, or with the whole image.
 */
const verdictOf = (
  statements: readonly TrustedStatement[],
  needed: readonly ReadonlySet<string>[],
  platforms: readonly string[],
): TrustedStatement | "open" | undefined => {
  const latest = needed.flatMap((ids) => {
    const about = statements.filter(({ vulnerability }) => ids.has(vulnerability)).sort(latestFirst);
    return platforms.map((platform) => about.find(({ platformDigest }) => platformDigest === "" || platformDigest === platform));
  });
  if (latest.some((each) => each && !silences(each))) return "open";
  return latest.every((each) => each !== undefined) ? latest.sort((one, other) => (one && other ? latestFirst(one, other) : 0))[0] : undefined;
};

/** The nearest source, then the latest statement. */
const compareSources = (one: TrustedStatement, other: TrustedStatement): number =>
  other.sourceUid.length - one.sourceUid.length || latestFirst(one, other) || (one.sourceUid < other.sourceUid ? -1 : 1);

/** A package of an image, with the digests of the platforms that have it; "" for an unknown one. */
interface StatedPackage {
  readonly image: TaggedImage;
  readonly name: string;
  readonly version: string;
  readonly platforms: readonly string[];
}

export type CountingStatement = (found: StatedPackage, advisory: MatchableAdvisory) => TrustedStatement | undefined;

const imageKey = ({ repoUid, digest }: StatedImage): string => `${repoUid}@${digest}`;

/** Reads which statements count in these images. A finding stays open if the latest statement of any trusted source leaves it open. */
const readTrustedStatements = async (rows: Read, images: readonly TaggedImage[], advisories: readonly MatchableAdvisory[]): Promise<CountingStatement> => {
  const tagged = images.filter(({ repoUid, digest }) => repoUid !== "" && digest !== "");
  const stated = [...new Map(tagged.map(({ repoUid, digest }) => [imageKey({ repoUid, digest }), { repoUid, digest }])).values()];
  const ids = [...new Set(advisories.flatMap(({ advisoryId, aliases }) => [advisoryId, ...aliases]))];
  const found = stated.length === 0 ? [] : await findTrustedStatements(rows, stated, ids);
  const byImage = Map.groupBy(found, imageKey);
  return ({ image, name, version, platforms }, advisory) => {
    const about = byImage.get(imageKey(image))?.filter((each) => isAbout(each, image, name, version)) ?? [];
    if (about.length === 0) return undefined;
    const needed = neededIds(advisory);
    const verdicts = [...Map.groupBy(about, ({ sourceUid }) => sourceUid).values()].map((own) => verdictOf(own, needed, platforms));
    if (verdicts.includes("open")) return undefined;
    return verdicts.filter((each) => each !== undefined && each !== "open").sort(compareSources)[0];
  };
};

type ReadStatements = (images: readonly TaggedImage[], advisories: readonly MatchableAdvisory[]) => Promise<CountingStatement>;

/** Reads nothing for organizations without trusted sources. */
export const openTrustedStatements = async (rows: Read, root: string): Promise<ReadStatements> => {
  const isAnyTrusted = (await countVexSources(rows, root)) > 0;
  return (images, advisories) => (isAnyTrusted ? readTrustedStatements(rows, images, advisories) : Promise.resolve(() => undefined));
};

/** As the message CountingDecision. */
export const statementMessage = (statement: TrustedStatement): JsonObject => {
  const { status, justification, note, sourceUid, source, documentDigest, manifestDigest } = statement;
  return {
    state: "FINDING_DECISION_STATE_NOT_AFFECTED",
    ...(status === "fixed" ? { vexFixed: true } : { justification: `FINDING_DECISION_JUSTIFICATION_${justification.toUpperCase()}` }),
    ...(note === "" ? {} : { reason: note }),
    groupUid: parentOf(sourceUid),
    vexSourceUid: sourceUid,
    vexSource: source,
    documentDigest,
    manifestDigest,
  };
};
