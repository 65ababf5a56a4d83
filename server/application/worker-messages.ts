// Messages between the accepting process and its workers, over Node's IPC channel.

import type { MetricsDocument } from "#metrics";
import type { DatabaseAddresses } from "./database.ts";

/** Increments of shared sums (base/siblings.ts): name, key and amount. */
export type Added = readonly (readonly [name: string, key: string, amount: number])[];

export type ToWorker =
  | { readonly kind: "start"; readonly index: number; readonly count: number; readonly embedded: DatabaseAddresses | undefined }
  /** Sent with the socket. */
  | { readonly kind: "connection"; readonly holder: string }
  | { readonly kind: "added"; readonly added: Added }
  | { readonly kind: "reload" }
  | { readonly kind: "stop" }
  /** Requests metrics of the worker. */
  | { readonly kind: "collect"; readonly id: number }
  /** Response to `scrape`. */
  | { readonly kind: "metrics"; readonly id: number; readonly documents: readonly MetricsDocument[] };

export type FromWorker =
  | { readonly kind: "ready"; readonly firstOrganization: string | undefined }
  /** Reason for a failed start; the worker exits. */
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "reloaded" }
  /** Closed connections, by holder. */
  | { readonly kind: "closed"; readonly holders: readonly string[] }
  | { readonly kind: "added"; readonly added: Added }
  | { readonly kind: "collected"; readonly id: number; readonly document: MetricsDocument }
  /** Requests the metrics of all processes. */
  | { readonly kind: "scrape"; readonly id: number };
