// The figures and their bounds.

import { type FilterQuery, type Filter, filters, unfiltered } from "./filters.ts";
import { loadNames } from "./neighbours.ts";
import { variantNamesOf } from "./advisories.ts";

export interface Figure {
  readonly name: string;
  readonly unit: "ratio" | "s" | "ms" | "MB" | "KiB" | "1/s";
  readonly bound: { readonly words: "at least" | "at most" | "below"; readonly value: number };
  /** Computes the value of one round from its variants. */
  readonly value: (of: (variant: string) => number) => number;
  readonly variants: readonly string[];
  /** Measured in the same rounds and shown without a bound. */
  readonly beside?: readonly string[];
}

const speedRatio = (name: string, one: string, other: string, least: number): Figure => ({
  name,
  unit: "ratio",
  bound: { words: "at least", value: least },
  variants: [one, other],
  value: (of) => of(one) / of(other),
});

/** The ratio of two costs. */
const costRatio = (name: string, one: string, other: string, most: number): Figure => ({
  name,
  unit: "ratio",
  bound: { words: "at most", value: most },
  variants: [one, other],
  value: (of) => of(one) / of(other),
});

const leastRatio = (name: string, pairs: readonly (readonly [one: string, other: string])[], least: number): Figure => ({
  name,
  unit: "ratio",
  bound: { words: "at least", value: least },
  variants: pairs.flat(),
  value: (of) => Math.min(...pairs.map(([one, other]) => of(one) / of(other))),
});

const timeRatio = (name: string, one: string, other: string, most: number): Figure => ({
  name,
  unit: "ratio",
  bound: { words: "at most", value: most },
  variants: [one, other],
  value: (of) => of(other) / of(one),
});

const valueFigure = (name: string, variant: string, unit: Figure["unit"], bound: Figure["bound"]): Figure => ({
  name,
  unit,
  bound,
  variants: [variant],
  value: (of) => of(variant),
});

const valueBelow = (name: string, variant: string, unit: "s" | "MB" | "KiB", value: number): Figure =>
  valueFigure(name, variant, unit, { words: "below", value });

/** The time ratio of the second page with this filter to the one without; the worst of its queries. */
const filterFigure = ({ name, queries }: Filter): Figure => {
  const withoutFilter = variantNamesOf(unfiltered).second;
  const variants = queries.map((query) => variantNamesOf(query).second);
  return {
    name: `filter-${name}`,
    unit: "ratio",
    bound: { words: "at most", value: name === "query" ? 10 : 3 },
    variants: [withoutFilter, ...variants],
    value: (of) => Math.max(...variants.map((variant) => of(withoutFilter) / of(variant))),
  };
};

/** The time ratio of a quiet organization's calls with and without a neighbour; the worst of its loads. */
const neighbourFigure = (name: string, kinds: readonly ("read" | "write")[], beside: "Beside" | "Greedy", most: number): Figure => ({
  name,
  unit: "ratio",
  bound: { words: "at most", value: most },
  variants: kinds.flatMap((kind) => [`${kind}Alone`, ...loadNames.map((load) => `${kind}${beside}-${load}`)]),
  value: (of) => Math.max(...kinds.flatMap((kind) => loadNames.map((load) => of(`${kind}${beside}-${load}`) / of(`${kind}Alone`)))),
});

/** The time ratio of a first page with its total to a count and a page in plain SQL. */
const firstPageFigure = (name: string, query: FilterQuery): Figure => {
  const { first, byHand } = variantNamesOf(query);
  return timeRatio(`first-${name}`, first, byHand, 1.5);
};

/** Figures measured in turn. `running`: on a running server; otherwise the variant starts it. */
export interface Group {
  readonly running: boolean;
  /** Fewer, shorter rounds for many figures of the same kind. */
  readonly most?: { readonly rounds: number; readonly seconds: number };
  readonly figures: readonly Figure[];
}

const shortRounds = { rounds: 5, seconds: 0.3 };

