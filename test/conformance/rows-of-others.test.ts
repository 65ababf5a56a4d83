// Decisions in an organization depend only on its own rows and the operator's settings. Deleting another organization's row changes no
// decision here (attack 66). A refused caller who deletes their own rows stays
// refused (attack 63).
//
// Two organizations have a row in every table with rows of organizations. The test deletes each row in the database, repeats every decision,
// and restores the row.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { isObject, type JsonObject, part, text } from "#base/json.ts";
import { newChild, newRoot } from "#base/uid.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { insertAccessRequest } from "#iam/store";
import { registerPerson } from "../../server/application/person.ts";
import { beginFamily } from "../../server/iam/signin/refresh.ts";
import { beginSession, newSessionId } from "../../server/iam/signin/session.ts";
import { openSession } from "../../server/iam/signin/sessions.ts";
import { sealAudit } from "../audit.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../database.ts";
import { randomNumbers, shareOf, shortOrLong } from "../length.ts";
import { type FakeProvider, openBrowser, openProvider, registerProvider, signIn, signInUrl } from "../provider.ts";
import { type Issuer, startIssuer } from "../story/processes.ts";
import { freshKey, groupMessage, hasSafeWrites, type Holder, identityMessage, isList, isMade, openStage, rowsOf as recordsOf, type Stage } from "./stage.ts";

const domain = "victim.example";
const address = `ada@${domain}`;
const clientId = "a client";
const register = "chainguard.platform.auth.Auth/Register";
const viewer = builtInRoleUid("viewer");

/** Rows tried per table, one in four in a short run; all for identity providers. */
const rowsTried = shortOrLong(1, 4);

/** Tables without rows of any organization, and their owners. */
const nobodys: Readonly<Record<string, string>> = {
  advisory_documents: "of what is published, whosever advisories it is made of",
  affected_packages: "an import's",
  audit_progress: "the server's",
  audit_retention: "the server's",
  audit_targets: "the operator's",
  authorization_codes: "of a sign-in that has just ended",
  aws_requests: "of one request",
  blob_places: "the server's",
  blob_removals: "of no row at all",
  blob_writes: "of requests that are under way",
  blobs: "of each repo that has the content",
  changed_vulnerabilities: "an import's, until the findings are updated",
  csaf_documents: "an import's",
  device_codes: "of whoever stands at a terminal",
  document_records: "an import's",
  document_signing_keys: "the server's",
  exploit_predictions: "an import's, beside the records of everybody or of its group",
  fan_outs: "of events on their way to subscriptions, until they are there",
  feed_files: "an import's",
  feed_schedules: "the operator's",
  feed_days: "an import's",
  feed_ecosystems: "an import's",
  feed_reversals: "an import's",
  feed_validators: "an import's",
  headless_sessions: "of whoever stands at a terminal",
  identity_metadata: "a person's",
  known_exploits: "an import's, beside the records of everybody or of its group",
  layer_contents: "of each repo that has the layer, as its blob",
  library_artifacts: "of records that an import brought, for everybody",
  library_versions: "of records that an import brought, for everybody",
  package_origins: "of records that an import brought, for everybody",
  pending_documents: "an import's",
  profiles: "a person's",
  record_successors: "an import's",
  restores: "the operator's",
  revoked_grants: "of one sign-in, whose rights it ends",
  schema_migrations: "the server's",
  signing_keys: "the server's",
  source_documents: "an import's",
  user_code_guesses: "the server's",
  vulnerability_cves: "numbers of an import's records, beside them",
};

let database: TestDatabase;
let stage: Stage;
/** Tables with rows of organizations until a server has worked on them in the background. */
const queues: readonly string[] = ["due_dates_to_update", "unread_images_changes"];

/** Issuers by where they are named, which decides if their email addresses are trusted. */
let issuers: Readonly<Record<"own" | "below" | "foreign" | "listed" | "known", Issuer>>;
let provider: FakeProvider;
let [victim, other] = ["", ""];
let idp = "";
/** The request of each operation for every caller; one in three operations in a short run. */
let requests: ReadonlyMap<MethodFact, JsonObject>;
let callers: Readonly<Record<string, Holder>>;
/** Tokens of the issuers: of a registered user and of a new one. */
let tokens: Readonly<Record<string, { readonly known: string; readonly newcomer: string }>>;
let invites: Readonly<Record<string, string>>;
let program = "";

