// GANTRY_FEEDS: scheduled imports. Only the server with the lease imports a feed. Failures are retried with backoff and never
// stop the server.
//
//   feeds:
//     - kind: advisories
//       source: https://secdb.alpinelinux.org/v3.22/main.json
//       format: secdb            # optional
//       author: Alpine           # optional
//       public: true             # optional (default: keep public records public, new records private)
//       licence: CC-BY-4.0       # optional, an SPDX identifier
//       group: UID               # optional (default: the only organization)
//       keyFile: /etc/gantry/nvd.key   # optional; sent to the source's host only
//       every: 6h                # m, h or d
//       staleAfter: 2d           # optional; since the last success

import { readFile } from "node:fs/promises";
import { Fault } from "#base/fault.ts";
import type { Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { isUid } from "#base/uid.ts";
import type { Services } from "#kernel";
import { claimFeed, countFeedFailures, releaseFeed, renewFeed } from "#advisories/store";
import { Field } from "./field.ts";
import { type FeedKind, feedKinds } from "./formats/format.ts";
import { type FeedSummary, importFeed } from "./import-feed.ts";
import { readKeyFile } from "./key-file.ts";
import { isLicenseName } from "./licenses.ts";
import { DocumentError, FieldError, pathText } from "./invalid.ts";
import { readYaml } from "./parse/yaml.ts";
import { formats } from "./recognise.ts";
import { sourceLabel } from "./source.ts";

export interface ScheduledFeed {
  readonly kind: FeedKind;
  readonly source: string;
  readonly format: string | undefined;
  readonly author: string | undefined;
  readonly public: boolean | undefined;
  readonly license: string | undefined;
  /** Undefined for the only organization. */
  readonly group: string | undefined;
  readonly keyFile: string | undefined;
  readonly everyMs: number;
  /** Undefined uses the server's setting, at least twice the interval. */
  readonly staleAfterMs: number | undefined;
}

const units: ReadonlyMap<string, number> = new Map([
  ["m", 60_000],
  ["h", 60 * 60_000],
  ["d", 24 * 60 * 60_000],
]);

const readInterval = (field: Field): number => {
  const [, count, unit = ""] = /^(\d{1,4})([mhd])$/.exec(field.required()) ?? [];
  const everyMs = Number(count) * (units.get(unit) ?? Number.NaN);
  return everyMs > 0 ? everyMs : field.refuse("must be a time such as 30m, 6h or 1d");
};

const feedKeys = new Set(["kind", "source", "format", "author", "public", "licence", "group", "keyFile", "every", "staleAfter"]);

/** YAML scalars are texts here. */
const readFlag = (field: Field): boolean => {
  if (field.value === true || field.value === "true") return true;
  return field.value === false || field.value === "false" ? false : field.refuse("must be true or false");
};

const readLicense = (field: Field): string | undefined => {
  const license = field.name() || undefined;
  return license === undefined || isLicenseName(license) ? license : field.refuse("must be an SPDX identifier such as CC-BY-4.0");
};

const scheduledFeedOf = (field: Field): ScheduledFeed => {
  for (const key of field.object().keys()) if (!feedKeys.has(key)) field.at(key).refuse(`is unknown; must be one of ${[...feedKeys].join(", ")}`);
  const kind = feedKinds.find((each) => each === field.at("kind").required());
  if (!kind) return field.at("kind").refuse(`must be one of ${feedKinds.join(", ")}`);
  const format = field.at("format").name() || undefined;
  if (format !== undefined && !formats.some(({ name }) => name === format))
    return field.at("format").refuse(`must be one of ${formats.map(({ name }) => name).join(", ")}`);
  const group = field.at("group").name() || undefined;
  if (group !== undefined && !isUid(group)) return field.at("group").refuse("must be a uid");
  if (kind === "lifecycle" && !field.at("public").missing) return field.at("public").refuse("is not for a lifecycle, which is its group's");
  return {
    kind,
    format,
    group,
    source: field.at("source").url(),
    author: field.at("author").name() || undefined,
    public: field.at("public").missing ? undefined : readFlag(field.at("public")),
    license: readLicense(field.at("licence")),
    keyFile: field.at("keyFile").name() || undefined,
    everyMs: readInterval(field.at("every")),
    staleAfterMs: field.at("staleAfter").missing ? undefined : readInterval(field.at("staleAfter")),
  };
};

/** Throws a one-line Fault. */
export const readFeeds = async (text: string): Promise<ScheduledFeed[]> => {
  try {
    const document = new Field((await readYaml(text)) as Json).object();
    return document.at("feeds").entries().map(scheduledFeedOf);
  } catch (thrown) {
    const reason =
      thrown instanceof FieldError
        ? `${pathText(thrown.path)} ${thrown.message}`.trim()
        : thrown instanceof DocumentError
          ? `line ${thrown.line}: ${thrown.message}`
          : undefined;
    if (reason === undefined) throw thrown;
    throw new Fault("FAILED_PRECONDITION", `GANTRY_FEEDS: ${reason}`);
  }
};

/** Also checks the key files. */
export const readFeedsFile = async (path: string): Promise<ScheduledFeed[]> => {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new Fault("FAILED_PRECONDITION", `GANTRY_FEEDS must name a readable file: ${error instanceof Error ? error.message : path}`);
  }
  const feeds = await readFeeds(text);
  for (const { keyFile } of feeds) if (keyFile !== undefined) await readKeyFile(keyFile);
  return feeds;
};

