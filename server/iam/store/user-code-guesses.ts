// Table user_code_guesses: wrong user codes of all servers in time windows.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, number, type Read, type Retention, type Write } from "#db";

const guesses = columns({ wrong: expression("coalesce(max(wrong), 0)", number) });

const windowOf = (nowMs: number): string => timestamp(nowMs - (nowMs % limits.userCodeGuessesWindowMs));

/** As long as it makes codes longer. */
const countsFrom = (nowMs: number): string => windowOf(nowMs - limits.userCodesLongerMs);

/** Returns the highest number in any window that counts. */
export const findMostWrongUserCodes = async (rows: Read, nowMs: number): Promise<number> => {
  const found = await guesses.findOne(rows, `select ${guesses.list} from user_code_guesses where window_time between $1 and $2`, [
    countsFrom(nowMs),
    windowOf(nowMs),
  ]);
  return found?.wrong ?? 0;
};

export const addWrongUserCodes = async (rows: Write, count: number, nowMs: number): Promise<void> => {
  await rows.query(
    `insert into user_code_guesses as held (window_time, wrong) values ($1, $2)
     on conflict (window_time) do update set wrong = least(held.wrong::bigint + excluded.wrong, 2147483647)`,
    [windowOf(nowMs), count],
  );
};

export const userCodeGuessesRetention: Retention = {
  table: "user_code_guesses",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "user_code_guesses", where: "window_time < $1", order: "window_time" }, [countsFrom(nowMs)]),
};
