// Queue lengths in the database, for metrics. Each statement stops at limits.backlogRowsMax rows, so that a long queue
// costs no more. That value means "at least".

import { limits } from "#base/limits.ts";
import { columns, expression, flag, nullableTimeMs, number, text } from "./columns.ts";
import type { Read } from "./handle.ts";

export interface OutboxBacklog {
  /** Position of the last numbered event; 0 if none. */
  readonly lastPosition: number;
  /** Events without a position, and the time of the first. */
  readonly unnumbered: number;
  readonly firstUnnumberedMs: number | undefined;
  /** The audit log's sealed position, and the time of the first event after it. */
  readonly sealedPosition: number;
  readonly firstUnsealedMs: number | undefined;
}

const outboxBacklog = columns<OutboxBacklog>({
  lastPosition: expression("(select coalesce(max(position + 0), 0) from outbox)", number),
  unnumbered: expression("(select count(*) from (select from outbox where position is null limit $1) as found)", number),
  firstUnnumberedMs: nullableTimeMs("(select create_time from outbox where position is null order by id limit 1)"),
  sealedPosition: expression("(select position from audit_progress)", number),
  firstUnsealedMs: nullableTimeMs("(select create_time from outbox where position + 0 > (select position from audit_progress) order by position + 0 limit 1)"),
});

export const findOutboxBacklog = (rows: Read): Promise<OutboxBacklog | undefined> =>
  outboxBacklog.findOne(rows, `select ${outboxBacklog.list}`, [limits.backlogRowsMax]);

export interface DeliveryBacklog {
  /** Organizations with events that are not yet deliveries. */
  readonly fanOuts: number;
  /** Deliveries to send, now or later; `dead` ones failed their last attempt. */
  readonly pending: number;
  readonly dead: number;
  /** When the first pending delivery was due. */
  readonly firstDueMs: number | undefined;
}

const deliveryBacklog = columns<DeliveryBacklog>({
  fanOuts: expression("(select count(*) from (select from fan_outs limit $1) as found)", number),
  pending: expression("(select count(*) from (select from deliveries where state = 'DELIVERY_STATE_PENDING' limit $1) as found)", number),
  dead: expression("(select count(*) from (select from deliveries where state = 'DELIVERY_STATE_DEAD' limit $1) as found)", number),
  firstDueMs: nullableTimeMs(
    "(select min(next_attempt_time) from (select next_attempt_time from deliveries where state = 'DELIVERY_STATE_PENDING' limit $1) as found)",
  ),
});

export const findDeliveryBacklog = (rows: Read): Promise<DeliveryBacklog | undefined> =>
  deliveryBacklog.findOne(rows, `select ${deliveryBacklog.list}`, [limits.backlogRowsMax]);

export interface RegistryBacklog {
  readonly uploads: number;
  /** Bytes received so far. */
  readonly uploadBytes: number;
  /** Unreferenced contents that are not yet removed. */
  readonly removals: number;
  /** Pushed documents that are not yet processed. */
  readonly sboms: number;
  readonly reports: number;
}

const registryBacklog = columns<RegistryBacklog>({
  uploads: expression("(select count(*) from (select from uploads limit $1) as found)", number),
  uploadBytes: expression("(select coalesce(sum(size_bytes), 0) from (select size_bytes from uploads limit $1) as found)", number),
  removals: expression("(select count(*) from (select from blob_removals limit $1) as found)", number),
  sboms: expression("(select count(*) from (select from image_sboms where state = 'IMAGE_SBOM_STATE_WAITING' limit $1) as found)", number),
  reports: expression("(select count(*) from (select from pushed_reports limit $1) as found)", number),
});

export const findRegistryBacklog = (rows: Read): Promise<RegistryBacklog | undefined> =>
  registryBacklog.findOne(rows, `select ${registryBacklog.list}`, [limits.backlogRowsMax]);

/** The state of a scheduled import. */
export interface FeedState {
  readonly schedule: string;
  /** Consecutive failures. */
  readonly failures: number;
  /** End of the last run, whatever its outcome; undefined if none. */
  readonly lastTimeMs: number | undefined;
  readonly wasImported: boolean;
}

const feedState = columns<FeedState>({
  schedule: text,
  failures: number,
  lastTimeMs: nullableTimeMs("last_time"),
  wasImported: expression("coalesce(last_outcome = 'imported', false)", flag),
});

/** Returns the state of these schedules; those that never ran are omitted. */
export const findFeedStates = (rows: Read, schedules: readonly string[]): Promise<FeedState[]> =>
  feedState.find(rows, `select ${feedState.list} from feed_schedules where schedule = any($1)`, [schedules]);

/** Returns the number of the last migration. */
export const findSchemaVersion = async (rows: Read): Promise<number> => {
  const [row] = await rows.query("select coalesce(max(number), 0) from schema_migrations");
  return Number(row?.[0]);
};
