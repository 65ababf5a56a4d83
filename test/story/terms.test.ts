// Documents that an organization accepts, and operations that require their acceptance.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { termsOf } from "#kernel";
import { readSettings } from "#application";
import { openWorld, type World } from "../world.ts";

const protocols = ["rest", "grpc"] as const;
const accept = "iam.TermsService/AcceptTerms";
const list = "iam.TermsService/ListTermsAcceptances";
const rules = { id: "general-rules.v1", label: "General rules", url: "https://example.com/rules" };
const privacy = { id: "privacy.v2", label: "Privacy", url: "https://example.com/privacy" };

let folder: string;
let world: World;
let organization: string;

const fileOf = async (content: unknown): Promise<string> => {
  const file = join(folder, `${crypto.randomUUID()}.json`);
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-terms-"));
  const requires = {
    "chainguard.platform.registry.v2.ReposService/CreateRepo": [rules.id, privacy.id],
    "chainguard.platform.registry.v2beta1.ReposService/GetRepo": [rules.id],
  };
  world = await openWorld({ GANTRY_TERMS_FILE: await fileOf({ documents: [rules, privacy, { id: "other.v1" }], requires }) });
  organization = world.organization;
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

const newGroup = async (parent = organization): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "terms" } }), "uid");

const accepted = async (group: string, request: JsonObject = {}): Promise<JsonObject[]> => {
  const { termsAcceptances = [] } = await world.ok(list, { group, ...request });
  return termsAcceptances as JsonObject[];
};

for (const protocol of protocols) {
  test(`over ${protocol} accepting emits one event and is idempotent: user and time stay unchanged`, async () => {
    const group = await newGroup();
    const request = { group, documentIds: [rules.id, "other.v1"] };
    const before = (await world.events()).length;
    assert.deepEqual(await world.ok(accept, request, { protocol }), request);
    const first = await accepted(group);
    world.clock.now += 1000;
    assert.deepEqual(await world.ok(accept, request, { protocol }), request);
    assert.deepEqual(await accepted(group), first);
    const told = (await world.events()).slice(before);
    assert.deepEqual(
      told.map(({ type, subject, group: place, body }) => [type, subject, place, body]),
      [["dev.chainguard.api.iam.terms.accepted.v1", group, group, request]],
    );
    const { subject: operator } = await world.ok("chainguard.platform.auth.Auth/Validate", {});
    assert.deepEqual(
      first.map(({ docId, acceptedBy, orgUid }) => [docId, acceptedBy, orgUid]).sort(),
      [
        [rules.id, operator, group],
        ["other.v1", operator, group],
      ].sort(),
    );
    for (const { createTime } of first) assert.equal(createTime, new Date(world.clock.now - 1000).toISOString());
    // A new document among old ones is a change.
    await world.ok(accept, { group, documentIds: [rules.id, privacy.id] }, { protocol });
    assert.equal((await accepted(group)).length, 3);
  });

  test(`over ${protocol} an unknown document is refused by its index, and an unknown group is NOT_FOUND`, async () => {
    const group = await newGroup();
    const { code, details } = await world.call(accept, { group, documentIds: [rules.id, "unknown.v1"] }, { protocol });
    assert.equal(code, codes.INVALID_ARGUMENT);
    assert.match(JSON.stringify(details), /documentIds\[1\]/);
    assert.deepEqual(await accepted(group), []);
    const absent = `${organization}/${"0".repeat(16)}`;
    assert.equal((await world.call(accept, { group: absent, documentIds: [rules.id] }, { protocol })).code, codes.NOT_FOUND);
    assert.equal((await world.call(list, { group: absent }, { protocol })).code, codes.NOT_FOUND);
  });

  test(`over ${protocol} an operation names the missing documents until its group or one above has accepted them`, async () => {
    const above = await newGroup();
    const group = await newGroup(above);
    const create = () => world.call("registry.ReposService/CreateRepo", { parent: group, repo: { name: `repo-${protocol}` } }, { protocol });
    const missing = async (): Promise<unknown> => {
      const { code, message, details, status } = await create();
      assert.equal(code, codes.FAILED_PRECONDITION);
      assert.equal(message, "terms not accepted");
      if (status !== undefined) assert.equal(status, 400);
      assert.equal(details[0]?.["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
      assert.equal(details[1]?.["@type"], "type.googleapis.com/chainguard.platform.iam.v2.TermsNotAcceptedDetail");
      return details[1]?.missing;
    };
    assert.deepEqual(await missing(), [rules, privacy]);
    await world.ok(accept, { group: above, documentIds: [privacy.id] }, { protocol });
    assert.deepEqual(await missing(), [rules]);
    await world.ok(accept, { group, documentIds: [rules.id] }, { protocol });
    const made = await create();
    assert.equal(made.code, 0, made.message);
    // An alias in the file is the same operation, and a sibling group's acceptance does not count.
    assert.equal((await world.call("registry.ReposService/GetRepo", { uid: text(made.reply, "uid") }, { protocol })).code, 0);
    assert.equal(
      (await world.call("registry.ReposService/GetRepo", { uid: `${await newGroup()}/${"0".repeat(16)}` }, { protocol })).code,
      codes.FAILED_PRECONDITION,
    );
  });
}

test("a caller without permission gets the usual error and does not learn about acceptances", async () => {
  const robot = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: organization,
      identity: { name: "robot", claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
    }),
    "uid",
  );
  const { code } = await world.call(
    "registry.ReposService/CreateRepo",
    { parent: await newGroup(), repo: { name: "mine" } },
    { token: await world.token(robot) },
  );
  assert.equal(code, codes.PERMISSION_DENIED);
});

