// Lists from a replica (GANTRY_READ_REPLICA_URL) relieve the primary, but a caller never sees stale data after its own change or after a permission is
// revoked.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { readSettings } from "#application";
import { openStore } from "#db";
import type { Answer } from "../client.ts";
import { type ReplicatedPostgres, startReplicatedPostgres, until } from "../replicated-postgres.ts";
import { openWorld, type World } from "../world.ts";
import { bind, createIdentity } from "./installation.ts";

let postgres: ReplicatedPostgres;
let world: World;
let owner: string;
let logged: { readonly event: string; readonly dependency: string; readonly why: string }[] = [];

before(async () => {
  postgres = await startReplicatedPostgres({ synchronous: false });
  const { first, second } = postgres;
  world = await openWorld({ DATABASE_URL: postgres.urlOf(first), GANTRY_READ_REPLICA_URL: postgres.urlOf(second) }, (event, facts) => {
    logged.push({ event, dependency: String(facts?.dependency), why: String(facts?.why) });
  });
  const claimMatch = { issuer: "https://issuer.example.com", subject: "owner" };
  const identity = await createIdentity(world, world.organization, "owner", claimMatch);
  await bind(world, world.organization, identity, "owner");
  owner = await world.token(identity);
});
after(async () => {
  await world?.close();
  await postgres?.close();
});

const repos = (request: JsonObject = {}): Promise<Answer> => world.call("registry.ReposService/ListRepos", request, { token: owner });
const namesIn = ({ code, reply }: Answer): string[] => {
  assert.equal(code, 0);
  return (reply.repos as JsonObject[]).map(({ name }) => String(name)).sort();
};
const isCopied = ({ headers }: Answer): boolean => headers["gantry-as-of"] !== undefined;
const createRepo = (name: string): Promise<JsonObject> =>
  world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name } }, { token: owner });
/** Assigns positions to the events of the changes. */
const numberEvents = (): Promise<unknown> => world.server.delivery.finish();
const copiedList = (request?: JsonObject): Promise<Answer> =>
  until(async () => {
    await numberEvents();
    const answer = await repos(request);
    return isCopied(answer) ? answer : undefined;
  });

/** Pauses replay on the replica and waits until it is paused. */
const standStill = async (): Promise<void> => {
  await postgres.second.query("select pg_wal_replay_pause()");
  await until(async () => ((await postgres.second.query("select pg_get_wal_replay_pause_state()"))[0]?.[0] === "paused" ? true : undefined));
};
const goOn = (): Promise<unknown> => postgres.second.query("select pg_wal_replay_resume()");

test("the first page of a list comes from the replica with its time; later pages, single rows and changes do not", async () => {
  for (const name of ["a", "b", "c"]) await createRepo(name);
  const page = await copiedList({ pageSize: 2, orderBy: "name" });
  assert.deepEqual(namesIn(page), ["a", "b"]);
  assert.equal(page.reply.totalCount, "3");
  assert.ok(Date.parse(String(page.headers["gantry-as-of"])) <= Date.now());
  const asked = await postgres.second.query("select from pg_stat_activity where application_name like 'gantry%' and query like '%from repos%'");
  assert.ok(asked.length > 0, "the replica was not asked");
  const later = await repos({ pageSize: 2, orderBy: "name", pageToken: page.reply.nextPageToken ?? "" });
  assert.deepEqual(namesIn(later), ["c"]);
  assert.equal(isCopied(later), false);
  const [repo] = page.reply.repos as JsonObject[];
  assert.equal(isCopied(await world.call("registry.ReposService/GetRepo", { uid: String(repo?.uid) }, { token: owner })), false);
  const rpc = await world.call("registry.ReposService/ListRepos", {}, { token: owner, protocol: "grpc" });
  assert.equal(isCopied(rpc), true);
  assert.deepEqual(namesIn(rpc), ["a", "b", "c"]);
});

test("a replica that lags is not used for a caller with newer changes or with revoked permissions", async () => {
  await copiedList();
  await standStill();
  try {
    await createRepo("d");
    // Before its event has a position, and after.
    const atOnce = await repos();
    await numberEvents();
    const behind = await repos();
    for (const answer of [atOnce, behind]) {
      assert.deepEqual(namesIn(answer), ["a", "b", "c", "d"]);
      assert.equal(isCopied(answer), false);
    }
  } finally {
    await goOn();
  }
  assert.deepEqual(namesIn(await copiedList()), ["a", "b", "c", "d"]);

  const reader = await createIdentity(world, world.organization, "reader", { issuer: "https://issuer.example.com", subject: "reader" });
  const binding = await bind(world, world.organization, reader, "viewer");
  const token = await world.token(reader);
  const readersList = (): Promise<Answer> => world.call("registry.ReposService/ListRepos", {}, { token });
  await until(async () => {
    await numberEvents();
    return isCopied(await readersList()) ? true : undefined;
  });
  await standStill();
  try {
    await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding });
    assert.deepEqual(namesIn(await readersList()), []);
    // Permission changes without an event of the organization, by their version alone.
    await numberEvents();
    await goOn();
    await copiedList();
    await standStill();
    await postgres.first.query(`update access_versions set version = version + 1 where root = '${world.organization}'`);
    assert.equal(isCopied(await repos()), false);
  } finally {
    await goOn();
  }
  await copiedList();
});

test("a replica that dies, hangs or is promoted fails no list and is logged once", async () => {
  const { second } = postgres;
  const told = (event: string, why = /./): Promise<unknown> =>
    until(() => (logged.some((each) => each.event === event && each.dependency === "replica" && why.test(each.why)) ? true : undefined));
  await copiedList();
  // The tests before may have failed it.
  await until(() => (logged.findLast(({ dependency }) => dependency === "replica")?.event === "dependency.failed" ? undefined : true));
  logged = [];
  await second.kill();
  for (let times = 0; times < 5; times++) assert.deepEqual(namesIn(await repos()), ["a", "b", "c", "d"]);
  // The reason depends on where the probe was.
  await told("dependency.failed");
  await second.start();
  await told("dependency.recovered");

  logged = [];
  second.pause();
  assert.deepEqual(namesIn(await repos()), ["a", "b", "c", "d"]);
  await told("dependency.failed");
  second.resume();
  await told("dependency.recovered");

  // From here on it is a separate database with the common history.
  logged = [];
  await postgres.promote();
  await told("dependency.failed", /: it is not a standby of the primary$/);
  await createRepo("e");
  await numberEvents();
  const answer = await repos();
  assert.deepEqual([namesIn(answer), isCopied(answer)], [["a", "b", "c", "d", "e"], false]);
});

test("a replica setting without an own database, with several hosts or of invalid form is refused at the start", async () => {
  const replica = "postgresql://u:secret@a,b/d";
  assert.throws(() => readSettings({ GANTRY_READ_REPLICA_URL: replica }), { message: /^GANTRY_READ_REPLICA_URL requires DATABASE_URL/ });
  const open = (readReplicaUrl: string) => openStore({ databaseUrl: postgres.urlOf(postgres.first), readReplicaUrl, log: () => {} });
  await assert.rejects(open(replica), { message: /^GANTRY_READ_REPLICA_URL must name one host/ });
  await assert.rejects(open("mysql://u:secret@a/d"), { message: /^GANTRY_READ_REPLICA_URL must be an address of the form/ });
});
