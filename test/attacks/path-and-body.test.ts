// Attack 3: the path decides the resource, whatever the body or query says, and no field accepts another tenant's uid.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { type Answer, callHttp, restRequest } from "../client.ts";
import { protocols, neighbour, openStage, violationsOf } from "../conformance/stage.ts";
import { bodyField, nonEmpty, valueAt, withValue } from "../samples.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());
const ours = world.organization;
const theirs = await neighbour(stage);
const operator = await stage.operator();

const bodies = nonEmpty(
  methods.filter(
    (method) => stage.answers(method) && method.writes && bodyField(method)?.message && method.scope && (method.http[0]?.template ?? "").includes("=**"),
  ),
  "write with a place in its path and a body",
);

const twice = async (method: MethodFact, request: JsonObject, where: { readonly body?: JsonObject; readonly query?: string }): Promise<Answer> => {
  const { verb, path, body } = restRequest(method, request);
  const said = JSON.stringify({ ...(JSON.parse(body ?? "{}") as JsonObject), ...where.body });
  const target = where.query === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}${where.query}`;
  return callHttp(world.url, verb, target, { token: operator, body: said });
};

for (const method of bodies)
  test(`attack 3: ${method.name} uses the uid of its path: another one in body or query is refused, and nothing changes`, async () => {
    const path = method.scope ?? [];
    const [name = ""] = path.slice(-1);
    const field = path.length > 1 ? (method.input.byName.get(path[0] ?? "")?.name ?? "") : "";
    const request = await stage.request(method, { place: ours });
    const mine = String(valueAt(request, path));
    const foreign = path.length > 1 ? String(valueAt(await stage.request(method, { place: theirs.organization }), path)) : theirs.organization;
    assert.notEqual(foreign, mine);
    const before = await stage.fingerprint();
    const tries: Answer[] = [await twice(method, request, { query: `${field ? `${field}.` : ""}${name}=${foreign}` })];
    // A parent is no field of the resource; an update's body has the uid itself.
    if (path.length > 1) tries.push(await twice(method, request, { body: { [name]: foreign } }));
    for (const answer of tries) {
      assert.equal(answer.code, codes.INVALID_ARGUMENT, `${method.name}: ${answer.message}`);
      assert.match(violationsOf(answer)[0]?.field ?? "", new RegExp(name));
    }
    assert.equal(await stage.fingerprint(), before);
  });

/** Fields of a resource that reference another one by uid. */
const references = nonEmpty(
  bodies.flatMap((method) =>
    (bodyField(method)?.message?.fields ?? []).filter(({ refersTo, outputOnly }) => refersTo !== "" && !outputOnly).map((field) => ({ method, field })),
  ),
  "field that names something else",
);

for (const { method, field } of references)
  test(`attack 1: ${method.name} accepts no ${field.json} of another organization, not even from the operator`, async () => {
    const request = await stage.request(method, { place: ours });
    const foreign = text(await stage.make(field.refersTo, { place: theirs.organization, parent: theirs.organization }), "uid");
    const masked = method.input.byName.has("update_mask") ? { updateMask: field.name } : {};
    const before = await stage.fingerprint();
    for (const protocol of protocols) {
      const answer = await stage.call(
        protocol,
        method,
        { ...withValue(request, [bodyField(method)?.json ?? "", field.json], foreign), ...masked },
        { token: operator },
      );
      assert.equal(answer.code, codes.INVALID_ARGUMENT, answer.message);
      assert.deepEqual(
        violationsOf(answer).map((each) => each.field),
        [field.json],
      );
    }
    assert.equal(await stage.fingerprint(), before);
  });