export interface Schedule {
  /** In the file's order; `schedule` is the name of the feed's row. */
  readonly feeds: readonly { readonly schedule: string; readonly kind: string; readonly everyMs: number }[];
  /** Imports due feeds once, except those leased by another server. */
  turn(): Promise<void>;
  /** Releases the lease, so that another server can take over immediately. */
  stop(): Promise<void>;
}

export interface ScheduleOptions {
  readonly services: Services;
  readonly feeds: readonly ScheduledFeed[];
  readonly destination: (group: string | undefined) => Promise<string>;
}

/** Consecutive failures double the wait, up to the interval. */
const nextWaitMs = (everyMs: number, failures: number): number =>
  failures === 0 ? everyMs : Math.min(everyMs, limits.feedRetryMs * 2 ** Math.min(failures - 1, 20));

/** A weekly feed must not be stale after three days. 0 uses the server's setting. */
const staleAfterOf = ({ everyMs, staleAfterMs }: ScheduledFeed, settingMs: number): number => staleAfterMs ?? (2 * everyMs > settingMs ? 2 * everyMs : 0);

const scheduleName = ({ kind, group, source }: ScheduledFeed): string => [kind, group ?? "", source].join(" ");

const loggedCounts = ({ new: made, changed, withdrawn, unchanged, refusals, refused, passedOverFiles, passedOver }: FeedSummary): Record<string, unknown> => ({
  new: made,
  changed,
  withdrawn,
  unchanged,
  refused: refusals,
  firstRefused: refused.slice(0, 10),
  passedOver: passedOverFiles,
  firstPassedOver: passedOver.slice(0, 10),
});

export const startSchedule = ({ services, feeds, destination }: ScheduleOptions): Schedule => {
  const holder = crypto.randomUUID();
  const stopping = new AbortController();
  const { store, clock, log } = services;
  const leaseEnd = (): string => timestamp(clock() + limits.feedLeaseMs);

  const runImport = async (feed: ScheduledFeed, name: string): Promise<FeedSummary> => {
    let renewedMs = clock();
    return importFeed(services, {
      kind: feed.kind,
      public: feed.public,
      license: feed.license,
      format: feed.format,
      author: feed.author,
      keyFile: feed.keyFile,
      staleAfterMs: staleAfterOf(feed, services.feedStaleMs),
      operation: `GANTRY_FEEDS ${feed.kind}`,
      sources: [feed.source],
      group: await destination(feed.group),
      progress: () => {},
      signal: stopping.signal,
      goOn: async () => {
        if (clock() - renewedMs < limits.feedLeaseMs / 4) return;
        renewedMs = clock();
        if (!(await store.write((rows) => renewFeed(rows, name, holder, leaseEnd())))) throw new Fault("ABORTED", "another server holds the lease now");
      },
    });
  };

  const release = (name: string, nextMs: number, failures: number, lastOutcome: string): Promise<void> =>
    store.write((rows) => releaseFeed(rows, name, holder, { nextTime: timestamp(nextMs), failures, lastTime: timestamp(clock()), lastOutcome }));

  const runIfDue = async (feed: ScheduledFeed): Promise<void> => {
    const name = scheduleName(feed);
    if (!(await store.write((rows) => claimFeed(rows, name, holder, timestamp(clock()), leaseEnd())))) return;
    const source = sourceLabel(feed.source);
    const failures = await countFeedFailures(store.read, name);
    try {
      const summary = await runImport(feed, name);
      const [failed] = summary.failed;
      if (failed !== undefined) throw new Fault("UNAVAILABLE", failed);
      log("feed.imported", { kind: feed.kind, source, ...loggedCounts(summary) });
      await release(name, clock() + feed.everyMs, 0, "imported");
    } catch (cause) {
      if (stopping.signal.aborted) {
        await release(name, clock(), failures, "stopped");
        return;
      }
      log("feed.failed", { kind: feed.kind, source, failures: failures + 1, cause });
      await release(name, clock() + nextWaitMs(feed.everyMs, failures + 1), failures + 1, cause instanceof Error ? cause.message : String(cause));
    }
  };

  // An import holds a file's records in memory.
  let running: Promise<void> | undefined;
  const turn = (): Promise<void> =>
    (running ??= (async () => {
      for (const feed of feeds) {
        if (stopping.signal.aborted) return;
        // The database may be unreachable; the next turn retries.
        await runIfDue(feed).catch((cause: unknown) => log("feed.failed", { kind: feed.kind, source: sourceLabel(feed.source), cause }));
      }
    })().finally(() => {
      running = undefined;
    }));

  const timer = setInterval(() => void turn(), limits.feedLookMs);
  timer.unref();
  return {
    feeds: feeds.map((feed) => ({ schedule: scheduleName(feed), kind: feed.kind, everyMs: feed.everyMs })),
    turn,
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
};
