// Dependencies that fail under a running server: what it reports, and what goes on (docs/operate/runbooks.md).

import assert from "node:assert/strict";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openPusher } from "../pusher.ts";
import { freePort } from "../free-port.ts";
import { openWorld, type World } from "../world.ts";

const closing: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

interface Watched {
  readonly world: World;
  /** Lines of one dependency: "failed WHY" or "recovered". */
  lines(dependency: string): string[];
  until(is: () => unknown): Promise<void>;
}

const open = async (environment: Readonly<Record<string, string>>): Promise<Watched> => {
  const found: { readonly dependency: unknown; readonly line: string }[] = [];
  const world = await openWorld(environment, (event, facts) => {
    const [kind, outcome] = event.split(".");
    if (kind === "dependency") found.push({ dependency: facts?.dependency, line: `${outcome} ${facts?.why ?? ""}`.trim() });
  });
  closing.push(world.close);
  return {
    world,
    lines: (dependency) => found.filter((each) => each.dependency === dependency).map(({ line }) => line),
    async until(is) {
      while (!(await is())) await sleep(10);
    },
  };
};

const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-dependencies-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const readyz = async ({ url }: World): Promise<number> => (await fetch(`${url}/readyz`)).status;

test("if the blob storage disappears, the server stays ready, serves manifests, and reports the failure and the recovery once", {
  timeout: 60_000,
}, async () => {
  const folder = join(await temporaryFolder(), "blobs");
  const { world, lines, until } = await open({ GANTRY_BLOBS: folder });
  const repo = String((await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "kept" } })).uid);
  const pusher = openPusher(world, repo, await world.token());
  const { digest } = await pusher.image("amd64", "latest");
  await rename(folder, `${folder}-away`);
  await until(() => lines("blobs").length > 0);
  assert.equal(await readyz(world), 200);
  assert.equal((await pusher.send("GET", `manifests/${digest}`)).status, 200);
  await rename(`${folder}-away`, folder);
  await until(() => lines("blobs").length > 1);
  assert.deepEqual(lines("blobs"), [
    `failed GANTRY_BLOBS: ${folder} is empty, but this database has blobs elsewhere. Give every server the same location`,
    "recovered",
  ]);
});

test("a server starts and is ready although its blob storage is dead", { timeout: 60_000 }, async () => {
  process.env.AWS_ACCESS_KEY_ID = process.env.AWS_SECRET_ACCESS_KEY = "tester";
  const { world, lines } = await open({ GANTRY_BLOBS: `s3://blobs/?endpoint=http://127.0.0.1:${await freePort()}` });
  assert.equal(await readyz(world), 200);
  assert.deepEqual(
    lines("blobs").map((line) => line.split(":")[0]),
    ["failed the blob storage cannot be reached"],
  );
});
