// Organizations by what sets them apart from other groups: a verified domain, a status, people who want in.

import { timestamp } from "#base/time.ts";
import type { Read, Row, Write } from "./handle.ts";
import type { Table } from "./rows.ts";

/** The verified organization of this domain. */
export const findVerified = async (rows: Read, table: Table, domain: string): Promise<Row | undefined> => {
  const [row] = await rows.query(`select ${table.columns.join(", ")} from ${table.name} where name = $1 and verified and length(uid) = 40`, [domain]);
  return row;
};

/** Sets an organization's status; false where there is no such organization. What follows from it is the tables' own doing. */
export const setOrganizationStatus = async (rows: Write, uid: string, status: string, time: string): Promise<boolean> => {
  const changed = await rows.query("update groups set status = $2, update_time = greatest($3, update_time) where uid = $1 and length(uid) = 40 returning 1", [
    uid,
    status,
    time,
  ]);
  return changed.length > 0;
};

/**
 * Notes that somebody asks to be let into a group, unless they did after `sinceMs`. Undefined: noted; else when they
 * asked before. Of several at once one is noted.
 */
export const noteAccessRequest = async (rows: Write, group: string, identity: string, nowMs: number, sinceMs: number): Promise<number | undefined> => {
  const noted = await rows.query(
    `insert into group_access_requests as held (group_uid, identity_uid, request_time) values ($1, $2, $3)
     on conflict (group_uid, identity_uid) do update set request_time = excluded.request_time where held.request_time <= $4 returning 1`,
    [group, identity, timestamp(nowMs), timestamp(sinceMs)],
  );
  if (noted.length > 0) return undefined;
  const [row] = await rows.query(
    "select (extract(epoch from request_time) * 1000)::bigint from group_access_requests where group_uid = $1 and identity_uid = $2",
    [group, identity],
  );
  return Number(row?.[0]);
};
