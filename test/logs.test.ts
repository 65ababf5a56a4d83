// What a server tells in its log: the list in base/log-events.ts, the table in docs/operate/logs.md and the calls in the source
// say the same. That no event is told which is not in the list, the type of Log sees to.

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

/** The rows of the table below "## Log events". */
const rowsOf = (guide: string): Row[] => {
  const section = /^## Log events\n([\s\S]*?)^## /m.exec(guide)?.[1] ?? "";
  return section.split("\n").flatMap((line) => {
    const [, names = "", level = "", same = "", means = ""] = /^\| (`.*?) \| (\w+) \| (.*?) \| (.+) \|$/.exec(line) ?? [];
    return names === "" ? [] : [{ events: names.split(", ").map((name) => name.replaceAll("`", "")), level, same, means }];
  });
};

/** How the table says which events are the same. */
const sameText = (event: LogEventName): string => {
  const { like, each } = logEventOf(event);
  if (like === undefined) return "all are logged";
  return `${like.length === 0 ? "one kind" : like.map((fact) => `\`${fact}\``).join(", ")}${each === undefined ? "" : `; ${each} of each`}`;
};

const isEvent = (name: string): name is LogEventName => Object.hasOwn(logEvents, name);

/** What the table and the list disagree about. */
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

test("the table of log events has every event, with its level and what makes two of them the same, and no other", () => {
  assert.ok(rows.length > 40, `only ${rows.length} rows were seen`);
  assert.deepEqual(differences(rows), []);
  const events = rows.flatMap((row) => row.events);
  assert.equal(new Set(events).size, events.length, "an event stands in two rows");
  for (const { means } of rows) assert.match(means, /\w+ \w+/);
});

test("each event of the list is told somewhere", () => {
  const source = [...files]
    .filter(([path]) => isCode(path) && /^(?:server|cli|base)\//.test(path) && !isTest(path) && path !== "base/log-events.ts")
    .map(([, content]) => content)
    .join("\n");
  // Two kinds of documents have their names put together.
  const forms = (event: string): string[] => [`log("${event}"`, `log(\`\${name}.${event.replace(/^(?:sbom|report)\./, "")}\``];
  for (const event of Object.keys(logEvents))
    assert.ok(
      forms(event).some((form) => source.includes(form)),
      `${event} is told nowhere: take it out of base/log-events.ts`,
    );
});

test("the comparison sees what is missing, what is too much, and what is said wrongly", () => {
  const without = guide.replace(/^\| `signin\.refused` .*\n/m, "");
  assert.deepEqual(differences(rowsOf(without)), ["signin.refused is not in the table"]);
  assert.deepEqual(differences(rowsOf(guide.replace("| `slow` |", "| `slow`, `quick` |"))), ["quick is in the table, and no event"]);
  assert.deepEqual(differences(rowsOf(guide.replace("| `slow` | warn |", "| `slow` | info |"))), ["slow is warn, and the same by: `operation`"]);
});

test("a warning has the messages of its causes without stack traces, and an error has both", () => {
  const lines: string[] = [];
  const log = jsonLog((line) => lines.push(line));
  const cause = new Error("not reachable", { cause: new Error("ECONNREFUSED") });
  log("traces.failed", { cause });
  log("fault", { cause });
  const [warning, error] = lines.map((line): unknown => JSON.parse(line).cause);
  assert.deepEqual(warning, { message: "not reachable", cause: { message: "ECONNREFUSED" } });
  assert.deepEqual(error, { message: "not reachable", stack: cause.stack, cause: { message: "ECONNREFUSED", stack: (cause.cause as Error).stack } });
});
