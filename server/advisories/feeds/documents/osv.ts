// Builds an OSV record (schema 1.7) from our advisories. Other databases' IDs go into `upstream`, not `aliases`: an advisory is
// about the package of one distribution, not the vulnerability itself. Pure.

import type { JsonObject } from "#base/json.ts";
import type { AdvisoryRow } from "#advisories/store";
import { isLanguageEcosystem, languageEcosystems } from "../formats/osv.ts";
import { componentMoves, currentStatus, distributionOf, type Published, purlOf } from "./advisory.ts";

/** apk distributions with an OSV ecosystem. */
const ecosystems: Readonly<Record<string, string>> = { wolfi: "Wolfi", chainguard: "Chainguard", minimos: "MinimOS", alpaquita: "Alpaquita" };

/** Returns true if our advisories can cover the ecosystem. Only private ones cover languages, because an organization authors them. */
export const isOwnEcosystem = (ecosystem: string, isPrivate = false): boolean =>
  Object.values(ecosystems).includes(ecosystem) || (isPrivate && isLanguageEcosystem(ecosystem));

type Distributed = Pick<AdvisoryRow, "artifactType" | "namespace" | "author">;

export const osvEcosystem = (advisory: Distributed): string | undefined =>
  advisory.artifactType === "apk" ? ecosystems[distributionOf(advisory).toLowerCase()] : languageEcosystems.get(advisory.artifactType);

export const whyNoOsv = (advisory: Distributed & { readonly isPatchedOften: boolean }): string | undefined => {
  if (osvEcosystem(advisory) === undefined) return "OSV has no ecosystem for its packages";
  return advisory.isPatchedOften ? "it names several patched versions, but not the affected versions between them" : undefined;
};

/** Returns the ID in OSV: "CGA-" is registered there, other IDs get the prefix "x_". */
export const osvIdOf = (advisoryId: string): string => (/^(?:CGA-|x_)/.test(advisoryId) ? advisoryId : `x_${advisoryId}`);

/** Returns the advisory IDs for an OSV ID. */
export const ownNumbersOf = (osvId: string): string[] => {
  if (osvId.startsWith("CGA-")) return [osvId];
  return osvId.startsWith("x_") ? [osvId, osvId.slice(2)] : [];
};

const severityTypes: Readonly<Record<string, string>> = { TYPE_CVSS_V2: "CVSS_V2", TYPE_CVSS_V3: "CVSS_V3", TYPE_CVSS_V4: "CVSS_V4" };

/** OSV has no plain scores. */
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
  if (status === "not_affected") return [];
  const ecosystem = osvEcosystem(advisory) ?? "";
  // OSV writes Go versions without "v".
  const fixes = ecosystem === "Go" ? fixedVersions.map((fixed) => fixed.replace(/^v(?=\d)/, "")) : fixedVersions;
  const events: JsonObject[] = [{ introduced: "0" }, ...fixes.slice(0, 1).map((fixed) => ({ fixed }))];
  return [
    {
      package: { ecosystem, name: advisory.artifactName, purl: purlOf(advisory) },
      ranges: [{ type: "ECOSYSTEM", events }],
    },
  ];
};

/** Builds the record of one ID, which several artifacts may share. */
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
