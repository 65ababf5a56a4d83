// Queue lengths for metrics. Each statement stops at limits.backlogRowsMax rows, to cost no more for a long queue. That
// value means "at least".

import { limits } from "#base/limits.ts";
import { columns, expression, flag, nullableTimeMs, number, text } from "./columns.ts";
import type { Read } from "./handle.ts";

export interface OutboxBacklog {
  /** 0 if none. */
  readonly lastPosition: number;
  /** Events without a position, and the first one's time. */
  readonly unnumbered: number;
  readonly firstUnnumberedMs: number | undefined;
  /** The audit log's progress, and the first event after it. */
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
  /** Due now or later; `dead` ones failed their last attempt. */
  readonly pending: number;
  readonly dead: number;
  /** The first pending delivery. */
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
  readonly uploadBytes: number;
  /** Unreferenced contents still stored. */
  readonly removals: number;
  /** Pushed documents to process. */
  readonly sboms: number;
  readonly reports: number;
  readonly vex: number;
  /** Images whose layers are to be read. */
  readonly images: number;
  /** The time at which the first of them became due. */
  readonly firstImageDueMs: number | undefined;
}

const registryBacklog = columns<RegistryBacklog>({
  uploads: expression("(select count(*) from (select from uploads limit $1) as found)", number),
  uploadBytes: expression("(select coalesce(sum(size_bytes), 0) from (select size_bytes from uploads limit $1) as found)", number),
  removals: expression("(select count(*) from (select from blob_removals limit $1) as found)", number),
  sboms: expression("(select count(*) from (select from image_sboms where state = 'IMAGE_SBOM_STATE_WAITING' limit $1) as found)", number),
  reports: expression("(select count(*) from (select from pushed_reports limit $1) as found)", number),
  vex: expression("(select count(*) from (select from vex_documents where state = 'WAITING' limit $1) as found)", number),
  images: expression("(select count(*) from (select from image_contents where due_time is not null limit $1) as found)", number),
  // From one organization to the next, so that the images in the queue cost nothing.
  firstImageDueMs: nullableTimeMs(
    `(with recursive due(root) as (
        select min(left(uid, 40)) from image_contents where due_time is not null
        union all
        select (select min(left(uid, 40)) from image_contents where due_time is not null and left(uid, 40) > due.root) from due where due.root is not null
      )
      select min((select min(due_time) from image_contents where left(uid, 40) = each.root and due_time is not null))
      from (select root from due where root is not null limit $1) as each)`,
  ),
});

export const findRegistryBacklog = (rows: Read): Promise<RegistryBacklog | undefined> =>
  registryBacklog.findOne(rows, `select ${registryBacklog.list}`, [limits.backlogRowsMax]);

export interface FeedState {
  readonly schedule: string;
  /** Consecutive. */
  readonly failures: number;
  /** End of the last run, whatever its outcome. */
  readonly lastTimeMs: number | undefined;
  readonly wasImported: boolean;
}

const feedState = columns<FeedState>({
  schedule: text,
  failures: number,
  lastTimeMs: nullableTimeMs("last_time"),
  wasImported: expression("coalesce(last_outcome = 'imported', false)", flag),
});

/** Omits schedules that never ran. */
export const findFeedStates = (rows: Read, schedules: readonly string[]): Promise<FeedState[]> =>
  feedState.find(rows, `select ${feedState.list} from feed_schedules where schedule = any($1)`, [schedules]);

export const findSchemaVersion = async (rows: Read): Promise<number> => {
  const [row] = await rows.query("select coalesce(max(number), 0) from schema_migrations");
  return Number(row?.[0]);
};
