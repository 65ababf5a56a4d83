// Creates test/releases/VERSION for the version in package.json: a database filled by this code, and its API's responses. Run it once per
// release; test/story/releases.test.ts migrates each such database and compares the responses.
//
//   node bin/node.js test/releases/make.ts
//
// It calls every operation of the contract once, so the data covers all that operations create, change and delete.

import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { importRegistry } from "#application";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { methods, version1 } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { readMigrations } from "../../server/db/migration-files.ts";
import { version } from "../../server/db/version.ts";
import { sealAudit } from "../audit.ts";
import { openStage, type Stage } from "../conformance/stage.ts";
import { freshDatabase } from "../database.ts";
import { dumpRows } from "../dump.ts";
import { fixtures, runImport } from "../story/import.ts";
import { type Asked, askedRequest, releaseSettings, releasesFolder, type Release } from "./release.ts";

const secretKey = Buffer.alloc(32, 11).toString("base64");
const timeMs = Date.UTC(2026, 10, 23, 6);

const person = "5".repeat(40);

/** The rows of sign-ins, in a browser and at a terminal. */
const plainRows = (provider: string, organization: string): string => `
  insert into identities (uid, name, email, issuer, subject, create_time, update_time)
    values ('${person}', 'Ada', 'ada@example.com', 'https://issuer.example.com', 'ada', '2026-11-20', '2026-11-20');
  insert into profiles (identity_uid, name, given_name, family_name) values ('${person}', 'Ada', 'Ada', 'Example');
  insert into identity_metadata (uid, said) values ('${person}', '{"jobTitle": "engineer"}');
  insert into group_access_requests (group_uid, identity_uid, request_time) values ('${organization}', '${person}', '2026-11-20');
  insert into provider_arrivals (provider_uid, identity_uid, create_time) values ('${provider}', '${person}', '2026-11-20');
  insert into sign_ins (state_hash, browser_hash, identity_provider_uid, sealed, expire_time)
    values ('state', 'browser', '${provider}', 'sealed', '2026-11-20');
  insert into sessions (id, identity_uid, identity_provider_uid, groups, create_time, expire_time)
    values ('session', '${person}', '${provider}', array['platform', 'a "quoted" one'], '2026-11-20', '2026-11-21');
  insert into refresh_tokens (id, secret_hash, identity_uid, identity_provider_uid, audience, act, email, create_time, expire_time)
    values ('family', 'hash', '${person}', '${provider}', '["https://gantry.example.com"]', '{}', 'ada@example.com', '2026-11-20', '2026-12-04');
  insert into device_codes (device_hash, user_code, client, wanted, interval_ms, create_time, expire_time)
    values ('device', 'BCDF-GHJK', 'gantry', '{}', 5000, '2026-11-20', '2026-11-20T00:15:00Z');
  insert into user_code_guesses (window_time, wrong) values ('2026-11-20', 3);
  insert into headless_sessions (code_hash, ecdh_public_key, encrypted_token, expire_time) values ('code', 'key', 'dG9rZW4=', '2026-11-20');
  insert into aws_requests (digest, expire_time) values ('digest', '2026-11-20');
  insert into feed_schedules (schedule, next_time, failures, last_time, last_outcome) values ('advisories osv', '2026-11-21', 0, '2026-11-20', 'done');`;

const verbOf = ({ http, distribution }: MethodFact): string => distribution?.verb ?? http[0]?.verb ?? "";

/** Returns true for repeatable reads, without sign-ins, which work once, and without facts about the server or the current time. */
const isRead = (method: MethodFact): boolean =>
  verbOf(method) === "GET" && !method.givesFile && !["auth", "ping"].includes(method.domain) && !/Token|Exchange/.test(`${method.service}/${method.rpc}`);