const query = (statement: string, values: readonly string[] = []) => asOwner(database.url, statement, values);

const createProvider = async (parent: string, issuer: string): Promise<string> => {
  const identityProvider = { name: "people", defaultRole: viewer, oidc: { issuer, clientId, clientSecret: "secret" } };
  return text(await stage.world.ok("iam.IdentityProvidersService/CreateIdentityProvider", { parent, identityProvider }), "uid");
};

/** Fills an organization: a row in each table with rows of organizations. */
const fill = async (organization: string): Promise<void> => {
  const { world } = stage;
  const { services } = world.server.application;
  for (const { fact, table } of world.server.application.kernel.resources.values())
    if (table !== undefined) await stage.make(fact.name, { place: organization });
  const identityProvider = await registerProvider(world, provider, { parent: organization });
  const role = { externalGroupId: "team", roleUid: viewer, scope: organization };
  await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", { parent: identityProvider, externalGroupRoleMapping: role });
  await signIn(world, provider, identityProvider, { sub: "somebody", groups: ["team"] });
  await openBrowser().get(signInUrl(world, { idp_id: identityProvider }));
  const [[arrived] = []] = await query("select identity_uid from provider_arrivals where provider_uid = $1", [identityProvider]);
  const person = arrived ?? "";
  // SCIM state; SCIM is off, so it blocks no sign-in.
  await query(
    `insert into scim_users (uid, identity_provider_uid, external_id, identity_uid, active, user_name, document, create_time, update_time)
     values ($1 || '/0123456789abcdef', $1, 'somebody', $2, false, 'somebody', '{}', now(), now())`,
    [identityProvider, person ?? ""],
  );
  await query("insert into scim_removals (identity_provider_uid, external_id, identity_uid, remove_time) values ($1, 'gone', $2, now())", [
    identityProvider,
    person ?? "",
  ]);
  await query("insert into scim_arrivals (identity_provider_uid, external_id, identity_uid) values ($1, 'somebody', $2)", [identityProvider, person ?? ""]);
  await query(
    `insert into scim_groups (uid, identity_provider_uid, mapped_as, display_name, document, create_time, update_time)
     values ($1 || '/fedcba9876543210', $1, 'team', 'team', '{}', now(), now())`,
    [identityProvider],
  );
  await query("insert into scim_members (group_uid, user_uid) values ($1 || '/fedcba9876543210', $1 || '/0123456789abcdef')", [identityProvider]);
  const nowMs = world.clock.now;
  await services.store.write(async (rows) => {
    await openSession(rows, { identity: person, identityProvider, groups: ["team"], nowMs, untilMs: nowMs + 86_400_000 });
    const family = { identity: person, identityProvider, act: {}, email: undefined, audience: [], capabilities: undefined, scopes: undefined };
    await beginFamily(rows, family, nowMs);
    const session = { id: newSessionId(), identityUid: person, identityProviderUid: identityProvider, refreshTokenId: undefined, address: "192.0.2.7" };
    await beginSession(rows, { ...session, program: { kind: "device", program: "gantry" }, expireTimesMs: [nowMs + 86_400_000] }, nowMs);
    await insertAccessRequest(rows, organization, person ?? "", nowMs, nowMs);
  });
  // A user with a pending membership, and one who declined.
  const asked = await registerPerson(world.server.application.kernel, { issuer: "https://people.example.com", subject: newRoot(), email: "", name: "" });
  await query("insert into pending_memberships (organization_uid, identity_uid, create_time) values ($1, $2, now())", [organization, asked]);
  await query("insert into membership_declines (organization_uid, identity_uid, create_time) values ($1, $2, now())", [organization, callers.eve?.uid ?? ""]);
  const holder = await stage.holder(["repo.create"], organization);
  const request = { parent: organization, repo: { name: `repo-${freshKey()}` } };
  const repo = text(await world.ok("registry.ReposService/CreateRepo", request, { token: holder.token, headers: { "idempotency-key": freshKey() } }), "uid");
  const digest = `sha256:${"a".repeat(64)}`;
  await query("insert into ended_tags (tag_uid) select min(uid) from tags where uid like $1", [`${organization}/%`]);
  await query("insert into advisory_suppressions (uid, suppression) select min(uid), '{}' from authored_advisories where uid like $1", [`${organization}/%`]);
  await query("insert into tag_policies (organization, pattern, end_date) values ($1, 'never:.*', '2020-01-01')", [organization]);
  await query("insert into manifests (repo_uid, index_digest, digest, os, architecture, size_bytes) values ($1, $2, $2, 'linux', 'amd64', 1)", [repo, digest]);
  const [blob, pushed] = [`sha256:${freshKey()}`, `sha256:${"c".repeat(64)}`];
  await query("insert into blobs (sha256, size_bytes, key, create_time) values ($1, 1, $1, now())", [blob]);
  await query("insert into repo_blobs (repo_uid, sha256, create_time, lease_time) values ($1, $2, now(), now())", [repo, blob]);
  const manifest = "insert into repo_manifests (repo_uid, sha256, sha512, algorithm, media_type, content, size_bytes, artifact_type, subject, create_time)";
  await query(`${manifest} values ($1, $2, 'sha512:', 'sha256', 'type', '{}', 2, '', '', now())`, [repo, pushed]);
  await query("insert into manifest_blobs (repo_uid, sha256, blob) values ($1, $2, $3)", [repo, pushed, blob]);
  await query("insert into manifest_children (repo_uid, sha256, child) values ($1, $2, $3)", [repo, pushed, digest]);
  await query("insert into last_pulls (repo_uid, digest, tag, pull_count, pull_time) values ($1, $2, 'latest', 1, now())", [repo, pushed]);
  await query("insert into pull_days (repo_uid, day, digest, tag, pull_count) values ($1, '2026-04-30', $2, 'latest', 1)", [repo, pushed]);
  await query("insert into images_in_use (repo_uid, digest, tag, source, report_time, expire_time) values ($1, $2, '', 'cluster', now(), now())", [
    repo,
    pushed,
  ]);
  await query("insert into retention_runs (organization, due_time, piece_time) values ($1, now(), now())", [organization]);
  const pending = "insert into pending_repos (uid, group_uid, path, create_time, update_time)";
  await query(`${pending} values ($1 || '/' || $2, $1, 'path/' || $2, now(), now())`, [organization, freshKey()]);
  const upload = "insert into uploads (id, repo_uid, key, size_bytes, state, algorithm, hold_time, create_time, update_time)";
  await query(`${upload} values ($2, $1, $2, 0, '{}', '', now(), now(), now())`, [repo, freshKey()]);
  const image = "insert into image_packages (owner, repo, tag, architecture, packages, feed, digest, create_time, update_time)";
  await query(`${image} values ($1, 'image', 'latest', 'amd64', '{"openssl": "3"}', 'images', 'digest', now(), now())`, [organization]);
  const lifecycle = "insert into lifecycles (owner, feed, product, names, releases, grace_months, digest, create_time, update_time)";
  const releases = JSON.stringify([{ version: "1", releaseDate: "2026-01-01", end: "true", lts: "", latest: "", broken: false }]);
  await query(`${lifecycle} values ($1, 'lifecycle', 'image', '["image"]', $2, 6, 'digest', now(), now())`, [organization, releases]);
  const record = "insert into vulnerabilities (owner, id, state, summary, details, links, severities, aliases, hidden, feed, digest, create_time, update_time)";
  await query(`${record} values ($1, 'CVE-2026-1', 'PUBLISHED', '', '', '[]', '[]', '[]', false, 'osv', 'digest', now(), now())`, [organization]);
  await world.server.delivery.enqueue();
  await sealAudit(world);
  const report = "insert into pushed_reports (repo_uid, manifest_digest, digest, document_digest, create_time, try_time)";
  await query(`${report} values ($1, $2, $2, $2, now(), now() + interval '10 years')`, [repo, pushed]);
  // Above an image of the same organization that is its base.
  const layers =
    "insert into image_layers (uid, repo_uid, digest, platform, layers, chains, chain, packages, complete, claimed_name, claimed_digest, create_time)";
  await query(
    `${layers} select uid, repo_uid, digest, platform, '{one,two}', '{one,two}', 'two', '{}', true, '', '', now() from image_contents
    where repo_uid = $1 on conflict do nothing`,
    [repo],
  );
  await query("insert into unread_images (repo_uid, digest, owner, repo, tags) values ($1, $2, $3, 'app', '[]')", [repo, digest, organization]);
  const vex = "insert into vex_documents (repo_uid, manifest_digest, digest, document_digest, state, is_signed, create_time, try_time)";
  await query(`${vex} values ($1, $2, $2, $2, 'READ', false, now(), now())`, [repo, pushed]);
  const stated = "insert into vex_statements (repo_uid, digest, vulnerability, manifest_digest, document_digest, number, product, status, justification, note";
  await query(`${stated}, statement_time, product_digest, packages) values ($1, $2, 'CVE-2026-1', $2, $2, 0, 0, 'affected', '', '', now(), '', '[]')`, [
    repo,
    pushed,
  ]);
  const signed = "insert into vex_verifications (repo_uid, digest, manifest_digest, document_digest, source_uid)";
  await query(`${signed} select $1, $2, $2, $2, min(uid) from vex_sources where uid like $3`, [repo, pushed, `${organization}/%`]);
  const scan = "insert into vex_source_scans (source_uid, try_time) select min(uid), now() + interval '10 years' from vex_sources where uid like $1";
  await query(`${scan} on conflict (source_uid) do update set try_time = excluded.try_time`, [`${organization}/%`]);
  const found = "insert into vuln_reports (repo_uid, digest, scanner, tool, version, create_time, seen_time, document_digest, finding_count, severities";
  await query(
    `${found}, findings, raw, raw_bytes, manifest_digest) values ($1, $2, 'GRYPE', 'grype', '1', now(), now(), $2, 0, '{}', '\\x0300', '\\x0300', 0, '')`,
    [repo, digest],
  );
  await query("insert into repo_deployments (repo_uid, charts) values ($1, '[]')", [repo]);
  await query("insert into registry_settings (root_uid, unique_tags, eol_grace_period) values ($1, true, true)", [organization]);
  await query("insert into quotas (organization, name, value) values ($1, 'repos', 900)", [organization]);
  const acceptance = "insert into terms_acceptances (uid, doc_id, accepted_by, org_uid, create_time, update_time)";
  await query(`${acceptance} values ($1, 'rules.v1', $2, $3, now(), now())`, [newChild(organization), person ?? "", organization]);
};

