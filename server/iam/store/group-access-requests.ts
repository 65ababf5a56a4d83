// Table group_access_requests: when a user last asked the owners of an organization for access.

import { timestamp } from "#base/time.ts";
import { columns, timeMs, type Write } from "#db";

const request = columns({ requestTimeMs: timeMs("request_time") });

/**
 * Records an access request unless one was made after `sinceMs`. Returns undefined if recorded, otherwise the time of the earlier one
 * (Unix ms).
 */
export const insertAccessRequest = async (rows: Write, groupUid: string, identityUid: string, nowMs: number, sinceMs: number): Promise<number | undefined> => {
  const noted = await rows.query(
    `insert into group_access_requests as held (group_uid, identity_uid, request_time) values ($1, $2, $3)
     on conflict (group_uid, identity_uid) do update set request_time = excluded.request_time where held.request_time <= $4 returning 1`,
    [groupUid, identityUid, timestamp(nowMs), timestamp(sinceMs)],
  );
  if (noted.length > 0) return undefined;
  const statement = `select ${request.list} from group_access_requests where group_uid = $1 and identity_uid = $2`;
  return (await request.findOne(rows, statement, [groupUid, identityUid]))?.requestTimeMs ?? Number.NaN;
};
