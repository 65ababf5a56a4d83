// Tests CRC-32C checksums.

import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32c, googHashOf } from "./crc32c.ts";

test("checksums match RFC 3720, for one piece or several", () => {
  const known: readonly (readonly [Buffer, number])[] = [
    [Buffer.from("123456789"), 0xe3069283],
    [Buffer.alloc(32), 0x8a9136aa],
    [Buffer.alloc(32, 0xff), 0x62a8ab43],
    [Buffer.from(Array.from({ length: 32 }, (_, index) => index)), 0x46dd794e],
    [Buffer.alloc(0), 0],
  ];
  for (const [bytes, sum] of known) {
    assert.equal(crc32c(bytes), sum);
    for (let cut = 0; cut <= bytes.length; cut++) assert.equal(crc32c(bytes.subarray(cut), crc32c(bytes.subarray(0, cut))), sum);
  }
  assert.equal(googHashOf(0xe3069283), "crc32c=4waSgw==");
});
