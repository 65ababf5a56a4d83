// resources: Identities. Users' own metadata, and the filter that distinguishes users and programs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { exportJWK, generateKeyPair } from "jose";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { registerPerson } from "../../server/application/person.ts";
import type { Answer, Protocol } from "../client.ts";
import { openWorld, type World } from "../world.ts";
import { items } from "./protocols.ts";
import { bind } from "./installation.ts";

const protocols = ["rest", "grpc"] as const satisfies readonly Protocol[];
let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world?.close());

let people = 0;
const person = async (): Promise<{ uid: string; token: string }> => {
  const uid = await registerPerson(world.server.application.kernel, {
    issuer: "https://people.example.com",
    subject: `p${people++}`,
    email: "ada@example.com",
    name: "ada",
  });
  return { uid, token: await world.token(uid) };
};

const say = (token: string, identityMetadata: JsonObject, updateMask?: string, protocol: Protocol = "rest"): Promise<Answer> =>
  world.call("iam.IdentitiesService/UpdateIdentityMetadata", { identityMetadata, ...(updateMask === undefined ? {} : { updateMask }) }, { token, protocol });

/** Removes times and the values that proto3 cannot distinguish from absence. */
const said = ({ code, reply, message }: Answer): JsonObject => {
  assert.equal(code, 0, message);
  const { createTime, updateTime, ...rest } = reply;
  assert.ok(text(reply, "createTime") !== "" && Date.parse(String(updateTime)) >= Date.parse(String(createTime)));
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== false));
};

test("a user sets their own metadata field by field, and no other user's", async () => {
  for (const protocol of protocols) {
    const [ada, grace] = [await person(), await person()];
    assert.deepEqual(said(await say(ada.token, { company: "Example", jobTitle: "engineer" }, undefined, protocol)), {
      uid: ada.uid,
      name: "ada",
      company: "Example",
      jobTitle: "engineer",
    });
    assert.deepEqual(said(await say(ada.token, { product: "images", updatesOptIn: true }, undefined, protocol)), {
      uid: ada.uid,
      name: "ada",
      company: "Example",
      updatesOptIn: true,
      product: "images",
      jobTitle: "engineer",
    });
    assert.deepEqual(said(await say(ada.token, { company: "", jobTitle: "ignored" }, "company", protocol)), {
      uid: ada.uid,
      name: "ada",
      updatesOptIn: true,
      product: "images",
      jobTitle: "engineer",
    });
    assert.deepEqual(said(await say(ada.token, { jobTitle: "lead" }, "*", protocol)), { uid: ada.uid, name: "ada", jobTitle: "lead" });
    // The server sets the UID and ignores the one in the body.
    assert.equal(said(await say(grace.token, { uid: ada.uid, name: "Mallory", company: "Evil" }, undefined, protocol)).uid, grace.uid);
    assert.deepEqual(said(await say(ada.token, { product: "ignored" }, "job_title,updates_opt_in", protocol)), { uid: ada.uid, name: "ada" });
  }
});

test("the response includes the profile from the user's issuer", async () => {
  const ada = await person();
  await world.server.application.services.store.write((rows) =>
    rows.query(
      `insert into profiles (identity_uid, name, given_name, family_name) values ($1, 'Ada Lovelace', 'Ada', 'Lovelace')
       on conflict (identity_uid) do update set name = excluded.name, given_name = excluded.given_name, family_name = excluded.family_name`,
      [ada.uid],
    ),
  );
  assert.deepEqual(said(await say(ada.token, { company: "Analytical Engines" })), {
    uid: ada.uid,
    name: "Ada Lovelace",
    givenName: "Ada",
    familyName: "Lovelace",
    company: "Analytical Engines",
  });
});

test("each change emits one internal event, and an update without changes emits none", async () => {
  const ada = await person();
  const count = (await world.events()).length;
  await say(ada.token, { company: "Example" });
  await say(ada.token, { company: "Example" }, "company", "grpc");
  const told = (await world.events()).slice(count);
  assert.deepEqual(
    told.map(({ type, subject, group, actor }) => ({ type, subject, group, actor })),
    [{ type: "dev.chainguard.api.iam.identity.metadata.updated.v1", subject: ada.uid, group: "", actor: ada.uid }],
  );
  const [row] = await world.server.application.services.store.read.query("select audience from outbox where subject = $1", [ada.uid]);
  assert.deepEqual(row, ["internal"]);
});