test("acceptances above a group are listed in it, those below or in siblings are not, with pages and orders", async () => {
  const above = await newGroup();
  const [group, beside] = [await newGroup(above), await newGroup(above)];
  const below = await newGroup(group);
  for (const [place, id] of [
    [above, "other.v1"],
    [group, rules.id],
    [group, privacy.id],
    [beside, "other.v1"],
    [below, "other.v1"],
  ] as const) {
    world.clock.now += 1000;
    await world.ok(accept, { group: place, documentIds: [id] });
  }
  const shown = (rows: readonly JsonObject[]): unknown[] => rows.map(({ orgUid, docId }) => [orgUid, docId]);
  assert.deepEqual(shown(await accepted(group)), [
    [above, "other.v1"],
    [group, rules.id],
    [group, privacy.id],
  ]);
  assert.deepEqual(shown(await accepted(group, { orderBy: "doc_id desc" })), [
    [group, privacy.id],
    [above, "other.v1"],
    [group, rules.id],
  ]);
  const first = await world.ok(list, { group, pageSize: 2 });
  assert.equal(first.totalCount, "3");
  const second = await world.ok(list, { group, pageSize: 2, pageToken: text(first, "nextPageToken") });
  assert.deepEqual(shown([...(first.termsAcceptances as JsonObject[]), ...(second.termsAcceptances as JsonObject[])]), shown(await accepted(group)));
  assert.equal(second.nextPageToken, undefined);
  // A filter selects among these and those of the groups below, never siblings.
  for (const [uidp, wanted] of [
    [{ descendantsOf: above }, [above, group, group, below]],
    [{ descendantsOf: group }, [group, group, below]],
    [{ childrenOf: group }, [group, group]],
    [{ childrenOf: above }, [above]],
    [{ descendantsOf: below }, [below]],
    [{ descendantsOf: beside }, []],
    [{ childrenOf: organization }, []],
  ] as const)
    assert.deepEqual(
      (await accepted(group, { uidp })).map(({ orgUid }) => orgUid),
      wanted,
      JSON.stringify(uidp),
    );
  assert.equal((await world.call(list, { group: beside, pageSize: 2, pageToken: text(first, "nextPageToken") })).code, codes.INVALID_ARGUMENT);
  // A caller with access to the lower group only sees the acceptances that apply there.
  const robot = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: group,
      identity: { name: "reader", claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
    }),
    "uid",
  );
  const role = text(await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "reader", capabilities: ["CAP_TERMS_LIST"] } }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: robot, roleUid: role } });
  const token = await world.token(robot);
  assert.equal(((await world.ok(list, { group }, { token })).termsAcceptances as JsonObject[]).length, 3);
  for (const place of [above, beside]) assert.equal((await world.call(list, { group: place }, { token })).code, codes.PERMISSION_DENIED);
});

test("deleting a group deletes its acceptances", async () => {
  const group = await newGroup();
  await world.ok(accept, { group, documentIds: [rules.id] });
  await world.ok("iam.GroupsService/DeleteGroup", { uid: group });
  assert.deepEqual(await world.server.application.services.store.read.query("select 1 from terms_acceptances where org_uid = $1", [group]), []);
});

test("five concurrent acceptances leave one acceptance and one event", async () => {
  const group = await newGroup();
  const before = (await world.events()).length;
  await Promise.all(Array.from({ length: 5 }, () => world.ok(accept, { group, documentIds: [rules.id, privacy.id] })));
  assert.equal((await accepted(group)).length, 2);
  assert.equal((await world.events()).length, before + 1);
});

test("without a file the IDs that clients know can be accepted, and no operation requires them", async () => {
  const settings = readSettings({});
  assert.deepEqual(
    settings.terms.documents.map(({ id }) => id),
    ["guardener-tos.v1", "sfdpa.v1", "skills-tos.v1"],
  );
  assert.deepEqual(settings.terms.requires, {});
});

test("an invalid file stops the start with one line that names the variable", async () => {
  const document = [rules];
  const files: readonly unknown[] = [
    "no json",
    [],
    { documents: {} },
    { documents: [{ label: "no id" }] },
    { documents: [rules, rules] },
    { documents: document, requires: [] },
    { documents: document, requires: { "no.such/Operation": [rules.id] } },
    { documents: document, requires: { "chainguard.platform.registry.v2.ReposService/ListRepos": [rules.id] } },
    { documents: document, requires: { "chainguard.platform.iam.v2.TermsService/AcceptTerms": [rules.id] } },
    { documents: document, requires: { "chainguard.platform.registry.v2.ReposService/CreateRepo": ["unknown.v1"] } },
  ];
  for (const content of files) {
    const GANTRY_TERMS_FILE = await fileOf(content);
    assert.throws(
      () => termsOf(readSettings({ GANTRY_TERMS_FILE }).terms),
      ({ message }: Error) => message.startsWith("GANTRY_TERMS_FILE ") && !message.includes("\n"),
      JSON.stringify(content),
    );
  }
  assert.throws(() => readSettings({ GANTRY_TERMS_FILE: join(folder, "none.json") }), /^Fault: GANTRY_TERMS_FILE/);
});
