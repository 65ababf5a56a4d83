// An advisory as an OSV record (schema 1.7). What another database calls it is upstream of it: an advisory is about one
// distribution's package, and no other name of the vulnerability itself. Our own alone: what others wrote goes out as they
// wrote it. Pure.

import type { JsonObject } from "#base/json.ts";
import type { AdvisoryRow } from "#store";
import { languageEcosystems } from "../formats/osv.ts";
import { componentMoves, currentStatus, distributionOf, type Published, purlOf } from "./advisory.ts";

/** Distributions of apk packages that OSV has as ecosystems without a release. */
const ecosystems: Readonly<Record<string, string>> = { wolfi: "Wolfi", chainguard: "Chainguard", minimos: "MinimOS", alpaquita: "Alpaquita" };

const languageNames: ReadonlySet<string> = new Set(languageEcosystems.values());

/** Whether the ecosystem has languages' packages: of our own, only advisories that an organization wrote are about these, and none is public. */
export const isLanguageEcosystem = (ecosystem: string): boolean => languageNames.has(ecosystem);

/** Whether advisories of our own may be about the ecosystem, for a reader of private records too if `isPrivate`. */
export const isOwnEcosystem = (ecosystem: string, isPrivate = false): boolean =>
  Object.values(ecosystems).includes(ecosystem) || (isPrivate && isLanguageEcosystem(ecosystem));

type Distributed = Pick<AdvisoryRow, "artifactType" | "namespace" | "author">;

export const osvEcosystem = (advisory: Distributed): string | undefined =>
  advisory.artifactType === "apk" ? ecosystems[distributionOf(advisory).toLowerCase()] : languageEcosystems.get(advisory.artifactType);

/** Why OSV cannot say what one of our own advisories does; undefined where it can. */
export const whyNoOsv = (advisory: Distributed & { readonly isPatchedOften: boolean }): string | undefined => {
  if (osvEcosystem(advisory) === undefined) return "OSV has no ecosystem for its packages";
  return advisory.isPatchedOften ? "it names several patched versions, but not the affected versions between them" : undefined;
};

/** Our own numbers in OSV: "CGA-" is registered there; any other one is told apart from another database's by "x_". */
export const osvIdOf = (advisoryId: string): string => (/^(?:CGA-|x_)/.test(advisoryId) ? advisoryId : `x_${advisoryId}`);

/** The advisories' numbers that this number of OSV may stand for. */
export const ownNumbersOf = (osvId: string): string[] => {
  if (osvId.startsWith("CGA-")) return [osvId];
  return osvId.startsWith("x_") ? [osvId, osvId.slice(2)] : [];
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
  const ecosystem = osvEcosystem(advisory) ?? "";
  // OSV's versions of Go have no "v".
  const fixes = ecosystem === "Go" ? fixedVersions.map((fixed) => fixed.replace(/^v(?=\d)/, "")) : fixedVersions;
  const events: JsonObject[] = [{ introduced: "0" }, ...fixes.slice(0, 1).map((fixed) => ({ fixed }))];
  return [
    {
      package: { ecosystem, name: advisory.artifactName, purl: purlOf(advisory) },
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
    id: osvIdOf(first.advisoryId),
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
        const moves = componentMoves(advisory);
        return {
          package: purlOf(advisory),
          status,
          ...(reason === "" ? {} : { reason: reason.replace(/^TYPE_/, "").toLowerCase() }),
          ...(note === "" ? {} : { note }),
          ...(moves.length === 0 ? {} : { component_moves: moves }),
        };
      }),
    },
  };
};
