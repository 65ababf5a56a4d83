// Servers are killed at random while images are pushed, a feed is imported and backups are made. Imports are killed too, and repeated.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { verifyRegistry } from "#registry/collection";
import { sealAudit, verifyLogs } from "../audit.ts";
import { runGantry } from "../command-line.ts";
import { asOwner, emptyDatabase, ownerUrlOf } from "../database.ts";
import { digestOf } from "../distribution.ts";
import { freePort } from "../free-port.ts";
import { assertInvariants } from "../invariants.ts";
import { randomNumbers, shortOrLong } from "../length.ts";
import { newConfig, openRegistryClient, type RegistryClient } from "../registry/images.ts";
import { openWorld } from "../world.ts";
import { openInstallation } from "./installation.ts";
import { gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";

const kills = shortOrLong(2, 60);
const pushers = 3;
const newRecords = shortOrLong(100, 1_000);

after(stopAll);

interface Member {
  readonly program: Program;
  readonly client: RegistryClient;
}

interface Image {
  readonly repo: string;
  readonly tag: string;
  readonly digest: string;
}

const record = (number: number): string =>
  `${JSON.stringify({
    schema_version: "1.6.0",
    id: `GO-2026-${number}`,
    modified: "2026-01-01T00:00:00Z",
    summary: "s",
    affected: [{ package: { ecosystem: "Go", name: `example.com/module-${number}` }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
  })}\n`;

test(`nothing acknowledged is lost, each import is whole and each backup complete when servers are killed ${kills} times beside them`, {
  timeout: 1_800_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-beside-work-"));
  await chmod(folder, 0o711);
  const blobs = join(folder, "blobs");
  const installation = await openInstallation({ GANTRY_BLOBS: blobs });
  const empty = await emptyDatabase();
  try {
    const { world, environment } = installation;
    const startMember = async (): Promise<Member> => {
      const port = await freePort();
      const program = start(gantryFile, ["serve"], { env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_PUBLIC_URL: world.url } });
      await program.says(/Gantry serves/);
      return { program, client: openRegistryClient(`http://127.0.0.1:${port}`, () => world.token()) };
    };
    const members = await Promise.all([startMember(), startMember()]);
    let isOver = false;

    const acknowledged: Image[] = [];
    const push = async (client: RegistryClient, repo: string, tag: string): Promise<Image> => {
      const contents = [newConfig(), randomBytes(20_000)];
      for (const content of contents) await client.pushBlob(repo, content);
      const described = contents.map((content) => ({ digest: digestOf(content), size: content.byteLength }));
      return { repo, tag, digest: await client.pushManifest(repo, tag, described) };
    };
    const pushing = async (number: number): Promise<void> => {
      const choose = randomNumbers(number);
      for (let count = 0; !isOver; count++) {
        // A new repo for every fifth image.
        const repo = `first-organization/beside-${number}-${Math.floor(count / 5)}`;
        const { client } = members[Math.floor(choose() * 2)] ?? members[0];
        // Fails if its server is killed: then it was not acknowledged.
        const image = await push(client, repo, `t${count}`).catch(() => undefined);
        if (image) acknowledged.push(image);
      }
    };

    const feed = join(folder, "feed.jsonl");
    let records = 0;
    const imports = { whole: 0, killed: 0 };
    const beginImport = (): Program => {
      const program = start(gantryFile, ["import", "vulnerabilities", feed], { env: environment });
      program.child.stdin?.end();
      return program;
    };
    const importing = async (): Promise<void> => {
      const choose = randomNumbers(50);
      while (!isOver || imports.whole === 0 || imports.killed === 0) {
        records += newRecords;
        await writeFile(feed, Array.from({ length: records }, (_, number) => record(number)).join(""));
        const broken = beginImport();
        await pause(300 + choose() * 900);
        broken.signal("SIGKILL");
        if ((await broken.ended).signal === "SIGKILL") imports.killed++;
        const { code, stdout, stderr } = await beginImport().ended;
        assert.equal(code, 0, stderr);
        assert.match(stdout, /^vulnerabilities: \d+ new, 0 changed, 0 withdrawn, \d+ unchanged, 0 refused$/m);
        imports.whole++;
      }
    };

    const asOperator = { ...environment, GANTRY_MIGRATE_URL: ownerUrlOf(environment.DATABASE_URL ?? "") };
    const backups: { readonly path: string; readonly images: readonly Image[] }[] = [];
    const backingUp = async (): Promise<void> => {
      while (!isOver || backups.length === 0) {
        const path = join(folder, `backup-${backups.length}.tar`);
        const images = [...acknowledged];
        const { code, stderr } = await gantry(["admin", "backup", path], { env: asOperator });
        assert.equal(code, 0, stderr);
        const verified = await gantry(["admin", "backup", "--verify", path], { env: asOperator });
        assert.equal(verified.code, 0, verified.stderr);
        const last = backups.at(-1);
        if (last) await rm(last.path);
        backups.push({ path, images });
      }
    };

    const killing = async (): Promise<void> => {
      const choose = randomNumbers(99);
      for (let count = 0; count < kills; count++) {
        await pause(200 + choose() * 400);
        members[count % 2]?.program.signal("SIGKILL");
        await members[count % 2]?.program.ended;
        members[count % 2] = await startMember();
      }
      isOver = true;
    };
    await Promise.all([...Array.from({ length: pushers }, (_, number) => pushing(number)), importing(), backingUp(), killing()]);
    for (const { program } of members) {
      program.signal("SIGTERM");
      assert.equal((await program.ended).code, 0);
    }
    t.diagnostic(`${kills} kills, ${acknowledged.length} images, ${imports.whole} imports and ${imports.killed} killed ones, ${backups.length} backups`);
    assert.ok(acknowledged.length > kills);

    const assertImages = async (client: RegistryClient, images: readonly Image[]): Promise<void> => {
      for (const { repo, tag, digest } of images) {
        assert.equal(digestOf((await client.request("GET", `/v2/${repo}/manifests/${tag}`)).body), digest, `${repo}:${tag}`);
        await client.pull(repo, digest);
      }
    };
    await assertImages(
      openRegistryClient(world.url, () => world.token()),
      acknowledged,
    );
    assert.equal((await verifyRegistry(world.server.application.services, { hidesBroken: false, report: () => {}, progress: () => {} })).broken, 0);
    await assertInvariants(world.databaseUrl);

    const again = await runGantry(["import", "vulnerabilities", feed], { environment });
    assert.match(again.out, new RegExp(`^vulnerabilities: 0 new, 0 changed, 0 withdrawn, ${records} unchanged, 0 refused$`, "m"), again.err);
    assert.deepEqual(await asOwner(world.databaseUrl, "select count(*) from vulnerabilities where not hidden"), [[String(records)]]);

    await sealAudit(world);
    const unpaired = `select event_id::text from outbox where event_id::text not in (select event_id from audit_entries)
      union all select event_id from audit_entries where event_id <> '' group by 1 having count(*) > 1`;
    assert.deepEqual(await asOwner(world.databaseUrl, unpaired), [], "an event without its only entry");
    const { whole, lines } = await verifyLogs(world);
    assert.ok(whole, lines.join("\n"));

    const last = backups.at(-1) ?? assert.fail("no backup");
    const { GANTRY_SECRET_KEY_FILE = "" } = environment;
    const place = { DATABASE_URL: empty.url, GANTRY_SECRET_KEY_FILE, GANTRY_BLOBS: join(folder, "restored") };
    const restored = await runGantry(["admin", "restore", last.path], { environment: { ...place, GANTRY_MIGRATE_URL: empty.ownerUrl } });
    assert.equal(restored.status, 0, restored.err);
    await assertInvariants(empty.url);
    const other = await openWorld(place);
    try {
      await assertImages(
        openRegistryClient(other.url, () => other.token()),
        last.images,
      );
      const verified = await verifyLogs(other);
      assert.ok(verified.whole, verified.lines.join("\n"));
    } finally {
      await other.close();
    }
  } finally {
    await stopAll();
    await installation.close();
    await empty.drop();
    await rm(folder, { recursive: true, force: true });
  }
});
