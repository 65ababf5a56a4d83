// Lists: all pages or up to --limit, and subsequent changes with --watch.

import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { MessageFact } from "#contract/facts.ts";
import { wrongUsage } from "../exit-status.ts";
import type { OutputFormat } from "../output/format.ts";
import { openListPrinter } from "../output/print.ts";
import { openProgressBar } from "../progress-bar.ts";
import { coverageNote } from "./coverage-note.ts";
import { recordRows } from "./record-rows.ts";
import type { Session } from "./session.ts";
import type { CommandShape } from "./shape.ts";
import { watchChanges } from "./watch.ts";

export interface ListOptions {
  readonly limit: string | undefined;
  readonly watch: boolean;
}

const readLimit = (limit: string | undefined): number => {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (!/^\d{1,9}$/.test(limit) || Number(limit) === 0) throw wrongUsage(`--limit must be a number of at least 1, not ${JSON.stringify(limit)}`);
  return Number(limit);
};

/** Returns the other fields of the first page, for json and yaml. */
const besides = (page: JsonObject, list: string): JsonObject =>
  Object.fromEntries(Object.entries(page).filter(([key]) => key !== list && key !== "nextPageToken"));

const readForms: readonly OutputFormat[] = ["table", "wide", "tree", "name"];

/** Sorts by name if possible and no other order is requested. */
const isByName = (request: JsonObject, { method, listed }: CommandShape, format: OutputFormat): boolean => {
  const isPossible = method.input.byName.has("order_by") && listed?.message?.byName.get("name")?.sortable === true;
  return isPossible && text(request, "orderBy") === "" && readForms.includes(format);
};

const totalOf = (page: JsonObject): number | undefined => (page.totalCount === undefined ? undefined : Number(page.totalCount));

export const runList = async (session: Session, shape: CommandShape, request: JsonObject, { limit, watch }: ListOptions): Promise<void> => {
  const { client, output, signal, note, terminal } = session;
  const { method, listed } = shape;
  const message: MessageFact | undefined = listed?.message;
  if (listed === undefined || message === undefined) throw new Error(`${method.name} is not a list`);
  const most = readLimit(limit);
  if (watch && !["table", "wide", "jsonl"].includes(output.format)) throw wrongUsage("--watch requires -o table, wide or jsonl");
  // Opened before the list is read, so that no change is missed.
  const changes = watch ? await watchChanges(session, shape, request) : undefined;
  const sorted = isByName(request, shape, output.format);
  const printer = openListPrinter(output, message, listed.json, {
    findPaths: session.findPaths,
    sorted,
    records: recordRows(message, session.findPaths),
  });
  const bar = openProgressBar(terminal.err);
  const startedMs = performance.now();
  let [count, total, first]: [number, number | undefined, JsonObject | undefined] = [0, undefined, undefined];
  let isCut = false;
  const paged = method.input.byName.has("page_size");
  const inOrder: JsonObject = sorted ? { ...request, orderBy: "name" } : request;
  const asked: JsonObject = paged ? { ...inOrder, pageSize: Math.min(most, limits.pageSizeMax) } : inOrder;
  try {
    for await (const page of client.pages(method, asked, { signal })) {
      first ??= page;
      total = totalOf(page) ?? total;
      const resources = objectList(page, listed.json);
      const taken = resources.slice(0, most - count);
      count += taken.length;
      await printer.add(taken);
      isCut = taken.length < resources.length || (count >= most && text(page, "nextPageToken") !== "");
      if (count >= most) break;
      if (performance.now() - startedMs > limits.progressAfterMs) bar.update({ done: count, total: Math.max(total ?? 0, count), what: "read" });
    }
  } finally {
    bar.end();
  }
  await printer.end(besides(first ?? {}, listed.json));
  if (isCut) note(total === undefined ? `${count} shown, more available` : `${count} of ${total}`);
  if (count === 0 && terminal.err.isTTY && ["table", "wide", "tree"].includes(output.format)) note("no results");
  const coverage = coverageNote(first ?? {});
  if (coverage !== undefined && !["json", "yaml"].includes(output.format)) note(coverage);
  await changes?.follow(message);
};
