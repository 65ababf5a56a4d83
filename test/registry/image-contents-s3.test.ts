// The layers of pushed images are read from S3 as from files.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { objectList, text } from "#base/json.ts";
import { bytesAt } from "../../server/registry/blobs/testing.ts";
import { alpine, apk, pushImage } from "../image-layers.ts";
import { type ObjectStorage, objectStorageMissing, startObjectStorage } from "../object-storage.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";

const skip = objectStorageMissing();

let world: World | undefined;
let storage: ObjectStorage | undefined;

before(async () => {
  if (skip !== false) return;
  storage = await startObjectStorage();
  world = await openWorld({ GANTRY_BLOBS: storage.settingOf("contents/") });
});
after(async () => {
  await world?.close();
  await storage?.stop();
});

test("an image in S3 is read, and stays PENDING while S3 is unreachable", { skip }, async () => {
  assert.ok(world && storage);
  const { server, ok } = world;
  const owners = openOwners(world);
  const name = "contents-in-s3";
  const group = text(await ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const registry = openPusher(world, `${name}/app`, () => owners.token(group));
  const list = async () =>
    objectList(await ok("gantry.images.v1.ImageContentsService/ListImageContents", {}, { token: await owners.token(group) }), "imageContents");
  // Larger than what S3 and the reader of layers send at once.
  const large = { name: "usr/share/large", content: bytesAt(0, 24 * 1024 * 1024) };
  const first = await pushImage(registry, "1", [alpine, large, apk(["musl", "1.2.5-r0"])]);
  await server.contents.turn();
  assert.deepEqual(
    (await list()).map((each) => [each.digest, each.state, each.packageCount]),
    [[first.digest, "IMAGE_CONTENTS_STATE_INDEXED", 1]],
  );
  const second = await pushImage(registry, "2", [alpine, apk(["musl", "1.2.5-r1"])]);
  await storage.stop();
  await server.contents.turn();
  const states = new Map((await list()).map((each) => [text(each, "digest"), each.state]));
  assert.deepEqual([states.get(first.digest), states.get(second.digest)], ["IMAGE_CONTENTS_STATE_INDEXED", "IMAGE_CONTENTS_STATE_PENDING"]);
});
