// Parses the Prometheus text format into families and series.

import assert from "node:assert/strict";

export interface Series {
  /** Includes a histogram's suffix: "_bucket", "_sum", "_count". */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly kind: string;
  readonly help: string;
  readonly series: readonly Series[];
}

const linePattern = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const labelPattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/gy;

const readLabels = (text: string): Record<string, string> => {
  const labels: Record<string, string> = {};
  let end = 0;
  labelPattern.lastIndex = 0;
  for (let found = labelPattern.exec(text); found; found = labelPattern.exec(text)) {
    const [, name = "", value = ""] = found;
    assert.ok(!Object.hasOwn(labels, name), `${name} stands twice in {${text}}`);
    labels[name] = value.replaceAll(/\\(.)/g, (_, each: string) => (each === "n" ? "\n" : each));
    end = labelPattern.lastIndex;
  }
  assert.equal(end, text.length, `labels: {${text}}`);
  return labels;
};

const numberOf = (text: string): number => (text === "+Inf" ? Number.POSITIVE_INFINITY : text === "NaN" ? Number.NaN : Number(text));

/** Returns families by name. Throws if a line is malformed, or a series is repeated or precedes its family. */
export const readScrape = (text: string): ReadonlyMap<string, Family> => {
  assert.ok(text.endsWith("\n"), "a scrape ends with a line's end");
  const families = new Map<string, { kind: string; help: string; series: Series[] }>();
  const seen = new Set<string>();
  let current = "";
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, word, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (word === "HELP") {
      assert.ok(!families.has(name), `${name} stands twice`);
      families.set(name, { kind: "", help: rest, series: [] });
      current = name;
    } else if (word === "TYPE") {
      const family = families.get(name);
      assert.ok(family && current === name, line);
      family.kind = rest;
    } else {
      const [, series = "", labels = "", value = ""] = linePattern.exec(line) ?? [];
      const family = families.get(current);
      const endings = family?.kind === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
      assert.ok(family && endings.some((ending) => series === `${current}${ending}`), `no family for ${line}`);
      const key = `${series}{${labels}}`;
      assert.ok(!seen.has(key), `${key} stands twice`);
      seen.add(key);
      family.series.push({ name: series, labels: readLabels(labels), value: numberOf(value) });
    }
  }
  return families;
};

/** Returns the value of the series with these labels, 0 if absent; the count of a histogram. */
export const valueOf = (families: ReadonlyMap<string, Family>, name: string, labels: Readonly<Record<string, string>> = {}): number => {
  const family = families.get(name);
  assert.ok(family, `no metric ${name}`);
  const wanted = family.kind === "histogram" ? `${name}_count` : name;
  return family.series
    .filter((series) => series.name === wanted && Object.entries(labels).every(([label, value]) => series.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
};
