// base/log-events.ts, docs/operate/logs.md and the log calls agree. The type of Log excludes unlisted events.

import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonLog } from "#base/log.ts";
import { logEventOf, type LogEventName, logEvents } from "#base/log-events.ts";
import { files, isCode, isTest } from "./project-files.ts";

interface Row {
  readonly events: readonly string[];
  readonly level: string;
  readonly same: string;
  readonly means: string;
}

/** Returns the rows of the table under "## Log events". */
const rowsOf = (guide: string): Row[] => {
  const section = /^## Log events\n([\s\S]*?)^## /m.exec(guide)?.[1] ?? "";
  return section.split("\n").flatMap((line) => {
    const [, names = "", level = "", same = "", means = ""] = /^\| (`.*?) \| (\w+) \| (.*?) \| (.+) \|$/.exec(line) ?? [];
    return names === "" ? [] : [{ events: names.split(", ").map((name) => name.replaceAll("`", "")), level, same, means }];
  });
};

const sameText = (event: LogEventName): string => {
  const { like, each } = logEventOf(event);
  if (like === undefined) return "all are logged";
  return `${like.length === 0 ? "one kind" : like.map((fact) => `\`${fact}\``).join(", ")}${each === undefined ? "" : `; ${each} of each`}`;
};

const isEvent = (name: string): name is LogEventName => Object.hasOwn(logEvents, name);

const differences = (rows: readonly Row[]): string[] => {
  const told = new Map(rows.flatMap((row) => row.events.map((event) => [event, row] as const)));
  return [
    ...Object.keys(logEvents).flatMap((event) => (told.has(event) ? [] : [`${event} is not in the table`])),
    ...[...told].flatMap(([event, { level, same }]) => {
      if (!isEvent(event)) return [`${event} is in the table, and no event`];
      const [rightLevel, rightSame] = [logEventOf(event).level, sameText(event)];
      return level === rightLevel && same === rightSame ? [] : [`${event} is ${rightLevel}, and the same by: ${rightSame}`];
    }),
  ];
};

const guide = files.get("docs/operate/logs.md") ?? "";
const rows = rowsOf(guide);

test("the table of log events has exactly the listed events, with level and grouping", () => {
  assert.ok(rows.length > 40, `only ${rows.length} rows were seen`);
  assert.deepEqual(differences(rows), []);
  const events = rows.flatMap((row) => row.events);
  assert.equal(new Set(events).size, events.length, "an event stands in two rows");
  for (const { means } of rows) assert.match(means, /\w+ \w+/);
});

test("each listed event is logged somewhere", () => {
  const source = [...files]
    .filter(([path]) => isCode(path) && /^(?:server|cli|base)\//.test(path) && !isTest(path) && path !== "base/log-events.ts")
    .map(([, content]) => content)
    .join("\n");
  // Two kinds of documents have composed event names.
  const forms = (event: string): string[] => [`log("${event}"`, `log(\`\${name}.${event.replace(/^(?:sbom|report|vex)\./, "")}\``];
  for (const event of Object.keys(logEvents))
    assert.ok(
      forms(event).some((form) => source.includes(form)),
      `${event} is told nowhere: take it out of base/log-events.ts`,
    );
});

test("the comparison finds missing, extra and wrong entries", () => {
  const without = guide.replace(/^\| `signin\.refused` .*\n/m, "");
  assert.deepEqual(differences(rowsOf(without)), ["signin.refused is not in the table"]);
  assert.deepEqual(differences(rowsOf(guide.replace("| `slow` |", "| `slow`, `quick` |"))), ["quick is in the table, and no event"]);
  assert.deepEqual(differences(rowsOf(guide.replace("| `slow` | warn |", "| `slow` | info |"))), ["slow is warn, and the same by: `operation`"]);
});

test("a warning contains the messages of its causes without stack traces, an error both", () => {
  const lines: string[] = [];
  const log = jsonLog((line) => lines.push(line));
  const cause = new Error("not reachable", { cause: new Error("ECONNREFUSED") });
  log("traces.failed", { cause });
  log("fault", { cause });
  const [warning, error] = lines.map((line): unknown => JSON.parse(line).cause);
  assert.deepEqual(warning, { message: "not reachable", cause: { message: "ECONNREFUSED" } });
  assert.deepEqual(error, { message: "not reachable", stack: cause.stack, cause: { message: "ECONNREFUSED", stack: (cause.cause as Error).stack } });
});
