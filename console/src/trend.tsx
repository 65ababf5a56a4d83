// Findings by day, as bars by severity. A day without a count is a gap: it is unknown.

import type { ReactNode } from "react";
import type { FindingDay, FindingHistory } from "../../client/package.ts";
import type { Question } from "./api.ts";
import { toneOf } from "./findings.tsx";
import { Section } from "./parts.tsx";
import { texts } from "./texts/findings.ts";

const dayMs = 86_400_000;
const [barWidth, height, shownDays] = [8, 64, 90];

export const historyOf = (group: string): Question<FindingHistory> => {
  const request = { uidp: { descendantsOf: group }, dayCount: shownDays };
  return { name: "findings.get-history", request, send: (gantry, signal) => gantry.findings.getHistory(request, { signal }) };
};

/** From the most severe at the bottom. */
const Bar = ({ day: { day, findingCount, severityCounts }, x, scale }: { readonly day: FindingDay; readonly x: number; readonly scale: number }): ReactNode => {
  let below = 0;
  return (
    <g>
      <title>{texts.onDay(Number(findingCount), day)}</title>
      {severityCounts.map(({ severity, count }) => {
        const length = Number(count) * scale;
        below += length;
        return <rect key={severity} className={`bar ${toneOf(severity)}`} x={x} y={height - below} width={barWidth - 2} height={length} />;
      })}
      {Number(findingCount) === 0 ? <rect className="bar zero" x={x} y={height - 2} width={barWidth - 2} height={2} /> : null}
    </g>
  );
};

export const Trend = ({ days }: { readonly days: readonly FindingDay[] }): ReactNode => {
  const [last] = days;
  const first = days.at(-1);
  // One day is no trend.
  if (!last || !first || last === first) return null;
  const span = Math.round((Date.parse(last.day) - Date.parse(first.day)) / dayMs) + 1;
  const width = Math.max(span, 30) * barWidth;
  /** The last day is at the right. */
  const placeOf = (day: string): number => width - (1 + Math.round((Date.parse(last.day) - Date.parse(day)) / dayMs)) * barWidth;
  const most = Math.max(1, ...days.map(({ findingCount }) => Number(findingCount)));
  return (
    <Section title={texts.byDay} count={texts.trendOf(Number(first.findingCount), first.day, Number(last.findingCount), last.day)}>
      <svg className="trend" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={texts.byDay}>
        {days.map((day) => (
          <Bar key={day.day} day={day} x={placeOf(day.day)} scale={height / most} />
        ))}
      </svg>
    </Section>
  );
};
