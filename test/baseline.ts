// Generates test/fixtures/baseline.sql: a database of the baseline (server/store/migrations/0001_baseline.sql) with rows in every
// table, written by a server of that version. test/story/upgrade.test.ts migrates it.
//
//   node bin/node.js test/baseline.ts    only until the baseline is released; afterwards neither changes
//
// Rows come from the API where possible; sign-ins, which need a browser and a provider, are plain rows.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import pg from "pg";
import { sealAudit } from "./audit.ts";
import { asOwner, freshDatabase } from "./database.ts";
import { dumpRows } from "./dump.ts";
import { fixtures, runImport } from "./story/import.ts";
import { openWorld } from "./world.ts";

export const baselineSecretKey = Buffer.alloc(32, 7).toString("base64");

export const baselineTimeMs = Date.UTC(2026, 10, 20, 12);

export const baselinePath = join(import.meta.dirname, "fixtures", "baseline.sql");

const person = "5".repeat(40);

/** Rows of sign-ins, in a browser and at a terminal. */
export const plainRows = (provider: string, organization: string): string => `
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

const main = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-baseline-"));
  const database = await freshDatabase();
  // Without the additional objects of test databases (told.ts).
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await client.query("drop schema public cascade; create schema public");
  await client.end();
  const key = join(folder, "secret.key");
  writeFileSync(key, baselineSecretKey, { mode: 0o600 });
  const terms = join(folder, "terms.json");
  writeFileSync(terms, JSON.stringify({ documents: [{ id: "services-rules.v1", label: "Services rules", url: "https://example.com/rules" }], requires: {} }));
  const world = await openWorld(
    { DATABASE_URL: database.url, GANTRY_MIGRATE_URL: database.ownerUrl, GANTRY_SECRET_KEY_FILE: key, GANTRY_TERMS_FILE: terms },
    undefined,
    baselineTimeMs,
  );
  try {
    const { organization } = world;
    const create = async (method: string, request: Parameters<typeof world.ok>[1], idempotencyKey?: string): Promise<string> =>
      text(await world.ok(method, request, idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }), "uid");
    const group = await create("iam.GroupsService/CreateGroup", {
      parent: organization,
      group: { name: "team", description: "of 'quoted' names" },
    });
    // Nothing listens there, so its deliveries are retried.
    await create("events.SubscriptionsService/CreateSubscription", { parent: group, subscription: { sink: "http://127.0.0.1:9/" } });
    const role = await create("iam.RolesService/CreateRole", { parent: organization, role: { name: "lister", capabilities: ["CAP_REPO_LIST"] } });
    const claimMatch = { issuer: "https://issuer.example.com", subject: "pipeline" };
    const identityUid = await create("iam.IdentitiesService/CreateIdentity", { parent: group, identity: { name: "pipeline", claimMatch } });
    await create("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid, roleUid: role } });
    await create("iam.GroupInvitesService/CreateGroupInvite", { parent: group, groupInvite: { roleUid: builtInRoleUid("viewer"), ttl: "86400s" } });
    const oidc = { issuer: "https://issuer.example.com", clientId: "gantry", clientSecret: "client secret", groupsClaim: "groups" };
    const identityProvider = { name: "corporate", defaultRole: builtInRoleUid("viewer"), oidc };
    const provider = await create("iam.IdentityProvidersService/CreateIdentityProvider", { parent: organization, identityProvider });
    const externalGroupRoleMapping = { externalGroupId: "platform", roleUid: role, scope: organization };
    await create("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", { parent: provider, externalGroupRoleMapping });
    const accountAssociation = { name: "production", amazon: { account: "123456789012" } };
    await create("iam.AccountAssociationsService/CreateAccountAssociation", { parent: group, accountAssociation });
    await world.ok("iam.TermsService/AcceptTerms", { group, documentIds: ["services-rules.v1"] });
    const repo = await create("registry.ReposService/CreateRepo", { parent: group, repo: { name: "nginx", description: "grüße" } }, "once");
    const digest = `sha256:${"a".repeat(64)}`;
    await create("registry.TagsService/CreateTag", { parent: repo, tag: { name: "1.27", digest } });
    for (const [kind, file] of [
      ["advisories", "harbour.yaml"],
      ["advisories", "packages.jsonl"],
      ["vulnerabilities", "osv.json"],
      ["images", "images.jsonl"],
      ["images", "packages.jsonl"],
      ["libraries", "artifacts.jsonl"],
    ] as const)
      await runImport(world, kind, [join(fixtures, file)]);
    await world.server.application.services.store.write(async (rows) => {
      for (const statement of plainRows(provider, organization).split(/;\n/)) await rows.query(statement);
      await rows.query("insert into manifests (repo_uid, index_digest, digest, os, architecture, size_bytes) values ($1, $2, $2, 'linux', 'amd64', 1000)", [
        repo,
        digest,
      ]);
    });
    await world.server.delivery.finish();
    await sealAudit(world);
    await world.close();
    // A running server would process the row and delete it.
    const fanOut = "insert into fan_outs (uid, position, last_position, try_time)";
    await asOwner(database.url, `${fanOut} values ('${organization}', 1, 1, '2026-11-20T12:00:00Z')`);
    const head =
      "-- Rows in every table of the baseline, made by test/baseline.ts and never changed since the baseline landed.\n" +
      "-- test/story/upgrade.test.ts brings them to the present.\n\n";
    writeFileSync(baselinePath, head + (await dumpRows(database.ownerUrl, (value) => value.replaceAll(fixtures, "/srv/feeds"))));
  } finally {
    await database.drop();
    rmSync(folder, { recursive: true });
  }
};

if (process.argv[1] === import.meta.filename) {
  await main();
  process.exit();
}
