// Table audit_targets: how far each of the operator's targets has the audit log (server/audit-targets), and which server
// sends to it at the moment. A row stays when its target is taken out of the settings: put back, it goes on from there.

import { columns, text } from "./columns.ts";
import type { Read, Write } from "./handle.ts";

/** SQL: an entry is behind what a target has, in the order in which they are sent. */
const isUnsent = (entry: string, target: string): string => `${entry}.seal_time >= ${target}.seal_time
  and (${entry}.seal_time, left(${entry}.uid, 40), ${entry}.sequence) > (${target}.seal_time, ${target}.root, ${target}.sequence)`;

const waitingTarget = columns({ name: text });

/** The targets that a server has named since `seenSince` and that lack entries which were sealed before `until`. Both RFC 3339. */
export const findTargetsWithout = async (rows: Read, until: string, seenSince: string): Promise<string[]> => {
  const found = await waitingTarget.find(
    rows,
    `select ${waitingTarget.list} from audit_targets as target where seen_time > $2 and exists (
       select from audit_entries as entry where entry.seal_time < $1 and ${isUnsent("entry", "target")}) order by name`,
    [until, seenSince],
  );
  return found.map(({ name }) => name);
};

/** Notes that a month was dropped which these targets had not got whole. */
export const markMonthMissed = async (rows: Write, targets: readonly string[], month: string): Promise<void> => {
  await rows.query("update audit_targets set missed_month = $2 where name = any($1)", [targets, month]);
};
