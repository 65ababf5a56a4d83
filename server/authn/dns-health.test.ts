// DNS is judged by the lookups of the server, not by probes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { openHealth } from "#health";
import { watchLookups } from "./dns-health.ts";

const open = (restMs?: number) => {
  const codes = new Map<string, string>();
  const dns = openHealth({ log: () => {} }).watch("dns");
  const resolve = watchLookups(
    async (name) => {
      const code = codes.get(name);
      if (code !== undefined) throw Object.assign(new Error(code), { code });
      return ["192.0.2.1"];
    },
    dns,
    restMs,
  );
  const look = async (...names: readonly string[]): Promise<boolean> => {
    for (const name of names) await resolve(name).catch(() => {});
    return dns.isFailed;
  };
  return { codes, dns, look };
};

test("DNS has failed if several names in a row got no response, and recovers with three responses", async () => {
  const { codes, look } = open();
  for (const name of ["a.example", "b.example", "c.example"]) codes.set(name, "ETIMEOUT");
  assert.equal(await look("a.example", "b.example"), false);
  assert.equal(await look("c.example"), true);
  codes.clear();
  assert.equal(await look("a.example", "b.example"), true);
  assert.equal(await look("c.example"), false);
});

test("one dead zone, however often it is looked up, and unknown names are no failure of DNS", async () => {
  const { codes, look } = open();
  codes.set("dead.example", "ETIMEOUT");
  assert.equal(await look(...Array.from({ length: 20 }, () => "dead.example")), false);
  const unknown = Array.from({ length: 5 }, (_, n) => `${n}.example`);
  for (const name of unknown) codes.set(name, "ENOTFOUND");
  assert.equal(await look(...unknown), false);
  for (const name of unknown) codes.set(name, "ETIMEOUT");
  assert.equal(await look("0.example", "1.example", "good.example", "2.example", "3.example"), false);
});

test("without lookups, a failure of DNS ends by itself", async () => {
  const { codes, dns, look } = open(10);
  const names = Array.from({ length: limits.dnsNamesMin }, (_, n) => `${n}.example`);
  for (const name of names) codes.set(name, "ECONNREFUSED");
  assert.equal(await look(...names), true);
  while (dns.isFailed) await new Promise((resolve) => setTimeout(resolve, 5));
});
