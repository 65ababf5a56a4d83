// The OpenAPI documents are public (docs/attacks.md, 137): their names are a fixed list, and each address has a rate limit.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { limits } from "#base/limits.ts";
import { callHttp } from "../client.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());

test("attack 137: no document name leads to another file", async () => {
  for (const name of ["../../package", "..%2f..%2fpackage", "%2e%2e/%2e%2e/%2e%2e/package", "....//package", "whole", "iam.json%00", "IAM", ""]) {
    const { status } = await callHttp(world.url, "GET", `/openapi/${name}.json`);
    assert.equal(status, 404, name);
  }
});

test("attack 137: excess requests must wait, and a token does not change the documents", async () => {
  const first = await callHttp(world.url, "GET", "/openapi/ping.json");
  const signed = await callHttp(world.url, "GET", "/openapi/ping.json", { token: await world.token() });
  assert.equal(signed.raw, first.raw);
  let refused = 0;
  for (let asked = 0; asked < limits.openReadsPerMinute + 50 && refused === 0; asked++) {
    const { status } = await callHttp(world.url, "GET", "/openapi/ping.json", { headers: { "if-none-match": first.headers.etag ?? "" } });
    if (status === 429) refused++;
  }
  assert.equal(refused, 1);
});
