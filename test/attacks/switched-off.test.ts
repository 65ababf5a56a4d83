// Attack 6: a disabled feature does not respond over another protocol, spelling or version.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { setSuspended } from "../../server/application/organization.ts";
import { registerPerson } from "../../server/application/person.ts";
import { callHttp } from "../client.ts";
import { isScim, protocols, neighbour, openStage, rowsOf } from "../conformance/stage.ts";
import { nonEmpty, withValue } from "../samples.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());
const operator = await stage.operator();
const named = (rpc: string): MethodFact => methods.find((method) => method.rpc === rpc && stage.answers(method)) ?? assert.fail(rpc);

test("attack 6: unless organizations are open, only the operator creates one, over both protocols and versions, with or without a parent", async () => {
  const uid = await registerPerson(world.server.application.kernel, {
    issuer: "https://people.example.com",
    subject: "founder",
    email: "founder@example.com",
    name: "Founder",
  });
  const token = await world.token(uid);
  const before = await stage.fingerprint();
  for (const parent of ["", "/"]) {
    for (const protocol of protocols)
      assert.equal((await stage.call(protocol, named("CreateGroup"), { parent, group: { name: "mine" } }, { token })).code, codes.PERMISSION_DENIED);
  }
  for (const path of ["/iam/v2/groups", "/iam/v2beta1/groups", "/iam/v2/groups/", "/iam/v2/groups/%2F", "/iam/v2/groups?validateOnly=true"]) {
    assert.ok([403, 400, 404].includes((await callHttp(world.url, "POST", path, { token, body: '{"name":"mine"}' })).status ?? 0), path);
  }
  for (const path of ["/iam/v1/groups", "/iam/v1beta1/groups"])
    assert.ok([403, 404, 501].includes((await callHttp(world.url, "POST", path, { token, body: '{"name":"mine"}' })).status ?? 0), path);
  assert.equal(await stage.fingerprint(), before);
});

test("attack 6: a suspended organization refuses its members every operation over every protocol, and works again once restored", async () => {
  const closing = await neighbour(stage);
  const { token } = closing.owner;
  const scoped = nonEmpty(
    methods.filter((method) => method.scope && stage.answers(method)),
    "operation with a place",
  );
  const asked = new Map<MethodFact, JsonObject>();
  for (const method of scoped.filter(({ distribution }) => distribution)) asked.set(method, await stage.request(method, { place: closing.organization }));
  await setSuspended(world.server.application, closing.organization, true);
  for (const [method, request] of asked) assert.equal((await stage.call("rest", method, request, { token })).code, codes.PERMISSION_DENIED, method.name);
  for (const protocol of protocols) {
    const answers = await Promise.all(
      scoped
        .filter(({ distribution }) => !distribution)
        .map(async (method) => [method, await stage.call(protocol, method, withValue({}, method.scope ?? [], closing.organization), { token })] as const),
    );
    for (const [method, { code, message }] of answers) assert.equal(code, codes.PERMISSION_DENIED, `${method.name} over ${protocol}: ${message}`);
    for (const method of methods.filter(
      (each) => stage.answers(each) && !each.distribution && each.unscoped && each.rpc.startsWith("List") && each.capabilities.length > 0,
    )) {
      const { code, reply } = await stage.call(protocol, method, { pageSize: 200 }, { token });
      assert.ok(code === codes.PERMISSION_DENIED || !JSON.stringify(rowsOf(method, reply)).includes(closing.organization), `${method.name} over ${protocol}`);
    }
  }
  await setSuspended(world.server.application, closing.organization, false);
  for (const protocol of protocols) assert.equal((await stage.call(protocol, named("GetGroup"), { uid: closing.organization }, { token })).code, 0);
});

test("attack 6: disabled SCIM and unimplemented operations exist on no protocol", async () => {
  const provider = text(await stage.make("chainguard.platform.iam.v2.IdentityProvider"), "uid");
  const { reply } = await stage.call("rest", named("GetIdentityProvider"), { uid: provider }, { token: operator });
  assert.notEqual(part(reply, "scim").enabled, true);
  for (const path of ["/scim/v2/Users", `/scim/v2/${provider}/Users`])
    assert.equal((await callHttp(world.url, "GET", path, { token: operator })).status, path.includes(provider) ? 401 : 404, path);
  for (const method of methods.filter((each) => !stage.answers(each) && !isScim(each)))
    for (const protocol of protocols)
      assert.equal(
        (await stage.call(protocol, method, await stage.request(method), { token: operator })).code,
        codes.UNIMPLEMENTED,
        `${method.name} over ${protocol}`,
      );
});
