// `npm run mutants` distinguishes a tested defence from an untested one, from a stale text, and from a mutant that breaks the program. The
// long form removes a seeded sample of the real defences.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { seed, shortOrLong } from "../length.ts";

let project: string;

const gate = 'export const mayEnter = (name: string): boolean => name === "ada";\nexport const mayLeave = (): boolean => true;\n';

const files: Readonly<Record<string, string>> = {
  "package.json": '{ "type": "module" }\n',
  "docs/attacks.md": "| # | Attack |\n|---|---|\n| 1 | comes in [gate](../test/gate.test.ts) |\n| 2 | has no mutant [gate](../test/gate.test.ts) |\n",
  "server/gate.ts": gate,
  "test/gate.test.ts": `
    import assert from "node:assert/strict";
    import { test } from "node:test";
    import { mayEnter } from "../server/gate.ts";
    test("a stranger stays outside", () => assert.equal(mayEnter("eve"), false));
    test("ada comes in", () => assert.equal(mayEnter("ada"), true));
  `,
  "test/wrong.test.ts": `
    import assert from "node:assert/strict";
    import { test } from "node:test";
    test("fails anyway", () => assert.equal(1, 2));
  `,
};

before(async () => {
  project = await mkdtemp(join(tmpdir(), "gantry-mutants-test-"));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(project, name)), { recursive: true });
    await writeFile(join(project, name), content);
  }
});
after(() => rm(project, { recursive: true, force: true }));

const runMutants = (args: readonly string[]): Promise<{ readonly status: number | null; readonly out: string }> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => void (out += String(chunk)));
    child.on("close", (status) => resolve({ status, out }));
  });

const withMutants = async (mutants: readonly object[]): Promise<{ readonly status: number | null; readonly out: string }> => {
  const entries = join(project, "entries.json");
  await writeFile(entries, JSON.stringify(mutants));
  return runMutants(["--project", project, "--entries", entries]);
};

const killed = { attack: 1, file: "server/gate.ts", find: 'name === "ada"', replace: "name !== undefined" };

test("a removed defence is reported with the test that failed, and the checkout stays unchanged", async () => {
  const { status, out } = await withMutants([killed]);
  assert.equal(status, 0, out);
  assert.match(out, /^killed {6}1 {2}server\/gate\.ts .*\n +test\/gate\.test\.ts: a stranger stays outside$/m);
  assert.match(out, /1 killed, 0 survived, 0 stale, 0 broken/);
  assert.match(out, /1 of 2 rows of docs\/attacks\.md have no mutant: 2$/m);
  assert.equal(await readFile(join(project, "server/gate.ts"), "utf8"), gate);
});

test("an untested defence, a stale text, and an invalid mutant fail the run", async () => {
  const mutants = [
    killed,
    { attack: 1, file: "server/gate.ts", find: "(): boolean => true", replace: "(): boolean => false" },
    { attack: 1, file: "server/gate.ts", find: "no such text", replace: "" },
    { attack: 1, file: "server/gate.ts", find: 'name === "ada"', replace: "name ===" },
    { attack: 1, file: "server/gate.ts", find: 'name === "ada"', replace: "nothing.of.the.kind" },
  ];
  const { status, out } = await withMutants(mutants);
  assert.equal(status, 1, out);
  assert.match(out, /5 mutants: 1 killed, 1 survived, 1 stale, 2 broken/);
});

test("a test file that fails without the mutant proves nothing", async () => {
  const { status, out } = await withMutants([{ ...killed, tests: ["test/wrong.test.ts"] }]);
  assert.equal(status, 1, out);
  assert.match(out, /test\/wrong\.test\.ts fails without the mutant, too/);
});

test("removing a seeded sample of the defences in docs/attacks.md makes a test fail for each", {
  skip: shortOrLong<boolean | string>("a long run removes some", false),
}, async () => {
  const { status, out } = await runMutants(["--sample", "4", "--seed", String(seed)]);
  assert.equal(status, 0, out);
  assert.match(out, /4 mutants: 4 killed/);
});
