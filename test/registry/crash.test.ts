// Acknowledged content survives crashes. Servers are killed at random during pushes, and uploads continue at the other server; then every
// acknowledged digest is read back.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "#base/limits.ts";
import { collect, verifyRegistry } from "#registry/collection";
import { randomNumbers, shortOrLong } from "../length.ts";
import { openInstallation } from "../story/installation.ts";
import { gantryFile, type Program, start, stopAll } from "../story/processes.ts";
import { freePort } from "../free-port.ts";
import { digestOf } from "../distribution.ts";
import { newConfig, openRegistryClient, type RegistryClient } from "./images.ts";

const kills = shortOrLong(2, 40);
const pushers = 4;
const octets = { "content-type": "application/octet-stream" };

after(stopAll);

interface Member {
  readonly program: Program;
  readonly client: RegistryClient;
}

test(`every digest acknowledged while servers are killed ${kills} times exists, and nothing else remains`, { timeout: 900_000 }, async () => {
  const blobsFolder = await mkdtemp(join(tmpdir(), "gantry-crash-"));
  const installation = await openInstallation({ GANTRY_BLOBS: blobsFolder });
  try {
    const { world, environment } = installation;
    const startMember = async (): Promise<Member> => {
      const port = await freePort();
      const program = start(gantryFile, ["serve"], { env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_PUBLIC_URL: world.url } });
      await program.says(/Gantry serves/);
      return { program, client: openRegistryClient(`http://127.0.0.1:${port}`, () => world.token()) };
    };
    const members = await Promise.all([startMember(), startMember()]);
    const memberOf = (turn: number): RegistryClient => (members[turn % 2] ?? members[0]).client;

    const acknowledged = new Map<string, Set<string>>();
    const images: { repo: string; digest: string }[] = [];
    const acknowledge = (repo: string, digest: string): void => void acknowledged.set(repo, (acknowledged.get(repo) ?? new Set()).add(digest));
    let isOver = false;

    /** Returns undefined if no response came, or one that reports a failure. */
    const attempt = async (turn: number, ...given: Parameters<RegistryClient["request"]>) => {
      try {
        const answer = await memberOf(turn).request(...given);
        return answer.status < 500 ? answer : undefined;
      } catch {
        return undefined;
      }
    };

    /** Pushes in chunks to alternating servers; resumes at the registry's offset after an interruption. */
    const pushInChunks = async (repo: string, content: Buffer, choose: () => number): Promise<boolean> => {
      let turn = Math.floor(choose() * 2);
      const begun = await attempt(turn, "POST", `/v2/${repo}/blobs/uploads/`);
      const location = begun?.headers.get("location");
      if (!location) return false;
      for (let sentBytes = 0; sentBytes < content.byteLength; ) {
        const endBytes = Math.min(content.byteLength, sentBytes + 100_000 + Math.floor(choose() * 400_000));
        const sent = await attempt(turn++, "PATCH", location, content.subarray(sentBytes, endBytes), {
          ...octets,
          "content-range": `${sentBytes}-${endBytes - 1}`,
        });
        if (sent?.status === 202) {
          sentBytes = endBytes;
          continue;
        }
        const found = await attempt(turn, "GET", location);
        if (found?.status !== 204) return false;
        const [, last = "0"] = /^0-(\d+)$/.exec(found.headers.get("range") ?? "") ?? [];
        const kept = last === "0" ? 0 : Number(last) + 1;
        assert.ok(kept >= sentBytes, `${sentBytes} bytes were acknowledged, and ${kept} are there`);
        // The dead server still holds the upload's lock; this client starts a new upload instead of waiting.
        if (sent !== undefined) return false;
        sentBytes = kept;
      }
      const digest = digestOf(content);
      return (await attempt(turn, "PUT", `${location}?digest=${digest}`))?.status === 201;
    };

    const pushWhole = async (repo: string, content: Buffer, choose: () => number): Promise<boolean> =>
      (await attempt(Math.floor(choose() * 2), "POST", `/v2/${repo}/blobs/uploads/?digest=${digestOf(content)}`, content, octets))?.status === 201;

    const pushing = async (number: number): Promise<void> => {
      const choose = randomNumbers(number);
      const repo = `first-organization/crash-${number}`;
      while (!isOver) {
        const contents = [newConfig(), randomBytes(1 + Math.floor(choose() * 1_500_000))];
        for (const content of contents) {
          while (!(await (choose() < 0.5 ? pushWhole(repo, content, choose) : pushInChunks(repo, content, choose))));
          acknowledge(repo, digestOf(content));
        }
        const described = contents.map((content) => ({ digest: digestOf(content), size: content.byteLength }));
        const digest = await memberOf(Math.floor(choose() * 2))
          .pushManifest(repo, choose() < 0.5 ? "" : `n${images.length}-${number}`, described)
          .catch(() => undefined);
        if (digest !== undefined) images.push({ repo, digest });
      }
    };

    const killing = async (): Promise<void> => {
      const choose = randomNumbers(99);
      for (let count = 0; count < kills; count++) {
        await pause(200 + choose() * 400);
        const at = count % 2;
        members[at]?.program.signal("SIGKILL");
        await members[at]?.program.ended;
        members[at] = await startMember();
      }
      isOver = true;
    };
    await Promise.all([...Array.from({ length: pushers }, (_, number) => pushing(number)), killing()]);

    const own = openRegistryClient(world.url, () => world.token());
    let count = 0;
    for (const [repo, digests] of acknowledged) {
      for (const digest of digests) {
        const { status, body } = await own.request("GET", `/v2/${repo}/blobs/${digest}`);
        assert.equal(status, 200, `${digest} of ${repo}`);
        assert.equal(digestOf(body), digest);
        count++;
      }
    }
    assert.ok(count > kills && images.length > 0, `${count} blobs, ${images.length} images`);
    for (const { repo, digest } of images) await own.pull(repo, digest);

    const { services } = world.server.application;
    const verify = () => verifyRegistry(services, { hidesBroken: false, report: () => {}, progress: () => {} });
    assert.equal((await verify()).broken, 0);
    // Interrupted uploads belong to no image and expire; content of images stays.
    for (const { program } of members) {
      program.signal("SIGTERM");
      await program.ended;
    }
    world.clock.now += 2 * limits.uploadKeptMs;
    for await (const _ of collect(services));
    const { blobs, broken } = await verify();
    assert.equal(broken, 0);
    assert.equal((await Array.fromAsync(services.blobs.list())).length, blobs);
    for (const { repo, digest } of images) await own.pull(repo, digest);
  } finally {
    await stopAll();
    await installation.close();
    await rm(blobsFolder, { recursive: true, force: true });
  }
});
