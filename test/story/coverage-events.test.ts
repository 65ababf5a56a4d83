// Digest events about packages that sources no longer judge, as the webhook endpoint of an organization's owner receives them.

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { CoverageLostSchema } from "#contract/gen/gantry/findings/v1/events_pb.js";
import { isObject, type JsonObject, objectList, text } from "#base/json.ts";
import { openLayerReader } from "#registry/contents";
import { openAttachedSboms } from "../../server/application/attached-sboms.ts";
import { openImageIndexing } from "../../server/application/image-indexing.ts";
import { indexImages } from "../../server/application/index-images.ts";
import type { Tenant } from "../authoring.ts";
import { apk, pushImage } from "../image-layers.ts";
import { randomNumbers } from "../length.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import { type Deadlines, high, openDeadlines } from "../due-dates.ts";
import { readEvent } from "./receiver.ts";
import { openSink, type Sink } from "./sink.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

let stage: Deadlines;
let tenants = 0;
const sinks: Sink[] = [];

before(async () => {
  stage = await openDeadlines();
});
after(async () => {
  for (const sink of sinks) await sink.close();
  await stage?.close();
});

/** Advances the clock and lets the server check. */
const wait = async (ms: number): Promise<void> => {
  stage.world.clock.now += ms;
  await stage.match();
};

interface Listening {
  readonly own: Tenant;
  /** Returns the new events of coverage as "CHANGE GROUP IMAGES ECOSYSTEM STATE …". */
  received(): Promise<string[]>;
  readonly bodies: JsonObject[];
}

const listen = async (): Promise<Listening> => {
  const own = await stage.newTenant(`coverage-events-${++tenants}`);
  const sink = await openSink();
  sinks.push(sink);
  await stage.call(own, "events.SubscriptionsService/CreateSubscription", {
    parent: own.group,
    subscription: { sink: sink.url, minFindingSeverity: "FINDING_SEVERITY_CRITICAL" },
  });
  let read = 0;
  const bodies: JsonObject[] = [];
  return {
    own,
    bodies,
    received: async () => {
      await stage.world.server.delivery.finish();
      const events = sink.got.slice(read).map(({ headers, body }) => readEvent(headers, body));
      read = sink.got.length;
      return events
        .flatMap(({ type, subject, data }) => {
          const change = /^dev\.gantry\.findings\.coverage_(lost|regained)\.v1$/.exec(type)?.[1];
          if (change === undefined) return [];
          const { body } = data ?? {};
          assert.ok(isObject(body));
          bodies.push(body);
          assert.equal(body.groupUid, subject);
          const states = objectList(body, "ecosystems").map((each) => `${text(each, "ecosystem")} ${text(each, "state").replace("COVERAGE_STATE_", "")}`);
          return [`${change} ${subject} ${String(body.imageCount)} ${states.join(" ")}`];
        })
        .toSorted();
    },
  };
};

type LayerReader = ReturnType<typeof openLayerReader>;

/** Reads layers as they are, or as from damaged storage. */
const readerOf = (isDamaged: () => boolean): LayerReader => {
  const read = openLayerReader();
  return async (pieces, signal) => {
    const bytes = Buffer.concat(await Array.fromAsync(pieces, (piece) => Uint8Array.from(piece)));
    return read(Readable.from([isDamaged() ? Buffer.from("damaged") : bytes]), signal);
  };
};

const publish = ({ group }: Tenant): Promise<void> => stage.publish(group, `CVE-2026-41${group.slice(0, 4)}`, "zlib", high);

/** Returns the ecosystems of the list that an event names, as the tenant's owner. */
const follow = async ({ authorUid }: Tenant, url: unknown): Promise<string[]> => {
  assert.ok(typeof url === "string");
  const { pathname, search } = new URL(url);
  const response = await fetch(`${stage.world.url}${pathname}${search}`, { headers: { authorization: `Bearer ${await stage.world.token(authorUid)}` } });
  assert.equal(response.status, 200, url);
  return objectList((await response.json()) as JsonObject, "advisoryCoverage").map((row) => text(row, "ecosystem"));
};