before(async () => {
  database = await freshDatabase({ planted: true });
  const [own, below, foreign, listed, known] = await Promise.all([startIssuer(), startIssuer(), startIssuer(), startIssuer(), startIssuer()]);
  issuers = { own, below, foreign, listed, known };
  stage = await openStage({ DATABASE_URL: database.url, GANTRY_MAIL_ISSUERS: `${listed.url}=${domain}` });
  const { world } = stage;
  provider = await openProvider(() => world.clock.now);
  const { kernel } = world.server.application;
  victim = world.organization;
  const group = { uid: victim, name: domain, verified: true, kind: "ORG_KIND_CUSTOMER" };
  // Only the operator verifies domains.
  await world.ok("iam.GroupsService/UpdateGroup", { group, updateMask: "name,verified,kind" }, { token: await stage.operator() });
  const stranger = { name: "stranger.example", verified: true, kind: "ORG_KIND_CUSTOMER" };
  other = text(await world.ok("iam.GroupsService/CreateGroup", { group: stranger }), "uid");
  const folder = text(await stage.make(groupMessage, { parent: victim }), "uid");

  await createProvider(victim, own.url);
  await createProvider(text(await stage.make(groupMessage, { parent: victim }), "uid"), below.url);
  // The stranger names its own issuer and others' too; one issuer is named in the victim's organization only.
  for (const { url } of [own, foreign, listed, known]) await createProvider(other, url);
  idp = await registerProvider(world, provider, { parent: victim });

  const person = async (issuer: string, subject: string): Promise<Holder> => {
    const uid = await registerPerson(kernel, { issuer, subject, email: address, name: "" });
    return { uid, token: await world.token(uid) };
  };
  const [ann, vic, bea, eve] = [await person(own.url, "ann"), await person(own.url, "vic"), await person(foreign.url, "bea"), await person(known.url, "eve")];
  await stage.bind(victim, ann.uid, builtInRoleUid("owner"));
  await stage.bind(victim, vic.uid, viewer);
  await stage.bind(folder, bea.uid, viewer);
  await stage.bind(other, bea.uid, builtInRoleUid("owner"));
  await stage.bind(other, vic.uid, builtInRoleUid("owner"));
  const narrow = await stage.holder(["repo.list"], folder);
  const foreigner = await stage.holder(["groups.list"], other);
  callers = { ann, vic, bea, eve, narrow, foreigner };
  const claimMatch = { issuer: own.url, subject: "job" };
  program = text(await stage.make(identityMessage, { parent: victim, body: { claimMatch } }), "uid");
  await stage.bind(victim, program, viewer);
  await stage.bind(other, text(await stage.make(identityMessage, { parent: other, body: { claimMatch } }), "uid"), viewer);

  const claims = { aud: world.url, email: address, email_verified: true };
  const found: Record<string, { known: string; newcomer: string }> = {};
  for (const [name, issuer] of Object.entries(issuers)) {
    await person(issuer.url, "registered");
    found[name] = { known: await issuer.token({ ...claims, sub: "registered" }), newcomer: await issuer.token({ ...claims, sub: newRoot() }) };
  }
  tokens = { ...found, job: { known: await own.token({ ...claims, sub: "job" }), newcomer: await own.token({ ...claims, sub: "job" }) } };
  const invite = async (parent: string, email: string): Promise<string> =>
    text(await world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent, groupInvite: { roleUid: viewer, ttl: "86400s", email } }), "code");
  invites = {
    locked: await invite(victim, address),
    "locked below": await invite(folder, address),
    elsewhere: await invite(victim, "grace@victim.example"),
    open: await invite(victim, ""),
  };

  await fill(victim);
  await fill(other);
  const wanted = methods.filter(
    (method) => stage.answers(method) && !method.open && method.capabilities.length > 0 && !(method.writes && (method.credentials || !hasSafeWrites(method))),
  );
  const built = new Map<MethodFact, JsonObject>();
  for (const method of shareOf(wanted, 3)) {
    // All visible rows, not just the first page.
    const request = { ...(await stage.request(method, { place: folder })), ...(method.input.byName.has("page_size") ? { pageSize: 200 } : {}) };
    built.set(method, method.input.byName.has("uidp") && isList(method) ? { ...request, uidp: { descendantsOf: victim } } : request);
  }
  // The requests' resources have events too.
  await world.server.delivery.enqueue();
  requests = built;
  // A user who redeems an invite is a member from then on.
  await decide(1);
  // Readers of images have queued those of the rules.
  await query("insert into sbom_rule_progress (uid) select uid from sbom_rules on conflict do nothing");
});
after(async () => {
  await Promise.all([stage?.close(), provider?.close(), ...Object.values(issuers ?? {}).map((issuer) => issuer.close())]);
  await database?.drop();
});

