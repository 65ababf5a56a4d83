// Minimal CSAF documents of other publishers.

import type { JsonObject } from "#base/json.ts";

export interface CsafDocumentOptions {
  /** TLP label; undefined omits the distribution. */
  readonly label?: string;
  /** The publisher's namespace; default: its own host. */
  readonly namespace?: string;
  readonly csafVersion?: string;
}

/** Returns one version of a document about a vulnerability fixed in one package. */
export const csafDocument = (
  id: string,
  publisher: string,
  { label, namespace = `https://${publisher}.example.org`, csafVersion = "2.0" }: CsafDocumentOptions = {},
): JsonObject => ({
  document: {
    category: "csaf_vex",
    csaf_version: csafVersion,
    ...(label === undefined ? {} : { distribution: { tlp: { label } } }),
    title: `About ${id}`,
    publisher: { category: "vendor", name: publisher, namespace },
    tracking: {
      id,
      status: "final",
      version: "1",
      initial_release_date: "2025-05-01T00:00:00Z",
      current_release_date: "2025-05-02T00:00:00Z",
      revision_history: [{ date: "2025-05-01T00:00:00Z", number: "1", summary: "First" }],
    },
  },
  product_tree: { full_product_names: [{ name: "keel", product_id: "keel", product_identification_helper: { purl: "pkg:rpm/yard/keel@1.0-1" } }] },
  vulnerabilities: [{ cve: "CVE-2025-6001", notes: [{ category: "description", text: "it" }], product_status: { fixed: ["keel"] } }],
});
