// SARIF of `gantry findings check` is valid by the schema of SARIF 2.1.0, and no name in it becomes markup.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { sarifProblems } from "../test/sarif.ts";
import { sarifOf } from "./findings-sarif.ts";

const findingOf = (more: JsonObject = {}): JsonObject => ({
  uid: "0123456789abcdef0123456789abcdef01234567/0123456789abcdef",
  advisoryId: "GHSA-aaaa-bbbb-cccc",
  aliases: ["CVE-2026-1"],
  packageName: "pkg:npm/alpha",
  installedVersion: "1.0.0",
  fixedVersion: "",
  severity: "FINDING_SEVERITY_HIGH",
  ...more,
});

const sarif = (findings: readonly JsonObject[], notices: readonly string[] = [], image = "acme/app:1.0"): JsonObject =>
  JSON.parse(JSON.stringify(sarifOf("1.2.3", image, findings, notices))) as JsonObject;

const resultsOf = (log: JsonObject): JsonObject[] => objectList(log, "runs").flatMap((run) => objectList(run, "results"));

const severities = ["CRITICAL", "HIGH", "MEDIUM", "LOW", "NEGLIGIBLE", "UNKNOWN"];

test("SARIF is valid without findings, with notices, and with findings of every severity", () => {
  assert.deepEqual(sarifProblems(sarif([])), []);
  assert.deepEqual(sarifProblems(sarif([], ["packages of Debian 12 are not judged: stale"], `acme/app@sha256:${"a".repeat(64)}`)), []);
  const log = sarif(
    severities.map((each, index) => findingOf({ severity: `FINDING_SEVERITY_${each}`, aliases: [`CVE-2026-${index}`], exploited: index === 0 })),
  );
  assert.deepEqual(sarifProblems(log), []);
  assert.deepEqual(
    resultsOf(log).map(({ level }) => level),
    ["error", "error", "warning", "note", "note", "warning"],
  );
});

test("each result names the rule of its vulnerability, also among 5,000 with shared rules", () => {
  const log = sarif(
    Array.from({ length: 5_000 }, (_, index) => findingOf({ aliases: [`CVE-2026-${index % 700}`], packageName: `pkg:npm/p${index}`, uid: String(index) })),
  );
  assert.deepEqual(sarifProblems(log), []);
  assert.equal(resultsOf(log).length, 5_000);
});

const hostile = [
  "[click](https://evil.example)",
  "{0} {{1}}",
  "a\\](b",
  "line\nSeverity: LOW",
  "tab\t\u0000\u001b[2J\u202e",
  "\ud800 lone",
  "<script>alert(1)</script> %zz |^`\"'",
  "名前 🦄",
  "",
];

test("hostile IDs, names, versions and images stay text: SARIF is valid, and its messages have no links, placeholders or added lines", () => {
  const log = sarif(
    hostile.flatMap((each, index) => [
      findingOf({ aliases: [`CVE-${each}`], uid: `a${index}` }),
      findingOf({ advisoryId: each, aliases: [], packageName: each, installedVersion: each, fixedVersion: each, uid: `b${index}` }),
    ]),
    hostile.filter((each) => each !== ""),
    `acme/app:${hostile.join("")}`,
  );
  assert.deepEqual(sarifProblems(log), []);
  const [run = {}] = objectList(log, "runs");
  const notices = objectList(run, "invocations").flatMap((each) => objectList(each, "toolExecutionNotifications"));
  const rules = objectList(part(part(run, "tool"), "driver"), "rules");
  const messages = [
    ...[...resultsOf(log), ...notices].map((each) => text(part(each, "message"), "text")),
    ...rules.flatMap((rule) => ["shortDescription", "fullDescription", "help"].map((each) => text(part(rule, each), "text"))),
  ];
  for (const message of messages) {
    const plain = message.replaceAll(/\\.|\{\{|\}\}/g, "");
    assert.doesNotMatch(plain, /[[\]{}]/, message);
    assert.ok(message.isWellFormed());
    assert.ok([1, 5].includes(message.split("\n").length), message);
  }
});
