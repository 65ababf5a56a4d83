// Fail-over safety: a standby may lack the latest changes (asynchronous replication), and the old primary may return with all changes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { type ReplicatedPostgres, startReplicatedPostgres, until } from "../replicated-postgres.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

let postgres: ReplicatedPostgres;
let world: World;
let bot: string;
let botToken: string;

before(async () => {
  postgres = await startReplicatedPostgres({ synchronous: false });
  world = await openWorld({ DATABASE_URL: postgres.url });
  const claimMatch = { issuer: "https://issuer.example.com", subject: "bot" };
  bot = await createIdentity(world, world.organization, "bot", claimMatch);
  botToken = await world.token(bot);
});
after(async () => {
  await world?.close();
  await postgres?.close();
});

/** Returns the bot's responses for the organization and for the number of listed groups. */
const asked = async (): Promise<readonly unknown[]> => {
  const [get, list] = await Promise.all([
    world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token: botToken }),
    world.call("iam.GroupsService/ListGroups", {}, { token: botToken }),
  ]);
  return [get.code, list.code === 0 ? list.reply.totalCount : list.code];
};
const forbidden = [7, "0"];
const granted = [0, "1"];
const unavailable = [14, 14];

/** Returns the version under which servers cache the permissions of the organization's identities. */
const versionIn = async (host: ReplicatedPostgres["first"]): Promise<bigint> => {
  const [[version] = []] = await host.query(`select version from access_versions where root = '${world.organization}'`);
  return BigInt(version ?? "0");
};

test("attack 196: a permission lost with the old primary stays lost, however many permission changes follow", async () => {
  assert.deepEqual(await asked(), forbidden);
  const { first, second } = postgres;
  await until(async () => ((await versionIn(second)) === (await versionIn(first)) ? true : undefined));
  const shared = await versionIn(second);
  // From here on, the standby receives nothing.
  await second.stop();
  await bind(world, world.organization, bot, "viewer");
  assert.deepEqual(await asked(), granted);
  const lost = await versionIn(first);
  await first.kill();
  await second.start();
  await postgres.promote();
  await until(async () => ((await world.call("iam.RolesService/ListRoles", {})).code === 0 ? true : undefined));
  assert.equal(await versionIn(second), shared);

  // As many changes as were lost, with no request from the bot. A plain counter would now equal the version under which its permission is
  // cached.
  while ((await versionIn(second)) >> 32n < lost >> 32n) {
    const other = await createIdentity(world, world.organization, "other", { issuer: "https://issuer.example.com", subject: "other" });
    await bind(world, world.organization, other, "viewer");
  }
  assert.equal((await versionIn(second)) >> 32n, lost >> 32n);
  assert.deepEqual(await asked(), forbidden);
});

test("attack 197: a returning old primary is never used, even if no other is available", async () => {
  const { first, second } = postgres;
  await first.start();
  const [[held] = []] = await first.query(`select count(*) from role_bindings where identity_uid = '${bot}'`);
  assert.equal(held, "1", "the old primary has the right still");
  assert.deepEqual(await asked(), forbidden);
  await second.kill();
  // Until the server notices, and while it looks for another primary, the old one's response never appears.
  for (let times = 0; times < 20; times++) assert.deepEqual(await asked(), unavailable);
  const refused = await world.call("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "split" } });
  assert.equal(refused.code, unavailable[0]);
  await until(async () => ((await fetch(`${world.url}/readyz`)).status === 503 ? true : undefined));
  await second.start();
  await until(async () => ((await world.call("iam.RolesService/ListRoles", {})).code === 0 ? true : undefined));
  assert.deepEqual(await asked(), forbidden);
  const { groups } = await world.ok("iam.GroupsService/ListGroups", { uidp: { descendantsOf: world.organization }, pageSize: 200 });
  assert.ok((groups as JsonObject[]).every(({ name }) => name !== "split"));
});