/** Every decision by its description: a status code, and the visible rows. */
type Decisions = ReadonlyMap<string, { readonly code: number; readonly shown: readonly string[] }>;

const rehearse = async (name: string, request: JsonObject, token: string, headers: Readonly<Record<string, string>> = {}) =>
  stage.world.call(name, request, { token, headers, validateOnly: true });

/** Returns the visible form of a row. Redeeming an invite again creates an equal role binding with another uid. */
const seenAs = (row: JsonObject): string =>
  isObject(row.identity) && isObject(row.role) ? ["group", "identity", "role"].map((each) => text(part(row, each), "uid")).join(" ") : text(row, "uid");

/** The share of callers' requests sent per round, since refusals above a rate take a second each. */
const shares = shortOrLong(8, 4);
/** The same for holders of issuers' tokens. */
const issuerShares = shortOrLong(6, 1);
let round = 0;

const decide = async (share = shares): Promise<Decisions> => {
  round++;
  const { world } = stage;
  // Time for the rate limits to refill.
  world.clock.now += 5_000;
  const decisions = new Map<string, { code: number; shown: readonly string[] }>();
  const note = async (
    what: string,
    answered: Promise<{ readonly code: number; readonly reply: JsonObject }>,
    shown: (reply: JsonObject) => string[] = () => [],
  ) => {
    const { code, reply } = await answered;
    assert.ok(code !== codes.RESOURCE_EXHAUSTED && code !== codes.INTERNAL && code !== codes.UNAVAILABLE, `${what}: ${code}`);
    decisions.set(what, { code, shown: code === 0 ? shown(reply) : [] });
  };
  const asIssuers = async (name: string): Promise<void> => {
    const { known, newcomer } = tokens[name] ?? assert.fail();
    for (const [invite, code] of Object.entries(invites)) {
      // It has no dry run; a repeat by the same user changes nothing and gets the same decision.
      await note(`${name}: a newcomer takes the invite ${invite}`, world.call(register, { code }, { token: newcomer }));
      await note(`${name}: who is registered takes the invite ${invite}`, world.call(register, { code }, { token: known }));
    }
    await note(`${name}: finds the group`, world.call("iam.GroupsService/LookupGroup", {}, { token: known }), (reply) => [JSON.stringify(reply)]);
    await note(`${name}: asks for access`, rehearse("iam.GroupsService/RequestGroupAccess", { groupUid: victim }, known));
    await note(`${name}: is eligible`, world.call("iam.GroupsService/CheckEligibility", {}, { token: known }), (reply) => [JSON.stringify(reply)]);
    for (const identity of ["", program]) {
      const exchange = { aud: [world.url], ...(identity ? { identity } : {}) };
      await note(
        `${name}: exchanges a token for ${identity || "the person"}`,
        world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", exchange, { token: known }),
      );
      const headers: Record<string, string> = identity ? { "gantry-identity": identity } : {};
      const list = { uidp: { descendantsOf: victim } };
      await note(`${name}: lists groups as ${identity || "the person"}`, world.call("iam.GroupsService/ListGroups", list, { token: known, headers }), (reply) =>
        ((reply.groups ?? []) as JsonObject[]).map((group) => text(group, "uid")),
      );
    }
  };
  const asCaller = async (name: string): Promise<void> => {
    const { token } = callers[name] ?? assert.fail();
    for (const [method, request] of [...requests].filter((_, index) => index % share === round % share))
      await note(`${name}: ${method.name}`, method.writes ? rehearse(method.name, request, token) : world.call(method.name, request, { token }), (reply) =>
        isList(method) && isMade(method) ? recordsOf(method, reply).map(seenAs).sort() : [],
      );
    for (const [seen, { uid }] of Object.entries(callers))
      await note(`${name}: sees ${seen}`, world.call("iam.IdentitiesService/GetIdentity", { uid }, { token }));
  };
  const throughProvider = async (): Promise<void> => {
    // A deleted provider is looked up through a page.
    const { status: begun } = await openBrowser().get(signInUrl(world, { idp_id: idp }));
    const { token, status } = begun === 400 ? { token: "", status: begun } : await signIn(world, provider, idp, { sub: "regular" });
    decisions.set("somebody signs in through the provider", { code: token === "" ? Number(status) : 0, shown: [] });
  };
  const asked = Object.keys(tokens).filter((_, index) => index % Math.min(share, issuerShares) === round % Math.min(share, issuerShares));
  await Promise.all([...asked.map(asIssuers), ...Object.keys(callers).map(asCaller), throughProvider()]);
  return decisions;
};

