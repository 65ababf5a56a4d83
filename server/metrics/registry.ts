// What the parts of a server hand in what they count through, and what a scrape reads. Counting costs a map's look-up;
// what a part knows anyway (lengths, sizes) is read when somebody scrapes.

import type { Registry } from "@prometheus-io/client";
import type { FairQueue } from "#base/fair-queue.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { type CounterName, type Declared, declared, type GaugeName, type HistogramName, type LabelsOf, type MetricName } from "./declared.ts";

/** One series of a metric. */
export interface Sample<N extends MetricName> {
  readonly labels: LabelsOf<N>;
  readonly value: number;
}

type Reader<N extends MetricName> = () => readonly Sample<N>[] | Promise<readonly Sample<N>[]>;

/** Handed to the parts of a server, as the log is. */
export interface Metrics {
  count<N extends CounterName>(name: N, labels: LabelsOf<N>, by?: number): void;
  /** @param value in the unit of the metric's name */
  observe<N extends HistogramName>(name: N, labels: LabelsOf<N>, value: number): void;
  /**
   * Reads all series of a gauge, or of a counter that somebody else keeps, at each scrape; further calls add theirs. What it
   * throws, or does not give within limits.metricReadMs: a gauge is left out of that scrape, a counter stays where it was.
   */
  watch<N extends CounterName | GaugeName>(name: N, read: NoInfer<Reader<N>>): void;
  /** Reads how full a queue is at each scrape. */
  watchQueue(queue: Pick<FairQueue, "state">): void;
}

/** Counts nothing: for commands, which nobody scrapes. */
export const unmeasured: Metrics = { count: () => {}, observe: () => {}, watch: () => {}, watchQueue: () => {} };

export interface OpenMetrics extends Metrics {
  /** The text that a scrape is given: of scrapes that come together or within limits.metricsKeptMs it is made once. */
  read(): Promise<string>;
  /** The same as data, which goes to another process. */
  readDocument(): Promise<MetricsDocument>;
  readonly contentType: string;
}

/** All series of a process, as the library has them. */
export type MetricsDocument = readonly object[];

/** Labels of some metric, whose own type says which. */
type Labels = Readonly<Record<string, unknown>>;

interface Held {
  /** Label by label, what it may say; an open one takes names until it has as many as it may. */
  readonly known: readonly { readonly label: string; readonly values: Set<string>; readonly isOpen: boolean }[];
  readonly add: (labels: Record<string, string>, value: number) => void;
}

/** What stands for values beyond those that a label may have. */
export const otherValue = "other";

/** Every combination of values of labels that are closed; none where one is open. */
const combinationsOf = (labels: Declared["labels"]): Record<string, string>[] => {
  let all: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    if (values === "open") return [];
    all = all.flatMap((each) => values.map((value) => ({ ...each, [label]: value })));
  }
  return all;
};

const within = <T>(ms: number, work: Promise<T>): Promise<T> => {
  const { promise, reject, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(new Error(`not there within ${ms} ms`)), ms).unref();
  work.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
};

const combinationOf = ({ of, combined }: Declared): "sum" | "max" | "min" => combined ?? (of === "database" ? "max" : "sum");

const aggregate = async (documents: readonly MetricsDocument[]): Promise<Registry> => {
  const { AggregatorRegistry } = await import("@prometheus-io/client");
  return AggregatorRegistry.aggregate([...documents]);
};

/** Returns the text of a scrape of several processes that are one server. */
export const combineDocuments = async (documents: readonly MetricsDocument[]): Promise<string> => (await aggregate(documents)).metrics();

/** Returns what stays of processes that have ended: what only grows, or its sum would go back, which looks like a new start of all. */
export const keepGrowing = async (documents: readonly MetricsDocument[]): Promise<MetricsDocument> =>
  (await (await aggregate(documents)).getMetricsAsJSON()).filter(({ type }) => type !== "gauge");

/** Returns a document of a process that has no registry. */
export const metricsDocumentOf = <N extends CounterName | GaugeName>(samples: readonly ({ readonly name: N } & Sample<N>)[]): MetricsDocument =>
  [...Map.groupBy(samples, ({ name }) => name)].map(([name, own]) => {
    const { help, kind }: Declared = declared[name];
    return { name, help, type: kind, aggregator: combinationOf(declared[name]), values: own.map(({ labels, value }) => ({ labels, value })) };
  });

