// Scores of CVSS 4.0 vectors, by the tables of the specification (first.org/cvss/v4.0). Five properties put a vector into a group with a
// score. The farther the vector is from the worst vectors of its group, the closer its score is to those of the next groups.

type Metrics = ReadonlyMap<string, string>;

/** By the levels of exploitability and complexity, then of impact. In each row by subsequent impact, then by maturity of exploits. */
const groupScores: Readonly<Record<string, readonly number[]>> = {
  "00 00": [10, 9.8, 9.5, 10, 9.3, 9.1, 9.3, 8.9, 8.1],
  "00 01": [9.9, 9.5, 9.2, 9.6, 8.7, 8.1, 9, 8, 6.8],
  "00 10": [9.8, 9.5, 9, 9.3, 8.9, 8.1, 8.8, 7.8, 6.9],
  "00 11": [9.5, 9.2, 8.4, 9.2, 8.1, 6.5, 8, 7, 4.8],
  "00 21": [9.2, 8.2, 7.2, 7.9, 6.9, 5, 6.9, 5.5, 2.7],
  "01 00": [9.9, 9.5, 9.2, 9.5, 9, 8.4, 9.2, 8.2, 7.2],
  "01 01": [9.7, 9.2, 8.5, 9.1, 8.3, 7.1, 8.1, 7.1, 5.3],
  "01 10": [9.5, 9.2, 8.5, 9.2, 8, 7, 8.4, 7.1, 5],
  "01 11": [9.3, 8.5, 7.3, 8.2, 7.2, 5.9, 7, 5.2, 3],
  "01 21": [8.6, 7.5, 5.2, 7.1, 5.2, 2.9, 6.3, 2.9, 1.7],
  "10 00": [9.8, 9.4, 9.1, 9.4, 8.6, 7.7, 8.7, 7.4, 6.3],
  "10 01": [9.5, 8.7, 8.1, 8.9, 7.4, 6.4, 7.5, 6.3, 4.9],
  "10 10": [9.4, 8.8, 7.6, 8.6, 7.4, 5.9, 7.2, 5.7, 5.2],
  "10 11": [8.9, 7.7, 6.7, 7.6, 5.8, 5, 5.7, 5.2, 2.5],
  "10 21": [8.3, 7, 5.4, 6.5, 5.8, 2.6, 5.3, 2.1, 1.3],
  "11 00": [9.5, 8.8, 7.6, 9, 7.5, 6.1, 7.7, 6.8, 5.2],
  "11 01": [9, 7.6, 7, 7.7, 6.2, 5.3, 6.6, 5.9, 3],
  "11 10": [8.9, 7.6, 6.2, 7.4, 5.7, 4.7, 6.1, 5.7, 2.4],
  "11 11": [7.8, 6.7, 5.8, 5.9, 5.7, 2.3, 5.2, 2.9, 1.6],
  "11 21": [7.1, 5.9, 3, 5.8, 2.6, 1.5, 2.3, 1.3, 0.6],
  "20 00": [9.3, 8.6, 7.5, 8.6, 7.4, 5.6, 7, 5.2, 4],
  "20 01": [8.7, 7.2, 5.8, 7.4, 6.1, 3.4, 5.4, 4, 2.2],
  "20 10": [8.5, 7.4, 6.2, 7.2, 5.5, 4.6, 5.3, 3.4, 1.9],
  "20 11": [7.5, 5.5, 5.1, 5.7, 4.1, 1.9, 3.6, 1.9, 0.8],
  "20 21": [6.4, 5.1, 2, 4.7, 2.1, 1.1, 2.4, 0.9, 0.4],
  "21 00": [8.8, 7.3, 6, 7.3, 5.9, 4.1, 5.4, 4.5, 2],
  "21 01": [7.5, 5.3, 5, 5.5, 4, 2, 4.3, 2.2, 1.1],
  "21 10": [7.5, 5.8, 4, 6.1, 4.8, 2, 4.6, 1.7, 0.8],
  "21 11": [5.5, 4.5, 2.1, 5.1, 1.8, 0.9, 1.8, 0.7, 0.2],
  "21 21": [5.3, 2.4, 1.4, 2.4, 1.2, 0.5, 1, 0.3, 0.1],
};

/** Values of the metrics, the worst first. The environment alone can say S, that safety is at risk. */
const scales: Readonly<Record<string, string>> = {
  AV: "NALP",
  PR: "NLH",
  UI: "NPA",
  AC: "LH",
  AT: "NP",
  VC: "HLN",
  VI: "HLN",
  VA: "HLN",
  SC: "HLN",
  SI: "SHLN",
  SA: "SHLN",
};

const defaults: Readonly<Record<string, string>> = { CR: "H", IR: "H", AR: "H", E: "A" };
const optionalScales: Readonly<Record<string, string>> = { CR: "HML", IR: "HML", AR: "HML", E: "APU" };

/** Returns the value of each metric that counts: that of the environment if there is one. Undefined if a value is missing or unknown. */
const valuesOf = (metrics: Metrics): Metrics | undefined => {
  const values = new Map<string, string>();
  for (const [name, scale] of Object.entries(scales)) {
    const own = metrics.get(name) ?? "";
    const modified = metrics.get(`M${name}`) ?? "X";
    const value = modified === "X" ? own : modified;
    if (own === "S" || own.length !== 1 || value.length !== 1 || !scale.includes(own) || !scale.includes(value)) return undefined;
    values.set(name, value);
  }
  for (const [name, scale] of Object.entries(optionalScales)) {
    const own = metrics.get(name) ?? "X";
    const value = own === "X" ? (defaults[name] ?? "") : own;
    if (value.length !== 1 || !scale.includes(value)) return undefined;
    values.set(name, value);
  }
  return values;
};

