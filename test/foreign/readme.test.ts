// The README's five minutes, done by a shell: every command of it runs, and what it prints is what the README shows.
// Once as curl does it by itself (HTTP/1.1), once with HTTP/2 from the first byte.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeReaderHome, type Step, stepsOf, walk } from "../guides/walk.ts";
import { openInstallation } from "../story/installation.ts";

const root = join(import.meta.dirname, "..", "..");
const curl = spawnSync("curl", ["--version"], { encoding: "utf8" });
const hasCurl = curl.status === 0;
const hasHttp2 = hasCurl && /\bHTTP2\b/.test(curl.stdout);

/** The commands of "Five minutes", each with the output that is shown behind it. */
const readSteps = async (): Promise<Step[]> => {
  const [, section = ""] = /^## Five minutes$([\s\S]*?)^## /m.exec(await readFile(join(root, "README.md"), "utf8")) ?? [];
  return stepsOf(section);
};

for (const [how, possible, settings] of [
  ["HTTP/1.1", hasCurl, ""],
  ["HTTP/2 with prior knowledge", hasHttp2, "http2-prior-knowledge\n"],
] as const)
  test(`every command of the README's five minutes prints what the README shows, over ${how}`, {
    skip: !possible && "this machine's curl cannot",
  }, async (t) => {
    const installation = await openInstallation({ GANTRY_SERVICE_DOMAIN: "gantry.local" });
    const home = await makeReaderHome(t);
    t.after(() => installation.close());
    await writeFile(join(home, ".curlrc"), settings);
    const steps = await readSteps();
    assert.ok(steps.length > 5, "the README has its five minutes");
    await walk(steps, { port: new URL(installation.world.url).port, home, environment: installation.environment });
  });
