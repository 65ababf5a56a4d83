// Rows of a list by day, as bars above its table. A range of days is typed, dragged or chosen in a table, and is in the address.

import type { UseQueryResult } from "@tanstack/react-query";
import { type FormEvent, type PointerEvent, type ReactNode, useId, useState } from "react";
import { navigate, useAddress, withParameters } from "./address.ts";
import type { Answer } from "./api.ts";
import { type Column, Failure, Link, Section, Skeleton, Table } from "./parts.tsx";
import { texts } from "./texts/histogram.ts";

const dayMs = 86_400_000;
const [barWidth, height] = [8, 64];

export interface DayCount {
  /** In UTC: "2026-04-30". */
  readonly day: string;
  readonly count: number;
}

/** Empty: unbounded. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

const dayIn = (url: URL, name: string): string => {
  const value = url.searchParams.get(name) ?? "";
  return /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : "";
};

export const rangeIn = (url: URL): DayRange => ({ from: dayIn(url, "from"), to: dayIn(url, "to") });

/** The bounds of a list's request. `since` and `until` are exclusive. */
export const boundsOf = ({ from, to }: DayRange): { readonly since?: string; readonly until?: string } => ({
  ...(from === "" ? {} : { since: new Date(Date.parse(from) - 1).toISOString() }),
  ...(to === "" ? {} : { until: new Date(Date.parse(to) + dayMs).toISOString() }),
});

const addressOf = (url: URL, { from, to }: DayRange): string =>
  withParameters(url, { from: from || undefined, to: to || undefined, skip: undefined, entry: undefined, event: undefined });

const isIn = (day: string, { from, to }: DayRange): boolean => (from !== "" || to !== "") && day >= from && (to === "" || day <= to);

interface BarsProps {
  /** The earliest first. */
  readonly days: readonly DayCount[];
  readonly range?: DayRange;
  readonly label: string;
  /** Absent: days cannot be chosen. */
  readonly onRange?: (range: DayRange) => void;
}

const noRange: DayRange = { from: "", to: "" };

