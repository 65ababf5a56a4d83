// Warnings about listeners and public URLs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { plaintextWarnings } from "./plaintext.ts";

const settings = { host: "127.0.0.1", port: 8080, tls: undefined, publicUrl: "https://gantry.example.com" };
const tls = { certFile: "cert.pem", keyFile: "key.pem", cert: "", key: "" };

const warned = (given: Partial<Parameters<typeof plaintextWarnings>[0]>): readonly string[] =>
  plaintextWarnings({ ...settings, ...given }).map(({ setting, says }) => `${setting}: ${says}`);

test("a listener beyond loopback without TLS causes a warning", () => {
  for (const host of ["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST"]) assert.deepEqual(warned({ host }), [], host);
  for (const [host, listener] of [
    ["0.0.0.0", "0.0.0.0:8080"],
    ["::", "[::]:8080"],
    ["10.0.0.5", "10.0.0.5:8080"],
    ["gantry.internal", "gantry.internal:8080"],
    ["localhost.example.com", "localhost.example.com:8080"],
  ] as const) {
    assert.deepEqual(warned({ host }), [`GANTRY_LISTEN: ${listener} accepts connections from other machines without TLS`]);
    assert.deepEqual(warned({ host, tls }), [], `${host} with TLS`);
  }
});

test("a public URL with plain http beyond loopback causes a warning", () => {
  for (const publicUrl of ["http://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080", "http://gantry.localhost", "https://gantry.example.com"])
    assert.deepEqual(warned({ publicUrl }), [], publicUrl);
  for (const publicUrl of ["http://gantry.example.com", "http://10.0.0.5:8080", "http://[2001:db8::1]:8080", "http://127.0.0.1.example.com"])
    assert.deepEqual(warned({ publicUrl }), [`GANTRY_PUBLIC_URL: ${publicUrl} uses plain HTTP: tokens and sign-ins cross the network unencrypted`]);
});

test("each warning is one line with a remedy", () => {
  const warnings = plaintextWarnings({ ...settings, host: "0.0.0.0", publicUrl: "http://gantry.example.com" });
  assert.deepEqual(
    warnings.map(({ setting }) => setting),
    ["GANTRY_LISTEN", "GANTRY_PUBLIC_URL"],
  );
  for (const { says, remedy } of warnings) assert.doesNotMatch(`${says}${remedy}`, /\n/);
});
