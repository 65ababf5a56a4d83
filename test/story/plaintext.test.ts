// The start warns about settings that let tokens cross a network unencrypted. The rules are tested in server/application/plaintext.test.ts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openWorld } from "../world.ts";

for (const [publicUrl, warned] of [
  ["http://gantry.example.com", [["GANTRY_PUBLIC_URL", true]]],
  ["https://gantry.example.com", []],
] as const)
  test(`a server with the public URL ${publicUrl} starts with ${warned.length} warnings about unencrypted traffic`, async () => {
    const logged: (readonly [unknown, boolean])[] = [];
    const world = await openWorld({ GANTRY_PUBLIC_URL: publicUrl }, (event, facts) => {
      if (event === "settings.plaintext") logged.push([facts?.setting, /TLS/.test(String(facts?.message))]);
    });
    await world.close();
    assert.deepEqual(logged, warned);
  });
