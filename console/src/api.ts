// Requests of the views, through @gantry/client only. Each view knows its requests, to show them as commands.

import { QueryClient, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { ApiError, Gantry } from "../../client/package.ts";
import { onForget, tokenSource } from "./session.ts";

/** A request as a view declares it: `iam.groups.list` with its message. */
export interface Question<Data> {
  readonly name: string;
  /** How long the answer counts without asking again (default: until the page is opened again). */
  readonly freshMs?: number;
  readonly request: Readonly<Record<string, unknown>>;
  readonly send: (gantry: Gantry, signal: AbortSignal) => Promise<Data>;
}

export interface Sent {
  readonly name: string;
  readonly request: Readonly<Record<string, unknown>>;
  /** The path with its query, as sent. */
  readonly path: string;
}

export interface Answer<Data> {
  readonly data: Data;
  readonly sent: Sent;
}

const isPermanent = (error: unknown): boolean => !(error instanceof ApiError) || error.reason !== "NO_CONNECTION";

export const queryClient = new QueryClient({
  defaultOptions: {
    // The client retries by itself what can be retried.
    queries: { retry: (count, error) => !isPermanent(error) && count < 1, refetchOnWindowFocus: "always", networkMode: "always" },
  },
});
onForget(() => queryClient.clear());

export const ask = async <Data>({ name, request, send }: Question<Data>, signal: AbortSignal): Promise<Answer<Data>> => {
  let path = "";
  const gantry = new Gantry({
    server: location.origin,
    token: tokenSource,
    fetch: (url, init) => {
      path = String(url).slice(location.origin.length);
      return fetch(url, init);
    },
  });
  const data = await send(gantry, signal);
  return { data, sent: { name, request, path } };
};

/** Asks a question; undefined waits. */
export const useAsk = <Data>(question: Question<Data> | undefined): UseQueryResult<Answer<Data>> =>
  useQuery({
    queryKey: [question?.name ?? "", question?.request ?? {}],
    enabled: question !== undefined,
    staleTime: question?.freshMs ?? 0,
    queryFn: ({ signal }) => {
      if (!question) throw new Error("there is no question");
      return ask(question, signal);
    },
  });
