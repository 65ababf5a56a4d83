// Table quotas. The server only reads it; `gantry admin quota` writes with the owner's connection.

import { columns, number, text } from "./columns.ts";
import type { Read, Write } from "./handle.ts";

export interface SetQuota {
  /** "" for the server. */
  readonly organization: string;
  readonly name: string;
  readonly value: number;
}

const quota = columns<SetQuota>({ organization: text, name: text, value: number });

/** Returns quotas by name, the server's own first. */
export const findQuotas = (rows: Read, names: readonly string[], max: number): Promise<SetQuota[]> =>
  quota.find(rows, `select ${quota.list} from quotas where name = any($1) order by organization, name limit $2`, [names, max]);

export const findQuotasOf = (rows: Read, organization: string): Promise<SetQuota[]> =>
  quota.find(rows, `select ${quota.list} from quotas where organization in ('', $1)`, [organization]);

export const writeQuota = async (rows: Write, { organization, name, value }: SetQuota): Promise<void> => {
  await rows.query("insert into quotas (organization, name, value) values ($1, $2, $3) on conflict (organization, name) do update set value = excluded.value", [
    organization,
    name,
    value,
  ]);
};

/** Returns whether it existed. */
export const deleteQuota = async (rows: Write, organization: string, name: string): Promise<boolean> =>
  (await rows.query("delete from quotas where organization = $1 and name = $2 returning 1", [organization, name])).length > 0;
