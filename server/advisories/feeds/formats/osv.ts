// OSV records, schema 1.x (JSON or YAML): Go, PyPA, GitHub and many others. Each affected package becomes an advisory.

import { timestamp } from "#base/time.ts";
import { packageNameKeyOfType } from "#base/versions/package-name.ts";
import type { AdvisoryEventData, AdvisoryRecord, FeedRecord, SeverityRecord, VulnerabilityRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { FieldError } from "../invalid.ts";
import { originOf, type Format, type ReadOptions } from "./format.ts";
import { packageName, readPurl } from "./purl.ts";
import { distinctSeverities, osvReferenceType, severityType, timeMember } from "./reference.ts";

const osvSeverities = (within: Field): SeverityRecord[] =>
  within
    .at("severity")
    .list()
    .map((severity) => ({ type: severityType(severity.at("type").required()), score: severity.at("score").required() }));

const osvVulnerability = (document: Field, id: string): VulnerabilityRecord => ({
  kind: "vulnerability",
  id,
  aliases: document
    .at("aliases")
    .ids()
    .filter((alias) => alias !== id),
  state: "PUBLISHED",
  summary: document.at("summary").prose(),
  details: document.at("details").prose(),
  severities: distinctSeverities([...osvSeverities(document), ...document.at("affected").list().flatMap(osvSeverities)]),
  references: document
    .at("references")
    .list()
    .map((reference) => ({
      type: osvReferenceType(reference.at("type").name()),
      url: reference.at("url").url(),
    })),
  ...timeMember("publishTime", document.at("published")),
  ...timeMember("modifyTime", document.at("modified")),
  ...timeMember("withdrawnTime", document.at("withdrawn")),
});

const artifactTypes: ReadonlyMap<string, string> = new Map([
  ["alpine", "apk"],
  ["chainguard", "apk"],
  ["wolfi", "apk"],
  ["debian", "deb"],
  ["ubuntu", "deb"],
  ["crates.io", "cargo"],
  ["go", "golang"],
  ["maven", "maven"],
  ["npm", "npm"],
  ["nuget", "nuget"],
  ["packagist", "composer"],
  ["pypi", "pypi"],
  ["rubygems", "gem"],
  ["hex", "hex"],
  ["red hat", "rpm"],
  ["rocky linux", "rpm"],
  ["almalinux", "rpm"],
  ["suse", "rpm"],
  ["opensuse", "rpm"],
  ["openeuler", "rpm"],
  ["mageia", "rpm"],
  ["azure linux", "rpm"],
  ["amazon linux", "rpm"],
  ["oracle linux", "rpm"],
  ["photon os", "rpm"],
  ["alpaquita", "apk"],
  ["bellsoft hardened containers", "apk"],
  ["minimos", "apk"],
  ["echo", "deb"],
  ["conancenter", "conan"],
  ["swifturl", "swift"],
  ["github actions", "githubactions"],
]);

/** Returns the package URL type; an unknown ecosystem is its own type. */
export const artifactTypeOf = (family: string): string => artifactTypes.get(family.toLowerCase()) ?? family.toLowerCase();

/** OSV's ecosystems of languages and tools, by package URL type. */
export const languageEcosystems: ReadonlyMap<string, string> = new Map(
  [
    ...["Bitnami", "ConanCenter", "CRAN", "crates.io", "GitHub Actions", "Go", "Hackage", "Hex", "Julia", "Maven", "npm", "NuGet", "opam"],
    ...["Packagist", "Pub", "PyPI", "RubyGems", "SwiftURL"],
  ].map((name) => [artifactTypeOf(name), name]),
);

const languageNames: ReadonlySet<string> = new Set(languageEcosystems.values());

export const isLanguageEcosystem = (ecosystem: string): boolean => languageNames.has(ecosystem);

/** Commit ranges have no versions. */
const fixEventData = (affected: Field): AdvisoryEventData => {
  const fixed = affected
    .at("ranges")
    .list()
    .flatMap((range) =>
      range.at("type").name() === "GIT"
        ? []
        : range
            .at("events")
            .list()
            .map((event) => event.at("fixed").name())
            .filter((version) => version !== ""),
    );
  const versions = [...new Set(fixed)];
  const [only] = versions;
  if (only === undefined) return { truePositiveDetermination: {} };
  return versions.length === 1 ? { fixed: { fixedVersion: only } } : { patched: { patchedVersions: versions } };
};

interface SharedFacts {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly severalOf: boolean;
  readonly time: string;
  readonly withdrawn: Pick<AdvisoryRecord, "withdrawnTime">;
}

const noTime = timestamp(0);

const firstTimeOf = ({ publishTime, modifyTime }: VulnerabilityRecord): string =>
  [publishTime, modifyTime].find((each) => each !== undefined && each > noTime) ?? noTime;

const osvAdvisory = (affected: Field, { id, aliases, severalOf, time, withdrawn }: SharedFacts, { author }: ReadOptions): AdvisoryRecord => {
  const affectedPackage = affected.at("package").object();
  const ecosystem = affectedPackage.at("ecosystem").required();
  const purl = readPurl(affectedPackage.at("purl").name());
  const name = affectedPackage.at("name").missing && purl ? packageName(purl) : affectedPackage.at("name").required();
  const [family = "", release = ""] = ecosystem.split(":");
  const artifactType = artifactTypes.get(family.toLowerCase()) ?? purl?.type ?? family.toLowerCase();
  return {
    kind: "advisory",
    key: severalOf ? `${id} ${ecosystem} ${name}` : id,
    advisoryId: id,
    author: author ?? family,
    artifactName: packageNameKeyOfType(artifactType, name),
    artifactType,
    ...(release || purl?.namespace ? { namespace: release || (purl?.namespace ?? "") } : {}),
    aliases,
    events: [{ time, data: fixEventData(affected) }],
    ...withdrawn,
  };
};

const rangeTypes = new Set(["SEMVER", "ECOSYSTEM", "GIT"]);
const eventKeys = new Set(["introduced", "fixed", "last_affected", "limit"]);

/** Ranges and versions must follow the schema to be matched. */
const requireRanges = (affected: Field): void => {
  for (const range of affected.at("ranges").list()) {
    const type = range.object().at("type");
    if (!rangeTypes.has(type.required())) type.refuse(`must be one of ${[...rangeTypes].join(", ")}`);
    for (const event of range.at("events").entries()) {
      const keys = event.object().keys();
      const [key = ""] = keys;
      if (keys.length !== 1 || !eventKeys.has(key)) event.refuse(`must be one of ${[...eventKeys].join(", ")}, with a version`);
      event.at(key).required();
    }
  }
  affected.at("versions").requireNames();
};

/** Reports the first unreadable range. */
const hasReadableRanges = (affected: readonly Field[], { leaveUnmatched }: ReadOptions): boolean => {
  try {
    for (const each of affected) requireRanges(each);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof FieldError)) throw thrown;
    leaveUnmatched?.(thrown);
    return false;
  }
};

