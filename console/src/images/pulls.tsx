// Pulls of an image by day, and the last pull.

import type { ReactNode } from "react";
import type { PullDay } from "../../../client/package.ts";
import { useAsk } from "../api.ts";
import { Bars, type DayCount } from "../histogram.tsx";
import { type Column, Empty, Failure, Section, Skeleton, Table, Time } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/images.ts";
import { type ImageRef, pullsOf } from "./requests.ts";

const dayMs = 86_400_000;
const shownDays = 90;

/** The last days with their counts, the earliest first. The server lists only days with pulls, newest first. */
const daysOf = (pulls: readonly PullDay[], nowMs: number): DayCount[] => {
  const counts = new Map(pulls.map(({ day, pullCount }) => [day, Number(pullCount)]));
  // The server's day can be one ahead of the browser's.
  const endMs = Math.max(nowMs, Date.parse(pulls[0]?.day ?? "") || 0);
  return Array.from({ length: shownDays }, (_, index) => {
    const day = new Date(endMs - (shownDays - 1 - index) * dayMs).toISOString().slice(0, 10);
    return { day, count: counts.get(day) ?? 0 };
  });
};

type Row = PullDay & { readonly uid: string };

const columns: readonly Column<Row>[] = [
  { title: texts.pullDay, cell: ({ day }) => <time>{day}</time> },
  { title: texts.pulls, cell: ({ pullCount }) => Number(pullCount).toLocaleString("en") },
];

export const ImagePulls = ({ image }: { readonly image: ImageRef }): ReactNode => {
  const result = useAsk(pullsOf(image.repoUid, image.digest));
  const data = result.data?.data;
  if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
  if (!data) return <Skeleton rows={4} />;
  const total = Number(data.pullCount);
  const days = daysOf(data.days, Date.now());
  const [first, last] = [days[0]?.day ?? "", days.at(-1)?.day ?? ""];
  const shown = days.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <Section title={texts.pulls} count={texts.pullCount(total)}>
        <p className="about section-about">{texts.pullsText}</p>
        {data.days.length === 0 && data.lastPullTime === undefined ? (
          <Empty icon="download" title={texts.noPullsTitle}>
            <p>{texts.noPullsText}</p>
          </Empty>
        ) : (
          <>
            <div className="details">
              <dl>
                <dt>{texts.lastPull}</dt>
                <dd>
                  <Time time={data.lastPullTime} />
                </dd>
                <dt>{texts.lastRuntimePull}</dt>
                <dd>
                  <Time time={data.lastRuntimePullTime} />
                </dd>
              </dl>
            </div>
            <div className="histogram-body">
              <Bars days={days} label={texts.pullsBetween(shown, first, last)} />
              <p className="ends">
                <time>{first}</time>
                <time>{last}</time>
              </p>
            </div>
            {data.days.length === 0 ? null : (
              <Table caption={texts.pullsByDay} columns={columns} items={data.days.map((each) => ({ ...each, uid: each.day }))} />
            )}
          </>
        )}
      </Section>
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};