test("a program cannot set metadata, and an invalid field is named and nothing stored", async () => {
  const program = String(
    (
      await world.ok("iam.IdentitiesService/CreateIdentity", {
        parent: world.organization,
        identity: { name: "ci", claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
      })
    ).uid,
  );
  await bind(world, world.organization, program, "owner");
  const ada = await person();
  for (const protocol of protocols) {
    assert.equal((await say(await world.token(program), { company: "Example" }, undefined, protocol)).code, codes.PERMISSION_DENIED);
    for (const [mask, field] of [
      ["nonsense", "update_mask"],
      ["uid", "update_mask"],
      ["given_name", "update_mask"],
      ["*,company", "update_mask"],
    ] as const) {
      const refused = await say(ada.token, { company: "Example" }, mask, protocol);
      assert.equal(refused.code, codes.INVALID_ARGUMENT);
      assert.deepEqual(
        refused.details.flatMap((detail) => items(detail, "fieldViolations").map((each) => each.field)),
        [field],
      );
    }
    const long = await say(ada.token, { company: "a".repeat(256) }, undefined, protocol);
    assert.deepEqual(
      long.details.flatMap((detail) => items(detail, "fieldViolations").map((each) => each.field)),
      ["identityMetadata.company"],
    );
  }
  assert.deepEqual(await world.server.application.services.store.read.query("select 1 from identity_metadata where uid = any($1)", [[program, ada.uid]]), []);
});

test("metadata is deleted with the user", async () => {
  const ada = await person();
  await say(ada.token, { company: "Example" });
  await bind(world, world.organization, ada.uid, "viewer");
  const removed = await world.call("iam.IdentitiesService/DeleteIdentity", { uid: ada.uid });
  assert.equal(removed.code, 0, removed.message);
  assert.deepEqual(await world.server.application.services.store.read.query("select 1 from identity_metadata where uid = $1", [ada.uid]), []);
});

test("the relationship filter finds exactly its kind of identity, with total, in all orders and pages, over both protocols", async () => {
  const group = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "kinds" } })).uid);
  const issuerKeys = JSON.stringify({ keys: [await exportJWK((await generateKeyPair("ES256")).publicKey)] });
  const kinds: Readonly<Record<string, JsonObject>> = {
    RELATIONSHIP_TYPE_CLAIM_MATCH: { claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
    RELATIONSHIP_TYPE_STATIC: { staticKeys: { issuer: "https://keys.example.com", subject: "s", issuerKeys } },
    RELATIONSHIP_TYPE_AWS_IDENTITY: { awsIdentity: { awsAccount: "123456789012", arnPattern: "arn:.*", userIdPattern: ".*" } },
    RELATIONSHIP_TYPE_SERVICE_PRINCIPAL: { servicePrincipal: "SERVICE_PRINCIPAL_INGESTER" },
  };
  const wanted: Record<string, string[]> = {};
  for (const [kind, relationship] of Object.entries(kinds)) {
    wanted[kind] = [];
    for (const name of ["b", "a", "c"]) {
      const made = await world.ok("iam.IdentitiesService/CreateIdentity", { parent: group, identity: { name, ...relationship } });
      wanted[kind].push(String(made.uid));
    }
  }
  const all = Object.values(wanted).flat().sort();
  const list = (more: JsonObject, protocol: Protocol): Promise<JsonObject> =>
    world.ok("iam.IdentitiesService/ListIdentities", { uidp: { descendantsOf: group }, pageSize: 200, ...more }, { protocol });
  const uids = (body: JsonObject): string[] => items(body, "identities").map(({ uid }) => String(uid));
  for (const protocol of protocols) {
    for (const [kind, made] of Object.entries(wanted)) {
      const found = await list({ relationshipType: kind }, protocol);
      assert.deepEqual(uids(found), [...made].sort());
      assert.equal(found.totalCount, "3");
      assert.deepEqual(
        items(await list({ relationshipType: kind, orderBy: "name desc" }, protocol), "identities").map(({ name }) => name),
        ["c", "b", "a"],
      );
      assert.deepEqual(uids(await list({ relationshipType: kind, name: "a" }, protocol)), [made[1]]);
      const seen: string[] = [];
      for (let pageToken = "", pages = 0; pages < 5; pages++) {
        const page = await list({ relationshipType: kind, pageSize: 2, ...(pageToken ? { pageToken } : {}) }, protocol);
        seen.push(...uids(page));
        assert.equal(page.totalCount, "3");
        pageToken = String(page.nextPageToken ?? "");
        if (pageToken === "") break;
      }
      assert.deepEqual(seen, [...made].sort());
    }
    assert.deepEqual(uids(await list({ relationshipType: "RELATIONSHIP_TYPE_UNSPECIFIED" }, protocol)), all, "0 is no filter");
  }
  const [moved = ""] = wanted.RELATIONSHIP_TYPE_AWS_IDENTITY ?? [];
  await world.ok("iam.IdentitiesService/UpdateIdentity", {
    identity: { uid: moved, claimMatch: { issuer: "https://ci.example.com", subject: "moved" } },
    updateMask: "claim_match",
  });
  assert.ok(uids(await list({ relationshipType: "RELATIONSHIP_TYPE_CLAIM_MATCH" }, "rest")).includes(moved));
  assert.ok(!uids(await list({ relationshipType: "RELATIONSHIP_TYPE_AWS_IDENTITY" }, "grpc")).includes(moved));
});

test("placeholder static keys are stored unchanged and can be replaced later", async () => {
  for (const protocol of protocols) {
    const staticKeys = { issuer: "https://keys.example.com", subject: "later", issuerKeys: "placeholder" };
    const request = { parent: world.organization, identity: { name: "not yet", staticKeys } };
    const made = await world.ok("iam.IdentitiesService/CreateIdentity", request, { protocol });
    const { staticKeys: held } = await world.ok("iam.IdentitiesService/GetIdentity", { uid: text(made, "uid") }, { protocol });
    assert.equal((held as JsonObject).issuerKeys, "placeholder");
  }
});

test("metadata has the user's creation time, and updates when its content changes", async () => {
  const ada = await person();
  const times = ({ reply }: Answer): unknown[] => [reply.createTime, reply.updateTime];
  const came = new Date(world.clock.now).toISOString();
  assert.deepEqual(times(await say(ada.token, { product: "" })), [came, came]);
  world.clock.now += 1000;
  const changed = new Date(world.clock.now).toISOString();
  assert.deepEqual(times(await say(ada.token, { company: "Example" })), [came, changed]);
  world.clock.now += 1000;
  assert.deepEqual(times(await say(ada.token, { company: "Example" })), [came, changed], "the same once more");
});
