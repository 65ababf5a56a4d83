// Promotion while its server is killed: each target has the whole image or nothing, and what was acknowledged is there.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import { freePort } from "../free-port.ts";
import { randomNumbers, shortOrLong } from "../length.ts";
import { ociIndex, ociManifest, openPusher, descriptorOf } from "../pusher.ts";
import { openInstallation } from "./installation.ts";
import { gantryFile, start, stopAll } from "./processes.ts";

const rounds = shortOrLong(4, 30);
const each = 20;
const random = randomNumbers(3);

const closing: (() => Promise<unknown>)[] = [];
after(async () => {
  await stopAll();
  for (const close of closing.reverse()) await close();
});

test("attack 341: a server killed in the middle of promotions leaves each target with the whole image or without the repo", { timeout: 600_000 }, async () => {
  const blobs = await mkdtemp(join(tmpdir(), "gantry-promotion-"));
  closing.push(() => rm(blobs, { recursive: true, force: true }));
  const installation = await openInstallation({ GANTRY_BLOBS: blobs });
  closing.push(() => installation.close());
  const { world, environment } = installation;
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "acme" } }), "uid");
  const claimMatch = { issuer: "https://issuer.example.com", subject: "owner" };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity: { name: "owner", claimMatch } }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid, roleUid: builtInRoleUid("owner") } });
  const token = await world.token(identityUid);
  const source = openPusher(world, "acme/app", token);
  const images = [await source.image("amd64"), await source.image("arm64")];
  const index = await source.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests: images.map(descriptorOf) }, ociIndex, "rc1");
  for (let count = 0; count < 10; count++)
    await source.artifact([await source.blob(`about it ${count}`, "text/plain")], { subject: { ...index, mediaType: ociManifest } });
  const whole = 1 + images.length + 10;

  const { store } = world.server.application.services;
  const acknowledged = new Set<string>();
  let killed = 0;
  for (let round = 0; round < rounds; round++) {
    const port = await freePort();
    const program = start(gantryFile, ["serve"], { env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_PUBLIC_URL: world.url } });
    await program.says(/Gantry serves/);
    const wanted = Math.floor(random() * (each - 4));
    let come = 0;
    const promotions = Array.from({ length: each }, async (_, number) => {
      const name = `acme/round${round}/app${number}`;
      const answer = await fetch(`http://127.0.0.1:${port}/gantry/v1/promotions/${name}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ tag: "1.0", sourceRepo: "acme/app", sourceReference: "rc1" }),
      });
      if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
      acknowledged.add(name);
      if (++come === wanted) program.signal("SIGKILL");
    });
    if (wanted === 0) program.signal("SIGKILL");
    const results = await Promise.allSettled(promotions);
    await program.ended;
    for (const result of results) {
      if (result.status === "fulfilled") continue;
      killed++;
      assert.doesNotMatch(String(result.reason), /^Error: [0-9]{3} /, "only the death of the server ends a promotion");
    }
    for (let number = 0; number < each; number++) {
      const name = `acme/round${round}/app${number}`;
      const target = openPusher(world, name, token);
      const [tags, event] = [
        await target.send("GET", "tags/list"),
        await store.read.query(
          `select count(*) from outbox join repos on repos.uid = outbox.subject and repos.name = $1
           join groups on groups.uid = left(repos.uid, -17) and groups.name = $2 where type = 'dev.gantry.registry.image.promoted.v1'`,
          [`app${number}`, `round${round}`],
        ),
      ];
      if (tags.status === 404) {
        assert.ok(!acknowledged.has(name), `${name} was acknowledged`);
        continue;
      }
      const { manifests } = (await (await target.send("GET", `referrers/${index.digest}`)).json()) as { manifests: { digest: string }[] };
      assert.equal((await target.send("GET", "manifests/1.0")).status, 200);
      for (const { digest } of [...images, ...manifests]) assert.equal((await target.send("GET", `manifests/${digest}`)).status, 200);
      assert.deepEqual([1 + images.length + manifests.length, event[0]?.[0]], [whole, "1"], name);
    }
  }
  assert.ok(killed > 0 && acknowledged.size > 0, `${killed} killed, ${acknowledged.size} acknowledged`);
});
