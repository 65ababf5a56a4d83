// Every resource with a Create and a Delete can be restored: the same rows, with an event as if created. Driven by the contract, so new
// resources are covered automatically.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { createOf, nonEmpty, refersBelow } from "../samples.ts";
import { everyCapabilityBut, folder, groupMessage, openStage } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
const owner = await stage.owner();
const { resources } = world.server.application.kernel;
after(() => stage.close());

const deletions = "gantry.deletions.v1.DeletionsService";

const deleteOf = (message: string): MethodFact | undefined =>
  methods.find(({ rpc, input, service }) => rpc === `Delete${message.split(".").at(-1)}` && input.byName.has("uid") && createOf(message)?.service === service);

const remove = async (message: string, uid: string): Promise<void> => {
  const { code, message: said } = await stage.call("rest", deleteOf(message) ?? assert.fail(message), { uid }, { token: owner });
  assert.equal(code, 0, said);
};

const deletionOf = async (uid: string): Promise<JsonObject | undefined> =>
  objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [uid] }), "deletions")[0];

const undelete = async (uid: string): Promise<JsonObject> => world.ok(`${deletions}/UndeleteDeletion`, { uid });

const found = nonEmpty(
  [...resources.values()].filter(({ fact }) => deleteOf(fact.name) !== undefined),
  "resource that is made and deleted",
);
type Found = (typeof found)[number];

/** Returns all rows of the resource and its children from the database, by table. */
const rowsOf = async (resource: Found, uid: string): Promise<Record<string, string[]>> => {
  const along = (each: Found): Found[] =>
    each.children.filter(({ deletedWithParent }) => deletedWithParent).flatMap((child) => [child, ...along(child as Found)]) as Found[];
  const wanted = [
    { table: resource.shape.table.name, column: "uid" },
    ...along(resource).map(({ shape }) => ({ table: shape.table.name, column: "uid" })),
    ...resource.cascades.map(({ resource: { shape }, column }) => ({ table: shape.table.name, column })),
    ...(resource.sideTables ?? []).filter(({ isDeletedForGood }) => !isDeletedForGood),
  ];
  const rows: Record<string, string[]> = {};
  for (const { table, column } of wanted) {
    const found = await stage.query(`select to_jsonb(row) from ${table} as row where ${column} >= $1 and ${column} < $2 order by to_jsonb(row)::text`, [
      uid,
      `${uid}0`,
    ]);
    rows[`${table} by ${column}`] = found.map(([row]) => row ?? "");
  }
  return rows;
};

const eventsAbout = async (uids: readonly string[], position: string): Promise<string[]> => {
  await world.server.delivery.enqueue();
  const { events } = await world.ok("gantry.events.v1.EventsService/ListEvents", { afterPosition: position, orderBy: "position" });
  return ((events ?? []) as JsonObject[]).filter(({ subject }) => uids.includes(String(subject))).map(({ type, subject }) => `${type} ${subject}`);
};

const lastPosition = async (): Promise<string> => {
  await world.server.delivery.enqueue();
  const [last] = objectList(await world.ok("gantry.events.v1.EventsService/ListEvents", { orderBy: "position desc", pageSize: 1 }), "events");
  return String(last?.position ?? "0");
};

