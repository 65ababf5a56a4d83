// Attacks 111 to 114: version 1 as a way around version 2. A second protocol for the same rows must not be weaker.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { isObject, type Json, objectList, part, text } from "#base/json.ts";
import { views } from "#contract/catalog.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { linksOfMethod } from "#contract/links.ts";
import { requestInView } from "#contract/views.ts";
import { boundsOf } from "../../server/transport/server-context.ts";
import { openWholeLists } from "../../server/transport/whole-lists.ts";
import { everyCapabilityBut, folder, neighbour, openStage, pluralOf, protocols } from "../conformance/stage.ts";
import { nonEmpty } from "../samples.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const place = await folder(stage);
const other = await neighbour(stage);
const nobody = await stage.stranger(world.organization);
const iam = "chainguard.platform.iam";
const views1 = nonEmpty(views, "operation of version 1");

const textsIn = (value: Json): string[] =>
  typeof value === "string"
    ? [value]
    : Array.isArray(value)
      ? value.flatMap(textsIn)
      : isObject(value)
        ? Object.entries(value).flatMap(([key, held]) => [key, ...textsIn(held)])
        : [];

for (const method of views1) {
  test(`attack 111: ${method.name} neither shows nor allows more than ${method.view.of.rpc} does`, async () => {
    const { of } = method.view;
    const callers = [undefined, nobody.token, other.owner.token];
    for (const missing of of.capabilities) callers.push((await stage.holder(everyCapabilityBut(missing), place)).token);
    for (const token of callers) {
      for (const protocol of protocols) {
        // Each with its own resource, since the first request may delete it.
        const [first, second] = [await stage.request(of, { place }), await stage.request(of, { place })];
        const one = await stage.call(protocol, method, requestInView(method, first), { token });
        const two = await stage.call(protocol, of, second, { token });
        assert.equal(one.code, two.code, `${one.message} / ${two.message}`);
        if (one.code !== 0 || method.writes) continue;
        const pages = [two.reply];
        for (let pageToken = text(two.reply, "nextPageToken"); pageToken !== ""; ) {
          const { reply } = await stage.call(protocol, of, { ...second, pageToken }, { token });
          pages.push(reply);
          pageToken = text(reply, "nextPageToken");
        }
        const shown = new Set(pages.flatMap(textsIn).filter((each) => /^[0-9a-f]{40}/.test(each)));
        const extra = textsIn(one.reply).filter((each) => /^[0-9a-f]{40}/.test(each) && !shown.has(each));
        assert.deepEqual(extra, [], `${pluralOf(of)} that version 2 does not show`);
      }
    }
  });
}

test("attack 111: a narrowed token is as narrow over version 1", async () => {
  const owner = await stage.holder(everyCapabilityBut(""), world.organization);
  const sub = await folder(stage, place);
  const narrowed = await world.token(owner.uid, { capabilities: ["groups.list"], scopes: [place] });
  for (const protocol of protocols) {
    const listed = await world.ok(`${iam}.Groups/List`, {}, { token: narrowed, protocol });
    const ids = objectList(listed, "items").map((group) => text(group, "id"));
    assert.ok(ids.includes(sub) && ids.every((id) => id.startsWith(place)), "its scope alone");
    assert.equal((await world.call(`${iam}.Groups/Create`, { parent: place, group: { name: "x" } }, { token: narrowed, protocol })).code, 7);
  }
});

/** Returns version 2 fields that no event and no replayed response can show, with the references to them. */
const secretsOf = (message: MessageFact): FieldFact[] =>
  message.fields.flatMap((field) => [...(field.redacted ? [field] : []), ...(field.message?.name.startsWith("chainguard.") ? secretsOf(field.message) : [])]);

test("attack 112: codes, tokens, client secrets and addresses are in no event of version 2 or version 1", async () => {
  const secrets = new Set(views1.flatMap(({ view }) => [...secretsOf(view.of.input), ...secretsOf(view.of.output)]).map(({ name }) => name));
  for (const name of ["code", "token", "client_secret", "email"]) assert.ok(secrets.has(name), `${name} is a secret of the contract`);
  const identity = await world.ok(`${iam}.IdentityProviders/Create`, {
    parentId: world.organization,
    identityProvider: {
      name: "secret",
      defaultRole: builtInRoleUid("viewer"),
      oidc: { issuer: "https://idp.example.com", clientId: "c", clientSecret: "the-client-secret" },
    },
  });
  const scim = await world.ok(`${iam}.IdentityProviders/GenerateScimToken`, { identityProviderId: text(identity, "id"), neverExpires: true });
  const invite = await world.ok(`${iam}.GroupInvites/Create`, {
    group: world.organization,
    ttl: "3600s",
    role: builtInRoleUid("viewer"),
    email: "ada@example.com",
  });
  const values = ["the-client-secret", text(scim, "token"), text(invite, "code"), text(invite, "keyId"), "ada@example.com"];
  for (const value of values) assert.notEqual(value, "");
  const told = JSON.stringify(await world.events());
  assert.deepEqual(
    values.filter((value) => told.includes(value)),
    [],
  );
});