interface Table {
  readonly name: string;
  /** A SQL key of its rows. */
  readonly key: string;
  /** Another table's rows are refused before it has theirs. */
  readonly isFirst: boolean;
}

const findTables = async (): Promise<Table[]> => {
  const found = await query(
    `select relname, coalesce((select string_agg(format('%I::text', attname), $1 order by attnum) from pg_index join pg_attribute
       on attrelid = indrelid and attnum = any(indkey) where indrelid = pg_class.oid and indisprimary), 't::text'),
       exists (select from pg_constraint where confrelid = pg_class.oid and contype = 'f' and not condeferrable)
     from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'told_rows' order by relname`,
    [" || ' ' || "],
  );
  return found.map(([name, key, isFirst]) => ({ name: name ?? "", key: key ?? "", isFirst: isFirst === "t" }));
};

/** Returns keys of the rows that name one organization and not the other. */
const rowsOf = async ({ name, key }: Table, one: string, without: string): Promise<string[]> =>
  (await query(`select ${key} from ${name} as t where t::text like $1 and t::text not like $2 order by 1`, [`%${one}%`, `%${without}%`])).map(
    ([row]) => row ?? "",
  );

const keepRows = async (tables: readonly Table[]): Promise<void> => {
  await query("drop schema if exists kept cascade");
  await query("create schema kept");
  for (const { name } of tables) await query(`create table kept.${name} as table public.${name}`);
};

