// Adds the withdrawal time and successor to advisories (docs/decisions/0073); they are not columns.

import { type JsonObject, text } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { findGroupSuccessors } from "#advisories/store";
import type { Read } from "#db";

const keyOf = (group: string, id: string): string => JSON.stringify([group, id]);

export const withWithdrawals = async (rows: Read, advisories: readonly JsonObject[]): Promise<JsonObject[]> => {
  const withdrawn = advisories.filter((advisory) => text(advisory, "deleteTime") !== "");
  if (withdrawn.length === 0) return [...advisories];
  const found = await findGroupSuccessors(
    rows,
    withdrawn.map((advisory) => ({ group: parentOf(text(advisory, "uid")), id: text(advisory, "advisoryId") })),
  );
  const successors = new Map(found.map(({ group, id, newId }) => [keyOf(group, id), newId]));
  return advisories.map((advisory) => {
    const withdrawnTime = text(advisory, "deleteTime");
    if (withdrawnTime === "") return advisory;
    const withdrawnBy = successors.get(keyOf(parentOf(text(advisory, "uid")), text(advisory, "advisoryId")));
    return { ...advisory, withdrawnTime, ...(withdrawnBy === undefined ? {} : { withdrawnBy }) };
  });
};
