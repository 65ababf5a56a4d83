// Writes decisions about findings as CSAF 2.0, profile VEX. Pure.

import type { JsonObject } from "#base/json.ts";
import { cveForm, type DecisionStatement, type StatedImage, type WriteDecisions } from "./statements.ts";

const statuses = { affected: "known_affected", not_affected: "known_not_affected", under_investigation: "under_investigation" } as const;

/** Product IDs of images, packages, and packages in images. */
class ProductTree {
  readonly #images = new Map<string, JsonObject>();
  readonly #packages = new Map<string, JsonObject>();
  readonly #relationships = new Map<string, JsonObject>();

  #idOf(known: Map<string, JsonObject>, kind: string, purl: string, name: string): string {
    const found = known.get(purl);
    const product_id = `${kind}-${known.size + 1}`;
    if (found) return String(found.product_id);
    known.set(purl, { name, product_id, product_identification_helper: { purl } });
    return product_id;
  }

  add({ name, purl, packages }: StatedImage): string[] {
    const image = this.#idOf(this.#images, "image", purl, name);
    return packages.map((each) => {
      const component = this.#idOf(this.#packages, "package", each, each);
      const product_id = `${component}:${image}`;
      this.#relationships.set(product_id, {
        category: "default_component_of",
        full_product_name: { name: `${each} in ${name}`, product_id },
        product_reference: component,
        relates_to_product_reference: image,
      });
      return product_id;
    });
  }

  toObject(): JsonObject {
    return { full_product_names: [...this.#images.values(), ...this.#packages.values()], relationships: [...this.#relationships.values()] };
  }
}

interface Stated {
  readonly statement: DecisionStatement;
  readonly product_ids: string[];
}

const partsOf = ({
  statement: { status, justification, reason },
  product_ids,
}: Stated): Readonly<Record<"flags" | "remediations" | "threats", JsonObject[]>> => ({
  flags: status === "not_affected" ? [{ label: justification, product_ids }] : [],
  remediations: status === "affected" ? [{ category: "none_available", details: reason, product_ids }] : [],
  threats: status === "not_affected" ? [{ category: "impact", details: reason, product_ids }] : [],
});

const vulnerabilityOf = (name: string, stated: readonly Stated[]): JsonObject => {
  const parts = stated.map(partsOf);
  const collected = (key: "flags" | "remediations" | "threats"): JsonObject => {
    const all = parts.flatMap((each) => each[key]);
    return all.length === 0 ? {} : { [key]: all };
  };
  const isCve = cveForm.test(name);
  const ids = [...new Set([...(isCve ? [] : [name]), ...stated.flatMap(({ statement }) => statement.aliases)])];
  const byStatus = Map.groupBy(stated, ({ statement }) => statuses[statement.status]);
  return {
    ...(isCve ? { cve: name } : {}),
    ...(ids.length > 0 ? { ids: ids.map((text) => ({ system_name: text.split("-", 1)[0] || "advisory", text })) } : {}),
    ...collected("flags"),
    notes: [
      { category: "description", text: name },
      ...[...new Set(stated.map(({ statement }) => statement.reason))].map((text) => ({ category: "details", text })),
    ],
    product_status: Object.fromEntries([...byStatus].map(([status, own]) => [status, own.flatMap(({ product_ids }) => product_ids)])),
    ...collected("remediations"),
    ...collected("threats"),
  };
};

/** Entries without a CVE ID come last: some readers end at the first one. */
const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  Number(cveForm.test(other)) - Number(cveForm.test(one)) || (one < other ? -1 : one > other ? 1 : 0);

export const csafOfDecisions: WriteDecisions = ({ author, address, publicUrl, id, time, statements }) => {
  const tree = new ProductTree();
  const stated = statements.map((statement): Stated => ({ statement, product_ids: statement.images.flatMap((image) => tree.add(image)) }));
  return {
    document: {
      category: "csaf_vex",
      csaf_version: "2.0",
      distribution: { tlp: { label: "AMBER", url: "https://www.first.org/tlp/v1/" } },
      lang: "en",
      publisher: { category: "vendor", name: author, namespace: publicUrl },
      references: [{ category: "self", summary: "The present decisions", url: `${address}?format=FINDING_DECISIONS_FORMAT_CSAF` }],
      title: `Decisions of ${author} about findings in images`,
      tracking: {
        current_release_date: time,
        id: `decisions-${id}`,
        initial_release_date: time,
        revision_history: [{ date: time, number: "1", summary: "Decisions with this content" }],
        status: "final",
        version: "1",
      },
    },
    product_tree: tree.toObject(),
    vulnerabilities: [...Map.groupBy(stated, ({ statement }) => statement.name)].sort(byName).map(([name, own]) => vulnerabilityOf(name, own)),
  };
};
