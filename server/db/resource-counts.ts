// Counts and quotas of resources. Triggers maintain and enforce them; this module passes the default quotas.

import { Fault } from "#base/fault.ts";
import { organizationQuotas, rowQuotas, storageQuotas } from "#base/limits.ts";
import { columns, number, text } from "./columns.ts";
import { driverDetail, driverMessage, sqlState } from "./faults.ts";
import type { Read, Write } from "./handle.ts";
import { requireRow } from "./rows.ts";

export const quotaNameOf = (table: string): string => table.replaceAll("_", "-");

/** Session settings that the triggers read. */
export const quotaSettings = Object.entries({ ...organizationQuotas, ...rowQuotas, ...storageQuotas })
  .map(([name, value]) => `set gantry.quota_${name.replaceAll("-", "_")} = '${value}';`)
  .join(" ");

export interface ExceededQuota {
  readonly name: string;
  readonly value: number;
}

/** Returns the exceeded quota; undefined if the write failed for another reason. */
export const exceededQuota = (thrown: unknown): ExceededQuota | undefined => {
  if (!(thrown instanceof Fault) || sqlState(thrown.cause) !== "GQ001") return undefined;
  // "too many repos in …"
  const [, , resource = ""] = driverMessage(thrown.cause).split(" ");
  return { name: quotaNameOf(resource), value: Number(driverDetail(thrown.cause)) };
};

const used = columns({ resource: text, count: number });

/** Returns the counts by table. */
export const findResourceCounts = async (rows: Read, organization: string): Promise<ReadonlyMap<string, number>> => {
  const statement = `
    select ${used.list} from (select resource, sum(row_count) as count from resource_counts where organization = $1 group by resource) as used`;
  return new Map((await used.find(rows, statement, [organization])).map(({ resource, count }) => [resource, count]));
};

const storage = `(select
   coalesce(
     (select value from quotas where organization = $1 and name = 'blob-bytes'),
     (select value from quotas where organization = '' and name = 'blob-bytes'), $2::bigint) as quota,
   (select coalesce(sum(row_count), 0) from resource_counts where organization = $1 and resource = 'blob_bytes') as used) as storage`;

/** Returns the quota in bytes if it is used up. */
export const findSpentStorage = async (rows: Read, organization: string): Promise<number | undefined> => {
  const [row] = await rows.query(`select quota, quota <= used from ${storage}`, [organization, storageQuotas["blob-bytes"]]);
  return row?.[1] === "t" ? Number(row[0]) : undefined;
};

/** The transaction fails with `spent` if the quota in bytes is used up. Does not wait. */
export const requireUnspentStorage = (rows: Write, organization: string, spent: () => unknown): void =>
  requireRow(rows, `select from ${storage} where quota > used`, [organization, storageQuotas["blob-bytes"]], spent);

/** Locks the counts until the transaction ends and revokes unused grants of slots, so that later writers find a new quota. */
export const takeGrantsBack = async (rows: Write): Promise<void> => {
  await rows.query("lock table resource_counts in share row exclusive mode");
  await rows.query("update resource_counts set granted = 0 where granted > 0");
};
