// Changes of a list that a page shows. A visible tab looks every 30 seconds, and when it becomes visible; the rows stay until the user loads.

import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { type MouseEvent, type ReactNode, useEffect } from "react";
import { type Answer, keepRows, newsKey } from "./api.ts";
import { announce, Icon } from "./parts.tsx";
import { texts } from "./texts.ts";

const intervalMs = 30_000;

interface NewsProps<Data, Item> {
  readonly title: string;
  readonly result: UseQueryResult<Answer<Data>>;
  readonly itemsOf: (data: Data) => readonly Item[];
}

/** What changes of a row show. Other fields, such as the last use, change by looking. */
const versionOf = (row: { readonly uid: string; readonly updateTime?: string } | undefined): string => `${row?.uid} ${row?.updateTime}`;

/** A button that loads the rows again, if the total or the first row has changed. */
export const News = <Data extends { readonly totalCount?: string }, Item extends { readonly uid: string }>({
  title,
  result,
  itemsOf,
}: NewsProps<Data, Item>): ReactNode => {
  const { data: shown, dataUpdatedAt, isFetching } = result;
  const { sent, head } = shown ?? {};
  useEffect(() => (sent && head ? keepRows(sent) : undefined), [sent, head]);
  const latest = useQuery({
    queryKey: [newsKey, sent, dataUpdatedAt],
    enabled: head !== undefined && !isFetching,
    queryFn: ({ signal }) => head?.(signal) ?? null,
    initialData: shown?.data ?? null,
    initialDataUpdatedAt: dataUpdatedAt,
    staleTime: intervalMs,
    gcTime: 0,
    refetchInterval: intervalMs,
    refetchOnWindowFocus: true,
    retry: false,
  }).data;
  const added = Number(latest?.totalCount ?? 0) - Number(shown?.data.totalCount ?? 0);
  const isChanged = latest && shown && (added !== 0 || versionOf(itemsOf(latest)[0]) !== versionOf(itemsOf(shown.data)[0]));
  const news = isChanged ? (added > 0 ? texts.newRows(added) : texts.changedRows) : "";
  useEffect(() => {
    if (news !== "") announce(texts.newsOf(title, news));
  }, [title, news]);
  if (news === "") return null;
  const load = ({ currentTarget }: MouseEvent): void => {
    // The button goes away with the news.
    currentTarget.closest("section")?.querySelector("h2")?.focus();
    void result.refetch();
  };
  return (
    <button type="button" className="news" aria-disabled={isFetching} onClick={load}>
      <Icon name="redo" />
      {news}
      <span className="unseen">, {texts.load}</span>
    </button>
  );
};
