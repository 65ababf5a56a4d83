// How many resources of a counted kind an organization has, and how many it may have. The triggers of their tables keep the
// rows and refuse what is too many (0003_quotas.sql); here they are told what a quota is where nothing is set, and read.

import { Fault } from "#base/fault.ts";
import { organizationQuotas, rowQuotas, storageQuotas } from "#base/limits.ts";
import { columns, number, text } from "./columns.ts";
import { driverDetail, driverMessage, sqlState } from "./faults.ts";
import type { Read, Write } from "./handle.ts";

/** The name of the quota of a table: "role-bindings". */
export const quotaNameOf = (table: string): string => table.replaceAll("_", "-");

/** The settings of a session by which the triggers know this version's own quotas. */
export const quotaSettings = Object.entries({ ...organizationQuotas, ...rowQuotas, ...storageQuotas })
  .map(([name, value]) => `set gantry.quota_${name.replaceAll("-", "_")} = '${value}';`)
  .join(" ");

export interface ExceededQuota {
  readonly name: string;
  readonly value: number;
}

/** The quota for which there was no room for what a write made, by what the trigger raised; undefined where it failed for another reason. */
export const exceededQuota = (thrown: unknown): ExceededQuota | undefined => {
  if (!(thrown instanceof Fault) || sqlState(thrown.cause) !== "GQ001") return undefined;
  // "too many repos in …"
  const [, , resource = ""] = driverMessage(thrown.cause).split(" ");
  return { name: quotaNameOf(resource), value: Number(driverDetail(thrown.cause)) };
};

const used = columns({ resource: text, count: number });

/** What the organization has, by table. */
export const findResourceCounts = async (rows: Read, organization: string): Promise<ReadonlyMap<string, number>> => {
  const statement = `
    select ${used.list} from (select resource, sum(row_count) as count from resource_counts where organization = $1 group by resource) as used`;
  return new Map((await used.find(rows, statement, [organization])).map(({ resource, count }) => [resource, count]));
};

/** The quota of bytes that an organization has used up; undefined where it may have more. */
export const findSpentStorage = async (rows: Read, organization: string): Promise<number | undefined> => {
  const [row] = await rows.query(
    `select quota, quota <= used from (select
       coalesce(
         (select value from quotas where organization = $1 and name = 'blob-bytes'),
         (select value from quotas where organization = '' and name = 'blob-bytes'), $2::bigint) as quota,
       (select coalesce(sum(row_count), 0) from resource_counts where organization = $1 and resource = 'blob_bytes') as used) as storage`,
    [organization, storageQuotas["blob-bytes"]],
  );
  return row?.[1] === "t" ? Number(row[0]) : undefined;
};

/**
 * Waits until nobody makes or deletes anything that is counted, and keeps everybody from it until the transaction ends; of what
 * slots may still make without a look (0003_quotas.sql) nothing is left. Whoever comes then looks, and finds a quota that was set.
 */
export const takeGrantsBack = async (rows: Write): Promise<void> => {
  await rows.query("lock table resource_counts in share row exclusive mode");
  await rows.query("update resource_counts set granted = 0 where granted > 0");
};
