// Metrics from the database, which all servers share. Cached, so that scrapes cost a few bounded statements at most four times a
// minute.

import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import type { Schedule } from "#advisories/feeds";
import type { Metrics } from "#metrics";
import { countBlobs } from "#registry/store";
import { countHeldFeeds, countOverdueFindings, countStaleFeeds } from "#advisories/store";
import { findDeliveryBacklog, findFeedStates, findOutboxBacklog, findRegistryBacklog, findSchemaVersion, type Store } from "#db";

/** Caches failures too, so that metrics do not all query a database that is down. */
const remember = <T>(ms: number, read: () => Promise<T>): (() => Promise<T>) => {
  let last: { readonly value: Promise<T>; readonly atMs: number } | undefined;
  return () => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs >= ms) last = { value: read(), atMs: nowMs };
    return last.value;
  };
};

interface WatchedParts {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly feeds: Schedule["feeds"];
  readonly feedStaleMs: number;
}

/** All label values, so that zeros are exported too. */
const heldReasons = ["EMPTY", "UNREADABLE", "SHRUNK", "OLDER"] as const;
const severitiesByRank = ["unknown", "negligible", "low", "medium", "high", "critical"] as const;
const staleKinds = ["advisories", "vulnerabilities"] as const;

/** Registers the metrics of backlogs and feeds. */
export const watchRows = (metrics: Metrics, { store: { read }, clock, feeds, feedStaleMs }: WatchedParts): void => {
  /** 0 if the time is undefined or in the future. */
  const ageSeconds = (ms: number | undefined): number => (ms === undefined ? 0 : Math.max(0, clock() - ms) / 1000);
  const one = (value: number) => [{ labels: {}, value }];

  const outbox = remember(limits.metricRowsKeptMs, () => findOutboxBacklog(read));
  metrics.watch("gantry_outbox_position", async () => one((await outbox())?.lastPosition ?? 0));
  metrics.watch("gantry_outbox_unnumbered_events", async () => one((await outbox())?.unnumbered ?? 0));
  metrics.watch("gantry_outbox_oldest_unnumbered_seconds", async () => one(ageSeconds((await outbox())?.firstUnnumberedMs)));
  metrics.watch("gantry_audit_sealed_position", async () => one((await outbox())?.sealedPosition ?? 0));
  metrics.watch("gantry_audit_oldest_unsealed_seconds", async () => one(ageSeconds((await outbox())?.firstUnsealedMs)));

  const deliveries = remember(limits.metricRowsKeptMs, () => findDeliveryBacklog(read));
  metrics.watch("gantry_deliveries", async () => {
    const { pending = 0, dead = 0 } = (await deliveries()) ?? {};
    return [
      { labels: { state: "pending" }, value: pending },
      { labels: { state: "dead" }, value: dead },
    ];
  });
  metrics.watch("gantry_deliveries_oldest_due_seconds", async () => one(ageSeconds((await deliveries())?.firstDueMs)));
  metrics.watch("gantry_delivery_fan_outs", async () => one((await deliveries())?.fanOuts ?? 0));

  const registry = remember(limits.metricRowsKeptMs, () => findRegistryBacklog(read));
  metrics.watch("gantry_registry_uploads", async () => one((await registry())?.uploads ?? 0));
  metrics.watch("gantry_registry_upload_bytes", async () => one((await registry())?.uploadBytes ?? 0));
  metrics.watch("gantry_registry_removals", async () => one((await registry())?.removals ?? 0));
  metrics.watch("gantry_documents_waiting", async () => {
    const { sboms = 0, reports = 0, vex = 0, images = 0 } = (await registry()) ?? {};
    return [
      { labels: { kind: "sbom" }, value: sboms },
      { labels: { kind: "report" }, value: reports },
      { labels: { kind: "vex" }, value: vex },
      { labels: { kind: "image" }, value: images },
    ];
  });

  metrics.watch("gantry_images_oldest_due_seconds", async () => one(ageSeconds((await registry())?.firstImageDueMs)));

  const stored = remember(limits.metricTotalsKeptMs, () => countBlobs(read));
  metrics.watch("gantry_registry_blobs", async () => one((await stored()).count));
  metrics.watch("gantry_registry_stored_bytes", async () => one((await stored()).sizeBytes));

  const schemaVersion = remember(limits.metricTotalsKeptMs, () => findSchemaVersion(read));
  metrics.watch("gantry_schema_version", async () => one(await schemaVersion()));

  const held = remember(limits.metricRowsKeptMs, () => countHeldFeeds(read));
  metrics.watch("gantry_feeds_held", async () => {
    const known = new Map((await held()).map(({ reason, feeds: count }) => [reason, count]));
    return heldReasons.map((reason) => ({ labels: { reason }, value: known.get(reason) ?? 0 }));
  });

  const stale = remember(limits.metricRowsKeptMs, () => countStaleFeeds(read, clock(), feedStaleMs));
  metrics.watch("gantry_feeds_stale", async () => {
    const known = new Map((await stale()).map(({ kind, feeds: count }) => [kind, count]));
    return staleKinds.map((kind) => ({ labels: { kind }, value: known.get(kind) ?? 0 }));
  });

  const overdue = remember(limits.metricTotalsKeptMs, () => countOverdueFindings(read, clock()));
  metrics.watch("gantry_findings_overdue", async () => {
    const known = new Map((await overdue()).map(({ severityRank, count }) => [severityRank, count]));
    return severitiesByRank.map((severity, rank) => ({ labels: { severity }, value: known.get(rank) ?? 0 })).reverse();
  });

  // URLs of feeds may hold secrets, so the label is the feed's number in the file.
  const named = feeds.map(({ schedule, kind, everyMs }, index) => ({ name: schedule, labels: { feed: String(index + 1), kind }, everyMs }));
  const states = remember(limits.metricRowsKeptMs, async () => {
    const found = await findFeedStates(
      read,
      named.map(({ name }) => name),
    );
    return new Map(found.map((state) => [state.schedule, state]));
  });
  /** Last success by schedule. While a feed fails, the database has only the failure. */
  const succeeded = new Map<string, number>();
  metrics.watch("gantry_feed_interval_seconds", () => named.map(({ labels, everyMs }) => ({ labels, value: everyMs / 1000 })));
  if (named.length === 0) return;
  metrics.watch("gantry_feed_failures", async () => {
    const known = await states();
    return named.map(({ name, labels }) => ({ labels, value: known.get(name)?.failures ?? 0 }));
  });
  metrics.watch("gantry_feed_last_success_timestamp_seconds", async () => {
    const known = await states();
    return named.flatMap(({ name, labels }) => {
      const { wasImported = false, lastTimeMs } = known.get(name) ?? {};
      if (wasImported && lastTimeMs !== undefined) succeeded.set(name, lastTimeMs);
      const lastMs = succeeded.get(name);
      return lastMs === undefined ? [] : [{ labels, value: lastMs / 1000 }];
    });
  });
};
