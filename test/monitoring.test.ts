// Dashboard and alert rules of deploy/monitoring use only existing metrics, labels and values, and docs/operate/alerts.md
// explains each alert. test/story/metrics.test.ts checks a real server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { codes } from "#base/fault.ts";
import { logEvents } from "#base/log-events.ts";
import { type Declared, declared } from "#metrics";
import { type Query, readAlerts, readDashboard, readQuery } from "./monitoring.ts";
import { files } from "./project-files.ts";

const metrics: ReadonlyMap<string, Declared> = new Map(Object.entries<Declared>(declared));

/** Labels and the scrape metric added by Prometheus. */
const ofPrometheus: readonly string[] = ["job", "instance"];

/** Values of open labels, defined elsewhere. */
const openValues: Readonly<Record<string, readonly string[]>> = { code: ["OK", ...Object.keys(codes)], event: Object.keys(logEvents) };

const declaredOf = (name: string): Declared | undefined => {
  if (name === "up") return { kind: "gauge", help: "", labels: {}, of: "process" };
  const whole = metrics.get(name);
  if (whole) return whole.kind === "histogram" ? undefined : whole;
  const histogram = metrics.get(name.replace(/_(?:bucket|sum|count)$/, ""));
  if (histogram?.kind !== "histogram") return undefined;
  return name.endsWith("_bucket") ? { ...histogram, labels: { ...histogram.labels, le: "open" } } : histogram;
};

const findWrong = (query: Query): string[] => {
  const { selectors, grouped } = readQuery(query);
  const known = new Set(ofPrometheus);
  const wrong: string[] = [];
  for (const { name, matchers } of selectors) {
    const metric = declaredOf(name);
    if (!metric) {
      wrong.push(`${query.at}: there is no metric ${name}`);
      continue;
    }
    for (const label of Object.keys(metric.labels)) known.add(label);
    for (const { label, operator, value } of matchers) {
      if (ofPrometheus.includes(label)) continue;
      const declaredValues = metric.labels[label];
      if (declaredValues === undefined) wrong.push(`${query.at}: ${name} has no label ${label}`);
      const values = declaredValues === "open" ? openValues[label] : declaredValues;
      const asked = operator.endsWith("~") ? value.split("|") : [value];
      for (const each of asked) if (values && !values.includes(each)) wrong.push(`${query.at}: ${label} of ${name} is never ${each}`);
    }
  }
  for (const label of grouped) if (!known.has(label)) wrong.push(`${query.at}: groups by ${label}, which none of its metrics has`);
  return wrong;
};

test("every query of dashboard and alerts is valid PromQL with existing metrics, labels and values", () => {
  const [dashboard, alerts] = [readDashboard(), readAlerts()];
  assert.ok(dashboard.length > 40 && alerts.length > 15, `${dashboard.length} queries, ${alerts.length} alerts`);
  assert.deepEqual([...dashboard, ...alerts].flatMap(findWrong), []);
});

test("an unknown metric, label or value, and an invalid query, are found", () => {
  const wrongOf = (text: string): string[] => findWrong({ at: "x", text });
  assert.deepEqual(wrongOf("rate(gantry_request_total[5m])"), ["x: there is no metric gantry_request_total"]);
  assert.deepEqual(wrongOf("gantry_request_seconds"), ["x: there is no metric gantry_request_seconds"]);
  assert.deepEqual(wrongOf('gantry_deliveries{status="dead"}'), ["x: gantry_deliveries has no label status"]);
  assert.deepEqual(wrongOf('gantry_deliveries{state=~"dead|lost"}'), ["x: state of gantry_deliveries is never lost"]);
  assert.deepEqual(wrongOf('gantry_requests_total{code="TEAPOT"}'), ["x: code of gantry_requests_total is never TEAPOT"]);
  assert.deepEqual(wrongOf("sum by (organization) (gantry_deliveries)"), ["x: groups by organization, which none of its metrics has"]);
  assert.throws(() => wrongOf("sum(gantry_deliveries"), /<here>/);
});

test("metrics of the database are never added up over servers", () => {
  for (const query of [...readDashboard(), ...readAlerts()]) {
    for (const { name } of readQuery(query).selectors)
      if (metrics.get(name)?.of === "database") assert.match(query.text, new RegExp(`(?:max(?: by \\([a-z, ]+\\))?|count) ?\\(${name}`), query.at);
  }
});

test("the dashboard shows every metric except the listed ones", () => {
  const shown = new Set(readDashboard().flatMap((query) => readQuery(query).selectors.map(({ name }) => name.replace(/_(?:bucket|sum|count)$/, ""))));
  const elsewhere = ["process_resident_memory_bytes"];
  assert.deepEqual(
    [...metrics.keys()].filter((name) => !shown.has(name)),
    elsewhere,
  );
});

test("each alert has a row in the guide and each row an alert; summaries use labels that the alert has", () => {
  const section = files.get("docs/operate/alerts.md") ?? "";
  const rows = new Map([...section.matchAll(/^\| `(Gantry\w+)` \| (.+) \|$/gm)].map(([, name = "", text = ""]) => [name, text]));
  assert.deepEqual(
    [...rows.keys()],
    readAlerts().map(({ name }) => name),
  );
  for (const [name, text] of rows) assert.ok(text.split(" ").length > 8, name);
  for (const { name, summary, text } of readAlerts())
    for (const [, label = ""] of summary.matchAll(/\$labels\.(\w+)/g)) {
      const aggregated = /(?:sum|max|count)(?: by \(([a-z, ]+)\))? ?\(/.exec(text);
      const kept = aggregated
        ? (aggregated[1] ?? "").split(", ")
        : ["instance", ...readQuery({ at: name, text }).selectors.flatMap((each) => Object.keys(declaredOf(each.name)?.labels ?? {}))];
      assert.ok(kept.includes(label), `${name}: ${label}`);
    }
});
