// Wrong user codes that people typed, counted for all servers together in windows of time.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, number } from "./columns.ts";
import type { Read, Write } from "./handle.ts";
import { deleteRows, type Retention } from "./retention.ts";

const guesses = columns({ wrong: number });

const windowOf = (nowMs: number): string => timestamp(nowMs - (nowMs % limits.userCodeGuessesWindowMs));

const deleteEarlierWindows = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query("delete from user_code_guesses where window_time < $1", [windowOf(nowMs)]);
};

/** How many wrong codes were typed in the window of `nowMs`. */
export const countWrongUserCodes = async (rows: Read, nowMs: number): Promise<number> => {
  const found = await guesses.findOne(rows, `select ${guesses.list} from user_code_guesses where window_time = $1`, [windowOf(nowMs)]);
  return found?.wrong ?? 0;
};

/** Counts one more, and forgets the windows before. */
export const addWrongUserCode = async (rows: Write, nowMs: number): Promise<void> => {
  await deleteEarlierWindows(rows, nowMs);
  await rows.query("insert into user_code_guesses as held (window_time, wrong) values ($1, 1) on conflict (window_time) do update set wrong = held.wrong + 1", [
    windowOf(nowMs),
  ]);
};

export const userCodeGuessesRetention: Retention = {
  table: "user_code_guesses",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "user_code_guesses", where: "window_time < $1", order: "window_time" }, [windowOf(nowMs)]),
};