for (const resource of found) {
  const { fact, parentMessage } = resource;
  // A resource with its parent's uid gets its own parent, and is restored separately.
  const goes = resource.children.filter(
    (child) => child.deletedWithParent && createOf(child.fact.name) !== undefined && child.fact.byName.get("uid")?.refersTo !== fact.name,
  );
  const isForGood = fact.resource?.deletedForGood === true;
  test(
    isForGood ? `a ${fact.short} that was deleted is gone for good` : `a ${fact.short} that was deleted comes back as it was, with all that went along`,
    async () => {
      const own = await folder(stage);
      const above = parentMessage === groupMessage && resource.cascades.length === 0 ? { parent: own, place: own } : {};
      // A subgroup lacks what only organizations have.
      const made = await stage.make(fact.name, { whole: fact.name !== groupMessage, ...above });
      const uid = text(made, "uid");
      const along: string[] = [];
      for (const child of goes) {
        // Whole ones name a repo below the group, which keeps the group.
        const whole = !refersBelow.has(child.fact.name);
        if (!child.fact.resource?.deletedForGood) along.push(text(await stage.make(child.fact.name, { parent: uid, whole }), "uid"));
      }
      for (const { resource: referring, column } of resource.cascades) {
        const field = referring.fact.byName.get(column) ?? assert.fail(column);
        // Some name only a repo below their own group.
        const parent = refersBelow.has(referring.fact.name) ? parentOf(uid) : await folder(stage);
        along.push(text(await stage.make(referring.fact.name, { parent, body: { [field.json]: uid } }), "uid"));
      }
      const before = await rowsOf(resource, uid);
      assert.ok(Object.values(before).flat().length > along.length, "something is there");
      await remove(fact.name, uid);
      assert.deepEqual(Object.values(await rowsOf(resource, uid)).flat(), []);
      const deletion = await deletionOf(uid);
      if (isForGood) {
        assert.equal(deletion, undefined);
        return;
      }
      assert.equal(deletion?.resourceType, fact.name);
      assert.equal(text(deletion, "resourceName"), text(made, "name"));
      assert.equal(text(deletion, "parentUid"), fact.byName.get("uid")?.refersTo === parentMessage && parentMessage !== "" ? uid : uid.slice(0, -17));
      const position = await lastPosition();
      const answer = await undelete(text(deletion, "uid"));
      assert.equal(answer.leftOut, undefined, JSON.stringify(answer.leftOut));
      assert.deepEqual(await rowsOf(resource, uid), before);
      assert.equal(await deletionOf(uid), undefined);
      // Each emits an event as if created, parents first.
      const told = await eventsAbout([uid, ...along], position);
      assert.deepEqual(told.map((line) => line.split(" ")[1]).sort(), [uid, ...along].sort());
      assert.ok(told[0]?.endsWith(` ${uid}`), told[0]);
      assert.ok(
        told.every((line) => /\.created\.v1 /.test(line)),
        told.join("\n"),
      );
    },
  );
}

for (const resource of nonEmpty(
  found.filter(({ fact, parentMessage }) => (fact.resource?.unique.length ?? 0) > 0 && parentMessage !== "" && !fact.resource?.deletedForGood),
  "resource with a name that can be taken",
)) {
  const { fact } = resource;
  test(`a ${fact.short} cannot be restored if its unique place was taken, and nothing changes`, async () => {
    const made = await stage.make(fact.name);
    const uid = text(made, "uid");
    const before = (await rowsOf(resource, uid))[`${resource.shape.table.name} by uid`];
    await remove(fact.name, uid);
    const deletion = (await deletionOf(uid)) ?? assert.fail("nothing is kept");
    const other = `${uid.slice(0, -16)}${"f".repeat(16)}`;
    const columns = (
      await stage.query("select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and attgenerated = ''", [resource.shape.table.name])
    ).map(([name]) => name ?? "");
    const { store } = world.server.application.services;
    await store.write(async (rows) => {
      await rows.query("select set_config('gantry.untold', 'on', true)");
      const names = columns.join(", ");
      await rows.query(
        `insert into ${resource.shape.table.name} (${names}) select ${names} from jsonb_populate_record(null::${resource.shape.table.name}, $1::jsonb)`,
        [JSON.stringify({ ...JSON.parse(before?.[0] ?? "{}"), uid: other })],
      );
    });
    const answer = await world.call(`${deletions}/UndeleteDeletion`, { uid: text(deletion, "uid") }, { token: owner });
    assert.equal(answer.code, codes.ALREADY_EXISTS, answer.message);
    assert.match(answer.message, new RegExp(`^${fact.short} `));
    assert.deepEqual((await rowsOf(resource, uid))[`${resource.shape.table.name} by uid`], []);
    assert.deepEqual(await deletionOf(uid), deletion);
  });
}

for (const { fact } of found.filter(({ fact: { resource } }) => !resource?.deletedForGood)) {
  for (const capability of nonEmpty(createOf(fact.name)?.capabilities ?? [], "capability of a create")) {
    test(`a ${fact.short} cannot be restored without ${capability}, which creating one requires`, async () => {
      const uid = text(await stage.make(fact.name), "uid");
      await remove(fact.name, uid);
      const deletion = (await deletionOf(uid)) ?? assert.fail("nothing is kept");
      const { token } = await stage.holder(everyCapabilityBut(capability), world.organization);
      const { code, message } = await world.call(`${deletions}/UndeleteDeletion`, { uid: text(deletion, "uid") }, { token });
      assert.equal(code, codes.PERMISSION_DENIED, message);
      assert.match(message, new RegExp(capability.replaceAll(".", "\\.")));
      assert.deepEqual(await deletionOf(uid), deletion);
    });
  }
}
