import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "#base/fault.ts";
import { methods } from "#contract/catalog.ts";
import { messageFact } from "#contract/facts.ts";
import { RepoSchema } from "#contract/gen/chainguard/platform/registry/v2/repos_pb.js";
import { readOrder } from "./order.ts";
import { fc } from "../../test/property.ts";

const repo = messageFact(RepoSchema);

test("a field by any of its names, with or without a direction, is its column in that direction", () => {
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
    assert.deepEqual(readOrder(repo, text, "uid"), { column, descending }, text);
});

test("nothing asked is the default", () => {
  for (const text of ["", " ", "\n"]) assert.deepEqual(readOrder(repo, text, "create_time desc"), { column: "create_time", descending: true });
});

test("anything else is refused on order_by; an unknown field is told the possible ones", () => {
  const sayings = (text: string): string => {
    try {
      readOrder(repo, text, "uid");
    } catch (thrown) {
      assert.ok(thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT");
      const [detail] = thrown.details;
      assert.ok(detail?.kind === "fields" && detail.violations.length === 1 && detail.violations[0]?.field === "order_by");
      return detail.violations[0].description;
    }
    return assert.fail(`${JSON.stringify(text)} was taken`);
  };
  for (const text of ["description", "Name", "name,uid", "__proto__", "constructor", "toString", "name;", "'", "created_At"])
    assert.match(sayings(text), /uid, name, create_time, update_time/);
  for (const text of ["name DESC", "name descending", "name desc uid", "name desc desc"]) assert.match(sayings(text), /"asc" or "desc"/);
  fc.assert(
    fc.property(fc.string(), (text) => {
      const [name = "", direction = "asc", ...rest] = text.trim().split(/\s+/);
      const fine =
        text.trim() === "" ||
        (["uid", "name", "create_time", "createTime", "created_at", "update_time", "updateTime", "updated_at"].includes(name) &&
          ["asc", "desc"].includes(direction) &&
          rest.length === 0);
      if (!fine) sayings(text);
    }),
  );
});

test("every list's default order is one that the list takes", () => {
  const lists = methods.filter(({ rpc, input }) => rpc.startsWith("List") && input.byName.has("order_by"));
  assert.ok(lists.length > 10);
  for (const method of lists) {
    const message = method.output.fields.find(({ shape, message: inner }) => shape === "list" && inner)?.message;
    assert.ok(message, method.name);
    assert.ok(readOrder(message, "", method.defaultOrder).column, method.name);
  }
});
