// Builds a CSAF 2.0 VEX document from the advisories on one origin package: current statuses, with history. Pure.

import type { JsonObject } from "#base/json.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import { distinctNumberOf } from "../csaf/names.ts";
import {
  componentMoves,
  currentStatus,
  distributionOf,
  eventStatus,
  isStatement,
  earliestTime,
  vulnerabilityNumbers,
  type Published,
  purlOf,
  type EventStatus,
} from "./advisory.ts";
import { releaseTimes } from "../csaf/addresses.ts";
import { justifications } from "./openvex.ts";

/** The publisher of our documents (CSAF 2.0, 3.2.1.8). */
export interface Publisher {
  readonly category: string;
  readonly name: string;
  readonly namespace: string;
  /** "" for none. */
  readonly contact: string;
}

export const publisherObject = ({ category, name, namespace, contact }: Publisher): JsonObject => ({
  category,
  ...(contact === "" ? {} : { contact_details: contact }),
  name,
  namespace,
});

export interface CsafSource {
  readonly origin: string;
  readonly address: string;
  readonly publisher: Publisher;
  /** "" if public; otherwise an ID for the groups that may read it. */
  readonly scope: string;
  /** All ever published; at least one is not withdrawn. */
  readonly advisories: readonly [Published, ...Published[]];
}

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

interface Statement {
  readonly advisory: Published;
  readonly status: EventStatus;
  readonly products: readonly Product[];
}

const statementOf = (advisory: Published): Statement => {
  const now = currentStatus(advisory);
  const products = (now.fixedVersions.length > 0 ? [...new Set(now.fixedVersions)] : [""]).map((version) => csafProduct(advisory, version));
  // "Fixed" without a version must not mean all versions.
  const isUnnamed = now.status === "fixed" && now.fixedVersions.length === 0;
  return { advisory, products, status: isUnnamed ? { ...now, status: "under_investigation" } : now };
};

/** CSAF 2.0, 3.2.3.5: flags use the labels of OpenVEX justifications. */
const csafImpact = ({ status: { status, reason, note, action }, products }: Statement): JsonObject => {
  const product_ids = products.map(({ product_id }) => product_id);
  if (status === "affected") {
    const category = action.startsWith("No fix") ? "no_fix_planned" : "none_available";
    return { remediations: [{ category, details: note === "" ? action : `${action} ${note}`, product_ids }] };
  }
  if (status !== "not_affected") return {};
  const label = justifications[reason];
  const impact = note || (label === undefined ? "The record of the vulnerability is contested." : "");
  return {
    ...(label === undefined ? {} : { flags: [{ label, product_ids }] }),
    ...(impact === "" ? {} : { threats: [{ category: "impact", details: impact, product_ids }] }),
  };
};

const cveForm = /^CVE-[0-9]{4}-[0-9]{4,}$/;

const systemOf = (number: string): string => number.split("-", 1)[0] || "advisory";

const distinct = (objects: readonly JsonObject[]): JsonObject[] => [...new Map(objects.map((each) => [JSON.stringify(each), each])).values()];

const csafVulnerability = (cve: string | undefined, numbers: readonly string[], statements: readonly [Statement, ...Statement[]]): JsonObject => {
  const [first] = statements;
  const [name] = vulnerabilityNumbers(first.advisory);
  const ids = numbers.map((text) => ({ system_name: systemOf(text), text }));
  const artifacts = [...new Set(statements.map(({ advisory }) => advisory.artifactName))].join(", ");
  const details = statements.flatMap(({ status, advisory }) => [status.note, ...componentMoves(advisory)]).filter((note) => note !== "");
  const byStatus = Map.groupBy(statements, ({ status }) => statuses[status.status]);
  const parts = statements.map(csafImpact);
  const collected = (name: string): JsonObject => {
    const all = distinct(parts.flatMap((each) => (Array.isArray(each[name]) ? (each[name] as JsonObject[]) : [])));
    return all.length === 0 ? {} : { [name]: all };
  };
  return {
    ...(cve === undefined ? {} : { cve }),
    ...(ids.length > 0 ? { ids } : {}),
    ...collected("flags"),
    notes: [{ category: "description", text: `${cve ?? name} in ${artifacts}` }, ...[...new Set(details)].map((text) => ({ category: "details", text }))],
    product_status: Object.fromEntries(
      [...byStatus].map(([status, group]) => [status, [...new Set(group.flatMap(({ products }) => products.map(({ product_id }) => product_id)))]]),
    ),
    release_date: earliestTime(statements.map(({ advisory }) => advisory)),
    ...collected("remediations"),
    ...collected("threats"),
  };
};

const saysOf = ({ status, products }: Statement): string => JSON.stringify([status.status, products.map(({ product_id }) => product_id)]);

/** Returns the IDs to list an advisory under: its CVEs, or its first other ID. */
const namesOf = ({ advisory }: Statement): string[] => {
  const numbers = vulnerabilityNumbers(advisory);
  const cves = numbers.filter((number) => cveForm.test(number));
  return cves.length > 0 ? cves : numbers.slice(0, 1);
};

