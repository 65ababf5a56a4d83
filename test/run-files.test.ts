// The test runner (run-files.ts), in its own process, because node starts no runner within a test.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";

interface Told {
  readonly ran: number;
  readonly failed: boolean;
  readonly text: string;
}

const runLines = async (context: TestContext, lines: string, endsAt = "(?!)", fileTimeoutMs = 120_000): Promise<Told> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-runner-"));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "planted.test.ts");
  await writeFile(file, `import assert from "node:assert/strict";\nimport { test } from "node:test";\n${lines}\n`);
  const program = `
    import { runFiles } from ${JSON.stringify(join(import.meta.dirname, "run-files.ts"))};
    const end = new AbortController();
    let text = "";
    const write = (piece) => {
      text += piece;
      if (${new RegExp(endsAt)}.test(text)) end.abort();
    };
    const options = { testTimeoutMs: 60_000, fileTimeoutMs: ${fileTimeoutMs}, nodeOptions: [], signal: end.signal, write };
    const { ran, failed } = await runFiles([${JSON.stringify(file)}], options);
    console.log(JSON.stringify({ ran, failed, text }));`;
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== "NODE_TEST_CONTEXT"));
  const programFile = join(folder, "program.mjs");
  await writeFile(programFile, program);
  const { stdout } = await promisify(execFile)(process.execPath, [programFile], { env: environment });
  return JSON.parse(stdout) as Told;
};

const passes = `test("this one passes", () => {});`;
const fails = `test("this one fails", () => assert.equal(1, 2));`;
const hangs = `test("this one is cut off", async (t) => t.test("within", () => new Promise((resolve) => setTimeout(resolve, 60_000))));`;

test("a file that was cut off is not reported as failed", async (t) => {
  const { ran, failed, text } = await runLines(t, `${passes}\n${hangs}`, "this one passes");
  assert.deepEqual({ ran, failed }, { ran: 1, failed: false });
  assert.doesNotMatch(text, /✖|abort|cancelled|failing/);
});

test("a failure before the file was cut off is reported and fails the run", async (t) => {
  const { ran, failed, text } = await runLines(t, `${passes}\n${fails}\n${hangs}`, "this one fails");
  assert.deepEqual({ ran, failed }, { ran: 2, failed: true });
  assert.match(text, /✖ this one fails/);
  assert.doesNotMatch(text, /abort|cancelled|planted\.test\.ts'/);
});

test("a file that ends passes or fails by its tests", async (t) => {
  assert.deepEqual({ ...(await runLines(t, passes)), text: "" }, { ran: 1, failed: false, text: "" });
  const { text, ...failing } = await runLines(t, `${passes}\n${fails}`);
  assert.deepEqual(failing, { ran: 2, failed: true });
  assert.match(text, /Again: npm test -- \S+planted\.test\.ts\n/);
});

test("a file that does not end after its tests have passed is stopped and fails the run", async (t) => {
  const { ran, failed, text } = await runLines(t, `setInterval(() => {}, 1000);\n${passes}`, "(?!)", 3_000);
  assert.deepEqual({ ran, failed }, { ran: 1, failed: true });
  assert.match(text, /planted\.test\.ts/);
});

test("an uncaught error fails its file, from a timer or a promise", async (t) => {
  const turn = "await new Promise((resolve) => setTimeout(resolve, 20));";
  const ofTimer = `test("of a timer", async () => { setTimeout(() => { throw new Error("loose"); }); ${turn} });`;
  const ofPromise = `test("of a promise", async () => { void Promise.resolve().then(() => { throw new Error("loose"); }); ${turn} });`;
  for (const lines of [ofTimer, ofPromise]) {
    const { failed, text } = await runLines(t, lines);
    assert.equal(failed, true);
    assert.match(text, /loose/);
  }
});