const osvAdvisories = (document: Field, vulnerability: VulnerabilityRecord, options: ReadOptions): FeedRecord[] => {
  const { id, withdrawnTime } = vulnerability;
  // Distributions list CVEs under "upstream".
  const aliases = [...new Set([...document.at("aliases").ids(), ...document.at("upstream").ids()])].filter((alias) => alias !== id);
  const affected = document
    .at("affected")
    .list()
    .filter((each) => !each.at("package").missing);
  if (!hasReadableRanges(affected, options)) return [];
  const shared: SharedFacts = {
    id,
    aliases,
    severalOf: affected.length > 1,
    time: firstTimeOf(vulnerability),
    withdrawn: withdrawnTime === undefined ? {} : { withdrawnTime },
  };
  const byKey = new Map(
    affected.map((each) => {
      const record = osvAdvisory(each, shared, options);
      return [record.key, record] as const;
    }),
  );
  return [...byKey.values()];
};

export const osv: Format = {
  name: "osv",
  title: "an OSV record",
  kinds: ["vulnerabilities", "advisories"],
  matches: (document) => "id" in document && ("affected" in document || "modified" in document || "schema_version" in document),
  origin: (document) => originOf(document.at("id").id(), document.at("modified")),
  read: (document, options) => {
    const id = document.at("id").id();
    // An error in either refuses the document.
    const vulnerability = osvVulnerability(document, id);
    return options.kind === "vulnerabilities" ? [vulnerability] : osvAdvisories(document, vulnerability, options);
  },
};
