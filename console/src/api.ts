// Requests of the views, through @gantry/client only. Each view knows its requests, to show them as commands.

import { hashKey, QueryClient, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { ApiError, Gantry } from "../../client/package.ts";
import { onForget, quietTokenSource, tokenSource } from "./session.ts";
import { texts } from "./texts.ts";

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
  /** Asks for the total and the first row only; undefined if this is no page of a list. It never ends the session. */
  readonly head?: (signal: AbortSignal) => Promise<Data>;
}

const isPermanent = (error: unknown): boolean => !(error instanceof ApiError) || error.reason !== "NO_CONNECTION";

type Key = readonly [name: string, request: Question<unknown>["request"]];

/** Lists whose rows are shown. They are read again when the user asks, or after a change of their own. */
const shownLists = new Map<string, number>();

/** Keeps the rows of a list when the window gets the focus, until the returned function is called. */
export const keepRows = ({ name, request }: Pick<Sent, "name" | "request">): (() => void) => {
  const hash = hashKey([name, request] satisfies Key);
  const change = (by: number): unknown => shownLists.set(hash, (shownLists.get(hash) ?? 0) + by);
  change(1);
  return () => change(-1);
};

export const queryClient = new QueryClient({
  defaultOptions: {
    // The client retries by itself what can be retried.
    queries: {
      retry: (count, error) => !isPermanent(error) && count < 1,
      refetchOnWindowFocus: ({ queryHash }) => ((shownLists.get(queryHash) ?? 0) > 0 ? false : "always"),
      networkMode: "always",
    },
  },
});
onForget(() => queryClient.clear());

/** The first part of the keys of queries that look for changes only. */
export const newsKey = "news";

/** Reads again what the page shows. */
export const readAgain = (): Promise<void> => queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== newsKey });

type FetchOf = NonNullable<ConstructorParameters<typeof Gantry>[0]["fetch"]>;

const clientWith = (fetch: FetchOf, token = tokenSource): Gantry => new Gantry({ server: location.origin, token, fetch });

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

/** Returns the address of the first row of a page of a list; undefined if this is none. */
const firstRowOf = (address: string): string | undefined => {
  const url = new URL(address, location.origin);
  if (!url.searchParams.has("pageSize")) return undefined;
  url.searchParams.set("pageSize", "1");
  return url.href;
};

const headOf = <Data>({ send }: Question<Data>, { verb, path }: Sent): Answer<Data>["head"] => {
  const address = verb === "GET" ? firstRowOf(path) : undefined;
  return address === undefined
    ? undefined
    : (signal) =>
        send(
          clientWith((_, init) => fetch(address, init), quietTokenSource),
          signal,
        );
};

const keyHeader = "idempotency-key";

/** Replaces the key of a write, so that the server makes the change of several attempts once. */
const withKey = (init: Parameters<FetchOf>[1], key: string): Parameters<FetchOf>[1] =>
  init?.headers?.[keyHeader] === undefined ? init : { ...init, headers: { ...init.headers, [keyHeader]: key } };

interface Attempt {
  /** Of all attempts at this write. */
  readonly key: string;
  readonly isRepeated: boolean;
}

/** Throws if a repeated write had succeeded, and its response had a secret that is shown once. */
export const ask = async <Data>(question: Question<Data>, signal: AbortSignal, attempt?: Attempt): Promise<Answer<Data>> => {
  let sent: Sent = { name: question.name, request: question.request, verb: "GET", path: "" };
  let leftOut: string | null = null;
  const gantry = clientWith(async (url, init) => {
    sent = sentOf(question, [url, init]);
    const response = await fetch(url, attempt ? withKey(init, attempt.key) : init);
    leftOut = response.headers.get("gantry-left-out");
    return response;
  });
  const data = await question.send(gantry, signal);
  if (attempt?.isRepeated && leftOut !== null) throw new Error(texts.answerLost);
  const head = headOf(question, sent);
  return { data, sent, ...(head ? { head } : {}) };
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
    queryKey: [question?.name ?? "", question?.request ?? {}] satisfies Key,
    enabled: question !== undefined && !onlyKnown,
    staleTime: question?.freshMs ?? 0,
    ...(keep ? { placeholderData: (before: Answer<Data> | undefined) => before } : {}),
    queryFn: ({ signal }) => {
      if (!question) throw new Error("there is no question");
      return ask(question, signal);
    },
  });
