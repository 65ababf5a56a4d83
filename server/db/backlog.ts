// What waits in the database, in numbers: for metrics. Each statement ends after limits.backlogRowsMax rows, so that it costs as
// little with a long backlog as with none; a number that is that high means "at least".

import { limits } from "#base/limits.ts";
import { columns, expression, flag, nullableTimeMs, number, text } from "./columns.ts";
import type { Read } from "./handle.ts";

export interface OutboxBacklog {
  /** Of the event that was numbered last; 0: none was. */
  readonly lastPosition: number;
  /** Events without a position, and when the first of them happened. */
  readonly unnumbered: number;
  readonly firstUnnumberedMs: number | undefined;
  /** How far the audit log is sealed, and when the first event behind that happened. */
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
  /** Organizations with events that have yet to become deliveries. */
  readonly fanOuts: number;
  /** To be sent now or later, and those whose last attempt has failed. */
  readonly pending: number;
  readonly dead: number;
  /** When the first of the pending ones was due. */
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
  /** Contents that nobody needs and that are still there. */
  readonly removals: number;
  /** Pushed documents that wait to be read. */
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

/** How an import that servers repeat stands. */
export interface FeedState {
  readonly schedule: string;
  /** In a row. */
  readonly failures: number;
  /** When it ended last, however; undefined: never. */
  readonly lastTimeMs: number | undefined;
  readonly wasImported: boolean;
}

const feedState = columns<FeedState>({
  schedule: text,
  failures: number,
  lastTimeMs: nullableTimeMs("last_time"),
  wasImported: expression("coalesce(last_outcome = 'imported', false)", flag),
});

/** Of these schedules; those that no server has begun are not there. */
export const findFeedStates = (rows: Read, schedules: readonly string[]): Promise<FeedState[]> =>
  feedState.find(rows, `select ${feedState.list} from feed_schedules where schedule = any($1)`, [schedules]);

/** The number of the last migration. */
export const findSchemaVersion = async (rows: Read): Promise<number> => {
  const [row] = await rows.query("select coalesce(max(number), 0) from schema_migrations");
  return Number(row?.[0]);
};
