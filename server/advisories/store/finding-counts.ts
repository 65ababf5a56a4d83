// Table finding_counts: the number of open findings by group, severity, fix and exploitation. Triggers of affected_images maintain it, so
// that totals cost the same for any number of findings.

import { columns, expression, number, type Read } from "#db";
import type { CoveragePlace } from "./image-coverage.ts";
import { columnOf } from "./feed-rows.ts";

export interface CountedFindings {
  readonly minSeverityRank: number;
  readonly fixable: boolean;
  readonly exploited: boolean;
}

const severityCount = columns({ rank: expression("held.severity_rank", number), count: expression("sum(held.row_count)", number) });

/** Returns the number of open findings in these groups by rank of severity; ranks without findings are absent. */
export const countOpenFindings = async (
  rows: Read,
  places: readonly CoveragePlace[],
  { minSeverityRank, fixable, exploited }: CountedFindings,
): Promise<ReadonlyMap<number, number>> => {
  const found = await severityCount.find(
    rows,
    `select ${severityCount.list} from unnest($1::text[], $2::text[]) as place(low, high)
     cross join lateral (
       select severity_rank, row_count from finding_counts
       where owner >= place.low and owner < place.high and severity_rank >= $3 and (fixable or not $4) and (exploited or not $5) offset 0) as held
     group by held.severity_rank`,
    [columnOf(places, ({ low }) => low), columnOf(places, ({ high }) => high), minSeverityRank, fixable, exploited],
    { rows: 6, wide: true },
  );
  return new Map(found.map(({ rank, count }) => [rank, count]));
};
