// Scores of CVSS vectors (first.org/cvss): base scores of versions 2, 3.0 and 3.1, and the score of version 4.0.

import { score4 } from "./cvss4.ts";

const metricsOf = (vector: string): ReadonlyMap<string, string> =>
  new Map(
    vector.split("/").flatMap((step): [string, string][] => {
      const [name = "", value = "", more] = step.split(":");
      return name === "" || value === "" || more !== undefined ? [] : [[name, value]];
    }),
  );

const weight = (metrics: ReadonlyMap<string, string>, name: string, weights: Readonly<Record<string, number>>): number => {
  const value = metrics.get(name) ?? "";
  return Object.hasOwn(weights, value) ? (weights[value] ?? Number.NaN) : Number.NaN;
};

/** CVSS 3.1, appendix A: rounds up to one decimal without errors of binary fractions. */
const roundUp = (value: number): number => {
  const whole = Math.round(value * 100_000);
  return whole % 10_000 === 0 ? whole / 100_000 : (Math.floor(whole / 10_000) + 1) / 10;
};

const score3 = (metrics: ReadonlyMap<string, string>): number => {
  const isChanged = metrics.get("S") === "C";
  const impacts = ["C", "I", "A"].map((name) => weight(metrics, name, { H: 0.56, L: 0.22, N: 0 }));
  const lost = 1 - impacts.reduce((product, each) => product * (1 - each), 1);
  const impact = isChanged ? 7.52 * (lost - 0.029) - 3.25 * (lost - 0.02) ** 15 : 6.42 * lost;
  const exploitability =
    8.22 *
    weight(metrics, "AV", { N: 0.85, A: 0.62, L: 0.55, P: 0.2 }) *
    weight(metrics, "AC", { L: 0.77, H: 0.44 }) *
    weight(metrics, "PR", isChanged ? { N: 0.85, L: 0.68, H: 0.5 } : { N: 0.85, L: 0.62, H: 0.27 }) *
    weight(metrics, "UI", { N: 0.85, R: 0.62 });
  if (Number.isNaN(impact + exploitability) || !["U", "C"].includes(metrics.get("S") ?? "")) return Number.NaN;
  if (impact <= 0) return 0;
  return roundUp(Math.min((isChanged ? 1.08 : 1) * (impact + exploitability), 10));
};

const score2 = (metrics: ReadonlyMap<string, string>): number => {
  const impacts = ["C", "I", "A"].map((name) => weight(metrics, name, { C: 0.66, P: 0.275, N: 0 }));
  const impact = 10.41 * (1 - impacts.reduce((product, each) => product * (1 - each), 1));
  const exploitability =
    20 *
    weight(metrics, "AV", { N: 1, A: 0.646, L: 0.395 }) *
    weight(metrics, "AC", { L: 0.71, M: 0.61, H: 0.35 }) *
    weight(metrics, "Au", { N: 0.704, S: 0.56, M: 0.45 });
  return Math.round((0.6 * impact + 0.4 * exploitability - 1.5) * (impact === 0 ? 0 : 1.176) * 10) / 10;
};

/**
 * Returns the score (0 to 10) and the version; undefined if `vector` is not of a supported version. A score of version 4.0 includes the
 * threat and environment that the vector states, as sources publish it; their scores of earlier versions are base scores.
 */
export const cvssScore = (vector: string): { readonly score: number; readonly version: string } | undefined => {
  const version = /^CVSS:(3\.[01]|4\.0)\//.exec(vector)?.[1] ?? (/^AV:/.test(vector) ? "2.0" : undefined);
  if (version === undefined) return undefined;
  const metrics = metricsOf(vector);
  const score = version === "4.0" ? score4(metrics) : version === "2.0" ? score2(metrics) : score3(metrics);
  return score === undefined || Number.isNaN(score) ? undefined : { score, version };
};
