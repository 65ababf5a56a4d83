// A list of the API as a section: table, exact total, pages.

import type { ReactNode } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import type { Answer } from "./api.ts";
import { News } from "./news.tsx";
import { type Column, Failure, Pager, Section, Skeleton, Table } from "./parts.tsx";

interface ListSectionProps<Data, Item> {
  readonly title: string;
  readonly about?: string;
  readonly action?: ReactNode;
  readonly result: UseQueryResult<Answer<Data>>;
  readonly itemsOf: (data: Data) => readonly Item[];
  readonly columns: readonly Column<Item>[];
  readonly count: (total: number) => string;
  /** Name of the position in the address. */
  readonly parameter: string;
  readonly empty: ReactNode;
  /** Below the table. */
  readonly after?: ReactNode;
}

export const ListSection = <Data extends { readonly totalCount?: string }, Item extends { readonly uid: string }>({
  title,
  about,
  action,
  result,
  itemsOf,
  columns,
  count,
  parameter,
  empty,
  after,
}: ListSectionProps<Data, Item>): ReactNode => {
  const data = result.data?.data;
  const total = Number(data?.totalCount ?? 0);
  const items = data === undefined ? [] : itemsOf(data);
  const body = (): ReactNode => {
    if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
    if (data === undefined) return <Skeleton />;
    return items.length === 0 && total === 0 ? empty : <Table caption={title} columns={columns} items={items} />;
  };
  return (
    <Section
      title={title}
      count={data === undefined ? undefined : count(total)}
      action={
        <>
          {result.error ? null : <News title={title} result={result} itemsOf={itemsOf} />}
          {action}
        </>
      }
    >
      {about === undefined ? null : <p className="about section-about">{about}</p>}
      {body()}
      {data === undefined || result.error ? null : <Pager total={total} parameter={parameter} what={title} />}
      {after}
    </Section>
  );
};
