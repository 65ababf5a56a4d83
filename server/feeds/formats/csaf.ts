// CSAF 2 documents: what their product status says, per vulnerability and package. A document of Red Hat names the same
// package for each of its streams; these are one advisory with the versions as its events.

import { isObject, type JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { AdvisoryEventData, AdvisoryEventRecord, AdvisoryRecord } from "../record.ts";
import type { At } from "../refused.ts";
import type { Format, Telling } from "./format.ts";
import { affected, fixedIn, investigated, notAffected, type Product, productOf } from "./vex.ts";

/** "hivex-0:1.3.15-7.el8.aarch64", as names of RPM files go. */
const rpmForm = /^(.+)-(\d+:[^-]+-[^-]+)\.(noarch|src|x86_64|aarch64|ppc64le|s390x|i[3-6]86|armv7hl|ppc64|ppc)$/;

const ofName = (name: string): Product => {
  const [, artifactName, version = "", artifactArchitecture = ""] = rpmForm.exec(name) ?? [];
  if (artifactName === undefined) return productOf(name);
  return { artifactName, artifactType: "rpm", artifactArchitecture, namespace: "", version };
};

/** Products of the tree by their id. */
const productsOf = (tree: At): Map<string, Product> => {
  const found = new Map<string, Product>();
  const add = (product: At): void => {
    if (product.missing) return;
    const purl = product.object().at("product_identification_helper").at("purl").name();
    found.set(product.at("product_id").required(), purl !== "" ? productOf(purl) : ofName(product.at("name").required()));
  };
  const walk = (branches: At): void => {
    for (const branch of branches.list()) {
      add(branch.object().at("product"));
      walk(branch.at("branches"));
    }
  };
  walk(tree.at("branches"));
  for (const product of tree.at("full_product_names").list()) add(product);
  for (const relationship of tree.at("relationships").list()) {
    const whole = relationship.object().at("full_product_name").object();
    const part = relationship.at("product_reference").required();
    found.set(whole.at("product_id").required(), found.get(part) ?? ofName(whole.at("name").required()));
  }
  return found;
};

/** The entries of a list that are about a product; those that name none are about all. */
const about = (entries: readonly At[], product: string): At | undefined =>
  entries.find((entry) => {
    const products = isObject(entry.value) ? entry.value.product_ids : undefined;
    return !Array.isArray(products) || products.includes(product);
  });

interface Said {
  readonly product: string;
  readonly version: string;
}

/** What each status says. The lists of remarks are asked again for each product, so they are read once. */
const tellersOf = (vulnerability: At): ReadonlyMap<string, (said: Said) => AdvisoryEventData> => {
  const flags = vulnerability.at("flags").list();
  const impacts = vulnerability
    .at("threats")
    .list()
    .filter((threat) => threat.object().at("category").name() === "impact");
  const remediations = vulnerability.at("remediations").list();
  const category = (names: readonly string[]): At[] => remediations.filter((each) => names.includes(each.object().at("category").name()));
  const [unplanned, awaited, possible] = [
    category(["no_fix_planned"]),
    category(["none_available", "fix_planned"]),
    category(["mitigation", "workaround", "vendor_fix", "optional_patch"]),
  ];
  const details = (entry: At | undefined): string => entry?.at("details").prose().trim() ?? "";
  const isAffected = ({ product }: Said): AdvisoryEventData => {
    const never = about(unplanned, product);
    if (never) return { fixNotPlanned: { note: details(never) } };
    const later = about(awaited, product);
    return later ? { pendingUpstreamFix: { note: details(later) } } : affected(details(about(possible, product)));
  };
  const isFixed = ({ version }: Said): AdvisoryEventData => fixedIn(version, "");
  return new Map<string, (said: Said) => AdvisoryEventData>([
    ["under_investigation", () => investigated],
    ["first_affected", isAffected],
    ["known_affected", isAffected],
    ["last_affected", isAffected],
    ["known_not_affected", ({ product }) => notAffected(about(flags, product)?.at("label").name() ?? "", details(about(impacts, product)))],
    ["first_fixed", isFixed],
    ["fixed", isFixed],
  ]);
};

type Growing = AdvisoryRecord & { readonly events: AdvisoryEventRecord[] };

interface Document {
  readonly number: string;
  readonly author: string;
  readonly time: string;
  readonly products: ReadonlyMap<string, Product>;
}

const growing = ({ number, author }: Document, { id, aliases }: { readonly id: string; readonly aliases: readonly string[] }, product: Product): Growing => {
  const { artifactName, artifactType, artifactArchitecture, namespace } = product;
  return {
    kind: "advisory",
    key: [number, id, artifactType, namespace, artifactName, artifactArchitecture].join(" "),
    advisoryId: number,
    author,
    artifactName,
    artifactType,
    ...(artifactArchitecture ? { artifactArchitecture } : {}),
    ...(namespace ? { namespace } : {}),
    aliases,
    events: [],
  };
};

const advisoriesOf = (document: Document, vulnerability: At): AdvisoryRecord[] => {
  const cve = vulnerability.object().at("cve").name();
  const ids = vulnerability
    .at("ids")
    .list()
    .map((id) => id.object().at("text").name())
    .filter((id) => id !== "" && !/\s|:\/\//.test(id));
  const aliases = [...new Set([cve, ...ids].filter((id) => id !== ""))];
  const status = vulnerability.at("product_status");
  const found = new Map<string, Growing>();
  const said = new Set<string>();
  for (const [name, tell] of tellersOf(vulnerability)) {
    for (const entry of status.at(name).list()) {
      const id = entry.required();
      const product = document.products.get(id) ?? ofName(id);
      const fresh = growing(document, { id: aliases[0] ?? "", aliases }, product);
      const record = found.get(fresh.key) ?? fresh;
      found.set(fresh.key, record);
      const data = tell({ product: id, version: product.version });
      // The same of each stream is said once.
      const sentence = `${record.key} ${JSON.stringify(data)}`;
      if (!said.has(sentence)) record.events.push({ time: document.time, data });
      said.add(sentence);
    }
  }
  return [...found.values()];
};

const isCsaf = (document: JsonObject): boolean =>
  isObject(document.document) &&
  ("csaf_version" in document.document || (typeof document.document.category === "string" && document.document.category.startsWith("csaf_")));

export const csaf: Format = {
  name: "csaf",
  title: "a CSAF document",
  kinds: ["advisories"],
  fits: isCsaf,
  read: (document, telling: Telling) => {
    const head = document.at("document").object();
    const tracking = head.at("tracking").object();
    const read: Document = {
      number: tracking.at("id").id(),
      author: telling.author ?? (head.at("publisher").at("name").name() || "CSAF"),
      time: timestamp(tracking.at("current_release_date").requiredTime()),
      products: productsOf(document.at("product_tree")),
    };
    return document
      .at("vulnerabilities")
      .list()
      .flatMap((vulnerability) => advisoriesOf(read, vulnerability));
  },
};
