// Attack 55: one organization that fills the server. Each counted resource has a quota per organization, exact across all servers.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { importRegistry } from "#advisories/feeds";
import { isObject, type JsonObject, objectList, text } from "#base/json.ts";
import { type Log, silent } from "#base/log.ts";
import { newChild } from "#base/uid.ts";
import { organizationQuotas } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import { resources } from "../../server/application/resources.ts";
import { asOwner, ownerUrlOf } from "../database.ts";
import { type Answer, callOver } from "../client.ts";
import { folder, freshKey, openStage, protocols, type Stage } from "../conformance/stage.ts";
import { fc, runs } from "../property.ts";
import { createOf } from "../samples.ts";
import { openInstallation, type Installation } from "../story/installation.ts";
import { gantry } from "../story/processes.ts";
import { openOwners } from "../owner.ts";
import { plant } from "../told.ts";
import { changeQuota, listQuotas } from "../../server/application/quotas.ts";

let installation: Installation;
let stage: Stage;

before(async () => {
  installation = await openInstallation();
  const { DATABASE_URL = "", GANTRY_SECRET_KEY_FILE = "", GANTRY_PUBLIC_URL = "" } = installation.environment;
  stage = await openStage({ DATABASE_URL, GANTRY_SECRET_KEY_FILE, GANTRY_PUBLIC_URL });
});
after(async () => {
  await stage?.close();
  await installation?.close();
});

/** All counted resources, including those created only over SCIM (scim.test.ts). */
const countedTables = resources.flatMap(({ fact, table, ownTable }) => (fact.resource?.counted ? [table ?? ownTable ?? assert.fail(fact.name)] : []));

const counted = resources.flatMap(({ fact, table }) => {
  const create = createOf(fact.name);
  return fact.resource?.counted && table !== undefined && create ? [{ table, create, name: table.replaceAll("_", "-"), message: fact.name }] : [];
});
type Counted = (typeof counted)[number];

const resourceExhausted = 8;

const options = (): Parameters<typeof changeQuota>[0] => ({
  settings: {
    databaseUrl: installation.world.databaseUrl,
    migrateUrl: ownerUrlOf(installation.world.databaseUrl),
    dataDirectory: tmpdir(),
    auditMonths: 13,
  },
  publicUrl: installation.world.url,
  log: silent as Log,
  progress: () => {},
});

/** Sets a quota as `gantry admin quota` does; undefined removes it. */
const setQuota = (name: string, value: number | undefined, organization?: string): Promise<void> => changeQuota(options(), { name, value, organization });

const rowsIn = async (organization: string, table: string): Promise<number> =>
  Number((await stage.query(`select count(*) from ${table} where uid like $1 || '/%'`, [organization]))[0]?.[0]);

/** Returns the row counts and the stored counts, by organization and table, without zeros. */
const countsAndRows = async (): Promise<{ counts: readonly string[]; rows: readonly string[] }> => {
  const told = (found: readonly (readonly (string | null)[])[]): string[] => found.map((row) => row.join(" "));
  return {
    counts: told(
      await stage.query("select organization, resource, sum(row_count) as n from resource_counts group by 1, 2 having sum(row_count) <> 0 order by 1, 2"),
    ),
    rows: told(
      await stage.query(
        `${countedTables
          .map((table) => `select left(uid, 40) as organization, '${table}' collate "C" as resource, count(*) from ${table} where length(uid) > 40 group by 1`)
          .join(" union all ")} order by 1, 2`,
      ),
    ),
  };
};

const newOrganization = async (): Promise<string> => text(await stage.make("chainguard.platform.iam.v2.Group", { parent: "" }), "uid");

const details = (answer: Answer, type: string): JsonObject[] => answer.details.filter((detail) => text(detail, "@type").endsWith(type));

const refusedFor = async (limited: Counted, organization: string, protocol: (typeof protocols)[number] = "rest"): Promise<Answer> => {
  const request = await stage.request(limited.create, { place: organization });
  return stage.call(protocol, limited.create, request, { token: await stage.operator() });
};

test("the contract counts exactly the resources with quotas in base/limits.ts", () => {
  assert.deepEqual(countedTables.map((table) => table.replaceAll("_", "-")).sort(), Object.keys(organizationQuotas).sort());
});

