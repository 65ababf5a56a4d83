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
  /** The same as a command, if the fields of the request are not its flags. */
  readonly command?: string;
  readonly send: (gantry: Gantry, signal: AbortSignal) => Promise<Data>;
}

export interface Sent {
  readonly name: string;
  readonly request: Readonly<Record<string, unknown>>;
  readonly command?: string;
  readonly verb: string;
  /** The path with its query, as sent. */
  readonly path: string;
  /** JSON; undefined if the request has none. */
  readonly body?: string;
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

type FetchOf = NonNullable<ConstructorParameters<typeof Gantry>[0]["fetch"]>;

const clientWith = (fetch: FetchOf): Gantry => new Gantry({ server: location.origin, token: tokenSource, fetch });

const sentOf = ({ name, request, command }: Question<unknown>, [url, init]: Parameters<FetchOf>): Sent => {
  const { method: verb = "GET", body } = init ?? {};
  return {
    name,
    request,
    ...(command === undefined ? {} : { command }),
    verb,
    path: String(url).slice(location.origin.length),
    ...(typeof body === "string" ? { body } : {}),
  };
};

export const ask = async <Data>(question: Question<Data>, signal: AbortSignal): Promise<Answer<Data>> => {
  let sent: Sent = { name: question.name, request: question.request, verb: "GET", path: "" };
  const gantry = clientWith((url, init) => {
    sent = sentOf(question, [url, init]);
    return fetch(url, init);
  });
  const data = await question.send(gantry, signal);
  return { data, sent };
};

/** Returns what a question would send, and sends nothing. */
export const preview = async (question: Question<unknown>): Promise<Sent | undefined> => {
  const stop = new AbortController();
  let sent: Sent | undefined;
  const gantry = clientWith((url, init) => {
    sent = sentOf(question, [url, init]);
    stop.abort();
    return Promise.reject(stop.signal.reason);
  });
  await question.send(gantry, stop.signal).catch(() => undefined);
  return sent;
};

interface AskOptions {
  /** Shows the answer to the last question until there is one to this. */
  readonly keep?: boolean;
  /** Sends nothing, and returns an earlier answer if there is one. */
  readonly onlyKnown?: boolean;
}

/** Asks a question; undefined waits. */
export const useAsk = <Data>(question: Question<Data> | undefined, { keep = false, onlyKnown = false }: AskOptions = {}): UseQueryResult<Answer<Data>> =>
  useQuery<Answer<Data>>({
    queryKey: [question?.name ?? "", question?.request ?? {}],
    enabled: question !== undefined && !onlyKnown,
    staleTime: question?.freshMs ?? 0,
    ...(keep ? { placeholderData: (before: Answer<Data> | undefined) => before } : {}),
    queryFn: ({ signal }) => {
      if (!question) throw new Error("there is no question");
      return ask(question, signal);
    },
  });
