// Attacks 115 and 116: scanners' authenticated reads, and callers who try to read them in another organization's place.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { answerOsvQuestion, readQuestion, requireOsvRecord } from "#advisories/feeds";
import { openReader } from "#advisories/store";
import type { Param, Read } from "#db";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { runImport } from "../story/import.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

type Reader = Awaited<ReturnType<typeof openReader>>;
type Question = ReturnType<typeof readQuestion>;

let world: World;
let scratch: string;
let [ours, theirs, strangers] = ["", "", ""];

const record = (id: string, name = "lantern"): JsonObject => ({
  id,
  modified: "2025-01-01T00:00:00Z",
  affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
});
const imported = async (group: string, name: string, records: readonly JsonObject[], isPublic?: boolean): Promise<void> => {
  const path = join(scratch, `${name}.jsonl`);
  await writeFile(path, records.map((each) => JSON.stringify(each)).join("\n"));
  await runImport(world, "advisories", [path], { group, public: isPublic });
};
const viewer = async (group: string, name: string): Promise<string> => {
  const identity = await createIdentity(world, group, name, { issuer: "https://issuer.example.com", subject: name });
  await bind(world, group, identity, "viewer");
  return world.token(identity);
};

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-private-feeds-attacks-"));
  world = await openWorld();
  const rival = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } })).uid);
  const other = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "other" } })).uid);
  [ours, theirs, strangers] = [await viewer(world.organization, "ours"), await viewer(rival, "theirs"), await viewer(other, "strangers")];
  await imported(world.organization, "public", [record("PUB-1"), record("BOTH-1")], true);
  await imported(world.organization, "ours", [record("OURS-1"), record("OURS-2", "only-ours")]);
  await imported(rival, "theirs", [{ ...record("BOTH-1"), modified: "2025-06-01T00:00:00Z", details: "the rival's words" }]);
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const withToken = (token: string): Record<string, string> => (token === "" ? {} : { authorization: `Bearer ${token}` });
const get = (path: string, token: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${world.url}${path}`, { headers: { ...withToken(token), ...headers } });
const post = (path: string, token: string, body: JsonObject): Promise<Response> =>
  fetch(`${world.url}/osv/v1/${path}`, {
    method: "POST",
    headers: { ...withToken(token), "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** Asserts the caching headers of a private response, and that it is not a 304. */
const requireNotKept = (response: Response): void => {
  const { headers } = response;
  assert.match(headers.get("cache-control") ?? "", /(?=.*private)(?=.*no-store)/);
  assert.match(headers.get("vary") ?? "", /authorization/);
  assert.deepEqual([headers.get("etag"), headers.get("last-modified")], [null, null]);
};

test("attack 115: no cache stores an authenticated response, and no ETag of one caller matches another's", async () => {
  const file = "/advisory/v2/osv/BOTH-1.json";
  const open = await get(file, "");
  const tag = open.headers.get("etag") ?? "";
  assert.match(open.headers.get("vary") ?? "", /authorization/);
  assert.equal((await get(file, "", { "if-none-match": tag })).status, 304);
  // Another caller gets their own content at the same address, whichever ETag they send.
  for (const known of [tag, "*"]) {
    const response = await get(file, theirs, { "if-none-match": known, "if-modified-since": new Date().toUTCString() });
    assert.equal(response.status, 200);
    requireNotKept(response);
    assert.equal(((await response.json()) as JsonObject).details, "the rival's words");
  }
  for (const token of [ours, theirs, strangers])
    for (const response of [
      await get("/osv/v1/vulns/PUB-1", token),
      await get("/advisory/v2/osv/PUB-1.json", token),
      await post("query", token, { package: { ecosystem: "npm", name: "lantern" } }),
      await post("querybatch", token, { queries: [] }),
    ])
      requireNotKept(response);
  // Alternating callers, so that a cached response would reach the next one.
  for (let round = 0; round < 3; round++)
    for (const [token, details] of [
      [theirs, "the rival's words"],
      ["", undefined],
      [strangers, undefined],
      [ours, undefined],
    ] as const)
      for (const path of [file, "/osv/v1/vulns/BOTH-1"]) assert.equal(((await (await get(path, token)).json()) as JsonObject).details, details);
  assert.equal((await get(file, "")).headers.get("etag"), tag);
});

/** Returns a response without request-specific parts and the requested ID. */
const reportedBy = async (response: Response, id: string): Promise<string> => {
  const headers = [...response.headers].filter(([name]) => !["date", "x-request-id"].includes(name));
  const text = (await response.text()).replaceAll(id, "NUMBER");
  return JSON.stringify([response.status, headers.filter(([name]) => !name.startsWith("ratelimit")), text.replace(/"requestId":\s*"[^"]*"/g, "")]);
};

test("attack 116: no status, text, header, count or page distinguishes others' records from missing ones", async () => {
  for (const token of ["", theirs, strangers]) {
    for (const path of ["/osv/v1/vulns/", "/advisory/v2/osv/"]) {
      const extension = path.endsWith("osv/") ? ".json" : "";
      const there = await reportedBy(await get(`${path}OURS-1${extension}`, token), "OURS-1");
      assert.equal(there, await reportedBy(await get(`${path}NONE-1${extension}`, token), "NONE-1"));
      assert.match(there, /^\[404,/);
    }
    for (const name of ["only-ours", "nobodys-one"])
      for (const question of [
        { package: { ecosystem: "npm", name } },
        { package: { ecosystem: "npm", name }, version: "1.0.0" },
        { package: { name }, version: "1.0.0" },
        { package: { ecosystem: "npm", name }, page_token: Buffer.from("1 A").toString("base64url") },
      ]) {
        assert.deepEqual(await (await post("query", token, question)).json(), {});
        assert.deepEqual(await (await post("querybatch", token, { queries: [question] })).json(), { results: [{}] });
      }
  }
  // The owner can read it, so it exists.
  assert.equal((await get("/osv/v1/vulns/OURS-1", ours)).status, 200);
});

/** Reads as the store does, and records each statement and its PostgreSQL page count. */
const noting = (client: pg.Client): Read & { readonly statements: string[]; pages: number } => {
  const { read } = world.server.application.services.store;
  const noted = {
    statements: [] as string[],
    pages: 0,
    query: async (statement: string, values: readonly Param[] = []) => {
      noted.statements.push(statement);
      const { rows } = await client.query<{ "QUERY PLAN": { Plan: Record<string, number> }[] }>(`explain (analyze, buffers, format json) ${statement}`, [
        ...values,
      ]);
      const plan = rows[0]?.["QUERY PLAN"][0]?.Plan ?? {};
      noted.pages += (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
      return read.query(statement, values);
    },
  };
  return noted;
};

test("attack 116: others' records cost the same statements as missing ones and at most a few more pages, whatever their number", async () => {
  const stranger = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "somebody" } })).uid);
  // An ID with an alias that many of the rival's records share.
  await imported(
    world.organization,
    "many",
    Array.from({ length: 500 }, (_, index) => record(`MANY-${index}`, "only-ours")),
  );
  const client = new pg.Client({ connectionString: world.databaseUrl });
  await client.connect();
  try {
    await client.query("analyze source_documents; analyze affected_packages; analyze advisories; set plan_cache_mode = force_generic_plan; set jit = off");
    const costOf = async (ask: (reader: Reader) => Promise<unknown>, place = stranger): Promise<{ statements: string[]; pages: number }> => {
      const read = noting(client);
      await ask(await openReader(read, [place])).catch(() => undefined);
      return read;
    };
    const question = (name: string): Question => readQuestion({ package: { ecosystem: "npm", name }, version: "1.0.0" });
    const pairs = [
      [(reader: Reader) => requireOsvRecord(reader, "OURS-1"), (reader: Reader) => requireOsvRecord(reader, "NONE-1")],
      [(reader: Reader) => answerOsvQuestion(reader, question("only-ours")), (reader: Reader) => answerOsvQuestion(reader, question("nobodys-one"))],
    ] as const;
    for (const [there, absent] of pairs) {
      // The first run creates query plans.
      for (const each of [there, absent]) await costOf(each);
      const [one, other] = [await costOf(there), await costOf(absent)];
      assert(one.statements.length > 1);
      assert.deepEqual(one.statements, other.statements);
      assert(Math.abs(one.pages - other.pages) <= 8, `${one.pages} and ${other.pages} pages`);
    }
    // The owner pays for reading them, so the cost would be visible.
    const [, [many]] = pairs;
    const [paid, unpaid] = [await costOf(many, world.organization), await costOf(many)];
    assert(paid.pages > unpaid.pages + 100, `${paid.pages} and ${unpaid.pages} pages`);
  } finally {
    await client.end();
  }
});

test("attack 116: an invalid token is refused before any lookup, identically for every ID and body", async () => {
  const told = new Set<string>();
  for (const id of ["PUB-1", "OURS-1", "NONE-1"]) told.add(await reportedBy(await get(`/osv/v1/vulns/${id}`, "x.y.z"), id));
  assert.equal(told.size, 1);
  assert.match([...told][0] ?? "", /^\[401,/);
  // The body is not read, so neither its size nor its form matters.
  for (const body of ["no JSON", JSON.stringify({ queries: "x".repeat(limits.osvQuestionBytesMax * 2) })]) {
    const response = await fetch(`${world.url}/osv/v1/querybatch`, {
      method: "POST",
      headers: { ...withToken("x.y.z"), "content-type": "application/json" },
      body,
    });
    assert.equal(response.status, 401);
  }
});

test("attack 116: a caller without permissions, or with a token narrowed to others, reads only public records", async () => {
  const identity = await createIdentity(world, world.organization, "narrow", { issuer: "https://issuer.example.com", subject: "narrow" });
  await bind(world, world.organization, identity, "viewer");
  const whole = await world.token(identity);
  const narrow = await world.token(identity, { capabilities: ["groups.list"] });
  const exact = await world.token(identity, { capabilities: ["advisories.list"] });
  assert.equal((await get("/osv/v1/vulns/OURS-1", exact)).status, 200);
  assert.equal((await get("/osv/v1/vulns/OURS-1", whole)).status, 200);
  assert.equal((await get("/osv/v1/vulns/PUB-1", narrow)).status, 200);
  assert.equal((await get("/osv/v1/vulns/OURS-1", narrow)).status, 404);
  const { results } = (await (await post("querybatch", narrow, { queries: [{ package: { ecosystem: "npm", name: "only-ours" } }] })).json()) as JsonObject;
  assert.deepEqual(results, [{}]);
});
