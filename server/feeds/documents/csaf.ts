// The advisories on one origin package as a CSAF 2.0 document of the VEX profile: for each vulnerability what holds
// now. Pure.

import type { JsonObject } from "#base/json.ts";
import { distributionOf, earliestTime, currentStatus, latestTime, vulnerabilityNumbers, type Published, purlOf, type EventStatus } from "./advisory.ts";
import { justifications } from "./openvex.ts";

interface Product {
  readonly product_id: string;
  readonly name: string;
  readonly product_identification_helper: { readonly purl: string };
}

const csafProduct = (advisory: Published, version = ""): Product => {
  const purl = purlOf(advisory, version);
  return { product_id: purl, name: version === "" ? advisory.artifactName : `${advisory.artifactName} ${version}`, product_identification_helper: { purl } };
};

const statuses = { affected: "known_affected", not_affected: "known_not_affected", fixed: "fixed", under_investigation: "under_investigation" } as const;

/** CSAF 2.0, 3.2.3.5: its flags have the labels of OpenVEX's justifications. */
const csafImpact = ({ status, reason, note, action }: EventStatus, products: readonly string[]): JsonObject => {
  if (status === "affected") {
    const category = action.startsWith("No fix") ? "no_fix_planned" : "none_available";
    return { remediations: [{ category, details: note === "" ? action : `${action} ${note}`, product_ids: [...products] }] };
  }
  if (status !== "not_affected") return {};
  const label = justifications[reason];
  const impact = note || (label === undefined ? "The record of the vulnerability is contested." : "");
  return {
    ...(label === undefined ? {} : { flags: [{ label, product_ids: [...products] }] }),
    ...(impact === "" ? {} : { threats: [{ category: "impact", details: impact, product_ids: [...products] }] }),
  };
};

const cveForm = /^CVE-[0-9]{4}-[0-9]{4,}$/;

const csafScores = ({ severities }: Published, products: readonly string[]): JsonObject[] =>
  severities.flatMap(({ score }): JsonObject[] => {
    const [, version] = /^CVSS:(3\.[01])\//.exec(String(score)) ?? [];
    return version === undefined ? [] : [{ text: String(score), product_ids: [...products] }];
  });

const csafVulnerability = (advisory: Published): JsonObject => {
  const now = currentStatus(advisory);
  const [first, ...others] = vulnerabilityNumbers(advisory);
  const cve = cveForm.test(first) ? first : undefined;
  const ids = (cve === undefined ? [first, ...others] : others).map((text) => ({ system_name: text.split("-", 1)[0] || "advisory", text }));
  const products = (now.fixedVersions.length > 0 ? now.fixedVersions.map((version) => csafProduct(advisory, version)) : [csafProduct(advisory)]).map(
    ({ product_id }) => product_id,
  );
  const vectors = csafScores(advisory, products).map(({ text }) => String(text));
  const notes = [
    { category: "description", text: `${first} in ${advisory.artifactName}` },
    ...(now.note === "" ? [] : [{ category: "details", text: now.note }]),
    // A score of CSAF needs its base score; the vector says as much.
    ...(vectors.length > 0 ? [{ category: "other", title: "CVSS", text: vectors.join(" ") }] : []),
  ];
  return {
    ...(cve === undefined ? {} : { cve }),
    ...(ids.length > 0 ? { ids } : {}),
    notes,
    product_status: { [statuses[now.status]]: products },
    ...csafImpact(now, products),
    release_date: advisory.createTime,
  };
};

export const csafDocument = (origin: string, address: string, namespace: string, advisories: readonly [Published, ...Published[]]): JsonObject => {
  const [first] = advisories;
  const products = new Map<string, Product>();
  for (const advisory of advisories) {
    const { fixedVersions } = currentStatus(advisory);
    for (const version of fixedVersions.length > 0 ? fixedVersions : [""]) {
      const product = csafProduct(advisory, version);
      products.set(product.product_id, product);
    }
  }
  const date = latestTime(advisories);
  return {
    document: {
      category: "csaf_vex",
      csaf_version: "2.0",
      lang: "en",
      publisher: { category: "other", name: first.author, namespace },
      references: [{ category: "self", summary: "This document", url: address }],
      title: `Vulnerabilities of ${origin}${distributionOf(first) === "" ? "" : ` (${distributionOf(first)})`}`,
      tracking: {
        id: origin,
        initial_release_date: earliestTime(advisories),
        current_release_date: date,
        revision_history: [{ date, number: "1", summary: "As known at this time" }],
        status: "final",
        version: "1",
      },
    },
    product_tree: { full_product_names: [...products.values()].map((product) => ({ ...product })) },
    vulnerabilities: advisories.map(csafVulnerability),
  };
};
