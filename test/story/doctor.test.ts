// `gantry doctor` with and without a running server: it reports what works and how to fix the rest, and changes nothing.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import type { JsonObject } from "#base/json.ts";
import { makeAuthority, signCertificate } from "../certificates.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { asOwner, freshDatabase } from "../database.ts";
import { freePort } from "../free-port.ts";
import { databaseContents, type Installation, openInstallation } from "./installation.ts";
import { type Exit, gantry, type Issuer, startIssuer, stopAll } from "./processes.ts";

let installation: Installation;
let issuer: Issuer;

before(async () => {
  [installation, issuer] = await Promise.all([openInstallation(), startIssuer()]);
  const { world } = installation;
  const oidc = { clientId: "gantry", clientSecret: "a client secret that only the two know", additionalScopes: ["email"] };
  for (const url of [issuer.url, `http://127.0.0.1:${await freePort()}`])
    await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
      parent: world.organization,
      identityProvider: { name: `people of ${new URL(url).port}`, defaultRole: builtInRoleUid("viewer"), oidc: { ...oidc, issuer: url } },
    });
});
after(async () => {
  await stopAll();
  await issuer.close();
  await installation.close();
});

const findingsOf = ({ stdout, stderr }: Exit): JsonObject[] => {
  assert.notEqual(stdout, "", stderr);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
};

const ask = (env: Readonly<Record<string, string>>): Promise<Exit> => gantryAnywhere(["doctor", "--json"], { env: { ...installation.environment, ...env } });

const subjects = (findings: readonly JsonObject[]): string[] => findings.map(({ is, subject }) => `${String(subject)} ${String(is)}`);

