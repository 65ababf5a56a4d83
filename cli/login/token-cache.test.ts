import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { removeTokens, storeToken, tokenFile } from "./token-cache.ts";

const audience = "https://gantry.example.com";

test("a token's file is where platform clients look: the user's cache, and the audience without slashes", {
  skip: process.platform !== "linux" && "other systems have other caches",
}, () => {
  assert.equal(tokenFile({ XDG_CACHE_HOME: "/cache" }, audience, "oidc-token"), "/cache/chainguard/https:--gantry.example.com/oidc-token");
  assert.equal(tokenFile({ HOME: "/people/ada" }, "registry.example.com", "refresh-token"), "/people/ada/.cache/chainguard/registry.example.com/refresh-token");
  assert.throws(() => tokenFile({ XDG_CACHE_HOME: "cache" }, audience, "oidc-token"), /XDG_CACHE_HOME must be an absolute path, not "cache"/);
});

test("an audience cannot escape the cache folder", () => {
  for (const wrong of ["", ".", "..", "a\0b"]) assert.throws(() => tokenFile({ XDG_CACHE_HOME: "/cache" }, wrong, "oidc-token"), /--audience cannot be/);
  assert.equal(tokenFile({ XDG_CACHE_HOME: "/cache" }, "../../etc", "oidc-token"), "/cache/chainguard/..-..-etc/oidc-token");
});

test("a token replaces its predecessor atomically, is readable by its owner only, and does not follow a link", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-cache-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const environment = { XDG_CACHE_HOME: folder };
  const file = storeToken(environment, audience, "oidc-token", "first");
  writeFileSync(join(folder, "elsewhere"), "kept", { mode: 0o644 });
  rmSync(file);
  symlinkSync(join(folder, "elsewhere"), file);
  assert.equal(storeToken(environment, audience, "oidc-token", "second"), file);
  assert.deepEqual([readFileSync(file, "utf8"), readFileSync(join(folder, "elsewhere"), "utf8"), statSync(file).mode & 0o777], ["second", "kept", 0o600]);
  assert.deepEqual(readdirSync(dirname(file)), ["oidc-token"]);
});

test("a sign-in without a refresh token removes the previous one, and signing out removes both tokens", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-cache-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const environment = { XDG_CACHE_HOME: folder };
  for (const kind of ["oidc-token", "refresh-token"] as const) storeToken(environment, audience, kind, "another person's");
  storeToken(environment, audience, "refresh-token", undefined);
  assert.throws(() => readFileSync(tokenFile(environment, audience, "refresh-token")), /ENOENT/);
  assert.deepEqual([removeTokens(environment, audience), removeTokens(environment, audience)], [true, false]);
});