/** Creates data without a Create: imports, and rows of sign-ins. */
const importAll = async ({ world }: Stage): Promise<void> => {
  for (const [kind, file] of [
    ["advisories", "harbour.yaml"],
    ["advisories", "packages.jsonl"],
    ["advisories", "secdb.json"],
    ["vulnerabilities", "osv.json"],
    ["vulnerabilities", "csaf.json"],
    ["images", "images.jsonl"],
    ["images", "packages.jsonl"],
    ["libraries", "artifacts.jsonl"],
  ] as const)
    await runImport(world, kind, [join(fixtures, file)], { public: true });
  await importRegistry(world.server.application.kernel, { group: world.organization, sources: [join(fixtures, "../registry")], progress: () => {} });
  const oidc = { issuer: "https://login.example.com", clientId: "gantry", clientSecret: "client secret" };
  const identityProvider = { name: "corporate", defaultRole: builtInRoleUid("viewer"), oidc };
  const provider = text(await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", { parent: world.organization, identityProvider }), "uid");
  await world.server.application.services.store.write(async (rows) => {
    for (const statement of plainRows(provider, world.organization).split(/;\n/)) await rows.query(statement);
  });
};

/** Calls every operation once; created resources stay, so that each kind exists. */
const callAll = async (stage: Stage): Promise<readonly { readonly method: MethodFact; readonly request: JsonObject }[]> => {
  const { world } = stage;
  const asked: { method: MethodFact; request: JsonObject }[] = [];
  const token = await stage.operator();
  for (const method of [...methods, ...version1]) {
    if (!stage.answers(method) || verbOf(method) === "" || method.domain === "ping") continue;
    try {
      const request = await stage.request(method, { place: world.organization, whole: true });
      const { code } = await stage.call("rest", method, request, { token });
      if (code === 0 && isRead(method)) asked.push({ method, request });
    } catch (thrown) {
      process.stderr.write(`left out: ${method.name}: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    }
  }
  return asked;
};

const main = async (): Promise<void> => {
  const target = join(releasesFolder, version);
  if (existsSync(target)) throw new Error(`${target} is there: what a version has written never changes`);
  const folder = mkdtempSync(join(tmpdir(), "gantry-release-data-"));
  const database = await freshDatabase();
  try {
    // Without the additions of test databases (told.ts).
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    await client.query("drop schema public cascade; create schema public");
    await client.end();
    writeFileSync(join(folder, "secret.key"), secretKey, { mode: 0o600 });
    const blobs = join(folder, "blobs");
    const environment = {
      DATABASE_URL: database.url,
      GANTRY_MIGRATE_URL: database.ownerUrl,
      GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
      GANTRY_BLOBS: blobs,
      ...releaseSettings,
    };
    const stage = await openStage(environment, undefined, timeMs);
    await importAll(stage);
    const all = await callAll(stage);
    const { world } = stage;
    await world.server.delivery.finish();
    await sealAudit(world);
    // Before any read, since a pull is an event.
    const rows = await dumpRows(database.ownerUrl, (value) => value.replaceAll(folder, "/srv/gantry").replaceAll(dirname(fixtures), "/srv/fixtures"));
    cpSync(blobs, join(folder, "blobs-then"), { recursive: true });
    const answers: Asked[] = [];
    const token = await stage.operator();
    for (const { method, request } of all) {
      const asking = askedRequest(method, request);
      const { code, reply, raw } = await stage.call("rest", method, asking, { token });
      if (code === 0) answers.push({ operation: method.name, request: asking, ...(method.distribution ? { raw: raw ?? "" } : { reply }) });
    }
    await stage.close();
    const migrations = (await readMigrations()).length;
    const release: Release = { version, timeMs, secretKey, migrations };
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, "release.json"), `${JSON.stringify(release, null, 2)}\n`);
    writeFileSync(join(target, "answers.json"), `[\n${answers.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`);
    const head = `-- Rows that version ${version} has written, made by test/releases/make.ts and never changed since.\n\n`;
    writeFileSync(join(target, "data.sql"), head + rows);
    cpSync(join(folder, "blobs-then"), join(target, "blobs"), { recursive: true });
    process.stdout.write(`${target}: ${answers.length} answers\n`);
  } finally {
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }
};

await main();
process.exit();
