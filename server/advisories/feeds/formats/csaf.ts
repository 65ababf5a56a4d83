// CSAF 2 documents. Red Hat's list a package once for each stream; these become one advisory with an event for each version.

import { isObject, type JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { AdvisoryEventData, AdvisoryEventRecord, AdvisoryRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { FieldError } from "../invalid.ts";
import { judgedProductIds } from "../judge-statements.ts";
import { originOf, type Format, type ReadOptions } from "./format.ts";
import { affected, fixedIn, investigated, notAffected, type Product, productOf } from "./vex.ts";

/** RPM file names: "hivex-0:1.3.15-7.el8.aarch64". */
const rpmForm = /^(.+)-(\d+:[^-]+-[^-]+)\.(noarch|src|x86_64|aarch64|ppc64le|s390x|i[3-6]86|armv7hl|ppc64|ppc)$/;

const productOfName = (name: string): Product => {
  const [, artifactName, version = "", artifactArchitecture = ""] = rpmForm.exec(name) ?? [];
  if (artifactName === undefined) return productOf(name);
  return { artifactName, artifactType: "rpm", artifactArchitecture, namespace: "", version };
};

const productsOf = (tree: Field): Map<string, Product> => {
  const found = new Map<string, Product>();
  const add = (product: Field): void => {
    if (product.missing) return;
    const purl = product.object().at("product_identification_helper").at("purl").name();
    found.set(product.at("product_id").required(), purl !== "" ? productOf(purl) : productOfName(product.at("name").required()));
  };
  const walk = (branches: Field): void => {
    for (const branch of branches.list()) {
      add(branch.object().at("product"));
      walk(branch.at("branches"));
    }
  };
  walk(tree.at("branches"));
  for (const product of tree.at("full_product_names").list()) add(product);
  for (const relationship of tree.at("relationships").list()) {
    const full = relationship.object().at("full_product_name").object();
    const reference = relationship.at("product_reference").required();
    found.set(full.at("product_id").required(), found.get(reference) ?? productOfName(full.at("name").required()));
  }
  return found;
};

/** An entry without products is about all of them. */
const entryAbout = (entries: readonly Field[], product: string): Field | undefined =>
  entries.find((entry) => {
    const products = isObject(entry.value) ? entry.value.product_ids : undefined;
    return !Array.isArray(products) || products.includes(product);
  });

interface ProductVersion {
  readonly product: string;
  readonly version: string;
}

/** Lists of remarks are shared by all products, so they are read once. */
const statusReaders = (vulnerability: Field): ReadonlyMap<string, (product: ProductVersion) => AdvisoryEventData> => {
  const flags = vulnerability.at("flags").list();
  const impacts = vulnerability
    .at("threats")
    .list()
    .filter((threat) => threat.object().at("category").name() === "impact");
  const remediations = vulnerability.at("remediations").list();
  const remediationsOf = (names: readonly string[]): Field[] => remediations.filter((each) => names.includes(each.object().at("category").name()));
  const [unplanned, awaited, possible] = [
    remediationsOf(["no_fix_planned"]),
    remediationsOf(["none_available", "fix_planned"]),
    remediationsOf(["mitigation", "workaround", "vendor_fix", "optional_patch"]),
  ];
  const details = (entry: Field | undefined): string => entry?.at("details").prose().trim() ?? "";
  const isAffected = ({ product }: ProductVersion): AdvisoryEventData => {
    const never = entryAbout(unplanned, product);
    if (never) return { fixNotPlanned: { note: details(never) } };
    const later = entryAbout(awaited, product);
    return later ? { pendingUpstreamFix: { note: details(later) } } : affected(details(entryAbout(possible, product)));
  };
  const isFixed = ({ version }: ProductVersion): AdvisoryEventData => fixedIn(version, "");
  return new Map<string, (product: ProductVersion) => AdvisoryEventData>([
    ["under_investigation", () => investigated],
    ["first_affected", isAffected],
    ["known_affected", isAffected],
    ["last_affected", isAffected],
    ["known_not_affected", ({ product }) => notAffected(entryAbout(flags, product)?.at("label").name() ?? "", details(entryAbout(impacts, product)))],
    ["first_fixed", isFixed],
    ["fixed", isFixed],
  ]);
};

type AdvisoryDraft = AdvisoryRecord & { readonly events: AdvisoryEventRecord[] };

interface DocumentFacts {
  readonly number: string;
  readonly author: string;
  readonly time: string;
  readonly products: ReadonlyMap<string, Product>;
}

const newAdvisory = (
  { number, author }: DocumentFacts,
  { id, aliases }: { readonly id: string; readonly aliases: readonly string[] },
  product: Product,
): AdvisoryDraft => {
  const { artifactName, artifactType, artifactArchitecture, namespace } = product;
  return {
    kind: "advisory",
    // Blanks in the ID: join with a separator that no part contains.
    key: [number, id, artifactType, namespace, artifactName, artifactArchitecture].join(/\s/.test(number) ? "\n" : " "),
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

const advisoriesOfVulnerability = (document: DocumentFacts, vulnerability: Field): AdvisoryRecord[] => {
  const cve = vulnerability.object().at("cve").name();
  const ids = vulnerability
    .at("ids")
    .list()
    .map((id) => id.object().at("text").name())
    .filter((id) => id !== "" && !/\s|:\/\//.test(id));
  const aliases = [...new Set([cve, ...ids].filter((id) => id !== ""))];
  const status = vulnerability.at("product_status");
  const found = new Map<string, AdvisoryDraft>();
  const written = new Set<string>();
  for (const [name, eventData] of statusReaders(vulnerability)) {
    for (const entry of status.at(name).list()) {
      const id = entry.required();
      const product = document.products.get(id) ?? productOfName(id);
      const empty = newAdvisory(document, { id: aliases[0] ?? "", aliases }, product);
      const record = found.get(empty.key) ?? empty;
      found.set(empty.key, record);
      const data = eventData({ product: id, version: product.version });
      // Equal statuses of streams become one event.
      const content = `${record.key} ${JSON.stringify(data)}`;
      if (!written.has(content)) record.events.push({ time: document.time, data });
      written.add(content);
    }
  }
  return [...found.values()];
};

/** Reports the first affected product without a version to match. */
const leaveUnjudged = (vulnerabilities: Field, judged: ReadonlySet<string>, { leaveUnmatched }: ReadOptions): void => {
  for (const vulnerability of vulnerabilities.list()) {
    const status = vulnerability.at("product_status");
    for (const key of ["known_affected", "first_affected", "last_affected", "under_investigation"]) {
      const other = status
        .at(key)
        .list()
        .find((each) => !judged.has(each.required()));
      if (!other) continue;
      leaveUnmatched?.(new FieldError(other.path, "is a product without a package URL and a version, or a range of versions (vers:) in the order of its type"));
      return;
    }
  }
};

const isCsaf = (document: JsonObject): boolean =>
  isObject(document.document) &&
  ("csaf_version" in document.document || (typeof document.document.category === "string" && document.document.category.startsWith("csaf_")));

export const csaf: Format = {
  name: "csaf",
  title: "a CSAF document",
  kinds: ["advisories"],
  matches: isCsaf,
  origin: (document) => {
    const tracking = document.at("document").at("tracking");
    return originOf(tracking.at("id").spacedId(), tracking.at("current_release_date"));
  },
  read: (document, options: ReadOptions) => {
    const head = document.at("document").object();
    const tracking = head.at("tracking").object();
    const tree = document.at("product_tree");
    leaveUnjudged(document.at("vulnerabilities"), judgedProductIds(isObject(tree.value) ? tree.value : {}), options);
    const facts: DocumentFacts = {
      number: tracking.at("id").spacedId(),
      author: options.author ?? (head.at("publisher").at("name").name() || "CSAF"),
      time: timestamp(tracking.at("current_release_date").requiredTime()),
      products: productsOf(document.at("product_tree")),
    };
    return document
      .at("vulnerabilities")
      .list()
      .flatMap((vulnerability) => advisoriesOfVulnerability(facts, vulnerability));
  },
};
