// Names of packages kept for an organization: written by triggers, whatever a version of the server matches.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { openStore, type Store } from "#db";
import { asOwner, freshDatabase } from "../../../test/database.ts";
import { findPackageLabels, replacePackageLabels } from "./package-labels.ts";

const [root, other] = ["a".repeat(40), "b".repeat(40)] as const;
const repo = `${root}/${"1".repeat(16)}/${"2".repeat(16)}`;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase();
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await database.drop();
});

const labels = async (of: string = root): Promise<string[]> => (await findPackageLabels(store.read, of, 1000)).sort();

const rows: Readonly<Record<string, string>> = {
  image_packages: `insert into image_packages (owner, repo, tag, architecture, packages, feed, digest, create_time, update_time)
    values ('${root}/${"1".repeat(16)}', 'app', '1', 'amd64', $1::jsonb, 'feed', 'sha256:1', now(), now())
    on conflict (owner, repo, tag, architecture) do update set packages = excluded.packages`,
  image_sboms: `insert into image_sboms (uid, repo_uid, digest, manifest_digest, document_digest, state, create_time, update_time, try_time, packages)
    values ('${repo}/${"3".repeat(16)}', '${repo}', 'sha256:1', 'sha256:2', 'sha256:3', 'IMAGE_SBOM_STATE_READ', now(), now(), now(), $1::jsonb)
    on conflict (uid) do update set packages = excluded.packages`,
  image_contents: `insert into image_contents (uid, repo_uid, digest, state, create_time, update_time, packages)
    values ('${repo}/${"4".repeat(16)}', '${repo}', 'sha256:1', 'IMAGE_CONTENTS_STATE_INDEXED', now(), now(), $1::jsonb)
    on conflict (uid) do update set packages = excluded.packages`,
};

for (const [table, statement] of Object.entries(rows))
  test(`the packages of a row of ${table} are known, of its first content and of a later one, and those of another organization stay apart`, async () => {
    const known = await labels();
    for (const name of [`${table}-first`, `${table}-later`]) await asOwner(database.url, statement, [JSON.stringify({ [name]: "1" })]);
    assert.deepEqual(await labels(), [...known, `${table}-first`, `${table}-later`].sort());
    assert.deepEqual(await labels(other), []);
  });

test("names without images are deleted, and those of other organizations stay", async () => {
  await asOwner(database.url, "insert into package_labels (root, name) values ($1, 'theirs'), ($2, 'gone')", [other, root]);
  await store.write((written) => replacePackageLabels(written, root, ["kept", "image_contents-later"]));
  assert.deepEqual([await labels(), await labels(other)], [["image_contents-later", "kept"], ["theirs"]]);
});
