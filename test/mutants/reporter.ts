// A reporter for Node's test runner that writes one line of JSON per failed test, and one at the end.

import type { TestEvent } from "node:test/reporters";

/** A line that the mutant runner reads. */
export type ReportLine =
  | { readonly is: "passed" }
  | { readonly is: "failed"; readonly title: string; readonly kind: "assertion" | "timeout" | "error" | "broken"; readonly message: string };

/** Starts a line of the report, since tests print to the same stream. */
export const reportMark = "\u0001mutant ";

/** Errors of a mutant that does not load or is invalid, which prove nothing about a defence. */
const brokenNames: ReadonlySet<string> = new Set(["SyntaxError", "ReferenceError", "TypeError"]);
const brokenCodes: ReadonlySet<string> = new Set(["ERR_MODULE_NOT_FOUND", "ERR_INVALID_TYPESCRIPT_SYNTAX", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"]);

const lineOf = (event: TestEvent): ReportLine | undefined => {
  if (event.type !== "test:complete" || event.data.details.type === "suite") return undefined;
  const { name, details, todo, skip } = event.data;
  if (details.passed) return skip || todo ? undefined : { is: "passed" };
  const error: (Error & { code?: unknown; failureType?: unknown }) | undefined = details.error;
  const failureType = error?.failureType;
  // A test with subtests fails with them, and hooks are not tests.
  if (todo || failureType === "subtestsFailed") return undefined;
  const cause: unknown = error?.cause;
  const message = cause instanceof Error ? cause.message : String(cause ?? error?.message);
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (failureType === "testTimeoutFailure") return { is: "failed", title: name, kind: "timeout", message };
  if (failureType !== "testCodeFailure") return { is: "failed", title: name, kind: "broken", message };
  if (code === "ERR_ASSERTION") return { is: "failed", title: name, kind: "assertion", message };
  const isBroken = !(cause instanceof Error) || brokenNames.has(cause.name) || brokenCodes.has(code);
  return { is: "failed", title: name, kind: isBroken ? "broken" : "error", message };
};

export async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    const line = lineOf(event);
    if (line) yield `${reportMark}${JSON.stringify(line)}\n`;
  }
}
