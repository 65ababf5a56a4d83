// Token sources of the client: cached, renewed before expiry with one renewal at a time, and exchanged from another issuer.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { text } from "#base/json.ts";
import { ApiError, createClient, exchangedToken, fileToken, type IssuedToken, keptToken, type TokenWanted } from "#contract-client";
import { fc, runs } from "../property.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());

const leftMs = 60_000;
const hourMs = 60 * 60 * 1000;
const wanted = (signal = new AbortController().signal, refused?: string): TokenWanted => (refused === undefined ? { signal } : { signal, refused });

/** Returns an issuer that counts its tokens; each is issued once `open` is called. */
const countingIssuer = (lifetimeMs: number): { issue: () => Promise<IssuedToken>; count: () => number; fail: (reason: Error | undefined) => void } => {
  let count = 0;
  let failing: Error | undefined;
  return {
    issue: async () => {
      count++;
      if (failing) throw failing;
      return { token: `token ${count}`, lifetimeMs };
    },
    count: () => count,
    fail: (reason) => {
      failing = reason;
    },
  };
};

test("a token is cached until shortly before expiry, and then renewed once for all concurrent callers", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1000, max: hourMs }),
      fc.array(fc.record({ passesMs: fc.integer({ min: 0, max: hourMs }), callers: fc.integer({ min: 1, max: 5 }) }), { minLength: 1, maxLength: 8 }),
      async (lifetimeMs, steps) => {
        const clock = { now: 0 };
        const issuer = countingIssuer(lifetimeMs);
        const source = keptToken(issuer.issue, { clock: () => clock.now, leftMs });
        let issuedAtMs = Number.NEGATIVE_INFINITY;
        for (const { passesMs, callers } of steps) {
          clock.now += passesMs;
          const before = issuer.count();
          const tokens = await Promise.all(Array.from({ length: callers }, async () => source(wanted())));
          const isDue = clock.now - issuedAtMs >= Math.max(lifetimeMs - leftMs, lifetimeMs / 2);
          assert.equal(issuer.count() - before, isDue ? 1 : 0);
          if (isDue) issuedAtMs = clock.now;
          assert.deepEqual(new Set(tokens), new Set([`token ${issuer.count()}`]));
        }
      },
    ),
    { numRuns: runs(100) },
  );
});

test("while renewal fails, the current token is used until it expires, and no longer", async () => {
  const clock = { now: 0 };
  const issuer = countingIssuer(hourMs);
  const source = keptToken(issuer.issue, { clock: () => clock.now, leftMs });
  assert.equal(await source(wanted()), "token 1");
  issuer.fail(new Error("the issuer is away"));
  clock.now = hourMs - leftMs;
  assert.equal(await source(wanted()), "token 1");
  clock.now = hourMs;
  await assert.rejects(async () => source(wanted()), /the issuer is away/);
  issuer.fail(undefined);
  assert.equal(await source(wanted()), "token 4");
});

test("a refused token is never used again, and concurrent callers get the same new one", async () => {
  const issuer = countingIssuer(hourMs);
  const source = keptToken(issuer.issue, { leftMs });
  const held = await source(wanted());
  assert.deepEqual(await Promise.all([source(wanted(undefined, held)), source(wanted(undefined, held))]), ["token 2", "token 2"]);
  // The second caller with the refused token does not renew again.
  assert.equal(await source(wanted(undefined, held)), "token 2");
  assert.equal(issuer.count(), 2);
});

test("a caller who aborts leaves the renewal running for the others", async () => {
  let give: (token: IssuedToken) => void = () => {};
  const source = keptToken(
    () =>
      new Promise((resolve) => {
        give = resolve;
      }),
    { leftMs },
  );
  const impatient = new AbortController();
  const given = Promise.resolve(source(wanted(impatient.signal)));
  const patient = Promise.resolve(source(wanted()));
  impatient.abort(new Error("enough"));
  await assert.rejects(given, /enough/);
  give({ token: "come", lifetimeMs: hourMs });
  assert.equal(await patient, "come");
});

test("a token of another issuer is exchanged once for many calls, over either transport", async () => {
  for (const transport of ["rest", "grpc"] as const) {
    let asked = 0;
    const token = exchangedToken({
      server: world.url,
      clock: () => world.clock.now,
      subjectToken: async () => {
        asked++;
        return world.token();
      },
    });
    const client = createClient({ server: world.url, token, transport });
    const tellWho = (): Promise<unknown> => client.call("chainguard.platform.auth.Auth/Validate", {});
    await Promise.all([tellWho(), tellWho(), tellWho()]);
    await tellWho();
    assert.equal(asked, 1);
    world.clock.now += 56 * 60 * 1000;
    await tellWho();
    assert.equal(asked, 2);
  }
});

test("the token of a deleted identity is UNAUTHENTICATED, immediately if static, and after one retry with a source", async () => {
  const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: world.organization,
    identity: { name: "ci", claimMatch: { issuer: "https://issuer.example.com", subject: "ci" } },
  });
  const first = await world.token(String(uid));
  const client = (token: string | (() => string)): ReturnType<typeof createClient> => createClient({ server: world.url, token });
  await client(first).call("chainguard.platform.auth.Auth/Validate", {});
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: String(uid) });
  const isRefused = (thrown: unknown): boolean => thrown instanceof ApiError && thrown.code === "UNAUTHENTICATED";
  await assert.rejects(client(first).call("chainguard.platform.auth.Auth/Validate", {}), isRefused);
  // A source's new token is tried, for a write too, since an unauthenticated request had no effect.
  const good = await world.token();
  const given = [first, good];
  const made = await client(() => given.shift() ?? good).call("chainguard.platform.iam.v2.GroupsService/CreateGroup", {
    parent: world.organization,
    group: { name: "with the second token" },
  });
  assert.equal(text(made, "name"), "with the second token");
});

test("a token file is read again for each call, since Kubernetes renews mounted tokens", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-token-"));
  try {
    const path = join(folder, "token");
    const client = createClient({ server: world.url, token: fileToken(path) });
    const list = (): Promise<unknown> => client.call("chainguard.platform.iam.v2.GroupsService/ListGroups", {});
    await writeFile(path, `${await world.token()}\n`);
    await list();
    await writeFile(path, "no longer one");
    await assert.rejects(list(), (thrown) => thrown instanceof ApiError && thrown.code === "UNAUTHENTICATED");
    await rm(path);
    await assert.rejects(list(), /ENOENT/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
