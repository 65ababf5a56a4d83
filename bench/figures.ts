// The figures by their names, and their bounds (issue: Speed and memory).

import { type Ask, type Filter, filters, unfiltered } from "./filters.ts";
import { sidesOf } from "./sides.ts";

export interface Figure {
  readonly name: string;
  readonly unit: "ratio" | "s" | "MB" | "1/s";
  readonly bound: { readonly words: "at least" | "at most" | "below"; readonly value: number };
  /** Of one round, what its sides gave. */
  readonly value: (of: (side: string) => number) => number;
  readonly sides: readonly string[];
  /** Measured and shown in the same turn, without a bound. */
  readonly beside?: readonly string[];
}

/** How many times as fast `one` is as `other`. */
const faster = (name: string, one: string, other: string, least: number): Figure => ({
  name,
  unit: "ratio",
  bound: { words: "at least", value: least },
  sides: [one, other],
  value: (of) => of(one) / of(other),
});

/** How many times as long `one` takes as `other`. */
const slower = (name: string, one: string, other: string, most: number): Figure => ({
  name,
  unit: "ratio",
  bound: { words: "at most", value: most },
  sides: [one, other],
  value: (of) => of(other) / of(one),
});

const below = (name: string, side: string, unit: "s" | "MB", value: number): Figure => ({
  name,
  unit,
  bound: { words: "below", value },
  sides: [side],
  value: (of) => of(side),
});

/** How many times as long the second page with this filter takes as the one without; the worst of its asks. */
const filtered = ({ name, asks }: Filter): Figure => {
  const plain = sidesOf(unfiltered).second;
  const sides = asks.map((ask) => sidesOf(ask).second);
  return {
    name: `filter-${name}`,
    unit: "ratio",
    bound: { words: "at most", value: name === "query" ? 10 : 3 },
    sides: [plain, ...sides],
    value: (of) => Math.max(...sides.map((side) => of(plain) / of(side))),
  };
};

/** How many times as long a first page with its total takes as a count and a page by hand; where there is something to count. */
const firstOf = (name: string, ask: Ask): Figure => {
  const { first, plain } = sidesOf(ask);
  return slower(`first-${name}`, first, plain, 1.5);
};

/** Figures whose sides are measured in turn. `running`: on the server as it runs; else it is started by the side itself. */
export interface Group {
  readonly running: boolean;
  /** At most so many rounds of so many seconds: there are many of these, and each is the same every time. */
  readonly most?: { readonly rounds: number; readonly seconds: number };
  readonly figures: readonly Figure[];
}

const brief = { rounds: 5, seconds: 0.3 };

/** Beside one measurement of the list without a filter are so many of lists with one. */
const besideOne = 6;
const filterGroups = Array.from(
  { length: Math.ceil(filters.length / besideOne) },
  (_, index): Group => ({
    running: true,
    most: brief,
    figures: filters.slice(index * besideOne, (index + 1) * besideOne).map(filtered),
  }),
);

export const groups: readonly Group[] = [
  { running: false, figures: [below("idle-memory", "memory", "MB", 150), below("start", "start", "s", 2)] },
  {
    running: true,
    figures: [{ ...faster("rest-list-50", "list", "listPgbench", 0.6), beside: ["listTuned"] }, faster("rest-list-naive", "list", "listNaive", 1.5)],
  },
  { running: true, figures: [faster("rest-get", "get", "getPgbench", 0.5), faster("rest-get-http", "get", "getHttp", 0.3)] },
  { running: true, figures: [faster("grpc-get", "grpc", "grpcJs", 1)] },
  { running: true, figures: [slower("page-depth", "page1000", "page2", 1.5)] },
  { running: true, figures: [slower("neighbour-size", "beside", "alone", 1.5)] },
  { running: true, figures: [slower("count", "counted", "countPgbench", 1.3)] },
  {
    running: false,
    most: { rounds: 5, seconds: 1 },
    figures: [
      faster("import-wolfi", "imported", "copied", 0.1),
      {
        name: "import-memory",
        unit: "MB",
        bound: { words: "below", value: 150 },
        sides: ["importing", "importIdle"],
        value: (of) => of("importing") - of("importIdle"),
      },
    ],
  },
  { running: false, figures: [{ ...below("delivery-delay", "delay", "s", 1), beside: ["changes"] }] },
  {
    running: false,
    figures: [{ name: "deliveries-per-second", unit: "1/s", bound: { words: "at least", value: 1000 }, sides: ["delivered"], value: (of) => of("delivered") }],
  },
  {
    running: false,
    most: { rounds: 5, seconds: 8 },
    figures: [
      {
        name: "write-subscribed",
        unit: "ratio",
        bound: { words: "at most", value: 1.3 },
        sides: ["heard", "unheard"],
        value: (of) => of("heard") / of("unheard"),
      },
    ],
  },
  { running: true, figures: [slower("audit-page", "auditMany", "auditFew", 1.5)] },
  ...filterGroups,
  ...[{ name: "unfiltered", asks: [unfiltered] }, ...filters].flatMap(({ name, asks }) =>
    asks.slice(0, 1).map((ask): Group => ({ running: true, most: brief, figures: [firstOf(name, ask)] })),
  ),
];
