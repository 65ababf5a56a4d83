// No event is lost or invented: servers are killed at random during changes while the sink fails a third of the time. After recovery every committed
// change has arrived at least once.

import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { openInstallation, type Installation } from "./installation.ts";
import { type Program, start, gantryFile, stopAll } from "./processes.ts";
import { openSink } from "./sink.ts";
import { sealAudit, verifyLogs } from "../audit.ts";
import { randomNumbers, shortOrLong } from "../length.ts";
import { freePort } from "../free-port.ts";

const changes = shortOrLong(300, 10_000);
const writers = 12;
const killsWanted = shortOrLong(3, 12);
const failingShare = 0.3;
const [failsNow, startsWith] = [randomNumbers(1), randomNumbers(2)];

const closing: (() => Promise<void>)[] = [];
after(async () => {
  await stopAll();
  for (const close of closing) await close();
});

interface Member {
  readonly url: string;
  readonly program: Program;
}

const startMember = async ({ world, environment }: Installation): Promise<Member> => {
  const port = await freePort();
  const program = start(gantryFile, ["serve"], {
    env: {
      ...environment,
      GANTRY_LISTEN: `127.0.0.1:${port}`,
      GANTRY_PUBLIC_URL: world.url,
      GANTRY_DELIVERY_DELAYS: `0${",0.3".repeat(40)}`,
      GANTRY_EGRESS_ALLOW: "127.0.0.0/8",
    },
  });
  await program.says(/Gantry serves/);
  return { url: `http://127.0.0.1:${port}`, program };
};

const sleepless = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test(`each of ${changes} changes made while servers are killed and sinks fail arrives with one audit entry, and no rolled-back one`, {
  timeout: 900_000,
}, async () => {
  const installation = await openInstallation();
  const sink = await openSink();
  closing.push(
    () => sink.close(),
    () => installation.close(),
  );
  const arrived = new Map<string, number>();
  let well = false;
  sink.answer = ({ headers }) => {
    if (!well && failsNow() < failingShare) return { status: 500 };
    const subject = String(headers["ce-subject"]);
    arrived.set(subject, (arrived.get(subject) ?? 0) + 1);
    sink.got.length = 0;
    return { status: 200 };
  };
  const { world } = installation;
  const token = await world.token();
  const repo = String((await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "crash" } })).uid);
  await world.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: { sink: sink.url } });

  const members = await Promise.all([startMember(installation), startMember(installation)]);

  const uids: string[] = [];
  const ghosts: string[] = [];
  /** Retries until a server responds; creating an existing tag is an upsert (resources: Tags). */
  const put = async (name: string, query = ""): Promise<JsonObject> => {
    for (let turn = Math.floor(startsWith() * 2); ; turn++) {
      const member = members[turn % 2];
      try {
        const answer = await fetch(`${member?.url}/registry/v2/tags/${repo}${query}`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ name, digest: `sha256:${"ab".repeat(32)}` }),
        });
        if (answer.ok) return (await answer.json()) as JsonObject;
        if (answer.status < 500) assert.fail(`${answer.status}: ${await answer.text()}`);
      } catch (error) {
        // The server was killed during the request: retries at the other server, or at this one after its restart.
        if (error instanceof assert.AssertionError) throw error;
      }
      await sleepless();
    }
  };

  let [next, kills] = [0, 0];
  const write = async (): Promise<void> => {
    while (next < changes || kills < killsWanted) {
      const number = next++;
      if (number % 20 === 0) ghosts.push(String((await put(`ghost-${number}`, "?validateOnly=true")).uid));
      uids.push(String((await put(`tag-${number}`)).uid));
    }
  };
  const kill = async (): Promise<void> => {
    for (let mark = changes / 10; kills < killsWanted; ) {
      if (next < mark) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      const at = kills % 2;
      members[at]?.program.signal("SIGKILL");
      await members[at]?.program.ended;
      members[at] = await startMember(installation);
      kills++;
      mark = next + changes / 10;
    }
  };
  await Promise.all([...Array.from({ length: writers }, write), kill()]);
  assert.ok(new Set(uids).size >= changes);

  well = true;
  // Leases of the killed servers have expired by this clock.
  world.clock.now = Date.now() + limits.deliveryLeaseMs;
  for (;;) {
    await world.server.delivery.finish();
    const { totalCount } = await world.ok("gantry.events.v1.DeliveriesService/ListDeliveries", {
      states: ["DELIVERY_STATE_PENDING", "DELIVERY_STATE_WAITING"],
      pageSize: 1,
    });
    const [[untaken] = []] = await world.server.application.services.store.read.query(
      "select (select count(*) from outbox where position is null) + (select count(*) from fan_outs)",
    );
    if (totalCount === "0" && untaken === "0") break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const lost = uids.filter((uid) => !arrived.has(uid));
  assert.deepEqual(lost, [], `${lost.length} of ${uids.length} changes never arrived`);
  assert.deepEqual(
    ghosts.filter((uid) => arrived.has(uid)),
    [],
    "told of what was never done",
  );
  const known = new Set((await world.server.application.services.store.read.query("select distinct subject from outbox")).map(([subject]) => subject));
  assert.deepEqual(
    [...arrived.keys()].filter((subject) => !known.has(subject)),
    [],
    "told of what was rolled back",
  );
  assert.equal(
    (await world.ok("gantry.events.v1.DeliveriesService/ListDeliveries", { states: ["DELIVERY_STATE_DEAD", "DELIVERY_STATE_DROPPED"] })).totalCount,
    "0",
  );

  await sealAudit(world);
  const { read } = world.server.application.services.store;
  assert.deepEqual(
    await read.query("select event_id::text from outbox where event_id::text not in (select event_id from audit_entries)"),
    [],
    "an event without its entry",
  );
  assert.deepEqual(await read.query("select event_id from audit_entries group by 1 having count(*) > 1"), [], "an event with two entries");
  assert.deepEqual((await verifyLogs(world)).whole, true);
});

test("a server that stops finishes and records its deliveries in flight, and exits with 0", { timeout: 60_000 }, async () => {
  const installation = await openInstallation();
  const held: ServerResponse[] = [];
  const bothCame = Promise.withResolvers<void>();
  const sink = createServer((request, response) => void request.resume().on("end", () => held.push(response) === 2 && bothCame.resolve()));
  await new Promise<void>((resolve) => void sink.listen(0, "127.0.0.1", resolve));
  closing.push(
    async () => void sink.close().closeAllConnections(),
    () => installation.close(),
  );
  const { world } = installation;
  await world.server.delivery.finish();
  await world.ok("events.SubscriptionsService/CreateSubscription", {
    parent: world.organization,
    subscription: { sink: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/` },
  });
  await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "stop" } });
  const { program } = await startMember(installation);
  await bothCame.promise;
  program.signal("SIGTERM");
  await program.says(/Stopping/);
  // One after the other: a finished delivery waits for the unfinished one.
  for (const response of held) {
    await new Promise<void>((resolve) => void response.writeHead(204).end(resolve));
  }
  const { code, signal } = await program.ended;
  assert.deepEqual({ code, signal }, { code: 0, signal: null });
  const { deliveries } = await world.ok("gantry.events.v1.DeliveriesService/ListDeliveries", {});
  assert.deepEqual(
    (deliveries as JsonObject[]).map(({ state, attempts }) => ({ state, attempts })),
    [1, 2].map(() => ({ state: "DELIVERY_STATE_DELIVERED", attempts: 1 })),
  );
});