export const Bars = ({ days, range = noRange, label, onRange }: BarsProps): ReactNode => {
  const [drag, setDrag] = useState<{ readonly start: number; readonly end: number }>();
  const most = Math.max(1, ...days.map(({ count }) => count));
  const indexAt = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(days.length - 1, Math.floor(((clientX - left) / width) * days.length)));
  };
  const dragged = (end: number): DayRange => {
    const ends = [drag?.start ?? end, end].sort((one, other) => one - other);
    return { from: days[ends[0] ?? 0]?.day ?? "", to: days[ends[1] ?? 0]?.day ?? "" };
  };
  const chosen = drag === undefined ? range : dragged(drag.end);
  return (
    <svg
      className={onRange ? "histogram" : "histogram fixed"}
      viewBox={`0 0 ${days.length * barWidth} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      onPointerDown={(event) => {
        if (!onRange) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ start: indexAt(event), end: indexAt(event) });
      }}
      onPointerMove={(event) => {
        if (drag) setDrag({ ...drag, end: indexAt(event) });
      }}
      onPointerUp={(event) => {
        if (drag) onRange?.(dragged(indexAt(event)));
        setDrag(undefined);
      }}
      onPointerCancel={() => setDrag(undefined)}
    >
      {days.map(({ day, count }, index) => {
        // A day with few rows must not look like a day without any.
        const length = count === 0 ? 1 : Math.max(3, (count / most) * height);
        return (
          <g key={day}>
            <title>{texts.onDay(count, day)}</title>
            <rect className={isIn(day, chosen) ? "day chosen" : "day"} x={index * barWidth} y={0} width={barWidth} height={height} />
            <rect className={count === 0 ? "bar zero" : "bar counted"} x={index * barWidth + 1} y={height - length} width={barWidth - 2} height={length} />
          </g>
        );
      })}
    </svg>
  );
};

const RangeForm = ({ range, onRange }: { readonly range: DayRange; readonly onRange: (range: DayRange) => void }): ReactNode => {
  const id = useId();
  const [from, setFrom] = useState(range.from);
  const [to, setTo] = useState(range.to);
  const [isWrong, setWrong] = useState(false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const wrong = from !== "" && to !== "" && from > to;
    setWrong(wrong);
    if (!wrong) onRange({ from, to });
  };
  return (
    <form className="days" onSubmit={submit} noValidate>
      <div className="field">
        <label htmlFor={`${id}-from`}>{texts.from}</label>
        <input
          id={`${id}-from`}
          type="date"
          value={from}
          aria-describedby={`${id}-about`}
          aria-invalid={isWrong}
          onChange={({ target }) => setFrom(target.value)}
        />
      </div>
      <div className="field">
        <label htmlFor={`${id}-to`}>{texts.to}</label>
        <input id={`${id}-to`} type="date" value={to} aria-describedby={`${id}-about`} aria-invalid={isWrong} onChange={({ target }) => setTo(target.value)} />
      </div>
      <button type="submit" className="button">
        {texts.showRange}
      </button>
      {range.from === "" && range.to === "" ? null : (
        <button type="button" className="button" onClick={() => onRange({ from: "", to: "" })}>
          {texts.allDays}
        </button>
      )}
      <p id={`${id}-about`} className={isWrong ? "problem" : "about"}>
        {isWrong ? texts.rangeInvalid : texts.dragHint}
      </p>
    </form>
  );
};

interface HistogramProps<Data> {
  readonly result: UseQueryResult<Answer<Data>>;
  /** The newest first. */
  readonly daysOf: (data: Data) => readonly DayCount[];
  /** Days that were requested. */
  readonly dayCount: number;
  readonly count: (total: number) => string;
}

export const Histogram = <Data,>({ result, daysOf, dayCount, count }: HistogramProps<Data>): ReactNode => {
  const url = useAddress();
  const range = rangeIn(url);
  const [isTable, setTable] = useState(false);
  const onRange = (next: DayRange): void => navigate(addressOf(url, next), true);
  if (result.error)
    return (
      <Section title={texts.byDay}>
        <Failure error={result.error} retry={() => void result.refetch()} />
      </Section>
    );
  if (result.data === undefined)
    return (
      <Section title={texts.byDay}>
        <Skeleton />
      </Section>
    );
  const days = daysOf(result.data.data);
  const [last, first] = [days[0], days.at(-1)];
  // The caller may read nothing here.
  if (!last || !first) return null;
  const total = count(days.reduce((sum, each) => sum + each.count, 0));
  const columns: readonly Column<DayCount & { readonly uid: string }>[] = [
    {
      title: texts.day,
      cell: ({ day }) => (
        <Link href={addressOf(url, { from: day, to: day })} isSamePage>
          {day}
        </Link>
      ),
    },
    { title: texts.number, cell: ({ count: number }) => String(number) },
  ];
  return (
    <Section
      title={texts.byDay}
      count={total}
      action={
        <button type="button" className="button quiet-button" aria-expanded={isTable} onClick={() => setTable(!isTable)}>
          {texts.asTable}
        </button>
      }
    >
      <div className="histogram-body">
        <Bars days={days.toReversed()} range={range} label={texts.chartOf(total, first.day, last.day)} onRange={onRange} />
        <p className="ends">
          <time>{first.day}</time>
          <time>{last.day}</time>
        </p>
        {days.length < dayCount ? <p className="about">{texts.earlierUnknown(first.day)}</p> : null}
        <details className="choose-days" open={range.from !== "" || range.to !== ""}>
          <summary>{texts.chooseDays}</summary>
          <RangeForm key={`${range.from} ${range.to}`} range={range} onRange={onRange} />
        </details>
      </div>
      {isTable ? <Table caption={texts.byDay} columns={columns} items={days.map((each) => ({ ...each, uid: each.day }))} /> : null}
    </Section>
  );
};
