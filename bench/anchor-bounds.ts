// The bounds of npm run bench -- --anchor. They are cumulative: each change is compared with the same commit, not with the
// previous change. Loosening a bound, or raising a `today`, needs a decision in docs/decisions (decision 0077).

export const anchorCommit = "7634b13";

export interface Bound {
  /** The denominator: the same figure of the anchor or the peer, the CPU time of `node -e 0`, or a percent of one core. */
  readonly of: "anchor" | "peer" | "node" | "core";
  /** The target, never exceeded once reached. */
  readonly most: number;
  /** The current value while `most` is missed. The gate enforces it, and it may only fall. */
  readonly today?: number;
}

export const bounds = {
  get: { of: "anchor", most: 0.95, today: 1.3 },
  "list-50": { of: "anchor", most: 0.95, today: 1.25 },
  create: { of: "anchor", most: 0.8, today: 1.2 },
  update: { of: "anchor", most: 0.8, today: 1 },
  delete: { of: "anchor", most: 0.9, today: 1.6 },
  "grpc-get": { of: "anchor", most: 0.7, today: 1.2 },
  "grpc-list": { of: "anchor", most: 0.7, today: 1.05 },
  start: { of: "anchor", most: 0.9, today: 1.1 },
  idle: { of: "core", most: 0.5 },
  // 120 and 250 ms on a machine where `node -e 0` takes 40.
  help: { of: "node", most: 3, today: 3.4 },
  command: { of: "node", most: 6.25, today: 8.2 },
  token: { of: "node", most: 6.25, today: 11 },
  // As many requests per second as the peer, and 1.3 times as many, in CPU time.
  "get-peer": { of: "peer", most: 1, today: 1.25 },
  "list-50-peer": { of: "peer", most: 1, today: 1.35 },
  "create-peer": { of: "peer", most: 1, today: 6.1 },
  "update-peer": { of: "peer", most: 1, today: 4.5 },
  "grpc-get-peer": { of: "peer", most: 0.77, today: 2.45 },
  "grpc-list-peer": { of: "peer", most: 0.77, today: 3.1 },
} as const satisfies Readonly<Record<string, Bound>>;

export type FigureName = keyof typeof bounds;