test("packages whose only source becomes stale are told once for each group, with a list, and once more when a source judges them again", async () => {
  const { own, received, bodies } = await listen();
  const rival = await listen();
  const team = await stage.newGroup(own.group, "team");
  await publish(own);
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0", "pkg:pypi/lantern@1"]);
  for (const repo of ["api", "worker"]) await stage.importImage(team, repo, ["zlib=1.2.0-r0"]);
  await stage.importImage(rival.own.group, "web", ["zlib=1.2.0-r0"]);
  await wait(hourMs);
  assert.deepEqual(await received(), [], "packages that were never judged are no loss");
  await wait(72 * hourMs);
  assert.deepEqual(await received(), [], "a loss counts once it has lasted for an hour");
  await wait(hourMs);
  assert.deepEqual(await received(), [`lost ${own.group} 1 apk STALE`, `lost ${team} 2 apk STALE`].toSorted());
  for (const body of bodies) fromJson(CoverageLostSchema, body as JsonValue);
  const { listUrl } = bodies.find(({ groupUid }) => groupUid === team) ?? {};
  assert.deepEqual(await follow(own, listUrl), ["apk"]);
  assert.deepEqual(await follow(rival.own, listUrl), []);
  await wait(200 * hourMs);
  assert.deepEqual(await received(), []);
  await publish(own);
  await wait(10 * minuteMs);
  assert.deepEqual(await received(), [`regained ${own.group} 1 apk MATCHED`, `regained ${team} 2 apk MATCHED`].toSorted());
  await wait(hourMs);
  assert.deepEqual(await received(), []);
  assert.deepEqual(await rival.received(), [], "an organization without a source has lost nothing");
});

test("layers that can no longer be read are told once for each group, with a list of the images, and once more when they are read again", async () => {
  const { own, received, bodies } = await listen();
  const { world } = stage;
  const { services, kernel } = world.server.application;
  const path = `coverage-events-${tenants}`;
  const owners = openOwners(world);
  const push = (repo: string, tag: string | undefined): Promise<unknown> =>
    pushImage(
      openPusher(world, `${path}/${repo}`, () => owners.token(own.group)),
      tag,
      [apk(["musl", `1.2.${tenants}-r0`], [repo, tag ?? "none"])],
    );
  /** Reads the images of the repos again, from damaged storage or from sound storage. */
  const readAgain = async (isDamaged: boolean, ...repos: readonly string[]): Promise<void> => {
    world.clock.now += 1_000;
    for (const repo of repos)
      assert.ok((await indexImages(services, { repo: `${path}/${repo}`, readBeforeMs: world.clock.now, dryRun: false, progress: () => {} })) > 0);
    const indexing = openImageIndexing({
      services,
      sboms: openAttachedSboms(kernel),
      byHand: true,
      read: readerOf(() => isDamaged),
    });
    await indexing.turn();
    await indexing.stop();
  };
  for (const tag of ["1", "2", undefined]) await push("web", tag);
  await push("api", "1");
  await world.server.contents.turn();
  await wait(hourMs);
  await readAgain(true, "web");
  await wait(10 * minuteMs);
  assert.deepEqual(await received(), [], "a loss counts once it has lasted for an hour");
  await wait(hourMs);
  assert.deepEqual(await received(), [`lost ${own.group} 2 unknown NO_SOURCE`]);
  const [lost = {}] = bodies;
  fromJson(CoverageLostSchema, lost as JsonValue);
  const { pathname, search } = new URL(text(lost, "listUrl"));
  const response = await fetch(`${world.url}${pathname}${search}`, { headers: { authorization: `Bearer ${await owners.token(own.group)}` } });
  const listed = objectList((await response.json()) as JsonObject, "imageContents").map((each) => text(each, "state"));
  assert.deepEqual(listed, ["IMAGE_CONTENTS_STATE_FAILED", "IMAGE_CONTENTS_STATE_FAILED", "IMAGE_CONTENTS_STATE_FAILED"]);
  // A further reading with the same result is no new loss, and a check without changes writes nothing.
  await readAgain(true, "web");
  const versions = (): Promise<unknown> => services.store.read.query("select uid, xmin::text from image_contents where left(uid, 40) = $1", [own.group]);
  const before = await versions();
  await wait(2 * hourMs);
  assert.deepEqual([await received(), await versions()], [[], before]);
  await readAgain(false, "web", "api");
  await wait(10 * minuteMs);
  assert.deepEqual(await received(), [`regained ${own.group} 2 unknown MATCHED`]);
  await wait(2 * hourMs);
  assert.deepEqual(await received(), []);
});

