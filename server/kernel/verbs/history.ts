// Counts of a list's rows by day, with the filters of the list. Days that the count does not reach are left out: they are unknown.

import { invalid } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { MessageName } from "#contract/gen/facts.ts";
import { type Condition, countRowsByDay, type DayCount, wholeTable } from "#db";
import type { Outcome, ReadContext } from "../context.ts";
import { boundOf } from "../resource.ts";
import { findListed } from "./list.ts";

const dayMs = 24 * 60 * 60 * 1000;

const rootLength = 40;

const dayOf = (ms: number): string => timestamp(ms).slice(0, 10);

const dayCountOf = ({ request }: ReadContext): number => {
  const given = Number(request.dayCount ?? 0);
  if (given < 0 || given > limits.historyDaysMax) throw invalid([{ field: "day_count", description: `must be from 1 to ${limits.historyDaysMax}` }]);
  return given === 0 ? limits.historyDaysDefault : given;
};

/** Returns the condition of a request's `until`. */
export const untilConditions = async ({ request }: ReadContext): Promise<Condition[]> => {
  const until = text(request, "until");
  return until === "" ? [] : [{ column: "create_time", comparison: "before", value: until, indexed: true }];
};

/** Returns the days that are counted completely, newest first. A count that stops at `rowsMax` rows may miss rows of its last day. */
export const countedDays = (
  found: readonly Pick<DayCount, "day" | "read">[],
  { nowMs, dayCount, rowsMax }: { readonly nowMs: number; readonly dayCount: number; readonly rowsMax: number },
): string[] => {
  const isCut = found.reduce((sum, { read }) => sum + read, 0) >= rowsMax;
  const lastDay = isCut ? (found.at(-1)?.day ?? "") : "";
  return Array.from({ length: dayCount }, (_, index) => dayOf(nowMs - index * dayMs)).filter((day) => day > lastDay);
};

/**
 * Answers with the number of selected rows of each day as `countField`. Throws INVALID_ARGUMENT if the rows may be in several
 * organizations: each has its own index by time.
 */
export const history =
  (message: MessageName, countField: string) =>
  async (context: ReadContext): Promise<Outcome> => {
    const { rows, nowMs } = context;
    const dayCount = dayCountOf(context);
    const bound = boundOf(context, message);
    const listed = await findListed(bound, context);
    const [root, ...others] = new Set(listed.branches.map(({ low }) => low.slice(0, rootLength)));
    if (root === undefined) return { reply: {} };
    if (root === wholeTable.low || others.length > 0)
      throw invalid([{ field: "uidp", description: "must have descendants_of or children_of, because you have access to several organizations" }]);
    const selection = { ...listed, order: { column: "create_time", descending: true }, after: undefined, skip: 0, limit: 0, count: true, size: undefined };
    const since = `${dayOf(nowMs - (dayCount - 1) * dayMs)}T00:00:00.000Z`;
    const rowsMax = limits.historyRowsMax;
    // A row that is created at midnight may have tomorrow's day.
    const found = await countRowsByDay(rows, bound.shape.table, selection, root, { since, rowsMax, daysMax: dayCount + 1 });
    const counts = new Map(found.map(({ day, count }) => [day, count]));
    const days = countedDays(found, { nowMs, dayCount, rowsMax });
    return { reply: { days: days.map((day) => ({ day, [countField]: String(counts.get(day) ?? 0) })) } };
  };
