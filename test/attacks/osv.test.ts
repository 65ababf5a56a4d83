// Attacks 86 and 87: public queries by scanners, and callers who abuse them.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { validateFileName } from "yauzl";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readZip } from "../../server/advisories/feeds/parse/zip.fixture.ts";
import { runImport } from "../story/import.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-osv-attacks-"));
  world = await openWorld({ GANTRY_TRUSTED_PROXIES: "127.0.0.1" });
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const imported = async (records: readonly JsonObject[]): Promise<void> => {
  const path = join(scratch, `${records.length}.jsonl`);
  await writeFile(path, records.map((each) => JSON.stringify(each)).join("\n"));
  await runImport(world, "advisories", [path], { public: true });
};
const record = (id: string): JsonObject => ({
  id,
  modified: "2025-01-01T00:00:00Z",
  affected: [{ package: { ecosystem: "npm", name: "lantern" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
});
const ask = (path: string, from: string, body?: string): Promise<Response> =>
  fetch(`${world.url}/osv/${path}`, { headers: { "x-forwarded-for": from }, ...(body === undefined ? {} : { method: "POST", body }) });

test("attack 86: a record's ID cannot escape an archive's directory or add a line to a list", async () => {
  const ids = ["../../etc/lantern", "/etc/lantern", "..\\lantern", "C:lantern", "a\nb,npm/x", "..", "plain-1"];
  await imported(ids.map(record));
  const entries = await readZip(Buffer.from(await (await ask("npm/all.zip", "198.51.100.1")).arrayBuffer()));
  // Some are refused on import; each of the others is listed, and none is a path.
  assert(entries.length > 1);
  for (const { name } of entries) assert(validateFileName(name) === null && !/[/\\\n:]/.test(name), name);
  const lines = (await (await ask("npm/modified_id.csv", "198.51.100.1")).text()).trim().split("\n");
  assert.equal(lines.length, entries.length);
  for (const line of lines) assert.match(line, /^[^,]+Z,[^,/\\]+$/);
});

test("attack 87: archives and batches count for the address before a byte is read, and other clients are served", async () => {
  const from = "203.0.113.1";
  for (let call = 0; call < Math.floor(limits.openReadsPerMinute / limits.osvArchiveRequests); call++) {
    const response = await ask("npm/all.zip", from);
    assert.equal(response.status, 200);
    await response.arrayBuffer();
  }
  for (const [path, body] of [
    ["npm/all.zip", undefined],
    ["v1/querybatch", "no JSON"],
    ["v1/querybatch", "x".repeat(limits.osvQuestionBytesMax * 2)],
  ] as const)
    assert.equal((await ask(path, from, body)).status, 429, path);
  assert.equal((await ask("npm/all.zip", "203.0.113.2")).status, 200);
});

test("attack 87: a package repeated a thousand times in one batch is looked up once, and no result is lost", async () => {
  const token = (after: string): string => Buffer.from(`1 ${after}`).toString("base64url");
  const lantern = { package: { ecosystem: "npm", name: "lantern" } };
  const queries = [lantern, ...Array.from({ length: limits.osvQueriesMax - 1 }, (_, index) => ({ ...lantern, page_token: token(`a${index}`) }))];
  const { results } = (await (await ask("v1/querybatch", "203.0.113.3", JSON.stringify({ queries }))).json()) as {
    results: { vulns?: JsonObject[]; next_page_token?: string }[];
  };
  assert((results[0]?.vulns?.length ?? 0) > 1);
  // Results that were not looked up carry a token to continue from.
  results.slice(1).forEach((each, index) => {
    assert.deepEqual(each, { next_page_token: token(`a${index}`) });
  });
});