const restoreRows = async (tables: readonly Table[]): Promise<void> => {
  const ordered = tables.toSorted((one, other) => Number(other.isFirst) - Number(one.isFirst));
  await query(`do $$
    declare
      each text;
      named text;
    begin
      set constraints all deferred;
      foreach each in array array[${ordered.map(({ name }) => `'${name}'`).join()}] loop
        select string_agg(quote_ident(attname), ',') into named from pg_attribute
        where attrelid = ('public.' || each)::regclass and attnum > 0 and not attisdropped and attgenerated = '';
        execute format('insert into public.%I (%s) overriding system value select %s from kept.%I as k
          where not exists (select from public.%I as t where t::text = k::text) on conflict do nothing', each, named, named, each, each);
      end loop;
    end $$`);
};

const sampleOf = <T>(list: readonly T[], count: number, random: () => number): T[] => {
  const left = [...list];
  return Array.from({ length: Math.min(count, list.length) }, () => left.splice(Math.floor(random() * left.length), 1)).flat();
};

/** Deletes an organization's rows one at a time, with cascades, and restores each. */
const withoutEach = async (one: string, without: string, count: number, compare: (what: string, now: Decisions) => void): Promise<void> => {
  const tables = await findTables();
  await keepRows(tables);
  const random = randomNumbers();
  const owned = tables.filter(({ name }) => nobodys[name] === undefined && !queues.includes(name));
  const inThisRun = new Set(shareOf(owned, 4));
  for (const table of owned) {
    const rows = await rowsOf(table, one, without);
    assert.ok(rows.length > 0, `${table.name} has no row of the organization: make one in fill, or say whose its rows are`);
    const providers = table.name === "identity_providers";
    for (const row of sampleOf(rows, providers ? rows.length : inThisRun.has(table) ? count : 0, random)) {
      // Rows that foreign keys protect.
      if (table.name === "repo_blobs") await query("delete from manifest_blobs");
      const gone = await query(`delete from ${table.name} as t where ${table.key} = $1 returning 1`, [row]);
      assert.equal(gone.length, 1, `${table.name} ${row}`);
      compare(`without ${row} of ${table.name}`, await decide());
      await restoreRows(tables);
    }
  }
};

