// What the process that accepts connections and its workers tell each other, over Node's channel between a process and its children.

import type { MetricsDocument } from "#metrics";
import type { DatabaseAddresses } from "./database.ts";

/** What was added to sums (base/siblings.ts): name, key and amount. */
export type Added = readonly (readonly [name: string, key: string, amount: number])[];

export type ToWorker =
  | { readonly kind: "start"; readonly index: number; readonly count: number; readonly embedded: DatabaseAddresses | undefined }
  /** Comes with the connection itself. */
  | { readonly kind: "connection"; readonly holder: string }
  | { readonly kind: "added"; readonly added: Added }
  | { readonly kind: "reload" }
  | { readonly kind: "stop" }
  /** Asks for the worker's own metrics. */
  | { readonly kind: "collect"; readonly id: number }
  /** Answers `scrape`. */
  | { readonly kind: "metrics"; readonly id: number; readonly documents: readonly MetricsDocument[] };

export type FromWorker =
  | { readonly kind: "ready"; readonly firstOrganization: string | undefined }
  /** Why it cannot start; it ends. */
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "reloaded" }
  /** Connections that have ended, by what they count for. */
  | { readonly kind: "closed"; readonly holders: readonly string[] }
  | { readonly kind: "added"; readonly added: Added }
  | { readonly kind: "collected"; readonly id: number; readonly document: MetricsDocument }
  /** Asks for the metrics of all. */
  | { readonly kind: "scrape"; readonly id: number };