/** Filtered lists per measurement of the unfiltered list. */
const besideOne = 6;
const filterGroups = Array.from(
  { length: Math.ceil(filters.length / besideOne) },
  (_, index): Group => ({
    running: true,
    most: shortRounds,
    figures: filters.slice(index * besideOne, (index + 1) * besideOne).map(filterFigure),
  }),
);

export const groups: readonly Group[] = [
  { running: false, figures: [valueBelow("idle-memory", "memory", "MB", 150), valueBelow("start", "start", "s", 2)] },
  {
    running: true,
    figures: [{ ...speedRatio("rest-list-50", "list", "listTuned", 0.3), beside: ["listPgbench"] }, speedRatio("rest-list-naive", "list", "listNaive", 1.5)],
  },
  { running: true, figures: [speedRatio("rest-get", "get", "getPgbench", 0.5), speedRatio("rest-get-http", "get", "getHttp", 0.3)] },
  // On two cores; docs/decisions/0056.
  { running: true, figures: [speedRatio("workers", "getTwoWorkers", "getOneWorker", 1.6)] },
  { running: true, figures: [speedRatio("grpc-get", "grpc", "grpcJs", 1)] },
  { running: true, figures: [speedRatio("version-1-list", "wholeList", "allPages", 1)] },
  // Each user includes a role binding.
  { running: true, figures: [speedRatio("scim-users", "scimUsers", "restIdentities", 0.5)] },
  { running: true, figures: [timeRatio("page-depth", "page1000", "page2", 1.5)] },
  { running: true, figures: [timeRatio("neighbour-size", "beside", "alone", 1.5)] },
  { running: true, figures: [timeRatio("first-page", "page1", "page2", 5)] },
  // A count walks as many index rows as the skip passes.
  { running: true, figures: [timeRatio("count", "counted", "countPgbench", 1.3), timeRatio("skip", "skipped", "countPgbench", 4)] },
  {
    running: false,
    most: { rounds: 5, seconds: 1 },
    figures: [
      speedRatio("import-wolfi", "imported", "copied", 0.1),
      {
        name: "import-memory",
        unit: "MB",
        bound: { words: "below", value: 150 },
        variants: ["importing", "importIdle"],
        value: (of) => of("importing") - of("importIdle"),
      },
    ],
  },
  {
    running: false,
    most: { rounds: 1, seconds: 1 },
    figures: [
      {
        name: "import-memory-archive",
        unit: "MB",
        bound: { words: "below", value: 150 },
        variants: ["archiveImporting", "importIdle"],
        value: (of) => of("archiveImporting") - of("importIdle"),
      },
    ],
  },
  {
    running: false,
    most: { rounds: 1, seconds: 1 },
    figures: [valueFigure("import-cost-archive", "archiveImportCost", "ms", { words: "below", value: 1000 })],
  },
  {
    running: false,
    most: { rounds: 3, seconds: 1 },
    figures: [valueFigure("osv-archive", "archiveServed", "ms", { words: "below", value: 1000 })],
  },
  {
    running: false,
    most: { rounds: 3, seconds: 1 },
    figures: [valueFigure("osv-querybatch", "archiveBatch", "ms", { words: "below", value: 100 })],
  },
  { running: false, most: { rounds: 1, seconds: 3 }, figures: [valueBelow("source-bytes", "importStored", "KiB", 1)] },
  {
    running: false,
    most: { rounds: 3, seconds: 1 },
    figures: [valueBelow("image-matching", "importMatched", "s", 5)],
  },
  { running: false, figures: [{ ...valueBelow("delivery-delay", "delay", "s", 1), beside: ["changes"] }] },
  { running: false, figures: [valueFigure("deliveries-per-second", "delivered", "1/s", { words: "at least", value: 1000 })] },
  { running: false, most: { rounds: 5, seconds: 3 }, figures: [neighbourFigure("neighbour-read", ["read"], "Beside", 3)] },
  { running: false, most: { rounds: 5, seconds: 3 }, figures: [timeRatio("neighbour-push", "readAlone", "readBeside-pushes", 3)] },
  { running: false, most: { rounds: 5, seconds: 10 }, figures: [timeRatio("neighbour-consoles", "readAlone", "readBeside-consoles", 1.5)] },
  { running: false, most: { rounds: 3, seconds: 1 }, figures: [timeRatio("signin-neighbour", "signInAlone", "signInBeside", 2)] },
  { running: false, most: { rounds: 5, seconds: 3 }, figures: [neighbourFigure("neighbour-write", ["write"], "Beside", 3)] },
  {
    running: false,
    most: { rounds: 1, seconds: 3 },
    figures: [valueFigure("flood-memory", "floodMemory", "ratio", { words: "at most", value: 1.5 })],
  },
  {
    running: false,
    most: { rounds: 5, seconds: 3 },
    figures: [
      {
        name: "anonymous-body",
        unit: "ratio",
        bound: { words: "at most", value: 3 },
        variants: ["anonymousEmpty", "anonymousBody", "anonymousStream", "anonymousFrame"],
        value: (of) => Math.max(of("anonymousBody") / of("anonymousEmpty"), of("anonymousFrame") / of("anonymousStream")),
      },
    ],
  },
  { running: false, most: { rounds: 5, seconds: 3 }, figures: [neighbourFigure("neighbour-greedy", ["read", "write"], "Greedy", 20)] },
  {
    running: false,
    most: { rounds: 5, seconds: 2 },
    figures: [valueFigure("delivery-neighbour", "besideCrowd", "s", { words: "at most", value: 2 })],
  },
  {
    running: false,
    most: { rounds: 5, seconds: 8 },
    figures: [
      {
        name: "write-subscribed",
        unit: "ratio",
        bound: { words: "at most", value: 1.3 },
        variants: ["subscribed", "unsubscribed"],
        value: (of) => of("subscribed") / of("unsubscribed"),
      },
    ],
  },
  { running: true, figures: [timeRatio("audit-page", "auditMany", "auditFew", 1.5)] },
  {
    running: false,
    most: { rounds: 5, seconds: 1 },
    figures: [{ ...valueFigure("text-worst", "textServing", "ms", { words: "at most", value: 50 }), beside: ["textReadme"] }],
  },
  {
    running: true,
    most: { rounds: 5, seconds: 4 },
    figures: [
      speedRatio("oci-manifest-pull", "ociManifests", "ociManifestsDocker", 1.2),
      speedRatio("oci-manifest-heads", "ociManifestHeads", "ociManifestHeadsDocker", 1.2),
      speedRatio("oci-blob-heads", "ociBlobHeads", "ociBlobHeadsDocker", 1.2),
      speedRatio("oci-tags-10000", "ociTags", "ociTagsDocker", 50),
      speedRatio("oci-large-pull", "ociPullLarge", "ociPullLargeDocker", 0.9),
      costRatio("oci-push-cpu", "ociPushCpu", "ociPushCpuDocker", 1.3),
      costRatio("oci-layers-cpu", "ociLayersCpu", "ociLayersCpuDocker", 1.6),
      costRatio("oci-push-tags-cpu", "ociPushTagsCpu", "ociPushTagsCpuDocker", 1.6),
      leastRatio(
        "oci-layer-pull",
        [
          ["ociPull", "ociPullDocker"],
          ["ociPull8", "ociPull8Docker"],
        ],
        0.9,
      ),
      leastRatio(
        "oci-layer-push",
        [
          ["ociPush", "ociPushDocker"],
          ["ociPush8", "ociPush8Docker"],
        ],
        0.9,
      ),
    ],
  },
  { running: true, most: { rounds: 1, seconds: 1 }, figures: [valueFigure("oci-memory", "ociMemory", "MB", { words: "at most", value: 60 })] },
  ...filterGroups,
  ...[{ name: "unfiltered", queries: [unfiltered] }, ...filters].flatMap(({ name, queries }) =>
    queries.slice(0, 1).map((query): Group => ({ running: true, most: shortRounds, figures: [firstPageFigure(name, query)] })),
  ),
];