test("every table has rows of organizations, or a listed owner", async () => {
  for (const table of await findTables()) {
    if (queues.includes(table.name)) continue;
    const [ours, theirs] = [await rowsOf(table, victim, other), await rowsOf(table, other, victim)];
    assert.equal(ours.length + theirs.length > 0, nobodys[table.name] === undefined, table.name);
  }
});

test("attack 66: deleting any row of another organization changes no decision in this one", async () => {
  const first = await decide(1);
  for (const [name, invite, code] of [
    ["own", "locked", 0],
    ["own", "elsewhere", codes.PERMISSION_DENIED],
    ["listed", "locked below", 0],
    ["below", "locked", codes.PERMISSION_DENIED],
    ["foreign", "locked", codes.PERMISSION_DENIED],
    ["known", "locked", codes.PERMISSION_DENIED],
    ["known", "open", 0],
  ] as const)
    for (const who of ["a newcomer", "who is registered"])
      assert.equal(first.get(`${name}: ${who} takes the invite ${invite}`)?.code, code, `${name} ${who} ${invite}`);
  const codesFound = [...first.values()].map(({ code }) => code);
  assert.ok(codesFound.filter((code) => code === 0).length > 100 && codesFound.filter((code) => code === codes.PERMISSION_DENIED).length > 100);
  const differing: string[] = [];
  await withoutEach(other, victim, rowsTried, (what, now) => {
    for (const [decision, is] of now) {
      const held = first.get(decision);
      // One is a member of the other organization, and users bound in both are decided in either.
      if (decision.includes("foreigner") || /^(?:bea|vic): sees /.test(decision)) continue;
      if (JSON.stringify(is) !== JSON.stringify(held)) differing.push(`${what}, ${decision}: ${JSON.stringify(held)} is ${JSON.stringify(is)}`);
    }
  });
  assert.deepEqual(differing, []);
});

test("attack 63: a refused caller who deletes their own rows stays refused and sees nothing more", async () => {
  const first = await decide(1);
  const wider: string[] = [];
  await withoutEach(victim, other, rowsTried, (what, now) => {
    for (const [decision, { code, shown }] of now) {
      const held = first.get(decision) ?? assert.fail(decision);
      if ((code === 0 && held.code !== 0) || (held.code === 0 && shown.some((uid) => !held.shown.includes(uid))))
        wider.push(`${what}, ${decision}: ${held.code} is ${code}`);
    }
  });
  assert.deepEqual(wider, []);
  assert.deepEqual(await decide(1), first, "everything has been put back");
});