test("attack 112: a one-time secret is not shown by a retry or a dry run of version 1", async () => {
  const headers = { "idempotency-key": "invite-once" };
  const request = { group: world.organization, ttl: "3600s", role: builtInRoleUid("viewer") };
  const [first, again, tried] = [
    await world.call(`${iam}.GroupInvites/Create`, request, { headers }),
    await world.call(`${iam}.GroupInvites/Create`, request, { headers }),
    await world.call(`${iam}.GroupInvites/Create`, request, { validateOnly: true }),
  ];
  assert.notEqual(text(first.reply, "code"), "");
  assert.deepEqual([again.reply.id, again.reply.code, tried.reply.code], [first.reply.id, undefined, undefined]);
});

test("attack 113: PUT extends no permission, grants nothing, and moves nothing", async () => {
  const identity = text(await stage.make(`${iam}.v2.Identity`, { place: world.organization, parent: world.organization }), "uid");
  const expireTime = new Date(world.clock.now + 3_600_000).toISOString();
  const roleBinding = { identityUid: identity, roleUid: builtInRoleUid("viewer"), expireTime };
  const binding = text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding }), "uid");
  const weak = await stage.holder(["role_bindings.update", "role_bindings.list", "repo.list"], world.organization);
  for (const protocol of protocols) {
    await world.ok(`${iam}.RoleBindings/Update`, { id: binding, identity, role: builtInRoleUid("viewer"), group: other.organization }, { protocol });
    const held = await world.ok("iam.RoleBindingsService/GetRoleBinding", { uid: binding });
    assert.deepEqual([held.uid, held.expireTime, part(held, "group").uid], [binding, expireTime, world.organization]);
    const raised = await world.call(`${iam}.RoleBindings/Update`, { id: binding, identity, role: builtInRoleUid("owner") }, { protocol, token: weak.token });
    assert.equal(raised.code, 7, raised.message);
  }
  const body = JSON.stringify({ id: other.organization, name: "mine" });
  const { status } = await fetch(`${world.url}/iam/v1/groups/${place}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${await stage.operator()}`, "content-type": "application/json" },
    body,
  });
  assert.equal(status, 400, "the path is mine, the body is yours");
});

test("attack 113: no field of version 1 sets a server-only field of version 2, or one unknown to version 1 clients", () => {
  // Fields created for version 1, each with its own permission check (attack 122).
  const known = ["update_existing"];
  const isKnown = ({ name, version1Only }: FieldFact): boolean => version1Only || known.includes(name) || name.startsWith("page_") || name === "skip";
  for (const method of views1) {
    for (const { field, path } of linksOfMethod(method).request) {
      const reached = path.at(-1);
      assert.ok(!reached?.additive || isKnown(reached), `${method.name}: ${field.name} reaches ${reached?.name}`);
    }
  }
});

test("attack 114: long unread lists use a bounded share of memory, and none of another organization's", () => {
  const bounds = {
    ...boundsOf({ host: "", port: 0, serviceDomain: "", publicUrl: "", corsOrigins: [], log: () => {}, version: "" }),
    wholeListsBytesEach: 1_000,
    wholeListsBytesMax: 1_500,
  };
  const lists = openWholeLists(bounds);
  const encode = (): Uint8Array => new Uint8Array(400);
  const [one, two, theirs, last] = [lists(encode), lists(encode), lists(encode), lists(encode)];
  one.pack({}, "a");
  two.pack({}, "a");
  assert.throws(() => two.pack({}, "a"), { code: "RESOURCE_EXHAUSTED" });
  theirs.pack({}, "b");
  theirs.pack({}, "b");
  assert.throws(() => last.pack({}, "c"), { code: "RESOURCE_EXHAUSTED" }, "in all");
  one.release();
  lists(encode).pack({}, "c");
  assert.throws(() => one.pack({}, "a"), { code: "CANCELLED" }, "nobody waits for it");
  theirs.release();
});

test("attack 114: a list frees its memory when its caller disconnects", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const bounds = {
    ...boundsOf({ host: "", port: 0, serviceDomain: "", publicUrl: "", corsOrigins: [], log: () => {}, version: "" }),
    wholeListsBytesEach: 10,
    exchangeTimeoutMs: 1,
  };
  const lists = openWholeLists(bounds);
  const held = lists(() => new Uint8Array(10));
  held.pack({}, "a");
  assert.throws(() => lists(() => new Uint8Array(10)).pack({}, "a"), { code: "RESOURCE_EXHAUSTED" });
  context.mock.timers.tick(1);
  lists(() => new Uint8Array(10)).pack({}, "a");
});