for (const limited of counted) {
  test(`attack 55: of 40 ${limited.name} created concurrently over two servers, exactly as many as fit succeed`, async () => {
    const organization = await newOrganization();
    const requests: JsonObject[] = [];
    for (let index = 0; index < 40; index++) requests.push(await stage.request(limited.create, { place: organization }));
    const there = await rowsIn(organization, limited.table);
    await setQuota(limited.name, there + 25, organization);
    const token = await stage.operator();
    const answers = await Promise.all(
      requests.map((request, index) => {
        const { url } = [stage.world, installation.world][index % 2] ?? stage.world;
        return callOver(protocols[(index >> 1) % 2] ?? "rest", url, limited.create.name, request, { token });
      }),
    );
    assert.deepEqual(
      answers.filter(({ code }) => code !== 0 && code !== resourceExhausted).map(({ message }) => message),
      [],
    );
    assert.equal(answers.filter(({ code }) => code === 0).length, 25);
    assert.equal(await rowsIn(organization, limited.table), there + 25);
  });

  test(`attack 55: the error for ${limited.name} names the quota, its value, the organization and its contact, and is not retryable`, async () => {
    const organization = await newOrganization();
    for (const protocol of protocols) {
      const request = await stage.request(limited.create, { place: organization });
      const there = await rowsIn(organization, limited.table);
      await setQuota(limited.name, there, organization);
      const answer = await stage.call(protocol, limited.create, request, { token: await stage.operator() });
      assert.equal(answer.code, resourceExhausted);
      assert.equal(
        answer.message,
        `the organization ${organization} has reached its limit of ${there} ${limited.name.replaceAll("-", " ")} (quota ${limited.name}): ` +
          "delete some, or ask the operator of the server to raise it with gantry admin quota",
      );
      const [failure] = details(answer, "google.rpc.QuotaFailure");
      const violations = failure && Array.isArray(failure.violations) ? failure.violations.filter(isObject) : [];
      assert.deepEqual(
        violations.map(({ subject, description }) => [subject, description]),
        [[`organization:${organization}`, `${limited.name}: at most ${there} in one organization`]],
      );
      assert.deepEqual(details(answer, "google.rpc.RetryInfo"), []);
      assert.deepEqual([answer.headers["retry-after"], answer.headers.ratelimit], [undefined, undefined]);
      if (protocol === "rest") assert.equal(answer.status, 429);
      await setQuota(limited.name, undefined, organization);
    }
  });

  test(`attack 55: a full organization blocks no other from ${limited.name}, and the server's quota applies to each organization`, async () => {
    const [full, other] = [await newOrganization(), await newOrganization()];
    const [fullRequests, otherRequests]: [JsonObject[], JsonObject[]] = [[], []];
    for (let index = 0; index < 3; index++) {
      fullRequests.push(await stage.request(limited.create, { place: full }));
      otherRequests.push(await stage.request(limited.create, { place: other }));
    }
    const there = await rowsIn(full, limited.table);
    const token = await stage.operator();
    const make = async (requests: JsonObject[]): Promise<number> => (await stage.call("rest", limited.create, requests.pop() ?? {}, { token })).code;
    await setQuota(limited.name, there, full);
    assert.deepEqual([await make(fullRequests), await make(otherRequests)], [resourceExhausted, 0]);
    try {
      await setQuota(limited.name, 0);
      await setQuota(limited.name, there + 1, full);
      assert.deepEqual([await make(fullRequests), await make(otherRequests)], [0, resourceExhausted], "the server's is whose who has no own");
      await setQuota(limited.name, undefined, full);
      assert.deepEqual([await make(fullRequests), await make(otherRequests)], [resourceExhausted, resourceExhausted], "the server's is everybody's");
    } finally {
      await setQuota(limited.name, undefined);
    }
  });
}

const createRepos = async (parent: string, count: number): Promise<Answer[]> => {
  const token = await stage.operator();
  return Promise.all(
    Array.from({ length: count }, () =>
      callOver("rest", stage.world.url, "chainguard.platform.registry.v2.ReposService/CreateRepo", { parent, repo: { name: `repo-${freshKey()}` } }, { token }),
    ),
  );
};
const made = (answers: readonly Answer[]): number => answers.filter(({ code }) => code === 0).length;

