// An advisory as an OSV record (schema 1.7). What another database calls it is upstream of it: an advisory is about one
// distribution's package, and no other name of the vulnerability itself. Pure.

import type { JsonObject } from "#base/json.ts";
import { distributionOf, currentStatus, type Published, purlOf } from "./advisory.ts";

const ecosystems: Readonly<Record<string, string>> = {
  golang: "Go",
  pypi: "PyPI",
  npm: "npm",
  maven: "Maven",
  cargo: "crates.io",
  gem: "RubyGems",
  nuget: "NuGet",
  composer: "Packagist",
  wolfi: "Wolfi",
  chainguard: "Chainguard",
  alpine: "Alpine",
};

const osvEcosystem = (advisory: Published): string => {
  const kind = advisory.artifactType === "apk" ? (distributionOf(advisory).split("/")[0] ?? "") : advisory.artifactType;
  return ecosystems[kind] ?? (kind || "apk");
};

const severityTypes: Readonly<Record<string, string>> = { TYPE_CVSS_V2: "CVSS_V2", TYPE_CVSS_V3: "CVSS_V3", TYPE_CVSS_V4: "CVSS_V4" };

/** Vectors alone: OSV knows no bare numbers. */
const osvVectors = (advisories: readonly Published[]): JsonObject[] => {
  const found = new Map<string, JsonObject>();
  for (const { type, score } of advisories.flatMap(({ severities }) => severities)) {
    const kind = severityTypes[String(type)];
    if (kind !== undefined && String(score).includes("/")) found.set(`${kind} ${String(score)}`, { type: kind, score: String(score) });
  }
  return [...found.values()];
};

const osvAffected = (advisory: Published): JsonObject[] => {
  const { status, fixedVersions } = currentStatus(advisory);
  // What is not affected has no range of versions; saying so is for its status.
  if (status === "not_affected") return [];
  const events: JsonObject[] = [{ introduced: "0" }, ...fixedVersions.slice(0, 1).map((fixed) => ({ fixed }))];
  return [
    {
      package: { ecosystem: osvEcosystem(advisory), name: advisory.artifactName, purl: purlOf(advisory) },
      ranges: [{ type: "ECOSYSTEM", events }],
    },
  ];
};

/** The record of one number; several artifacts may share it. */
export const osvRecord = (advisories: readonly [Published, ...Published[]]): JsonObject => {
  const [first] = advisories;
  const listed = advisories.filter(({ deleteTime }) => deleteTime === undefined);
  const about = listed.length > 0 ? listed : advisories;
  const upstream = [...new Set(about.flatMap(({ aliases }) => aliases))];
  const severity = osvVectors(about);
  const affected = about.flatMap(osvAffected);
  const times = (of: (advisory: Published) => string): string[] => advisories.map(of).sort();
  const withdrawn = listed.length > 0 ? undefined : first.deleteTime;
  return {
    schema_version: "1.7.0",
    id: first.advisoryId,
    modified: times(({ updateTime }) => updateTime).at(-1) ?? "",
    published: times(({ createTime }) => createTime)[0] ?? "",
    ...(withdrawn === undefined ? {} : { withdrawn }),
    ...(upstream.length > 0 ? { upstream } : {}),
    ...(severity.length > 0 ? { severity } : {}),
    ...(affected.length > 0 ? { affected } : {}),
    database_specific: {
      author: first.author,
      statuses: about.map((advisory) => {
        const { status, reason, note } = currentStatus(advisory);
        return {
          package: purlOf(advisory),
          status,
          ...(reason === "" ? {} : { reason: reason.replace(/^TYPE_/, "").toLowerCase() }),
          ...(note === "" ? {} : { note }),
        };
      }),
    },
  };
};
