// Table audit_targets: progress and lease of each audit target (server/audit/targets). A row survives removal from the
// configuration, so that a target that returns resumes there.

import type { SealPlace } from "./audit-entries.ts";
import { columns, expression, flag, nullableNumber, number, type Read, text, time, type Write } from "#db";

/** SQL condition: the target lacks the entry. */
const isUnsent = (entry: string, target: string): string => `${entry}.seal_time >= ${target}.seal_time
  and (${entry}.seal_time, left(${entry}.uid, 40), ${entry}.sequence) > (${target}.seal_time, ${target}.root, ${target}.sequence)`;

const waitingTarget = columns({ name: text });

/** Returns targets in use since `seenSince` that lack entries sealed before `until`. Both are RFC 3339. */
export const findTargetsWithout = async (rows: Read, until: string, seenSince: string): Promise<string[]> => {
  const found = await waitingTarget.find(
    rows,
    `select ${waitingTarget.list} from audit_targets as target where seen_time > $2 and exists (
       select from audit_entries as entry where entry.seal_time < $1 and ${isUnsent("entry", "target")}) order by name`,
    [until, seenSince],
  );
  return found.map(({ name }) => name);
};

/** Records a month dropped before complete delivery. */
export const markMonthMissed = async (rows: Write, targets: readonly string[], month: string): Promise<void> => {
  await rows.query("update audit_targets set missed_month = $2 where name = any($1)", [targets, month]);
};

/** Records that these targets are configured. A new one starts at the first retained entry. */
export const noteTargets = async (rows: Write, names: readonly string[], now: string): Promise<void> => {
  await rows.query(
    `insert into audit_targets as held (name, seen_time) select name, $2 from unnest($1::text[]) as given(name) order by name
     on conflict (name) do update set seen_time = greatest(held.seen_time, excluded.seen_time)`,
    [names, now],
  );
};

export interface AuditTargetState {
  readonly name: string;
  readonly place: SealPlace;
  /** Total deliveries. */
  readonly sent: number;
  /** Consecutive failures, the first one's time and the last reason; empty if none. */
  readonly failures: number;
  readonly failedSince: string;
  readonly problem: string;
  /** The last month dropped before delivery; empty if none. */
  readonly missedMonth: string;
  /** The server could acquire the lease now. */
  readonly isDue: boolean;
  /** When the first undelivered entry was sealed; undefined if none. */
  readonly waitingSinceMs: number | undefined;
}

const stateColumns = columns<Omit<AuditTargetState, "place"> & SealPlace>({
  name: text,
  sealTime: expression("seal_time::text", text),
  root: text,
  sequence: number,
  sent: number,
  failures: number,
  failedSince: time("failed_since"),
  problem: text,
  missedMonth: text,
  isDue: expression("next_time <= $2 and (lease_until is null or lease_until <= $2 or lease_holder = $3)", flag),
  waitingSinceMs: expression(
    `(select (extract(epoch from entry.seal_time) * 1000)::bigint from audit_entries as entry where ${isUnsent("entry", "target")}
      order by entry.seal_time limit 1)`,
    nullableNumber,
  ),
});

export const findTargets = async (rows: Read, names: readonly string[], now: string, holder = ""): Promise<AuditTargetState[]> => {
  const found = await stateColumns.find(rows, `select ${stateColumns.list} from audit_targets as target where name = any($1) order by name`, [
    names,
    now,
    holder,
  ]);
  return found.map(({ sealTime, root, sequence, ...state }) => ({ ...state, place: { sealTime, root, sequence } }));
};

const place = columns<SealPlace>({ sealTime: expression("seal_time::text", text), root: text, sequence: number });

/** Acquires the lease and returns the position; undefined if not due or leased. */
export const claimTarget = (rows: Write, name: string, holder: string, now: string, leaseUntil: string): Promise<SealPlace | undefined> =>
  place.findOne(
    rows,
    `update audit_targets set lease_holder = $2, lease_until = $4
     where name = $1 and next_time <= $3 and (lease_until is null or lease_until <= $3 or lease_holder = $2) returning ${place.list}`,
    [name, holder, now, leaseUntil],
  );

/** Advances the position and extends the lease; false if another server holds it. */
export const advanceTarget = async (
  rows: Write,
  name: string,
  holder: string,
  { to, entries, leaseUntil }: { readonly to: SealPlace; readonly entries: number; readonly leaseUntil: string },
): Promise<boolean> => {
  const advanced = await rows.query(
    `update audit_targets set seal_time = $3::timestamptz, root = $4, sequence = $5, sent = sent + $6, lease_until = $7,
       failures = 0, failed_since = null, problem = ''
     where name = $1 and lease_holder = $2 returning 1`,
    [name, holder, to.sealTime, to.root, to.sequence, entries, leaseUntil],
  );
  return advanced.length > 0;
};

const failed = columns({ failures: number });

export const countTargetFailures = async (rows: Read, name: string): Promise<number> =>
  (await failed.findOne(rows, `select ${failed.list} from audit_targets where name = $1`, [name]))?.failures ?? 0;

/** Releases the lease until `nextTime`. */
export const failTarget = async (
  rows: Write,
  name: string,
  holder: string,
  { now, nextTime, failures, problem }: { readonly now: string; readonly nextTime: string; readonly failures: number; readonly problem: string },
): Promise<void> => {
  await rows.query(
    `update audit_targets set failures = $5, failed_since = coalesce(failed_since, $3), problem = $6, next_time = $4, lease_holder = null, lease_until = null
     where name = $1 and lease_holder = $2`,
    [name, holder, now, nextTime, failures, problem],
  );
};

export const releaseTarget = async (rows: Write, name: string, holder: string): Promise<void> => {
  await rows.query("update audit_targets set lease_holder = null, lease_until = null where name = $1 and lease_holder = $2", [name, holder]);
};
