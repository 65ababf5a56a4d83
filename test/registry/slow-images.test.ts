// An organization with layers that are slow to read, next to organizations with small images (attack 347).

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { objectList, text } from "#base/json.ts";
import { openLayerReader } from "#registry/contents";
import { openAttachedSboms } from "../../server/application/attached-sboms.ts";
import { type ImageIndexing, openImageIndexing } from "../../server/application/image-indexing.ts";
import { tarOf } from "../../server/registry/contents/tar.fixture.ts";
import { alpine, apk, pushImage } from "../image-layers.ts";
import { openOwners, type Owners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-slow-images-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Tenant {
  readonly push: (tag: string, layer: Buffer) => Promise<void>;
  readonly states: () => Promise<string[]>;
}

const openTenant = async (): Promise<Tenant> => {
  const name = `slow-${++made}`;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const registry = openPusher(world, `${name}/app`, () => owners.token(group));
  return {
    push: async (tag, layer) => void (await pushImage(registry, tag, layer)),
    states: async () =>
      objectList(await world.ok("gantry.images.v1.ImageContentsService/ListImageContents", {}, { token: await owners.token(group) }), "imageContents")
        .map((each) => text(each, "state").replace("IMAGE_CONTENTS_STATE_", ""))
        .sort(),
  };
};

/** Many entries. */
const hostileLayer = (name: string): Buffer =>
  gzipSync(tarOf([alpine, apk([name, "1"]), ...Array.from({ length: 5_000 }, (_, index) => ({ name: `${name}/${index}`, content: "" }))]));
const smallLayer = (name: string): Buffer => gzipSync(tarOf([alpine, apk([name, "1"])]));

interface Slow {
  readonly indexing: ImageIndexing;
  /** The layers in the order in which their reading began. */
  readonly order: readonly string[];
  /** Lets the reading of the layer end. */
  readonly open: (name: string) => void;
}

/** The last bytes of `gated` layers arrive once they are opened, however fast this machine is. */
const openSlow = (layers: Readonly<Record<string, Buffer>>, gated: readonly string[]): Slow => {
  const gates = new Map(gated.map((name) => [name, Promise.withResolvers<void>()]));
  const order: string[] = [];
  const read = openLayerReader();
  const indexing = openImageIndexing({
    services: world.server.application.services,
    sboms: openAttachedSboms(world.server.application.kernel),
    byHand: true,
    slowMs: 25,
    read: async (pieces, signal) => {
      const bytes = Buffer.concat(await Array.fromAsync(pieces, (piece) => Uint8Array.from(piece)));
      const name = Object.entries(layers).find(([, layer]) => layer.equals(bytes))?.[0] ?? "another";
      order.push(name);
      const delayed = async function* (): AsyncGenerator<Uint8Array> {
        yield bytes.subarray(0, -1);
        await gates.get(name)?.promise;
        yield bytes.subarray(-1);
      };
      return read(delayed(), signal);
    },
  });
  return { indexing, order, open: (name) => gates.get(name)?.resolve() };
};

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await setImmediate();
};

test("a small image is read while a slow layer of another organization is being read (attack 347)", { timeout: 120_000 }, async () => {
  const [hostile, small] = [await openTenant(), await openTenant()];
  const layers = { hostile: hostileLayer("hostile"), first: smallLayer("first"), second: smallLayer("second") };
  const { indexing, order, open } = openSlow(layers, ["hostile"]);
  await hostile.push("1", layers.hostile);
  const turn = indexing.turn();
  await until(() => order.length > 0);
  await small.push("1", layers.first);
  await until(async () => (await small.states()).join() === "INDEXED");
  await small.push("2", layers.second);
  void indexing.turn();
  await until(async () => (await small.states()).join() === "INDEXED,INDEXED");
  assert.deepEqual(await hostile.states(), ["PENDING"]);
  open("hostile");
  await turn;
  // Nothing of the slow image is read twice.
  assert.deepEqual([await hostile.states(), order], [["INDEXED"], ["hostile", "first", "second"]]);
  await indexing.stop();
});

test("further slow images wait for the first one, in turns of organizations, and small images do not (attack 347)", { timeout: 120_000 }, async () => {
  const [one, two, small] = [await openTenant(), await openTenant(), await openTenant()];
  const layers = { one: hostileLayer("one"), more: hostileLayer("more"), two: hostileLayer("two"), small: smallLayer("small") };
  const { indexing, order, open } = openSlow(layers, ["one", "more", "two"]);
  await one.push("1", layers.one);
  const turn = indexing.turn();
  await until(() => order.length === 1);
  await one.push("2", layers.more);
  await until(() => order.length === 2);
  await two.push("1", layers.two);
  await until(() => order.length === 3);
  await small.push("1", layers.small);
  await until(async () => (await small.states()).join() === "INDEXED");
  assert.deepEqual([await one.states(), await two.states()], [["PENDING", "PENDING"], ["PENDING"]]);
  open("one");
  await until(() => order.length === 5);
  assert.deepEqual(order, ["one", "more", "two", "small", "two"]);
  open("two");
  open("more");
  await turn;
  assert.deepEqual([order.at(-1), await one.states(), await two.states()], ["more", ["INDEXED", "INDEXED"], ["INDEXED"]]);
  const { store } = world.server.application.services;
  assert.deepEqual(await store.read.query("select count(*) from image_contents where due_time is not null or tries <> 0"), [["0"]]);
  await indexing.stop();
});

test("slow images that wait are due again when the server stops", { timeout: 120_000 }, async () => {
  const [one, two, small] = [await openTenant(), await openTenant(), await openTenant()];
  const layers = { one: hostileLayer("stop-one"), two: hostileLayer("stop-two"), small: smallLayer("stop-small") };
  const { indexing, order } = openSlow(layers, ["one", "two"]);
  await one.push("1", layers.one);
  const turn = indexing.turn();
  await until(() => order.length === 1);
  await two.push("1", layers.two);
  await until(() => order.length === 2);
  await small.push("1", layers.small);
  await until(async () => (await small.states()).join() === "INDEXED");
  await indexing.stop();
  await turn;
  await world.server.contents.turn();
  assert.deepEqual([await one.states(), await two.states()], [["INDEXED"], ["INDEXED"]]);
});
