// Effects of deleting a resource's parent or a referenced resource, as the contract declares them, for every resource with a Create.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { methods } from "#contract/catalog.ts";
import type { MessageFact, MethodFact } from "#contract/facts.ts";
import { createOf, nonEmpty, refersBelow } from "../samples.ts";
import { folder, groupMessage, openStage } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
const owner = await stage.owner();
const { resources } = world.server.application.kernel;
after(() => stage.close());

const deleteOf = (message: string): MethodFact | undefined =>
  methods.find(({ rpc, input, service }) => rpc === `Delete${message.split(".").at(-1)}` && input.byName.has("uid") && createOf(message)?.service === service);

const remove = (message: string, uid: string) =>
  stage.call("rest", deleteOf(message) ?? assert.fail(`nothing deletes a ${message}`), { uid }, { token: owner });

const isThere = async (message: MessageFact, uid: string): Promise<boolean> => {
  const table = resources.get(message.name)?.shape.table.name ?? assert.fail(`${message.name} has no table`);
  return (await stage.query(`select from ${table} where uid = $1`, [uid])).length > 0;
};

const violationsIn = (details: readonly JsonObject[]): JsonObject[] =>
  details.flatMap(({ violations }) => (Array.isArray(violations) ? violations : []) as JsonObject[]);

const made = [...resources.values()].filter(({ fact }) => createOf(fact.name) !== undefined);

for (const { fact, parentMessage, table = "" } of nonEmpty(
  made.filter(({ parentMessage: above }) => deleteOf(above) !== undefined),
  "resource with a parent",
)) {
  const goes = fact.resource?.deletedWithParent === true;
  test(goes ? `the deletion of a parent takes its ${table} along` : `a parent cannot be deleted while it has ${table}`, async () => {
    const above = parentMessage === groupMessage ? await folder(stage) : text(await stage.make(parentMessage), "uid");
    const child = text(await stage.make(fact.name, { parent: above }), "uid");
    // A resource with its parent's uid gets its own parent.
    const parent = fact.byName.get("uid")?.refersTo === parentMessage ? child : above;
    assert.ok(child.startsWith(parent), child);
    const { code, message, details } = await remove(parentMessage, parent);
    if (goes) {
      assert.equal(code, 0, message);
      assert.equal(await isThere(fact, child), false);
      return;
    }
    assert.equal(code, codes.FAILED_PRECONDITION, message);
    const [violation] = violationsIn(details);
    assert.equal(violation?.type, "RESOURCE_NOT_EMPTY");
    assert.match(String(violation?.description), new RegExp(`with child ${table.replaceAll("_", " ")}$`));
    assert.equal(await isThere(fact, child), true);
  });
}

const references = made.flatMap(({ fact }) => fact.fields.map((field) => ({ fact, field })));

for (const { fact, field } of nonEmpty(
  references.filter(({ field: { deletedWithReference } }) => deletedWithReference),
  "field whose resource is deleted along",
)) {
  test(`deleting the ${field.name} of a ${fact.short} deletes the referring resource, in any group, and no other`, async () => {
    const [referred, other] = [text(await stage.make(field.refersTo), "uid"), text(await stage.make(field.refersTo), "uid")];
    const uids: string[] = [];
    for (const uid of [referred, other]) {
      // Some name only a repo below their own group.
      const parent = refersBelow.has(fact.name) ? parentOf(uid) : await folder(stage);
      uids.push(text(await stage.make(fact.name, { parent, body: { [field.json]: uid } }), "uid"));
    }
    const { code, message } = await remove(field.refersTo, referred);
    assert.equal(code, 0, message);
    const there: boolean[] = [];
    for (const uid of uids) there.push(await isThere(fact, uid));
    assert.deepEqual(there, [false, true]);
  });
}

const keeping = nonEmpty(
  references.filter(({ field: { inUseAs } }) => inUseAs !== ""),
  "field that keeps what it refers to",
);

for (const { fact, field } of keeping) {
  test(`the ${field.name} of a ${fact.short} cannot be deleted until that resource is deleted, in the contract's words`, async () => {
    const referred = text(await stage.make(field.refersTo), "uid");
    const user = text(await stage.make(fact.name, { body: { [field.json]: referred } }), "uid");
    const { code, message, details } = await remove(field.refersTo, referred);
    assert.equal(code, codes.FAILED_PRECONDITION, message);
    const [violation, ...others] = violationsIn(details);
    assert.deepEqual(others, []);
    assert.deepEqual([violation?.type, violation?.subject], ["RESOURCE_IN_USE", referred]);
    assert.ok(String(violation?.description).endsWith(`that is ${field.inUseAs}`), String(violation?.description));
    assert.equal((await remove(fact.name, user)).code, 0);
    assert.equal((await remove(field.refersTo, referred)).code, 0);
  });
}

test("an error names every use of a resource that cannot be deleted", async () => {
  const refersTo = keeping[0]?.field.refersTo ?? "";
  const users = keeping.filter(({ field }) => field.refersTo === refersTo);
  const referred = text(await stage.make(refersTo), "uid");
  for (const { fact, field } of users) await stage.make(fact.name, { body: { [field.json]: referred } });
  const { details } = await remove(refersTo, referred);
  const descriptions = violationsIn(details).map(({ description }) => String(description));
  assert.equal(descriptions.length, users.length);
  for (const { field } of users)
    assert.ok(
      descriptions.some((description) => description.endsWith(field.inUseAs)),
      field.inUseAs,
    );
});
