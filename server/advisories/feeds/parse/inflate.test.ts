import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { type Inflate, inflateOnce, openInflate } from "./inflate.ts";

const text = Buffer.from("one text, and the same text again. ".repeat(100));
const packed = deflateRawSync(text);

const resultOf = (inflate: Inflate, bytes: Buffer, length: number): unknown => {
  try {
    return inflate(bytes, length);
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : thrown;
  }
};

test("one decompressor for many entries returns what a decompressor for each one does, also after damaged and too long entries", () => {
  const inflate = openInflate();
  const tail = Buffer.from("tail");
  for (const [bytes, length] of [
    [packed, text.length],
    [Buffer.concat([packed, tail]), text.length],
    [packed, text.length + 1000],
    [packed, text.length - 1],
    [packed, 0],
    [deflateRawSync(Buffer.alloc(0)), 0],
    [packed.subarray(0, -3), text.length],
    [Buffer.alloc(0), 10],
    [Buffer.from([0xff, 0xff, 0xff]), 10],
    [packed, text.length],
  ] as const) {
    assert.deepEqual(resultOf(inflate, bytes, length), resultOf(inflateOnce, bytes, length), `${bytes.length} bytes to ${length}`);
  }
});

test("Node has the parts of zlib that one decompressor for many entries needs", () => {
  assert.notEqual(openInflate(), inflateOnce);
});