/**
 * Returns one object for each CVE (6.1.23), in which no product has two statuses (6.1.6). Of contradicting advisories, the later
 * one is listed under the CVE, the other under its own ID only.
 */
const csafVulnerabilities = (statements: readonly Statement[]): JsonObject[] => {
  const latestFirst = [...statements].sort((one, other) => (one.status.time > other.status.time ? -1 : one.status.time < other.status.time ? 1 : 0));
  const byName = new Map<string, [Statement, ...Statement[]]>();
  const contradicted: Statement[] = [];
  for (const statement of latestFirst) {
    const artifact = purlOf(statement.advisory);
    const names = namesOf(statement);
    if (names.some((name) => byName.get(name)?.some((each) => purlOf(each.advisory) === artifact && saysOf(each) !== saysOf(statement)))) {
      contradicted.push(statement);
      continue;
    }
    for (const name of names) {
      const known = byName.get(name);
      if (known) known.push(statement);
      else byName.set(name, [statement]);
    }
  }
  const objects = [...byName].map(([name, group]) => {
    const numbers = [...new Set(group.flatMap(({ advisory }) => vulnerabilityNumbers(advisory)))].filter((number) => !cveForm.test(number));
    return { name, object: csafVulnerability(cveForm.test(name) ? name : undefined, numbers, group) };
  });
  for (const statement of contradicted) {
    const { advisoryId } = statement.advisory;
    objects.push({ name: advisoryId, object: csafVulnerability(undefined, [advisoryId], [statement]) });
  }
  return objects.sort((one, other) => (one.name < other.name ? -1 : 1)).map(({ object }) => object);
};

/** Returns a version derived from the time of the change. It grows even with withdrawals, without a counter. */
export const csafVersion = (time: string): string => {
  const [day = "", clock = ""] = time.split("T");
  return `1.${day.replaceAll("-", "")}.${Number(clock.replace(/\D/g, ""))}`;
};

const statusWords = { affected: "affected", not_affected: "not affected", fixed: "fixed", under_investigation: "under investigation" } as const;

const summaryNumbersMax = 5;

const revisionSummary = (changes: readonly string[]): string => {
  const more = changes.length > summaryNumbersMax ? ` and ${changes.length - summaryNumbersMax} more` : "";
  return changes.length === 0 ? "As published at this time" : `${changes.slice(0, summaryNumbersMax).join(", ")}${more}`;
};

/** Changes outside the period of releases are listed at its ends. */
const revisionsOf = (advisories: readonly Published[], initial: string, current: string): JsonObject[] => {
  const changes = new Map<string, string[]>([
    [initial, []],
    [current, []],
  ]);
  for (const advisory of advisories) {
    for (const event of advisory.approved) {
      const { time, status } = eventStatus(event);
      const known = readTimestamp(time);
      if (known === undefined) continue;
      const shown = timestamp(known);
      const at = shown < initial ? initial : shown > current ? current : shown;
      const [number] = vulnerabilityNumbers(advisory);
      const change = `${number} ${isStatement(event) ? statusWords[status] : "component moved"}`;
      const listed = changes.get(at);
      if (!listed) changes.set(at, [change]);
      else if (!listed.includes(change)) listed.push(change);
    }
  }
  return [...changes]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([date, each]) => ({ date, number: csafVersion(date), summary: revisionSummary(each) }));
};

export const csafTitle = (origin: string): string => `Vulnerabilities of ${origin}`;

/** Returns the document's ID. Private documents have their own IDs, and so their own versions. */
export const csafNumberOf = (origin: string, scope: string): string => (scope === "" ? distinctNumberOf(origin) : `${distinctNumberOf(origin)}_${scope}`);

export const csafDocument = ({ origin, address, publisher, scope, advisories }: CsafSource): JsonObject => {
  const listed = advisories.filter(({ deleteTime }) => deleteTime === undefined);
  const statements = listed.map(statementOf);
  const products = new Map(statements.flatMap((statement) => statement.products.map((product) => [product.product_id, product])));
  const [initial, current] = releaseTimes(advisories);
  const authors = [...new Set(listed.map(({ author }) => author))].filter((author) => author !== "" && author !== publisher.name);
  const distributions = [...new Set(listed.map(distributionOf))].filter((name) => name !== "");
  return {
    document: {
      ...(authors.length === 0 ? {} : { acknowledgments: authors.map((organization) => ({ organization, summary: "what is known of these packages" })) }),
      category: "csaf_vex",
      csaf_version: "2.0",
      distribution: { tlp: { label: scope === "" ? "WHITE" : "AMBER", url: "https://www.first.org/tlp/v1/" } },
      lang: "en",
      publisher: publisherObject(publisher),
      references: [{ category: "self", summary: "This document", url: address }],
      title: `${csafTitle(origin)}${distributions.length === 0 ? "" : ` (${distributions.join(", ")})`}`,
      tracking: {
        current_release_date: current,
        id: csafNumberOf(origin, scope),
        initial_release_date: initial,
        revision_history: revisionsOf(advisories, initial, current),
        status: "final",
        version: csafVersion(current),
      },
    },
    product_tree: { full_product_names: [...products.values()].map((product) => ({ ...product })) },
    vulnerabilities: csafVulnerabilities(statements),
  };
};