/** Opens a registry with every metric that is declared. */
export const openMetrics = async ({ log }: { readonly log: Log }): Promise<OpenMetrics> => {
  // A tenth of all modules that a server loads, for those that somebody scrapes.
  const { Counter, Gauge, Histogram, Registry } = await import("@prometheus-io/client");
  const registry = new Registry();
  const readers = new Map<string, Reader<MetricName>[]>();

  /** What is read at a scrape, by every part that watches this metric; undefined where that fails. */
  const readSamples = async (name: string): Promise<readonly Sample<MetricName>[] | undefined> => {
    try {
      const reads = (readers.get(name) ?? []).map(async (read) => read());
      return (await within(limits.metricReadMs, Promise.all(reads))).flat();
    } catch (cause) {
      log("metrics.failed", { metric: name, cause });
      return undefined;
    }
  };

  const held = new Map<string, Held>();

  /** The labels, with "other" for what is one too many. */
  const bounded = (name: string, labels: Labels): Record<string, string> => {
    const texts: Record<string, string> = {};
    for (const { label, values, isOpen } of held.get(name)?.known ?? []) {
      const value = String(labels[label]);
      const isTaken = isOpen && values.size < limits.metricLabelValuesMax && value.length <= limits.metricLabelLengthMax;
      if (isTaken) values.add(value);
      texts[label] = isTaken || values.has(value) ? value : otherValue;
    }
    return texts;
  };

  const hold = (name: string, metric: Declared): Held["add"] => {
    const { kind, help, labels, buckets } = metric;
    const configuration = { name, help, labelNames: Object.keys(labels), registers: [registry], aggregator: combinationOf(metric) };
    if (kind === "histogram") {
      const histogram = new Histogram<string>({ ...configuration, buckets: [...(buckets ?? [])] });
      return (values, value) => histogram.observe(values, value);
    }
    if (kind === "gauge") {
      const gauge = new Gauge<string>({
        ...configuration,
        async collect() {
          const samples = (await readSamples(name)) ?? [];
          gauge.reset();
          // A gauge without labels begins with 0, which would be a value that nobody has read.
          if (samples.length === 0 && configuration.labelNames.length === 0) gauge.remove({});
          // Two parts may have a series each that says the same of different things: together they are one.
          for (const { labels: of, value } of samples) gauge.inc(bounded(name, of), value);
        },
      });
      return (values, value) => gauge.inc(values, value);
    }
    const counter = new Counter<string>({
      ...configuration,
      async collect() {
        if (!readers.has(name)) return;
        const samples = await readSamples(name);
        // A counter that went back would be one that has started again.
        if (samples === undefined) return;
        counter.reset();
        for (const { labels: of, value } of samples) counter.inc(bounded(name, of), value);
      },
    });
    // A series that begins with its first event hides that event from rate().
    for (const combination of combinationsOf(labels)) counter.inc(combination, 0);
    return (values, value) => counter.inc(values, value);
  };

  for (const [name, metric] of Object.entries<Declared>(declared)) {
    held.set(name, {
      known: Object.entries(metric.labels).map(([label, values]) => ({
        label,
        values: new Set(values === "open" ? [] : values),
        isOpen: values === "open",
      })),
      add: hold(name, metric),
    });
  }

  const add = (name: MetricName, labels: Labels, value: number): void => held.get(name)?.add(bounded(name, labels), value);

  const watch: Metrics["watch"] = (name, read) => void readers.set(name, [...(readers.get(name) ?? []), read]);

  let made: { readonly text: Promise<string>; readonly atMs: number } | undefined;

  return {
    contentType: registry.contentType,
    readDocument: () => registry.getMetricsAsJSON(),
    count: (name, labels, by = 1) => add(name, labels, by),
    observe: (name, labels, value) => add(name, labels, value),
    watch,
    watchQueue({ state }) {
      const read = (of: "places" | "held" | "waiting") => () => {
        const { name: queue, [of]: value } = state();
        return [{ labels: { queue }, value }];
      };
      watch("gantry_queue_places", read("places"));
      watch("gantry_queue_held", read("held"));
      watch("gantry_queue_waiting", read("waiting"));
    },
    read() {
      const nowMs = performance.now();
      if (made && nowMs - made.atMs < limits.metricsKeptMs) return made.text;
      const text = registry.metrics();
      made = { text, atMs: nowMs };
      text.catch(() => {
        made = undefined;
      });
      return text;
    },
  };
};