test("attack 55: each deletion frees a slot, and a deleted tree frees those of all its content", async () => {
  const organization = await newOrganization();
  await setQuota("repos", 3, organization);
  const answers = await createRepos(organization, 5);
  assert.equal(made(answers), 3);
  const [first] = answers.filter(({ code }) => code === 0);
  await stage.world.ok("registry.ReposService/DeleteRepo", { uid: text(first?.reply ?? {}, "uid") });
  assert.equal(made(await createRepos(organization, 2)), 1);

  const team = await folder(stage, organization);
  const subscription = counted.find(({ name }) => name === "subscriptions");
  assert.ok(subscription);
  await setQuota("subscriptions", 2, organization);
  for (let index = 0; index < 2; index++) await stage.make(subscription.message, { parent: team });
  assert.equal((await refusedFor(subscription, organization)).code, resourceExhausted);
  await stage.world.ok("iam.GroupsService/DeleteGroup", { uid: team });
  assert.equal((await refusedFor(subscription, organization)).code, 0);
  const { counts, rows } = await countsAndRows();
  assert.deepEqual(counts, rows);
});

test("attack 55: a quota below current use refuses creates, and still allows reads, updates and deletes", async () => {
  const organization = await newOrganization();
  const uids = (await createRepos(organization, 3)).map(({ reply }) => text(reply, "uid"));
  await setQuota("repos", 1, organization);
  assert.equal(made(await createRepos(organization, 1)), 0);
  const [first = ""] = uids;
  assert.equal((await stage.world.call("registry.ReposService/GetRepo", { uid: first })).code, 0);
  assert.equal(
    (await stage.world.call("registry.ReposService/UpdateRepo", { repo: { uid: first, description: "changed" }, updateMask: "description" })).code,
    0,
  );
  for (const uid of uids) assert.equal((await stage.world.call("registry.ReposService/DeleteRepo", { uid })).code, 0);
  assert.equal(made(await createRepos(organization, 2)), 1);
});

test("attack 55: a changed quota applies to the next request, whatever was left before", async () => {
  const organization = await newOrganization();
  assert.equal(made(await createRepos(organization, 20)), 20);
  await setQuota("repos", 20, organization);
  assert.equal(made(await createRepos(organization, 3)), 0);
  await setQuota("repos", 22, organization);
  assert.equal(made(await createRepos(organization, 3)), 2);
  await setQuota("repos", undefined, organization);
  assert.equal(made(await createRepos(organization, 3)), 3);
});

test("attack 55: a quota large enough for per-server shares is still exact with forty concurrent requests", async () => {
  const organization = await newOrganization();
  const near = 1_500;
  await asOwner(
    stage.world.databaseUrl,
    `with off as materialized (select set_config('gantry.untold', 'on', true))
     insert into repos (uid, name, create_time, update_time)
     select $1 || '/' || lpad(to_hex(n), 16, '0'), 'planted-' || n, now(), now() from off, generate_series(1, ${near}) as n`,
    [organization],
  );
  await setQuota("repos", near + 900, organization);
  let more = 0;
  for (let round = 0; round < 23; round++) {
    const answers = await Promise.all([
      createRepos(organization, 20),
      Promise.all(
        Array.from({ length: 20 }, async () =>
          installation.world.call("registry.ReposService/CreateRepo", { parent: organization, repo: { name: `repo-${freshKey()}` } }),
        ),
      ),
    ]);
    const codes = new Set(answers.flat().map(({ code }) => code));
    assert.deepEqual(
      [...codes].filter((code) => code !== 0 && code !== resourceExhausted),
      [],
    );
    more += made(answers.flat());
    if (round === 0) {
      const [[grants] = []] = await stage.query("select sum(granted) from resource_counts where organization = $1 and resource = 'repos'", [organization]);
      assert.ok(Number(grants) > 0, "nothing was granted");
    }
  }
  assert.equal(more, 900);
  assert.equal(await rowsIn(organization, "repos"), near + 900);
});

test("attack 55: a batch is created completely or not at all, and a dry run uses no quota", async () => {
  const organization = await newOrganization();
  const identities: string[] = [];
  for (let index = 0; index < 5; index++) identities.push((await stage.stranger(organization)).uid);
  const { roleUid } = (await stage.request(methods.find(({ rpc }) => rpc === "CreateRoleBinding") ?? assert.fail(), { place: organization }))
    .roleBinding as JsonObject;
  const there = await rowsIn(organization, "role_bindings");
  const batch = (uids: readonly string[], validateOnly = false): Promise<Answer> =>
    stage.world.call(
      "iam.RoleBindingsService/BatchCreateRoleBindings",
      { parent: organization, requests: uids.map((identityUid) => ({ roleBinding: { identityUid, roleUid: String(roleUid) } })) },
      { validateOnly },
    );
  await setQuota("role-bindings", there + 3, organization);
  assert.equal((await batch(identities)).code, resourceExhausted);
  assert.equal((await batch(identities, true)).code, resourceExhausted);
  assert.equal(await rowsIn(organization, "role_bindings"), there);
  for (let time = 0; time < 3; time++) assert.equal((await batch(identities.slice(0, 3), true)).code, 0);
  assert.equal((await batch(identities.slice(0, 3))).code, 0);
  assert.equal(await rowsIn(organization, "role_bindings"), there + 3);
});

