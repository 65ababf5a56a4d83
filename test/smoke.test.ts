import assert from "node:assert/strict";
import { test } from "node:test";
import { openWorld } from "./world.ts";
test("both doors", async () => {
  const world = await openWorld();
  for (const door of ["rest", "grpc"] as const) {
    const g = await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { door });
    console.log(g.code, g.message, g.reply, g.details);
    const bad = await world.call("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: {} }, { door });
    console.log(JSON.stringify(bad));
  }
  await world.close();
});
