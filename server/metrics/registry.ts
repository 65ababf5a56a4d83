// Registry of metrics. Counting costs a map look-up; known values (lengths, sizes) are read at the scrape.

import type { Registry } from "@prometheus-io/client";
import type { FairQueue } from "#base/fair-queue.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { type CounterName, type Declared, declared, type GaugeName, type HistogramName, type LabelsOf, type MetricName } from "./declared.ts";

export interface Sample<N extends MetricName> {
  readonly labels: LabelsOf<N>;
  readonly value: number;
}

type Reader<N extends MetricName> = () => readonly Sample<N>[] | Promise<readonly Sample<N>[]>;

export interface Metrics {
  count<N extends CounterName>(name: N, labels: LabelsOf<N>, by?: number): void;
  /** @param value in the unit of the metric's name */
  observe<N extends HistogramName>(name: N, labels: LabelsOf<N>, value: number): void;
  /**
   * Reads all series of a gauge, or of an external counter, at each scrape; several readers add up. If it throws or exceeds
   * limits.metricReadMs, a gauge is omitted and a counter keeps its value.
   */
  watch<N extends CounterName | GaugeName>(name: N, read: NoInfer<Reader<N>>): void;
  /** Reads a queue's state at each scrape. */
  watchQueue(queue: Pick<FairQueue, "state">): void;
}

/** For commands, which are not scraped. */
export const unmeasured: Metrics = { count: () => {}, observe: () => {}, watch: () => {}, watchQueue: () => {} };

export interface OpenMetrics extends Metrics {
  /** Returns the scrape's text, cached for limits.metricsKeptMs. */
  read(): Promise<string>;
  /** Returns the data for another process. */
  readDocument(): Promise<MetricsDocument>;
  readonly contentType: string;
}

/** All series of a process in the library's format. */
export type MetricsDocument = readonly object[];

type Labels = Readonly<Record<string, unknown>>;

interface Held {
  /** An open label collects names up to the limit. */
  readonly known: readonly { readonly label: string; readonly values: Set<string>; readonly isOpen: boolean }[];
  readonly add: (labels: Record<string, string>, value: number) => void;
}

/** Replaces values beyond the limit of a label. */
export const otherValue = "other";

/** None if a label is open. */
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

/** Returns the scrape's text for several processes of one server. */
export const combineDocuments = async (documents: readonly MetricsDocument[]): Promise<string> => (await aggregate(documents)).metrics();

/** Returns the counters of exited processes: without them the sum would decrease, which looks like a restart. */
export const keepGrowing = async (documents: readonly MetricsDocument[]): Promise<MetricsDocument> =>
  (await (await aggregate(documents)).getMetricsAsJSON()).filter(({ type }) => type !== "gauge");

/** Returns a document for a process without a registry. */
export const metricsDocumentOf = <N extends CounterName | GaugeName>(samples: readonly ({ readonly name: N } & Sample<N>)[]): MetricsDocument =>
  [...Map.groupBy(samples, ({ name }) => name)].map(([name, own]) => {
    const { help, kind }: Declared = declared[name];
    return { name, help, type: kind, aggregator: combinationOf(declared[name]), values: own.map(({ labels, value }) => ({ labels, value })) };
  });

export const openMetrics = async ({ log }: { readonly log: Log }): Promise<OpenMetrics> => {
  // Loaded on demand: a tenth of all modules of a server.
  const { Counter, Gauge, Histogram, Registry } = await import("@prometheus-io/client");
  const registry = new Registry();
  const readers = new Map<string, Reader<MetricName>[]>();

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
          // A gauge without labels starts at 0, which was never read.
          if (samples.length === 0 && configuration.labelNames.length === 0) gauge.remove({});
          // Equal series of two readers add up.
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
        // A decreasing counter looks like a restart.
        if (samples === undefined) return;
        counter.reset();
        for (const { labels: of, value } of samples) counter.inc(bounded(name, of), value);
      },
    });
    // A series that starts with its first event hides that event from rate().
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
