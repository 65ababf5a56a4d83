// Egress rules, as tables.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readEgress, egressRefusal, type Purpose } from "./egress.ts";

const nothing = readEgress("");

test("every non-public range is refused, in IPv4, IPv6 and IPv4-mapped IPv6", () => {
  for (const address of [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::10.0.0.1",
    "::ffff:0:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "5f00::1",
    "4000::1",
    "",
    "localhost",
    "1",
    "10.0.0.1/8",
  ])
    assert.notEqual(egressRefusal(nothing, "issuer", "https:", address, 443), undefined, address);
});

test("public addresses are reachable over https only", () => {
  for (const address of ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8"]) {
    assert.equal(egressRefusal(nothing, "sink", "https:", address, 8443), undefined, address);
    assert.match(egressRefusal(nothing, "sink", "http:", address, 80) ?? "", /over https only/, address);
  }
});

test("an entry allows its range for its purpose and port, also over http", () => {
  const egress = readEgress(" 10.1.0.0/16 , issuer=192.168.0.7, sink=10.9.9.9/32:8080,[fd00::/8]:443,feed=fc00:1::1, 8.8.8.8:80 ");
  const table: readonly [Purpose, string, number, boolean][] = [
    ["issuer", "10.1.2.3", 80, true],
    ["sink", "10.1.2.3", 9, true],
    ["issuer", "10.2.0.1", 80, false],
    ["sink", "::ffff:10.1.2.3", 1, true],
    ["issuer", "192.168.0.7", 1, true],
    ["sink", "192.168.0.7", 1, false],
    ["issuer", "192.168.0.8", 1, false],
    ["sink", "10.9.9.9", 8080, true],
    ["sink", "10.9.9.9", 80, false],
    ["feed", "10.9.9.9", 8080, false],
    ["feed", "fd12::1", 443, true],
    ["feed", "fd12::1", 80, false],
    ["feed", "fc00:1::1", 1, true],
    ["issuer", "fc00:1::1", 1, false],
    ["feed", "8.8.8.8", 80, true],
  ];
  for (const [purpose, address, port, allowed] of table)
    assert.equal(egressRefusal(egress, purpose, "http:", address, port) === undefined, allowed, `${purpose} ${address} ${port}`);
});

test("a malformed list stops the start with one line that names the entry", () => {
  for (const entry of [
    "localhost",
    "10.0.0.0/33",
    "::1/129",
    "10.0.0",
    "0x7f.1",
    "10.0.0.1:0",
    "10.0.0.1:65536",
    "10.0.0.1:http",
    "web=10.0.0.1",
    "Issuer=10.0.0.1",
    "10.0.0.256",
    "[10.0.0.1",
    "fd00::/8 :443",
    "10.0.0.0/8/8",
    "https://10.0.0.1",
    "*",
    "=10.0.0.1",
    "fe80::1%eth0",
    "10.0.0.0/-1",
    "10.0.0.0/",
  ])
    assert.throws(
      () => readEgress(`10.0.0.0/8,${entry}`),
      (error: Error) => error.message.startsWith(`GANTRY_EGRESS_ALLOW: ${JSON.stringify(entry)} `) && !error.message.includes("\n"),
      entry,
    );
  assert.equal(readEgress(" , ,").length, 0);
});