test("attack 55: an import respects the quota, file by file", async () => {
  const organization = await newOrganization();
  await setQuota("repos", 2, organization);
  const source = await mkdtemp(join(tmpdir(), "gantry-quotas-"));
  try {
    for (const name of ["a", "b", "c", "d"]) await writeFile(join(source, `${name}.json`), JSON.stringify({ repo: name, tags: [] }));
    const summary = await importRegistry(stage.world.server.application.kernel, { group: organization, sources: [source], progress: () => {} });
    assert.deepEqual(
      summary.refused.map((line) => line.slice(0, 6)),
      ["c.json", "d.json"],
    );
    assert.match(summary.refused[0] ?? "", /quota repos/);
    assert.equal(await rowsIn(organization, "repos"), 2);
  } finally {
    await rm(source, { recursive: true });
  }
});

test("attack 55: rows inserted past the API are counted, and a deleted organization leaves no counts", async () => {
  const organization = await newOrganization();
  const uid = newChild(organization);
  await stage.world.server.application.services.store.write(async (rows) =>
    (await plant(rows)).query("insert into repos (uid, name, create_time, update_time) values ($1, 'planted', now(), now())", [uid]),
  );
  await setQuota("repos", 1, organization);
  assert.equal(made(await createRepos(organization, 1)), 0);
  // As the operator: an owner would be an identity of the organization, which counts too.
  await stage.operatorWorld.ok("registry.ReposService/DeleteRepo", { uid });
  await stage.operatorWorld.ok("iam.GroupsService/DeleteGroup", { uid: organization });
  assert.deepEqual(await stage.query("select * from resource_counts where organization = $1", [organization]), []);
});

