// Table finding_days: the number of findings by group, day and severity. A group has a row for each day on which it had matched images.

import { timestamp } from "#base/time.ts";
import { columns, expression, periodRetention, type Read, type Retention, type RowOf, text, textList, type Write } from "#db";
import type { CoveragePlace } from "./image-coverage.ts";
import { columnOf } from "./feed-rows.ts";

const ranks = [0, 1, 2, 3, 4, 5];
const counts = ranks.map((rank) => `count_${rank}`);

const dayOf = (nowMs: number): string => timestamp(nowMs).slice(0, 10);

/** Writes today's counts of an organization's groups with matched images. */
export const writeFindingDay = async (rows: Write, root: string, nowMs: number): Promise<void> => {
  await rows.query(
    `insert into finding_days as held (owner, day, ${counts.join(", ")})
     select owner, $1::date, ${counts.map((each) => `coalesce(found.${each}, 0)`).join(", ")}
     from (select distinct owner from coverage_counts where owner >= $2 and owner < $2 || '0') as known
     left join (
       select owner, ${ranks.map((rank) => `sum(row_count) filter (where severity_rank = ${rank}) as count_${rank}`).join(", ")}
       from finding_counts where owner >= $2 and owner < $2 || '0' group by 1) as found using (owner)
     on conflict (owner, day) do update set ${counts.map((each) => `${each} = excluded.${each}`).join(", ")}
     where (${counts.map((each) => `held.${each}`).join(", ")}) is distinct from (${counts.map((each) => `excluded.${each}`).join(", ")})`,
    [dayOf(nowMs), root],
  );
};

export type FindingDay = RowOf<typeof findingDay>;

const findingDay = columns({
  day: expression("held.day::text", text),
  /** By rank of severity. */
  severityCounts: expression(`jsonb_build_array(${counts.map((each) => `sum(held.${each})`).join(", ")})`, textList),
});

/** Returns the days of these groups, newest first. */
export const findFindingDays = (rows: Read, places: readonly CoveragePlace[], sinceMs: number, count: number): Promise<FindingDay[]> =>
  findingDay.find(
    rows,
    `select ${findingDay.list} from unnest($1::text[], $2::text[]) as place(low, high)
     cross join lateral (select * from finding_days where owner >= place.low and owner < place.high and day >= $3::date offset 0) as held
     group by held.day order by held.day desc limit $4`,
    [columnOf(places, ({ low }) => low), columnOf(places, ({ high }) => high), dayOf(sinceMs), count],
    { rows: count, wide: true },
  );

export const findingDaysRetention: Retention = periodRetention("reportMs", { table: "finding_days", where: "day < $1::timestamptz", order: "day" });
