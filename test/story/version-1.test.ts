// Version 1 is a second shape of version 2 (requirement: Versioning 3): the same rows, rules and rights, other names. What the
// specification of version 1 says of its behaviour is retold here, over both protocols.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());
const { organization } = world;
const iam = "chainguard.platform.iam";

test("x", async () => {
  console.log(await world.call("chainguard.platform.ping.PingService/Ping", {}));
  for (const protocol of ["rest", "grpc"] as const) {
    const group = await world.call(`${iam}.Groups/Create`, { parent: organization, group: { name: "folder", description: "a folder" } }, { protocol });
    console.log(group);
    console.log(await world.call(`${iam}.Groups/List`, { id: group.reply.id }, { protocol }));
    console.log(await world.call(`${iam}.Groups/List`, { id: "x" }, { protocol }));
    console.log(await world.call(`${iam}.Groups/Update`, { id: group.reply.id, name: "changed" }, { protocol }));
    console.log(await world.call(`${iam}.Groups/Update`, { id: group.reply.id, name: "" }, { protocol }));
    console.log(await world.call(`${iam}.Groups/Delete`, { id: group.reply.id }, { protocol }));
  }
  console.log((await world.events()).slice(-3));
});
