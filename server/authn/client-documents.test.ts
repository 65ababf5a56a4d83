// Client metadata documents: caching, and egress checks of their addresses.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { vaultOf } from "#db";
import { openClientDocuments } from "./client-documents.ts";
import { openClientLimits } from "./client-limits.ts";
import { openOutbound } from "./outbound.ts";

const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  response.setHeader("content-type", "application/json").end(JSON.stringify({ client_id: `http://client.example.com:${port}${request.url}` }));
});
let port = 0;

before(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  ({ port } = server.address() as AddressInfo);
});
after(() => server.close());

/** Opens documents with a resolver that returns these addresses in turn. */
const openDocuments = (addresses: readonly string[], clock = { now: 1_000_000 }) => {
  const looked: string[] = [];
  const outbound = openOutbound({
    allow: "client=127.0.0.1/32",
    clock: () => clock.now,
    resolve: async (name) => {
      looked.push(name);
      return [addresses[looked.length - 1] ?? addresses.at(-1) ?? ""];
    },
  });
  const clientLimits = openClientLimits(() => clock.now, vaultOf(new Uint8Array(32)));
  return { clock, looked, outbound, find: openClientDocuments({ outbound, clientLimits, clock: () => clock.now, log: silent }) };
};

const idOf = (path: string): string => `http://client.example.com:${port}${path}`;

test("attack 156: a name is resolved once per document, and a later address is checked again", async () => {
  const { clock, looked, outbound, find } = openDocuments(["127.0.0.1", "10.0.0.1", "169.254.169.254", "127.0.0.1"]);
  assert.equal((await find(idOf("/a"), "203.0.113.1")).client_id, idOf("/a"));
  assert.deepEqual(looked, ["client.example.com"]);
  await find(idOf("/a"), "203.0.113.2");
  assert.equal(looked.length, 1);
  for (const path of ["/b", "/c"])
    await assert.rejects(find(idOf(path), "203.0.113.1"), (thrown) => thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT");
  assert.deepEqual(asked, ["/a"]);
  clock.now += limits.clientDocumentPauseMs;
  assert.equal((await find(idOf("/b"), "203.0.113.1")).client_id, idOf("/b"));
  await outbound.close();
});

test("a document requested concurrently is fetched once, and again after it expires", async () => {
  asked.length = 0;
  const { clock, outbound, find } = openDocuments(["127.0.0.1"]);
  await Promise.all(Array.from({ length: 20 }, (_, index) => find(idOf("/busy"), `203.0.113.${index}`)));
  assert.deepEqual(asked, ["/busy"]);
  clock.now += limits.clientDocumentLifetimeMs;
  await find(idOf("/busy"), "203.0.113.1");
  assert.deepEqual(asked, ["/busy", "/busy"]);
  await outbound.close();
});

test("attack 158: a client address that fills the cache evicts only its own documents", async () => {
  asked.length = 0;
  const { clock, outbound, find } = openDocuments(["127.0.0.1"]);
  await find(idOf("/kept"), "203.0.113.1");
  for (let count = 0; count < limits.clientDocumentsShareKiB + 10; count++) {
    clock.now += 60_000 / limits.clientDocumentsPerMinute;
    await find(idOf(`/made-up-${count}`), "198.51.100.1");
  }
  asked.length = 0;
  await find(idOf("/kept"), "203.0.113.1");
  assert.deepEqual(asked, []);
  await find(idOf("/made-up-0"), "198.51.100.1");
  assert.deepEqual(asked, ["/made-up-0"]);
  await outbound.close();
});
