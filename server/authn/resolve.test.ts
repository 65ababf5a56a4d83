// Name resolution with unresponsive name servers (attack 38).

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { hostsEntries, resolveName, searchDomains } from "./resolve.ts";

/** Starts a name server that never responds. Returns its address. */
const startSilentServer = async (t: TestContext): Promise<{ address: string; questions: () => number }> => {
  const socket = createSocket("udp4");
  let questions = 0;
  socket.on("message", () => questions++);
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  t.after(() => socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, questions: () => questions };
};

test("unresponsive names time out, and block no thread meanwhile", async (t) => {
  const { address, questions } = await startSilentServer(t);
  let ended = 0;
  const slow = Array.from({ length: 40 }, (_, n) =>
    resolveName(`slow-${n}.example.com`, [address])
      .catch((error: unknown) => error)
      .finally(() => ended++),
  );
  // File reads use the same threads as the system's resolver; there are more reads than threads.
  for (let n = 0; n < 8; n++) await readFile(import.meta.filename);
  assert.deepEqual(await resolveName("localhost"), await resolveName("LOCALHOST."));
  assert.equal(ended, 0);
  for (const error of await Promise.all(slow)) assert.match(String(error), /ECANCELLED|ETIMEOUT/);
  assert.ok(questions() >= 40);
});

test("an address resolves to itself, and localhost is never queried in DNS", async (t) => {
  const { address, questions } = await startSilentServer(t);
  assert.deepEqual(await resolveName("192.0.2.7", [address]), ["192.0.2.7"]);
  assert.deepEqual(await resolveName("2001:db8::1", [address]), ["2001:db8::1"]);
  assert.ok((await resolveName("localhost", [address])).includes("127.0.0.1"));
  assert.ok((await resolveName("issuer.localhost", [address])).includes("127.0.0.1"));
  assert.equal(questions(), 0);
});

test("a hosts file returns every address of a name, by any of its names", () => {
  const file = "127.0.0.1 localhost\n# 10.0.0.1 ci.example\n10.0.0.2\tCI.example  ci # ours\n::1 ci.example\nnonsense ci.example\n";
  assert.deepEqual(hostsEntries(file, "ci.example"), ["10.0.0.2", "::1"]);
  assert.deepEqual(hostsEntries(file, "ci"), ["10.0.0.2"]);
  assert.deepEqual(hostsEntries(file, "ours"), []);
});

test("the last line of search domains in a resolv.conf counts", () => {
  assert.deepEqual(searchDomains("nameserver 10.0.0.1\nsearch a.example\nsearch  b.example c.example\noptions ndots:5\n"), ["b.example", "c.example"]);
  assert.deepEqual(searchDomains("nameserver 10.0.0.1\n"), []);
});
