// Quotas and rates set by the operator. They are written with the database owner's connection, with or without running servers; the
// server's role can only read them.

import { Fault } from "#base/fault.ts";
import { limits, organizationQuotas, requestRates, rowQuotas, storageQuotas } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { systemClock } from "#base/time.ts";
import { isRoot, isUid } from "#base/uid.ts";
import { deleteQuota, findQuotasOf, findResourceCounts, findRows, quotaNameOf, type Read, sqlState, type Store, takeGrantsBack, writeQuota } from "#db";
import { recordCommand } from "./command-record.ts";
import { withOwnersStore } from "./database.ts";
import type { DatabaseSettings } from "./settings.ts";

export interface QuotaOptions {
  readonly settings: DatabaseSettings;
  readonly publicUrl: string;
  readonly log: Log;
  readonly progress: (line: string) => void;
}

/** A quota; numbers are undefined if not set or not requested. */
export interface QuotaState {
  readonly name: string;
  readonly byDefault: number;
  readonly ofServer: number | undefined;
  readonly ofOrganization: number | undefined;
  /** Undefined for rates, which each process counts. */
  readonly used: number | undefined;
}

export interface QuotaChange {
  readonly name: string;
  /** undefined: unset. */
  readonly value: number | undefined;
  /** undefined: for the server. */
  readonly organization: string | undefined;
}

const defaults: ReadonlyMap<string, number> = new Map([
  ...Object.entries(organizationQuotas),
  ...Object.entries(rowQuotas),
  ...Object.entries(storageQuotas),
  ...Object.entries(requestRates),
]);

const boundsOf = (name: string): { readonly min: number; readonly max: number } => {
  if (name in requestRates) return { min: 1, max: limits.requestRateMax };
  return { min: 0, max: name in storageQuotas ? limits.storageQuotaMax : limits.organizationQuotaMax };
};

const requireKnown = (name: string): void => {
  if (!defaults.has(name)) throw new Fault("INVALID_ARGUMENT", `unknown quota ${JSON.stringify(name)}; must be one of ${[...defaults.keys()].join(", ")}`);
};

/** Parses a quota's value. Throws a one-line Fault. */
export const readQuotaValue = (name: string, value: string): number => {
  requireKnown(name);
  const { min, max } = boundsOf(name);
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= min && number <= max))
    throw new Fault("INVALID_ARGUMENT", `${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(value)}`);
  return number;
};

const requireOrganizationUid = (uid: string): void => {
  if (!isUid(uid)) throw new Fault("INVALID_ARGUMENT", `--organization must be a uid, not ${JSON.stringify(uid)}`);
  if (!isRoot(uid)) throw new Fault("INVALID_ARGUMENT", `${uid} is not an organization but a group in one. Name the organization`);
};

const requireOrganization = async (rows: Read, uid: string): Promise<void> => {
  if ((await findRows(rows, { name: "groups", columns: ["uid"] }, [uid])).length === 0) throw new Fault("NOT_FOUND", `organization ${uid} not found`);
};

/** Lists every quota with the server's and optionally the organization's values. Throws a one-line Fault. */
export const listQuotas = async ({ settings, log, progress }: QuotaOptions, organization?: string): Promise<QuotaState[]> => {
  if (organization !== undefined) requireOrganizationUid(organization);
  return withOwnersStore({ settings, log, progress }, async ({ read }) => {
    if (organization !== undefined) await requireOrganization(read, organization);
    const set = await findQuotasOf(read, organization ?? "");
    const valueOf = (name: string, whose: string | undefined): number | undefined =>
      set.find((quota) => quota.name === name && quota.organization === whose)?.value;
    const used = new Map<string, number>();
    if (organization !== undefined) for (const [table, count] of await findResourceCounts(read, organization)) used.set(quotaNameOf(table), count);
    return [...defaults].map(([name, byDefault]) => ({
      name,
      byDefault,
      ofServer: valueOf(name, ""),
      ofOrganization: organization === undefined ? undefined : valueOf(name, organization),
      used: organization === undefined || name in requestRates ? undefined : (used.get(name) ?? 0),
    }));
  });
};

const writeChange = (store: Store, publicUrl: string, { name, value, organization }: QuotaChange): Promise<void> =>
  store.write(async (rows) => {
    const whose = organization ?? "";
    if (!(name in requestRates)) await takeGrantsBack(rows);
    if (value === undefined) {
      // Also works for a deleted organization.
      if (!(await deleteQuota(rows, whose, name))) return;
    } else {
      if (organization !== undefined) await requireOrganization(rows, organization);
      await writeQuota(rows, { organization: whose, name, value });
    }
    const command = value === undefined ? `admin quota unset ${name}` : `admin quota set ${name} ${value}`;
    await recordCommand(rows, { publicUrl, clock: systemClock }, command, "dev.gantry.quota.changed.v1", whose);
  });

/** Sets or unsets a quota, with an audit entry. Throws a one-line Fault. */
export const changeQuota = async ({ settings, publicUrl, log, progress }: QuotaOptions, change: QuotaChange): Promise<void> => {
  requireKnown(change.name);
  if (change.organization !== undefined) requireOrganizationUid(change.organization);
  await withOwnersStore({ settings, log, progress }, async (store) => {
    try {
      await writeChange(store, publicUrl, change);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || sqlState(thrown.cause) !== "42501") throw thrown;
      const remedy = "give GANTRY_MIGRATE_URL, the connection of the role that owns the database";
      throw new Fault("FAILED_PRECONDITION", `the database role of DATABASE_URL lacks the permission to set quotas: ${remedy}`, { cause: thrown });
    }
  });
};
