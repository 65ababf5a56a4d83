// Counts wrong user codes over all servers, which decides the length of new ones (user-code.ts). A server writes its count at
// intervals and when it makes a code, so guesses cost one row per interval, from any number of addresses.

import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import { addWrongUserCodes, findMostWrongUserCodes } from "#iam/store";
import type { Store, Write } from "#db";
import { userCodeLength } from "./user-code.ts";

export interface UserCodeGuesses {
  addWrong(): Promise<void>;
  lengthOfNew(rows: Write): Promise<number>;
}

export const openUserCodeGuesses = (store: Pick<Store, "write">, clock: Clock): UserCodeGuesses => {
  let unwritten = 0;
  let writtenMs = Number.NEGATIVE_INFINITY;
  const writeDown = async (rows: Write, nowMs: number): Promise<void> => {
    const count = unwritten;
    if (count === 0) return;
    unwritten = 0;
    try {
      await addWrongUserCodes(rows, count, nowMs);
    } catch (thrown) {
      unwritten += count;
      throw thrown;
    }
  };
  return {
    async addWrong() {
      const nowMs = clock();
      unwritten++;
      if (Math.abs(nowMs - writtenMs) < limits.userCodeGuessesWriteMs) return;
      writtenMs = nowMs;
      await store.write((rows) => writeDown(rows, nowMs));
    },
    async lengthOfNew(rows) {
      const nowMs = clock();
      await writeDown(rows, nowMs);
      return userCodeLength(await findMostWrongUserCodes(rows, nowMs));
    },
  };
};