/** The worst vectors of a level, as values of the property's metrics, and the number of steps from them to the mildest vector. */
interface Level {
  readonly worst: readonly string[];
  readonly steps: number;
}

interface Property {
  readonly metrics: readonly string[];
  readonly levels: Readonly<Record<string, Level>>;
}

const exploitability: Property = {
  metrics: ["AV", "PR", "UI"],
  levels: { 0: { worst: ["NNN"], steps: 1 }, 1: { worst: ["ANN", "NLN", "NNP"], steps: 4 }, 2: { worst: ["PNN", "ALP"], steps: 5 } },
};
const complexity: Property = { metrics: ["AC", "AT"], levels: { 0: { worst: ["LN"], steps: 1 }, 1: { worst: ["HN", "LP"], steps: 2 } } };
/** The second digit says whether the environment requires what is lost. */
const impact: Property = {
  metrics: ["VC", "VI", "VA", "CR", "IR", "AR"],
  levels: {
    "00": { worst: ["HHHHHH"], steps: 7 },
    "01": { worst: ["HHLMMH", "HHHMMM"], steps: 6 },
    "10": { worst: ["LHHHHH", "HLHHHH"], steps: 8 },
    "11": { worst: ["LHLHMH", "LHHHMM", "HLHMHM", "HLLMHH", "LLHHHM"], steps: 8 },
    "21": { worst: ["LLLHHH"], steps: 10 },
  },
};
const subsequent: Property = {
  metrics: ["SC", "SI", "SA"],
  levels: { 0: { worst: ["HSS"], steps: 6 }, 1: { worst: ["HHH"], steps: 5 }, 2: { worst: ["LLL"], steps: 4 } },
};

/** Two next levels of impact count as the one with the higher score. */
const nextImpacts: Readonly<Record<string, readonly string[]>> = { "00": ["01", "10"], "01": ["11"], "10": ["11"], "11": ["21"] };

interface Group {
  readonly exploitability: number;
  readonly complexity: number;
  readonly impact: string;
  readonly subsequent: number;
  readonly maturity: number;
}

const scoreOf = (group: Group): number | undefined =>
  groupScores[`${group.exploitability}${group.complexity} ${group.impact}`]?.[
    group.subsequent > 2 || group.maturity > 2 ? -1 : group.subsequent * 3 + group.maturity
  ];

const groupOf = (values: Metrics): Group => {
  const is = (name: string, value: string): boolean => values.get(name) === value;
  const open = ["AV", "PR", "UI"].filter((name) => is(name, "N")).length;
  const [confidentiality, integrity, availability] = ["VC", "VI", "VA"].map((name) => is(name, "H"));
  const isRequired = (["VC CR", "VI IR", "VA AR"] as const).some((pair) => pair.split(" ").every((name) => is(name, "H")));
  const impactLevel = confidentiality && integrity ? 0 : confidentiality || integrity || availability ? 1 : 2;
  return {
    exploitability: open === 3 ? 0 : open > 0 && !is("AV", "P") ? 1 : 2,
    complexity: is("AC", "L") && is("AT", "N") ? 0 : 1,
    impact: `${impactLevel}${isRequired ? 0 : 1}`,
    subsequent: is("SI", "S") || is("SA", "S") ? 0 : subsequent.metrics.some((name) => is(name, "H")) ? 1 : 2,
    maturity: "APU".indexOf(values.get("E") ?? ""),
  };
};

/** Returns the number of steps to the first of the worst vectors that is at least as severe in each metric. */
const stepsTo = (values: Metrics, metrics: readonly string[], worst: readonly string[]): number => {
  for (const each of worst) {
    const steps = metrics.map((name, index) => {
      const scale = scales[name] ?? optionalScales[name] ?? "";
      return scale.indexOf(values.get(name) ?? "") - scale.indexOf(each[index] ?? "");
    });
    if (steps.every((step) => step >= 0)) return steps.reduce((sum, step) => sum + step, 0);
  }
  return 0;
};

/** Returns the score of the metrics that the vector has, 0 to 10; undefined if a base metric is missing or a value is unknown. */
export const score4 = (metrics: Metrics): number | undefined => {
  const values = valuesOf(metrics);
  if (!values) return undefined;
  if (["VC", "VI", "VA", "SC", "SI", "SA"].every((name) => values.get(name) === "N")) return 0;
  const group = groupOf(values);
  const score = scoreOf(group) ?? 0;
  const nextImpact = (nextImpacts[group.impact] ?? []).flatMap((each) => scoreOf({ ...group, impact: each }) ?? []);
  const next: readonly (readonly [property: Property | undefined, level: string | number, next: number | undefined])[] = [
    [exploitability, group.exploitability, scoreOf({ ...group, exploitability: group.exploitability + 1 })],
    [complexity, group.complexity, scoreOf({ ...group, complexity: group.complexity + 1 })],
    [impact, group.impact, nextImpact.length > 0 ? Math.max(...nextImpact) : undefined],
    [subsequent, group.subsequent, scoreOf({ ...group, subsequent: group.subsequent + 1 })],
    // Each level of maturity has one vector.
    [undefined, group.maturity, scoreOf({ ...group, maturity: group.maturity + 1 })],
  ];
  const distances = next.flatMap(([property, level, lower]) => {
    if (lower === undefined) return [];
    const own = property?.levels[level];
    return property && own ? [((score - lower) * stepsTo(values, property.metrics, own.worst)) / own.steps] : [0];
  });
  const mean = distances.length === 0 ? 0 : distances.reduce((sum, each) => sum + each, 0) / distances.length;
  // The added part corrects errors of binary fractions.
  return Math.round((Math.min(Math.max(score - mean, 0), 10) + 1e-6) * 10) / 10;
};
