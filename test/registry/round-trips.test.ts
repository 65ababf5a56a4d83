// How often a push waits for the database (docs/decisions/0105).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openCountingProxy } from "../counting-proxy.ts";
import { freshDatabase } from "../database.ts";
import { digestOf } from "../distribution.ts";
import { openOwners } from "../owner.ts";
import { imageType, openRegistry, type RegistryRequest } from "../registry.ts";
import { openWorld } from "../world.ts";

const database = await freshDatabase();
const proxy = await openCountingProxy(database.url);
const world = await openWorld({ DATABASE_URL: proxy.url });
after(async () => {
  await world.close();
  await proxy.close();
  await database.drop();
});
const registry = openRegistry(world.url, `Bearer ${await openOwners(world).token(world.organization)}`);
const repo = "first-organization/team/app";

/** Tables that requests use and the server's own loops do not. */
const isOfRequest = (statements: readonly string[]): boolean =>
  statements.some((each) => /\b(?:uploads|repo_blobs|access_versions|place|into outbox)\b/.test(each));

const send = async (status: number, roundTrips: number, verb: string, path: string, request?: RegistryRequest): Promise<string> => {
  proxy.take();
  const response = await registry.send(verb, path, request);
  assert.equal(response.status, status, await response.text());
  const taken = proxy.take().filter(isOfRequest);
  assert.equal(taken.length, roundTrips, `${verb} ${path}: ${JSON.stringify(taken, null, 1)}`);
  return response.headers.get("location") ?? "";
};

test("each request of an upload waits for the database once, and so does a blob in a single request", async () => {
  await registry.pushImage(repo, "1");
  const start = (): Promise<string> => send(202, 1, "POST", `${repo}/blobs/uploads/`);
  const asDocker = await start();
  await send(202, 1, "PATCH", asDocker, { body: "as docker pushes" });
  await send(201, 1, "PUT", `${asDocker}?digest=${digestOf("as docker pushes")}`);
  const inTwo = await start();
  await send(201, 1, "PUT", `${inTwo}?digest=${digestOf("in two requests")}`, { body: "in two requests" });
  await send(201, 1, "POST", `${repo}/blobs/uploads/?digest=${digestOf("in one request")}`, { body: "in one request" });
  await send(201, 1, "POST", `${repo}/blobs/uploads/?digest=${digestOf("in one request")}`, { body: "in one request" });
  // Later chunks continue a file, and take a lease.
  const inChunks = await start();
  await send(202, 1, "PATCH", inChunks, { body: "in " });
  await send(202, 3, "PATCH", inChunks, { body: "chunks" });
  await send(201, 1, "PUT", `${inChunks}?digest=${digestOf("in chunks")}`);
  for (const bytes of ["as docker pushes", "in two requests", "in one request", "in chunks"])
    assert.equal(await (await registry.send("GET", `${repo}/blobs/${digestOf(bytes)}`)).text(), bytes);
});

test("a manifest with a tag waits for the database twice: for what its tags and events depend on, and for the commit", async () => {
  await registry.pushImage(repo, "2");
  const body = await (await registry.send("GET", `${repo}/manifests/2`)).text();
  const put = (tag: string, more = ""): Promise<string> =>
    send(201, 2, "PUT", `${repo}/manifests/${tag}${more}`, { body, headers: { "content-type": imageType } });
  await put("new");
  await put("new");
  await put("several", "?tag=1&tag=3&tag=4");
  assert.equal(await (await registry.send("GET", `${repo}/manifests/3`)).text(), body);
});
