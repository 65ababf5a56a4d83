import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { decompress, frameMessage, frameReader } from "./frames.ts";
import { fc } from "../../test/property.ts";

test("messages are reassembled from chunks of any size", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 }),
      (messages, cuts) => {
        const all = Buffer.concat(messages.map(frameMessage));
        const reader = frameReader(300);
        const got: Buffer[] = [];
        let turn = 0;
        for (let at = 0; at < all.length; ) {
          const to = at + (cuts[turn++ % cuts.length] ?? 1);
          for (const { bytes } of reader.push(all.subarray(at, to))) got.push(Buffer.from(bytes));
          at = to;
        }
        assert.deepEqual(
          got,
          messages.map((message) => Buffer.from(message)),
        );
        assert.equal(reader.pending(), 0);
      },
    ),
  );
});

test("a message with an announced length over the limit is rejected before it arrives", () => {
  const announced = Buffer.from([0, 0, 0x40, 0, 1]);
  assert.throws(() => frameReader(4 * 1024 * 1024).push(announced), { code: "RESOURCE_EXHAUSTED" });
});

test("a gzip bomb is rejected at the decompressed size limit", async () => {
  const bomb = gzipSync(Buffer.alloc(1024 * 1024));
  await assert.rejects(decompress({ compressed: true, bytes: bomb }, "gzip", 64 * 1024), { code: "RESOURCE_EXHAUSTED" });
  assert.equal((await decompress({ compressed: true, bytes: bomb }, "gzip", 1024 * 1024)).length, 1024 * 1024);
});

test("invalid gzip, and compression without grpc-encoding, are INVALID_ARGUMENT", async () => {
  await assert.rejects(decompress({ compressed: true, bytes: Buffer.from("no") }, "gzip", 100), { code: "INVALID_ARGUMENT" });
  await assert.rejects(decompress({ compressed: true, bytes: gzipSync("x") }, undefined, 100), { code: "INVALID_ARGUMENT" });
});