test("counts equal the rows after concurrent creates, refusals, dry runs and deletes on any server", async () => {
  const organization = await newOrganization();
  const places = [organization, await folder(stage, organization), await folder(stage, organization)];
  const uids: { readonly remove: string; readonly uid: string }[] = [];
  const step = fc.record({
    what: fc.constantFrom(...counted),
    place: fc.nat({ max: places.length - 1 }),
    act: fc.constantFrom("create", "create", "create", "rehearse", "delete", "quota"),
    pick: fc.nat(),
    server: fc.nat({ max: 1 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
      const token = await stage.operator();
      await Promise.all(
        steps.map(async ({ what, place, act, pick, server }) => {
          const { url } = [stage.world, installation.world][server] ?? stage.world;
          if (act === "quota") return setQuota(what.name, pick % 60, organization);
          if (act === "delete") {
            const [gone] = uids.length > 0 ? uids.splice(pick % uids.length, 1) : [];
            return gone && void (await callOver("rest", url, gone.remove, { uid: gone.uid }, { token }));
          }
          // If a prerequisite of the request has no room either, skip it.
          const request = await stage.request(what.create, { place: places[place] ?? organization }).catch(() => undefined);
          if (!request) return;
          const { code, reply } = await callOver("rest", url, what.create.name, request, { token, validateOnly: act === "rehearse" });
          if (code === 0 && act === "create") uids.push({ remove: what.create.name.replace("/Create", "/Delete"), uid: text(reply, "uid") });
        }),
      );
      const { counts, rows } = await countsAndRows();
      assert.deepEqual(counts, rows);
    }),
    { numRuns: runs(12) },
  );
  for (const { name } of counted) await setQuota(name, undefined, organization);
});

test("gantry admin quota list shows defaults, values for the server and an organization, and usage", async () => {
  const organization = await newOrganization();
  await createRepos(organization, 2);
  await setQuota("repos", 7, organization);
  await setQuota("subscriptions", 77);
  const states = new Map((await listQuotas(options(), organization)).map((state) => [state.name, state]));
  assert.deepEqual(states.get("repos"), { name: "repos", byDefault: organizationQuotas.repos, ofServer: undefined, ofOrganization: 7, used: 2 });
  assert.deepEqual([states.get("subscriptions")?.ofServer, states.get("subscriptions")?.ofOrganization], [77, undefined]);
  assert.equal(states.get("identity-requests")?.used, undefined);
  await setQuota("subscriptions", undefined);
});

const quotasService = "gantry.organizations.v1.QuotasService/GetQuotas";

const quotasSeen = async (uid: string, token: string): Promise<ReadonlyMap<string, JsonObject>> => {
  const answers = await Promise.all(protocols.map((protocol) => callOver(protocol, stage.world.url, quotasService, { uid }, { token })));
  const [rest = assert.fail(), grpc = assert.fail()] = answers;
  assert.deepEqual([rest.code, grpc.code], [0, 0], rest.message);
  const byName = (answer: Answer): Map<string, JsonObject> => new Map(objectList(answer.reply, "quotas").map((each) => [text(each, "name"), each]));
  assert.deepEqual([...byName(rest).keys()], [...byName(grpc).keys()]);
  return byName(rest);
};

test("an owner sees each quota with the value in force, and as many resources as the organization has", async () => {
  const organization = await newOrganization();
  for (const { create } of counted) await stage.call("rest", create, await stage.request(create, { place: organization }), { token: await stage.operator() });
  await setQuota("repos", 1234, organization);
  await setQuota("scim-writes", 77);
  const owners = openOwners(stage.world);
  const seen = await quotasSeen(organization, await owners.token(organization));
  const listed = await listQuotas(options(), organization);
  assert.deepEqual([...seen.keys()], listed.map(({ name }) => name).sort());
  for (const { name, byDefault, ofServer, ofOrganization, used } of listed) {
    const quota = seen.get(name) ?? assert.fail(name);
    assert.equal(Number(quota.limit), ofOrganization ?? ofServer ?? byDefault, name);
    assert.equal(quota.used === undefined ? undefined : Number(quota.used), used, name);
    assert.equal(quota.rate, used === undefined, name);
  }
  for (const { name, table } of counted) assert.equal(Number(seen.get(name)?.used), await rowsIn(organization, table), name);
  const env = { GANTRY_SERVER: stage.world.url, GANTRY_TOKEN: await owners.token(organization) };
  const { stdout } = await gantry(["iam", "quotas", "get", organization], { env });
  assert.match(stdout, /^NAME {2,}LIMIT {2,}USED {2,}RATE\nblob-bytes {2,}100000000000000 /);
  assert.match(stdout, /^repos {2,}1234 {2,}\d+ {2,}false$/m);
  await setQuota("scim-writes", undefined);
});

test("a caller sees how many resources an organization has only if they can list them in the whole organization", async () => {
  const organization = await newOrganization();
  const team = text(await stage.make("chainguard.platform.iam.v2.Group", { place: organization }), "uid");
  const owners = openOwners(stage.world);
  const owner = owners.world(organization);
  const bound = async (place: string, capabilities: readonly string[]): Promise<string> => {
    const claimMatch = { issuer: "https://issuer.example.com", subject: `reader of ${place}` };
    const identityUid = text(await owner.ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity: { name: "reader", claimMatch } }), "uid");
    const role = await owner.ok("iam.RolesService/CreateRole", {
      parent: organization,
      role: { name: `reader ${capabilities.length}`, capabilities: [...capabilities] },
    });
    await owner.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding: { identityUid, roleUid: text(role, "uid") } });
    return stage.world.token(identityUid);
  };
  const usedBy = (seen: ReadonlyMap<string, JsonObject>): string[] => [...seen].flatMap(([name, { used }]) => (used === undefined ? [] : [name]));
  const everywhere = await bound(organization, ["CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST"]);
  assert.deepEqual(usedBy(await quotasSeen(team, everywhere)), ["blob-bytes", "groups", "repos"]);
  const inOneGroup = await bound(team, ["CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST", "CAP_IAM_IDENTITY_LIST"]);
  assert.deepEqual(usedBy(await quotasSeen(team, inOneGroup)), []);
  const above = await callOver("rest", stage.world.url, quotasService, { uid: organization }, { token: inOneGroup });
  const foreign = await callOver("rest", stage.world.url, quotasService, { uid: await newOrganization() }, { token: everywhere });
  const missing = await callOver("rest", stage.world.url, quotasService, { uid: "0".repeat(40) }, { token: everywhere });
  const told = ({ code, message }: Answer): string => `${code} ${message.replaceAll(/[0-9a-f]{40}/g, "UID")}`;
  assert.notEqual(foreign.code, 0);
  assert.deepEqual([told(above), told(missing)], [told(foreign), told(foreign)]);
});
