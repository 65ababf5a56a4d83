// The tables of docs/reference/errors.md, events.md and roles.md, made from the code. `npm run golden` accepts changes.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { codes } from "#base/codes.ts";
import { Fault } from "#base/fault.ts";
import { methods } from "#contract/catalog.ts";
import { contractOf } from "#contract/fact-data.ts";
import { contractFacts } from "#contract/gen/facts.ts";
import { httpStatusOf } from "#transport";
import { builtInRoles } from "../server/authz/roles.ts";

const folder = join(import.meta.dirname, "..", "docs", "reference");

const code = (text: string): string => `\`${text}\``;
const tableOf = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => "---"), ...rows].map((cells) => `|${cells.map((cell) => (cell === "---" ? cell : ` ${cell} `)).join("|")}|`).join("\n");

const retry: Partial<Record<keyof typeof codes, string>> = {
  ABORTED: "yes, after reading the resource again",
  DEADLINE_EXCEEDED: "yes, if the request is idempotent",
  RESOURCE_EXHAUSTED: "yes, after the time in `Retry-After`",
  UNAVAILABLE: "yes, with growing pauses",
  UNAUTHENTICATED: "with a new token",
};
const causes: Record<keyof typeof codes, string> = {
  CANCELLED: "the client ended the request",
  UNKNOWN: "an error without a better code",
  INVALID_ARGUMENT: "a field, parameter or header is invalid; `fieldViolations` has each one",
  DEADLINE_EXCEEDED: "the request took too long",
  NOT_FOUND: "the resource does not exist, or the caller may not see it",
  ALREADY_EXISTS: "a resource with the same unique name exists",
  PERMISSION_DENIED: "the caller lacks a capability, or grants more than it has",
  RESOURCE_EXHAUSTED: "a rate limit, quota or queue is full",
  FAILED_PRECONDITION: "the state does not permit it, such as a group that is not empty",
  ABORTED: "`If-Match` or a concurrent change does not fit",
  OUT_OF_RANGE: "a value is outside of its range",
  UNIMPLEMENTED: "this server does not have the operation",
  INTERNAL: "a defect of the server; report the request ID",
  UNAVAILABLE: "the server or its database cannot be reached",
  DATA_LOSS: "stored data is damaged; report the request ID",
  UNAUTHENTICATED: "the token is missing, invalid or expired",
};

const errorRows = (): string =>
  tableOf(
    ["Code", "Number", "HTTP", "Cause", "Retry"],
    (Object.keys(codes) as (keyof typeof codes)[]).map((name) => [
      code(name),
      String(codes[name]),
      String(httpStatusOf(new Fault(name, ""))),
      causes[name],
      retry[name] ?? "no",
    ]),
  );

const eventRows = (): string => {
  const causesOf = new Map<string, Set<string>>();
  const add = (type: string, cause: string): void => void causesOf.set(type, (causesOf.get(type) ?? new Set()).add(cause));
  for (const { event, name } of methods) if (event?.audience === "customer") add(event.type, code(name.replace(/^.*\./, "")));
  for (const { told, short } of contractOf(contractFacts).messages.values()) if (told?.audience === "customer") add(told.type, `message ${code(short)}`);
  return tableOf(
    ["Type", "Recorded by"],
    [...causesOf].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([type, found]) => [code(type), [...found].toSorted().join(", ")]),
  );
};

const roleRows = (): string =>
  tableOf(
    ["Role", "Capabilities"],
    Object.entries(builtInRoles).map(([name, capabilities]) => [code(name), [...new Set(capabilities)].toSorted().join(", ")]),
  );

for (const [name, rows] of [
  ["errors", errorRows],
  ["events", eventRows],
  ["roles", roleRows],
] as const)
  test(`the table of docs/reference/${name}.md is what the code has`, () => {
    const path = join(folder, `${name}.md`);
    const page = readFileSync(path, "utf8");
    const table = rows();
    const found = /^\| (?:Code|Type|Role) \|.*(?:\n\|.*)*/m.exec(page)?.[0] ?? assert.fail("the page has no table");
    if (process.env.GANTRY_GOLDEN === "accept")
      writeFileSync(
        path,
        page.replace(found, () => table),
      );
    else assert.equal(found, table, `docs/reference/${name}.md has changed. If that is meant: npm run golden`);
  });
