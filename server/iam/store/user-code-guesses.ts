// Wrong user codes that people typed, counted for all servers together in windows of time.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, number, type Read, type Retention, type Write } from "#db";

const guesses = columns({ wrong: expression("coalesce(max(wrong), 0)", number) });

const windowOf = (nowMs: number): string => timestamp(nowMs - (nowMs % limits.userCodeGuessesWindowMs));

/** A window counts for as long as it makes codes longer. */
const countsFrom = (nowMs: number): string => windowOf(nowMs - limits.userCodesLongerMs);

/** How many wrong codes were typed in the worst of the windows that count at `nowMs`. */
export const findMostWrongUserCodes = async (rows: Read, nowMs: number): Promise<number> => {
  const found = await guesses.findOne(rows, `select ${guesses.list} from user_code_guesses where window_time between $1 and $2`, [
    countsFrom(nowMs),
    windowOf(nowMs),
  ]);
  return found?.wrong ?? 0;
};

/** Adds to the window of `nowMs`, up to what an integer holds. */
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
