// The code samples of the OpenAPI documents in Go and Python: every one compiles, and some run against a server, beside curl. A test is
// skipped if the machine lacks the language.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { shortOrLong } from "./length.ts";
import { openOwners } from "./owner.ts";
import { openWorld } from "./world.ts";

const execute = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "gantry-samples-"));
after(() => rm(folder, { recursive: true, force: true }));

interface Sample {
  readonly operation: string;
  readonly label: string;
  readonly source: string;
}

const documents = join(import.meta.dirname, "..", "contract", "gen", "openapi");

/** Returns the samples of every document, each once. */
const readSamples = async (): Promise<Sample[]> => {
  const found = new Map<string, Sample>();
  for (const name of await readdir(documents)) {
    const document = JSON.parse(await readFile(join(documents, name), "utf8")) as JsonObject;
    for (const [path, verbs] of Object.entries(part(document, "paths")))
      for (const [verb, operation] of Object.entries(isObject(verbs) ? verbs : {}))
        for (const sample of isObject(operation) ? objectList(operation, "x-codeSamples") : [])
          found.set(`${verb} ${path} ${text(sample, "label")}`, {
            operation: `${verb} ${path}`,
            label: text(sample, "label"),
            source: text(sample, "source"),
          });
  }
  return [...found.values()];
};

const samples = await readSamples();
const labelled = (label: string): Sample[] => samples.filter((sample) => sample.label === label);

const missing = (program: string, ...args: string[]): string | false => spawnSync(program, args).status !== 0 && `${program} is not here`;

const noPython = missing("python3", "--version");
const noGo = missing("go", "version");

test("every operation has a sample in curl, Go and Python", () => {
  const operations = new Set(samples.map(({ operation }) => operation));
  assert.ok(operations.size > 250, `${operations.size} operations`);
  for (const label of ["curl", "Go", "Python"]) assert.deepEqual(new Set(labelled(label).map(({ operation }) => operation)), operations, label);
});

test("every Python sample compiles", { skip: noPython }, () => {
  const program = 'import json, sys\nfor each in json.load(sys.stdin): compile(each["source"], each["operation"], "exec")';
  const { status, stderr } = spawnSync("python3", ["-W", "error", "-c", program], { input: JSON.stringify(labelled("Python")), encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

/** Writes the programs as the packages of one module. */
const writeGo = async (place: string, programs: readonly string[]): Promise<void> => {
  await mkdir(place);
  await writeFile(join(place, "go.mod"), "module samples\n\ngo 1.21\n");
  for (const [index, source] of programs.entries()) {
    await mkdir(join(place, `s${index}`));
    await writeFile(join(place, `s${index}`, "main.go"), `${source}\n`);
  }
};

test("every Go sample parses and is formatted; in the long form it passes go vet", { skip: noGo }, async () => {
  const all = labelled("Go");
  const place = join(folder, "vet");
  await writeGo(
    place,
    all.map(({ source }) => source),
  );
  const formatted = await execute("gofmt", ["-l", "."], { cwd: place });
  assert.equal(formatted.stdout, "");
  if (shortOrLong(false, true)) await execute("go", ["vet", "./..."], { cwd: place });
});

test("samples in curl, Go and Python get the same responses from a server", { skip: noPython }, async (t) => {
  const world = await openWorld();
  t.after(() => world.close());
  const env = { ...process.env, GANTRY_SERVER: world.url, GANTRY_TOKEN: await openOwners(world).token() };
  const runGo = async (source: string): Promise<string> => {
    const file = join(folder, "main.go");
    await writeFile(file, source);
    return (await execute("go", ["run", file], { env, cwd: folder })).stdout.replace(/^20\d .*\n/, "");
  };
  /** Returns the response; a deletion has none. */
  const run = async (label: string, source: string): Promise<Json> => {
    // Python prints its own form of an object.
    const inJson = source.replace("print(json.load(response))", "print(json.dumps(json.load(response)))");
    const [program, flag] = label === "curl" ? ["sh", "-c"] : ["python3", "-c"];
    const said = label === "Go" ? await runGo(source) : (await execute(program, [flag, inJson], { env })).stdout;
    return said.trim() === "" ? null : (JSON.parse(said) as Json);
  };
  const languages = ["curl", "Python", ...shortOrLong<string[]>([], noGo ? [] : ["Go"])];
  const sampleOf = (label: string, operation: string, uid: string): string => {
    const found = labelled(label).find((sample) => sample.operation === operation);
    assert.ok(found, `${label}: ${operation}`);
    return found.source.replace(/(?<=v2\/\w+\/)[A-Z_]+/, uid);
  };
  for (const label of languages) {
    const named = (source: string): string => source.replace(/("name": ?)"[^"]*"/, `$1"${label.toLowerCase()}"`);
    const made = await run(label, named(sampleOf(label, "post /iam/v2/groups/{uid}", world.organization)));
    assert.ok(isObject(made) && made.name === label.toLowerCase(), JSON.stringify(made));
    const uid = text(made, "uid");
    assert.deepEqual(await run(label, sampleOf(label, "get /iam/v2/groups/{uid}", uid)), made);
    const listed = await run(label, sampleOf(label, "get /iam/v2/groups", ""));
    assert.ok(isObject(listed) && objectList(listed, "groups").some((group) => text(group, "uid") === uid));
    assert.deepEqual(await run(label, sampleOf(label, "delete /iam/v2/groups/{uid}", uid)), null);
  }
});
