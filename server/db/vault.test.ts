// The secret key's file, and the texts it seals.

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openVault, vaultOf } from "./vault.ts";

const temporary = (t: TestContext): string => {
  const directory = mkdtempSync(join(tmpdir(), "gantry-vault-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
};

const vault = vaultOf(new Uint8Array(32).fill(7));

const bindings: readonly (readonly string[])[] = [[], ["a"], ["a", "b"], ["ab"], ["a b"], ['a","b'], [""], ["", ""], ["a", ""], ["grüße"]];

test("a sealed text opens only for the same purpose, key and binding", () => {
  for (const text of ["", "a", "grüße 🔑", "x".repeat(10_000)]) {
    for (const boundTo of bindings) {
      const sealed = vault.seal("page token", text, boundTo);
      assert.match(sealed, boundTo.length === 0 ? /^[A-Za-z0-9_-]+$/ : /^2\.[A-Za-z0-9_-]+$/);
      assert.equal(vault.open("client secret", sealed, boundTo), undefined);
      assert.equal(vaultOf(new Uint8Array(32).fill(8)).open("page token", sealed, boundTo), undefined);
      for (const other of bindings) assert.equal(vault.open("page token", sealed, other), other === boundTo ? text : undefined);
    }
  }
  assert.equal(vault.open("p", vault.seal("p", new TextEncoder().encode("bytes"), []), []), "bytes");
  assert.notEqual(vault.seal("p", "same", []), vault.seal("p", "same", []));
});

test("no sealed text opens after a change of any character, truncation, extension, or adding or removing its prefix", () => {
  for (const boundTo of [[], ["row"]]) {
    const sealed = vault.seal("p", "secret", boundTo);
    for (let index = 0; index < sealed.length; index++) {
      const other = sealed[index] === "A" ? "B" : "A";
      assert.equal(vault.open("p", sealed.slice(0, index) + other + sealed.slice(index + 1), boundTo), undefined);
      assert.equal(vault.open("p", sealed.slice(0, index), boundTo), undefined);
    }
    const bare = sealed.replace("2.", "");
    for (const forged of [
      `${sealed}A`,
      `${sealed}=`,
      `${sealed}\n`,
      ` ${sealed}`,
      "",
      "....",
      "é".repeat(50),
      `2.${sealed}`,
      ...(boundTo.length > 0 ? [bare] : []),
    ])
      for (const binding of [[], ["row"]]) assert.equal(vault.open("p", forged, binding), undefined);
  }
});

test("the key is created once, readable only by its owner, even if several servers start at once", async (t) => {
  const dataDirectory = join(temporary(t), "data");
  const options = { file: undefined, dataDirectory, required: false };
  const vaults = await Promise.all(Array.from({ length: 8 }, () => openVault(options)));
  const sealed = vaults.map((one) => one.seal("p", "shared", []));
  for (const one of [...vaults, await openVault(options)]) {
    for (const text of sealed) assert.equal(one.open("p", text, []), "shared");
  }
  assert.equal(statSync(join(dataDirectory, "secret.key")).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dataDirectory), ["secret.key"]);
  assert.equal(Buffer.from(readFileSync(join(dataDirectory, "secret.key"), "utf8"), "base64").length, 32);
});

test("a given key file is used; a missing, short or world-readable one is refused in one line", async (t) => {
  const directory = temporary(t);
  const file = join(directory, "key");
  const load = () => openVault({ file, dataDirectory: directory, required: true });
  await assert.rejects(load(), /^Fault: GANTRY_SECRET_KEY_FILE cannot be read: ENOENT/);
  writeFileSync(file, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 });
  assert.equal((await load()).open("p", vault.seal("p", "same key", []), []), "same key");
  chmodSync(file, 0o604);
  await assert.rejects(load(), /can be read by every user of this machine: chmod 600 it/);
  chmodSync(file, 0o600);
  for (const wrong of ["", "short", "x".repeat(64), `${Buffer.alloc(32, 7).toString("base64").slice(0, -2)}!!`]) {
    writeFileSync(file, wrong);
    await assert.rejects(load(), /must be 32 bytes in base64/);
  }
});

test("with DATABASE_URL a key is required", async (t) => {
  await assert.rejects(openVault({ file: undefined, dataDirectory: temporary(t), required: true }), /^Fault: DATABASE_URL needs GANTRY_SECRET_KEY_FILE/);
});
