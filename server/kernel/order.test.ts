import assert from "node:assert/strict";
import { test } from "node:test";
import { messageNamed, methods } from "#contract/catalog.ts";
import { readOrder } from "./order.ts";
import { fc } from "../../test/property.ts";

const repo = messageNamed("chainguard.platform.registry.v2.Repo");

test("a field by any of its names sorts by its column, in the given direction or ascending", () => {
  for (const [text, column, descending] of [
    ["name", "name", false],
    ["name asc", "name", false],
    ["name desc", "name", true],
    ["  name   desc ", "name", true],
    ["name\tdesc", "name", true],
    ["uid desc", "uid", true],
    ["create_time", "create_time", false],
    ["createTime desc", "create_time", true],
    ["created_at desc", "create_time", true],
    ["updated_at", "update_time", false],
    ["updateTime", "update_time", false],
  ] as const)
    assert.deepEqual(readOrder(repo, text, "uid"), { order: { column, descending } }, text);
});

test("an empty order is the default order", () => {
  for (const text of ["", " ", "\n"]) assert.deepEqual(readOrder(repo, text, "create_time desc"), { order: { column: "create_time", descending: true } });
});

test("any other order is rejected on order_by; an unknown field lists the possible ones", () => {
  const refusalOf = (text: string): string => {
    const read = readOrder(repo, text, "uid");
    assert.ok("violation" in read, `${JSON.stringify(text)} was taken`);
    assert.equal(read.violation.field, "order_by");
    return read.violation.description;
  };
  for (const text of ["description", "Name", "name,uid", "__proto__", "constructor", "toString", "name;", "'", "created_At"])
    assert.match(refusalOf(text), /uid, name, create_time, update_time/);
  for (const text of ["name DESC", "name descending", "name desc uid", "name desc desc"]) assert.match(refusalOf(text), /"asc" or "desc"/);
  fc.assert(
    fc.property(fc.string(), (text) => {
      const [name = "", direction = "asc", ...rest] = text.trim().split(/\s+/);
      const fine =
        text.trim() === "" ||
        (["uid", "name", "create_time", "createTime", "created_at", "update_time", "updateTime", "updated_at"].includes(name) &&
          ["asc", "desc"].includes(direction) &&
          rest.length === 0);
      if (!fine) refusalOf(text);
    }),
  );
});

test("the default order of every list is an order that the list accepts", () => {
  const lists = methods.filter(({ rpc, input }) => rpc.startsWith("List") && input.byName.has("order_by"));
  assert.ok(lists.length > 10);
  for (const method of lists) {
    const message = method.output.fields.find(({ shape, message: inner }) => shape === "list" && inner)?.message;
    assert.ok(message, method.name);
    assert.ok("order" in readOrder(message, "", method.defaultOrder), method.name);
  }
});
