// Overlays and their bindings, which only v2beta1 has: a group's overlay is for repos of the group and its subgroups.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";
import { http } from "./protocols.ts";

const overlays = "chainguard.platform.registry.v2beta1.OverlaysService";
const bindings = "chainguard.platform.registry.v2beta1.OverlayBindingsService";
const config = { contents: { packages: ["curl"] }, environment: { LANG: "C" }, annotations: { team: "build" } };

let world: World;

before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const group = async (parent = world.organization): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "group" } }), "uid");
const repo = async (parent: string): Promise<string> => text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name: "app" } }), "uid");
const overlay = async (parent: string): Promise<string> =>
  text(await world.ok(`${overlays}/CreateOverlay`, { parent, overlay: { name: "Company certificates", config } }), "uid");

for (const protocol of ["rest", "grpc"] as const) {
  test(`a repo of a subgroup can have the overlay, and its binding returns it (${protocol})`, async () => {
    const above = await group();
    const target = await repo(await group(above));
    const made = await world.ok(`${overlays}/CreateOverlay`, { parent: above, overlay: { name: "tools", config } }, { protocol });
    assert.deepEqual(made.config, config);
    const bound = await world.ok(`${bindings}/CreateOverlayBinding`, { parent: target, overlay: text(made, "uid"), tags: ["latest", "1.2"] }, { protocol });
    assert.deepEqual([bound.repo, bound.tags, part(bound, "overlay").uid, part(bound, "overlay").config], [target, ["latest", "1.2"], made.uid, config]);
    assert.deepEqual(await world.ok(`${bindings}/GetOverlayBinding`, { uid: text(bound, "uid") }, { protocol }), bound);
    const listed = await world.ok(`${bindings}/ListOverlayBindings`, { overlay: text(made, "uid") }, { protocol });
    assert.deepEqual(objectList(listed, "overlayBindings"), [bound]);
    const events = (await world.events()).slice(-2);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["dev.chainguard.api.platform.registry.overlay.created.v1", "dev.chainguard.api.platform.registry.overlay_binding.created.v1"],
    );
  });
}

test("an overlay with bindings cannot be deleted, and deleting a repo deletes its bindings", async () => {
  const place = await group();
  const [target, uid] = [await repo(place), await overlay(place)];
  await world.ok(`${bindings}/CreateOverlayBinding`, { parent: target, overlay: uid, tags: ["latest"] });
  const { code, message } = await world.call(`${overlays}/DeleteOverlay`, { uid });
  assert.equal(code, codes.FAILED_PRECONDITION);
  assert.match(message, /cannot delete overlay that is bound to repos/);
  await world.ok("registry.ReposService/DeleteRepo", { uid: target });
  await world.ok(`${overlays}/DeleteOverlay`, { uid });
});

test("an overlay follows the rules of a repo's own configuration", async () => {
  const place = await group();
  const violations = async (own: JsonObject): Promise<string> =>
    JSON.stringify((await world.call(`${overlays}/CreateOverlay`, { parent: place, overlay: { name: "x", config: own } })).details);
  assert.match(await violations({ environment: { CHAINGUARD_X: "1" } }), /config\.environment/);
  assert.match(await violations({ contents: { runtimeKeyring: [{ name: "../key", content: "x" }] } }), /config\.contents\.runtimeKeyring\[0\]\.name/);
  assert.match(await violations({}), /config is required/);
});

test("resources without version 2 have no path and no package there", async () => {
  const token = await world.token();
  assert.equal((await http(world.url, "GET", "/registry/v2beta1/overlays", { token })).status, 200);
  assert.equal((await http(world.url, "GET", "/registry/v2beta1/over%6Cays/", { token })).status, 200);
  assert.equal((await http(world.url, "GET", "/registry/v2/overlays", { token })).status, 404);
  assert.equal((await http(world.url, "GET", "/libraries/v2/requestedLibraries:versions", { token })).status, 404);
  const wrong = await http(world.url, "PUT", "/registry/v2beta1/overlays", { token, body: "{}" });
  assert.deepEqual([wrong.status, wrong.body.code], [405, codes.UNIMPLEMENTED]);
});