test("with a running server doctor checks everything, reports an unresponsive issuer, and changes no row", async () => {
  const before = await databaseContents(installation.world);
  const done = await ask({ GANTRY_EGRESS_ALLOW: "issuer=127.0.0.0/8" });
  const findings = findingsOf(done);
  assert.deepEqual(subjects(findings).toSorted(), [
    "address good",
    "blobs good",
    "clock good",
    "database good",
    "disk good",
    "issuer bad",
    "issuer good",
    "key good",
    "names good",
    "settings good",
  ]);
  assert.equal(done.code, 1);
  const wrong = findings.find(({ is }) => is === "bad");
  assert.match(String(wrong?.["says"]), /^http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  assert.match(String(wrong?.["remedy"]), /GANTRY_EGRESS_ALLOW.*GANTRY_CA_FILE/);
  assert.ok(String(findings.find(({ is, subject }) => is === "good" && subject === "issuer")?.["says"]).startsWith(issuer.url));
  assert.deepEqual(await databaseContents(installation.world), before);
});

test("doctor reaches issuers only through the guarded client: a private address that is not allowed is not requested", async () => {
  const asked = (await issuer.asked()).length;
  const findings = findingsOf(await ask({}));
  assert.deepEqual(
    subjects(findings).filter((each) => each.startsWith("issuer")),
    ["issuer bad", "issuer bad"],
  );
  assert.equal((await issuer.asked()).length, asked);
});

test("a key that does not match the database is reported, and checks that need the key are skipped", async () => {
  const other = join(installation.environment["GANTRY_DATA"] ?? "", "other.key");
  await writeFile(other, randomBytes(32).toString("base64"), { mode: 0o600 });
  const done = await ask({ GANTRY_SECRET_KEY_FILE: other });
  assert.deepEqual(subjects(findingsOf(done)), ["settings good", "disk good", "database good", "key bad"]);
  assert.equal(done.code, 1);
});

test("a public address that is unreachable or another server is reported", async () => {
  const [other, nobody] = await Promise.all([ask({ GANTRY_PUBLIC_URL: issuer.url }), ask({ GANTRY_PUBLIC_URL: `http://127.0.0.1:${await freePort()}` })]);
  const address = (done: Exit): JsonObject | undefined => findingsOf(done).find(({ subject }) => subject === "address");
  assert.equal(address(other)?.["is"], "bad", JSON.stringify(address(other)));
  assert.equal(address(nobody)?.["is"], "unsure", JSON.stringify(address(nobody)));
});

test("a database with pending migrations stays unmigrated, and one that refuses connections is reported", async () => {
  const behind = await freshDatabase();
  try {
    await asOwner(behind.url, "delete from schema_migrations");
    const [unmigrated, absent] = await Promise.all([ask({ DATABASE_URL: behind.url }), ask({ DATABASE_URL: `${behind.url}_absent` })]);
    const [found] = findingsOf(unmigrated).slice(-1);
    assert.equal(found?.["is"], "unsure");
    assert.match(String(found?.["says"]), /lacks \d+ migrations? from 0001_initial\.sql on$/);
    assert.deepEqual(findingsOf(await ask({ DATABASE_URL: behind.url })).slice(-1), [found], "asking has migrated it");
    assert.deepEqual(subjects(findingsOf(absent)).slice(-1), ["database bad"]);
    assert.equal(absent.code, 1);
  } finally {
    await behind.drop();
  }
});

test("custom certificate authorities are counted, and one that expires within a month is reported with a fix", async () => {
  const folder = installation.environment["GANTRY_DATA"] ?? "";
  const authority = makeAuthority(folder, "authority");
  const ending = signCertificate(folder, "ending", authority, "DNS:issuer.corp.example");
  for (const [file, is, says] of [
    [authority.certificateFile, "good", /: 1 in addition to the public ones; the first expires 20\d\d-\d\d-\d\d$/],
    [ending.certificateFile, "unsure", /: 2 in addition to the public ones; the first expires 20\d\d-\d\d-\d\d: CN=ending$/],
  ] as const) {
    const found = findingsOf(await ask({ GANTRY_CA_FILE: file })).find(({ subject }) => subject === "ca");
    assert.equal(found?.["is"], is);
    assert.match(String(found?.["says"]), says);
    assert.equal(found?.["remedy"] === undefined, is === "good");
  }
});

test("the server certificate is shown with names and expiry, and a fix if it expires within a month", async () => {
  const folder = installation.environment["GANTRY_DATA"] ?? "";
  const authority = makeAuthority(folder, "tls-authority");
  const nearly = signCertificate(folder, "nearly", authority, "DNS:gantry.corp.example");
  const ended = signCertificate(folder, "over", authority, "DNS:gantry.corp.example", { ended: true });
  for (const [{ certificateFile, keyFile }, is, says] of [
    [authority, "good", /tls-authority\.pem: for .*, until 20\d\d-\d\d-\d\d$/],
    [nearly, "unsure", /nearly\.pem: for DNS:gantry\.corp\.example, until 20\d\d-\d\d-\d\d$/],
    [ended, "bad", /over\.pem: for DNS:gantry\.corp\.example, until 20\d\d-\d\d-\d\d$/],
  ] as const) {
    const found = findingsOf(await ask({ GANTRY_TLS_CERT: certificateFile, GANTRY_TLS_KEY: keyFile })).find(({ subject }) => subject === "tls");
    assert.equal(found?.["is"], is);
    assert.match(String(found?.["says"]), says);
    assert.equal(found?.["remedy"] === undefined, is === "good");
  }
});

test("a clock that is ahead of the database's is reported with the difference", async () => {
  const preload = `--import=${join(import.meta.dirname, "shifted-clock.fixture.ts")}`;
  const done = await gantry(["doctor", "--json"], { env: { ...installation.environment, NODE_OPTIONS: preload, CLOCK_SHIFTED: "1" } });
  assert.equal(done.code, 1);
  const clock = findingsOf(done).find(({ subject }) => subject === "clock");
  assert.equal(clock?.is, "bad");
  assert.match(JSON.stringify(clock), /this machine's clock is (?:89|90)\.\d s ahead of the database's/);
});

test("before the first start doctor reports no problem and creates nothing", async () => {
  const data = join(installation.environment["GANTRY_DATA"] ?? "", "none");
  const done = await gantry(["doctor"], { env: { GANTRY_DATA: data } });
  assert.match(done.stdout, /^ok +settings .*\nok +disk .*\nok +database +none in .* yet\. The first start creates it\n$/);
  assert.equal(done.code, 0);
});

test("a public listener without TLS and an http public URL are warnings with a fix, not failures", async () => {
  const done = await ask({ GANTRY_LISTEN: "0.0.0.0:8080", GANTRY_PUBLIC_URL: "http://gantry.example.com" });
  const warned = findingsOf(done).filter(({ subject }) => subject === "tls");
  assert.deepEqual(
    warned.map(({ is, says }) => [is, String(says).split(" ")[0]]),
    [
      ["unsure", "GANTRY_LISTEN:"],
      ["unsure", "GANTRY_PUBLIC_URL:"],
    ],
  );
  for (const { remedy } of warned) assert.match(String(remedy), /TLS/);
  assert.deepEqual(
    findingsOf(await ask({ GANTRY_LISTEN: "127.0.0.1:8080", GANTRY_PUBLIC_URL: "http://localhost:8080" })).filter(({ subject }) => subject === "tls"),
    [],
  );
});

test("charts possibly stored swapped by an earlier version are reported by repo until they are pushed again", async () => {
  const { world } = installation;
  const organization = world.organization;
  const made = async (name: string, chart: JsonObject): Promise<string> => {
    const { uid } = await world.ok("registry.ReposService/CreateRepo", { parent: organization, repo: { name } });
    await world.ok("chainguard.platform.registry.Registry/CreateDeployment", { parentId: String(uid), charts: [chart] });
    return String(uid);
  };
  const chart = { source: "https://example.com/podinfo", repo: "oci://charts.example.com/podinfo" };
  const [swapped, plain, written] = [
    await made("swapped-charts", chart),
    await made("plain-charts", { repo: "oci://charts.example.com/nginx" }),
    await made("written-charts", chart),
  ];
  const findings = async (): Promise<JsonObject[]> => findingsOf(await ask({})).filter(({ subject }) => subject === "charts");
  assert.deepEqual(await findings(), []);
  await asOwner(world.databaseUrl, `update repo_deployments set fields_as_published = false where repo_uid in ('${swapped}', '${plain}')`);
  const [found, ...more] = await findings();
  assert.deepEqual(more, []);
  assert.equal(found?.["is"], "unsure");
  assert.ok(String(found?.["says"]).includes(swapped));
  assert.ok(!String(found?.["says"]).includes(plain) && !String(found?.["says"]).includes(written));
  await world.ok("chainguard.platform.registry.Registry/UpdateDeployment", { repoId: swapped, charts: [chart] });
  assert.deepEqual(await findings(), []);
});