test("layers that are read again within the hour are not told, and neither are those that were never read", async () => {
  const { own, received } = await listen();
  const { world } = stage;
  const { services, kernel } = world.server.application;
  const path = `coverage-events-${tenants}`;
  const owners = openOwners(world);
  let isDamaged = true;
  const indexing = openImageIndexing({
    services,
    sboms: openAttachedSboms(kernel),
    byHand: true,
    read: readerOf(() => isDamaged),
  });
  const readAgain = async (): Promise<void> => {
    world.clock.now += 1_000;
    await indexImages(services, { repo: `${path}/web`, readBeforeMs: world.clock.now, dryRun: false, progress: () => {} });
    await indexing.turn();
  };
  await pushImage(
    openPusher(world, `${path}/web`, () => owners.token(own.group)),
    "1",
    [apk(["musl", `1.2.${tenants}-r0`])],
  );
  await indexing.turn();
  await wait(2 * hourMs);
  assert.deepEqual(await received(), []);
  isDamaged = false;
  await readAgain();
  isDamaged = true;
  await readAgain();
  await wait(30 * minuteMs);
  isDamaged = false;
  await readAgain();
  await wait(2 * hourMs);
  assert.deepEqual(await received(), []);
  await indexing.stop();
});

test("a loss that ends within the hour is not told, and neither is one of images that are gone", async () => {
  const { own, received } = await listen();
  await publish(own);
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  await wait(hourMs);
  await wait(72 * hourMs);
  await wait(50 * minuteMs);
  await publish(own);
  await wait(20 * minuteMs);
  await wait(2 * hourMs);
  assert.deepEqual(await received(), []);
  await wait(71 * hourMs);
  await stage.importImage(own.group, "web", ["pkg:pypi/lantern@1"]);
  await wait(2 * hourMs);
  await wait(2 * hourMs);
  assert.deepEqual(await received(), []);
});

test("events of any course of imports and time are those of a naive model", async () => {
  const random = randomNumbers(4);
  const { own, received } = await listen();
  await publish(own);
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  await wait(hourMs);
  let successMs = stage.world.clock.now - hourMs;
  let [lost, sinceMs] = [false, -1];
  const steps = [30 * minuteMs, 2 * hourMs, 30 * hourMs, 72 * hourMs];
  for (let n = 0; n < 40; n++) {
    if (random() < 0.3) {
      await publish(own);
      successMs = stage.world.clock.now;
    }
    await wait(steps[Math.floor(random() * steps.length)] ?? hourMs);
    const nowMs = stage.world.clock.now;
    const isJudged = nowMs - successMs <= 72 * hourMs;
    const expected: string[] = [];
    if (isJudged) {
      if (lost) expected.push(`regained ${own.group} 1 apk MATCHED`);
      [lost, sinceMs] = [false, -1];
    } else if (!lost && sinceMs < 0) sinceMs = nowMs;
    else if (!lost && nowMs - sinceMs >= hourMs) {
      lost = true;
      expected.push(`lost ${own.group} 1 apk STALE`);
    }
    assert.deepEqual(await received(), expected, `step ${n}`);
  }
});
