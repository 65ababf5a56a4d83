// Counts unexpired rows that anonymous clients can create.

import { timestamp } from "#base/time.ts";
import { columns, expression, nullableTimeMs, number, type Read } from "#db";

/** Indexed by address_hash and expire_time. */
export type OpenRowsTable = "authorization_codes" | "device_codes" | "headless_sessions" | "sign_ins";

const ofAddress = columns({ count: expression("count(*)", number), firstEndMs: nullableTimeMs("min(expire_time)") });

/** Counts up to `countMax`. Also returns when the first expires. */
export const countOpenRowsOf = async (
  rows: Read,
  table: OpenRowsTable,
  addressHash: string,
  nowMs: number,
  countMax: number,
): Promise<{ readonly count: number; readonly firstEndMs: number | undefined }> => {
  const found = await ofAddress.findOne(
    rows,
    `select ${ofAddress.list} from (
       select expire_time from ${table} where address_hash = $1 and expire_time > $2 order by expire_time limit $3) as open`,
    [addressHash, timestamp(nowMs), countMax],
  );
  return found ?? { count: 0, firstEndMs: undefined };
};

const ofAll = columns({ count: expression("count(*)", number) });

/** Counts up to `countMax`. */
export const countOpenRows = async (rows: Read, table: OpenRowsTable, nowMs: number, countMax: number): Promise<number> => {
  const found = await ofAll.findOne(rows, `select ${ofAll.list} from (select 1 from ${table} where expire_time > $1 limit $2) as open`, [
    timestamp(nowMs),
    countMax,
  ]);
  return found?.count ?? 0;
};
