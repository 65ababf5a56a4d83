// Lists through the client: every page until the server ends the list, without mixing pages of two listings.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { ApiError, createClient } from "#contract-client";
import { methods, version1 } from "#contract/catalog.ts";
import { GroupsService } from "../../contract/gen/chainguard/platform/iam/v2/groups_pb.js";
import { RolesService } from "../../contract/gen/chainguard/platform/iam/v2/roles_pb.js";
import { Groups } from "../../contract/gen/chainguard/platform/iam/groups_pb.js";
import { openWorld } from "../world.ts";
import { openScriptedServer } from "./scripted-server.ts";

const world = await openWorld();
after(() => world.close());

const listGroups = "chainguard.platform.iam.v2.GroupsService/ListGroups";
const names = Array.from({ length: 7 }, (_, index) => `team-${index}`);
for (const name of names) await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name } });
const within = { uidp: { childrenOf: world.organization }, orderBy: "name" } satisfies JsonObject;
const dayMs = 24 * 60 * 60 * 1000;

const collect = async <T>(iterable: AsyncIterable<T>): Promise<T[]> => {
  const out: T[] = [];
  for await (const each of iterable) out.push(each);
  return out;
};

for (const transport of ["rest", "grpc"] as const) {
  // A token source, since the clock moves by days.
  const client = createClient({ server: world.url, token: () => world.token(), transport });
  const groups = client.service(GroupsService);

  test(`${transport}: every entry appears once, in order, for any page size and start`, async () => {
    for (const pageSize of [1, 2, 3, 7, 200]) {
      for (const skip of [0, 2]) {
        const rows = await collect(groups.listGroups.all({ ...within, pageSize, skip }));
        assert.deepEqual(
          rows.map(({ name }) => name),
          names.slice(skip),
        );
        const pages = await collect(client.pages(listGroups, { ...within, pageSize, skip }));
        assert.equal(pages.length, Math.ceil((names.length - skip) / pageSize));
        assert.ok(pages.every((page) => page.totalCount === String(names.length) || page.totalCount === names.length));
        assert.deepEqual(
          pages.flatMap((page) => objectList(page, "groups").map((row) => text(row, "name"))),
          names.slice(skip),
        );
      }
    }
  });

  test(`${transport}: a caller who stops iterating sends no further request`, async () => {
    for await (const group of groups.listGroups.all({ ...within, pageSize: 2 })) {
      assert.equal(group.name, names[0]);
      break;
    }
  });

  test(`${transport}: a restarted list calls the callback, and without one ends in an error`, async () => {
    const grown = async (onRestart?: () => void): Promise<(string | undefined)[]> => {
      const rows: (string | undefined)[] = [];
      const options = onRestart
        ? {
            onRestart: () => {
              onRestart();
              rows.length = 0;
            },
          }
        : {};
      for await (const { name } of groups.listGroups.all({ ...within, pageSize: 3 }, options)) {
        rows.push(name);
        // This page's cursor is older than three days at the next request, once.
        if (rows.length === 3 && world.clock.now < started + dayMs) world.clock.now += 4 * dayMs;
      }
      return rows;
    };
    const started = world.clock.now;
    try {
      await assert.rejects(grown(), (thrown) => thrown instanceof ApiError && thrown.is("PAGE_RESTARTED"));
      world.clock.now = started;
      let told = 0;
      assert.deepEqual(await grown(() => void told++), names);
      assert.equal(told, 1);
    } finally {
      world.clock.now = started;
    }
  });

  test(`${transport}: an unpaged list of version 1 is one page, and an operation without a list cannot be iterated`, async () => {
    const rows = await collect(client.service(Groups).list.all({ uidp: { childrenOf: world.organization } }));
    assert.deepEqual(rows.map(({ name }) => name).sort(), names);
    await assert.rejects(collect(client.items("chainguard.platform.iam.v2.GroupsService/GetGroup", { uid: world.organization })), /is not a list/);
    assert.ok((await collect(client.service(RolesService).listRoles.all({}))).length > 0);
  });
}

test("every paged list of the contract has exactly one list of messages, which is the listed one", () => {
  const paged = [...methods, ...version1].filter(({ output, distribution }) => output.byName.has("next_page_token") && distribution === undefined);
  assert.ok(paged.length > 30);
  for (const method of paged) assert.equal(method.output.fields.filter(({ shape, message }) => shape === "list" && message).length, 1, method.name);
});

test("only a missing token ends a list: an empty page does not, and a repeated token is an error", async () => {
  const server = await openScriptedServer();
  try {
    const page = (rows: number, nextPageToken?: string): { status: number; body: string } => ({
      status: 200,
      body: JSON.stringify({
        groups: Array.from({ length: rows }, (_, index) => ({ uid: `${nextPageToken}${index}` })),
        ...(nextPageToken ? { nextPageToken } : {}),
      }),
    });
    const client = createClient({ server: server.url });
    server.play(page(2, "a"), page(0, "b"), page(1, "c"), page(0));
    assert.equal((await collect(client.items(listGroups, {}))).length, 3);
    assert.equal(server.received.length, 4);
    server.play(page(2, "a"), page(2, "a"));
    await assert.rejects(collect(client.items(listGroups, {})), (thrown) => thrown instanceof ApiError && thrown.code === "INTERNAL");
  } finally {
    await server.close();
  }
});
