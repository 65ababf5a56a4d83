// Attacks with signed VEX documents.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, text, texts } from "#base/json.ts";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { npm, pushImageWith } from "../image-layers.ts";
import { descriptorOf, ociIndex, openPusher } from "../pusher.ts";
import {
  bundleType,
  ed25519Key,
  envelope,
  envelopeType,
  notAffected,
  openVexStage,
  openvex,
  p256Key,
  sourcesService,
  statementAbout,
  statementType,
  type Supplied,
  type VexStage,
} from "../signed-vex.ts";

let stage: VexStage;

before(async () => {
  stage = await openVexStage();
});
after(() => stage?.close());

/** Returns a token of an identity with this role in the group. */
const tokenOf = async (parent: string, role: string): Promise<string> => {
  const { world } = stage;
  const claimMatch = { issuer: "https://issuer.example.com", subject: `${role} of ${parent}` };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent, identity: { name: role, claimMatch } }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } });
  return world.token(identityUid);
};

const predicate = openvex([notAffected()]);

/** Returns the sources that are shown with each statement. */
const verified = async (image: Supplied): Promise<string[]> =>
  (await stage.findings(image)).flatMap((finding) => objectList(finding, "vexStatements").map((each) => texts(each, "vexSourceUids").join(" ")));

test("attack 385: a signature counts for its image and its statement only: replayed, changed, wrapped or confused documents silence nothing", async () => {
  const [image, key] = [await stage.open(), ed25519Key()];
  const other: Supplied = { ...image, digest: await stage.push(image, `${image.name}/other`, "lantern", "lamp"), path: `${image.name}/other` };
  await stage.trust(image, key, { name: "supplier" });
  const genuine = envelope(statementAbout(other.digest, predicate), [key]);
  await stage.attach(other, genuine);
  const own = statementAbout(image.digest, predicate);
  const payloadOf = (statement: JsonObject): string => Buffer.from(JSON.stringify(statement)).toString("base64");
  const forged: readonly (readonly [document: JsonObject, mediaType?: string])[] = [
    // Of another image, as it is and in a bundle.
    [genuine],
    [{ mediaType: bundleType, dsseEnvelope: genuine }, bundleType],
    // The subject, then the whole statement, is changed after the signing.
    [{ ...genuine, payload: payloadOf(own) }],
    [{ ...envelope(statementAbout(image.digest, openvex([notAffected({ status: "affected", justification: null })])), [key]), payload: payloadOf(own) }],
    // About no image, or about an image of this digest in another algorithm.
    [envelope({ ...own, subject: [] }, [key])],
    [envelope({ ...own, subject: [{ digest: { sha512: image.digest.replace("sha256:", "") } }] }, [key])],
    // Signed as something else.
    [envelope(own, [key], "application/json")],
    [{ ...envelope(own, [key], "application/json"), payloadType: statementType }],
    [{ ...envelope(own, [key]), payloadType: "application/json" }],
    [envelope({ ...own, predicateType: "https://example.com/openvex/notes" }, [key])],
    [envelope(predicate, [key])],
    // A signed statement that has the signed one of another image in it.
    [envelope({ ...own, ...envelope(own, [p256Key()]) }, [key])],
    [{ ...own, signatures: genuine.signatures ?? null }],
    [{ payloadType: statementType, payload: payloadOf(own), signatures: genuine.signatures ?? null, dsseEnvelope: { ...genuine, payload: payloadOf(own) } }],
  ];
  for (const [document, mediaType] of forged) {
    await stage.attach(image, document, mediaType ?? envelopeType);
    assert.deepEqual((await stage.states(image)).sort(), ["AFFECTED -", "SUPPRESSED NOT_AFFECTED supplier"], JSON.stringify(document));
  }
  assert.equal((await verified(image)).filter((each) => each !== "").length, 1);
});

test("attack 386: a signature of a key that the groups of the repo do not trust silences nothing: of another tenant or group, or a deleted one", async () => {
  const [ours, theirs] = [await stage.open(), await stage.open()];
  const [key, foreign] = [p256Key(), p256Key()];
  assert.equal(ours.digest, theirs.digest);
  const signedFor = (image: Supplied, ...keys: ReturnType<typeof p256Key>[]): JsonObject => envelope(statementAbout(image.digest, predicate), keys);
  await stage.trust(theirs, foreign, { name: "theirs" });
  await stage.trust(ours, foreign, { name: "beside" }, await stage.newGroup(ours, ours.group, "beside"));
  const gone = await stage.trust(ours, foreign, { name: "gone" });
  await stage.distrust(ours, gone);
  const uid = await stage.trust(ours, key, { name: "ours" });
  for (const document of [
    signedFor(ours, foreign),
    signedFor(ours),
    { ...signedFor(ours, foreign), signatures: objectList(signedFor(ours, foreign), "signatures").map((each) => ({ ...each, keyid: uid })) },
    { ...signedFor(ours, foreign), signatures: [{ sig: "" }, { sig: "AAAA" }, "x", null, { keyid: "k" }] },
    statementAbout(ours.digest, predicate),
  ])
    await stage.attach(ours, document);
  assert.deepEqual(await stage.states(ours), ["AFFECTED -"]);
  assert.deepEqual(await verified(ours), ["", "", "", "", ""]);
  await stage.attach(theirs, signedFor(theirs, foreign));
  assert.deepEqual([await stage.states(ours), await stage.states(theirs)], [["AFFECTED -"], ["SUPPRESSED NOT_AFFECTED theirs"]]);
  // Of two signatures, one is enough.
  await stage.attach(ours, signedFor(ours, foreign, key));
  assert.deepEqual(await stage.states(ours), ["SUPPRESSED NOT_AFFECTED ours"]);
  // Pushing is not enough to trust a key, and nor is reading or writing all else.
  for (const role of ["editor", "viewer"]) {
    const token = await tokenOf(ours.group, role);
    const create = { parent: ours.group, vexSource: { name: role, publicKey: foreign.publicKey } };
    assert.equal((await stage.world.call(`${sourcesService}/CreateVexSource`, create, { token })).code, codes.PERMISSION_DENIED);
    assert.equal((await stage.world.call(`${sourcesService}/DeleteVexSource`, { uid }, { token })).code, codes.PERMISSION_DENIED);
  }
  await stage.distrust(ours, uid);
  assert.deepEqual(await stage.states(ours), ["AFFECTED -"]);
});

test("attack 387: a document with endless signatures or content is read within limits, and delays no other organization's", async () => {
  const [hostile, image, key] = [await stage.open(), await stage.open(), p256Key()];
  for (const [index, each] of [hostile, image].entries()) await stage.trust(each, key, { name: `supplier-${index}` });
  const signed = envelope(statementAbout(hostile.digest, predicate), [key]);
  const [signature = {}] = objectList(signed, "signatures");
  const many = (count: number): JsonObject => ({ ...signed, signatures: Array.from({ length: count }, () => signature) });
  await stage.attach(hostile, many(limits.vexSignaturesMax + 1));
  assert.deepEqual(await stage.states(hostile), ["AFFECTED -"]);
  const statements = Array.from({ length: limits.vexStatementsMax + 1 }, () => notAffected());
  await stage.attach(hostile, envelope(statementAbout(hostile.digest, openvex(statements)), [key]));
  assert.deepEqual(await stage.states(hostile), ["AFFECTED -"]);
  await stage.attach(image, envelope(statementAbout(image.digest, predicate), [key]));
  assert.deepEqual(await stage.states(image), ["SUPPRESSED NOT_AFFECTED supplier-1"]);
  await stage.attach(hostile, many(limits.vexSignaturesMax));
  assert.deepEqual(await stage.states(hostile), ["SUPPRESSED NOT_AFFECTED supplier-0"]);
});

test("attack 384: where decisions need an approval, a decider cannot trust a key of their own, also not by restoring or in a group below", async () => {
  const { world } = stage;
  const [image, key] = [await stage.open(), ed25519Key()];
  const { group } = image;
  const owner = await image.token();
  const call = (rpc: string, request: JsonObject, token: string) => world.call(rpc, request, { token });
  const claimMatch = { issuer: "https://issuer.example.com", subject: "decider" };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: group, identity: { name: "decider", claimMatch } }), "uid");
  const capabilities = ["CAP_GANTRY_FINDINGS_DECIDE", "CAP_GANTRY_DELETIONS_LIST", "CAP_GANTRY_DELETIONS_UNDELETE", "CAP_IAM_GROUPS_LIST"];
  const role = await world.ok("iam.RolesService/CreateRole", { parent: group, role: { name: "decider", capabilities } });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid, roleUid: text(role, "uid") } });
  const decider = await world.token(identityUid);
  const trust = (parent: string, name: string, token: string) =>
    call(`${sourcesService}/CreateVexSource`, { parent, vexSource: { name, publicKey: key.publicKey } }, token);
  const before = await trust(group, "before", decider);
  assert.equal(before.code, 0, before.message);
  const deleted = await call(`${sourcesService}/DeleteVexSource`, { uid: text(before.reply, "uid") }, decider);
  assert.equal(deleted.code, 0, deleted.message);
  const policy = { parent: group, decisionApprovalPolicy: {} };
  await world.ok("gantry.decisions.v1.DecisionApprovalPoliciesService/CreateDecisionApprovalPolicy", policy, { token: owner });
  const below = text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: "below" } }, { token: owner }), "uid");
  for (const parent of [group, below]) {
    const refused = await trust(parent, "own key", decider);
    assert.equal(refused.code, codes.PERMISSION_DENIED, refused.message);
  }
  const deletions = "gantry.deletions.v1.DeletionsService";
  const listed = objectList(await world.ok(`${deletions}/ListDeletions`, { uidp: { descendantsOf: group } }, { token: decider }), "deletions");
  const deletion = text(listed.find((each) => text(each, "resourceUid") === text(before.reply, "uid")) ?? {}, "uid");
  const restored = await call(`${deletions}/UndeleteDeletion`, { uid: deletion }, decider);
  assert.deepEqual([restored.code, /gantry\.findings\.require_approval/.test(restored.message)], [codes.PERMISSION_DENIED, true], restored.message);
  assert.equal((await trust(group, "by the owner", owner)).code, 0);
});

test("attack 391: a statement about one image silences nothing in an index that a pusher makes of it and of other images", async () => {
  const [image, key] = [await stage.open(), ed25519Key()];
  const pusher = openPusher(stage.world, image.path, image.token);
  await stage.trust(image, key, { name: "supplier" });
  const platform = async (architecture: string): Promise<Supplied & { readonly entry: JsonObject }> => {
    const pushed = await pushImageWith(pusher, undefined, { architecture }, [npm("lantern", "1.0.0")]);
    return { ...image, digest: pushed.digest, entry: { ...descriptorOf(pushed), platform: { os: "linux", architecture } } };
  };
  const [stated, hostile, unrelated] = [await platform("amd64"), await platform("arm64"), await platform("s390x")];
  const about = (digest: string, statement: JsonObject = {}): JsonObject => envelope(statementAbout(digest, openvex([notAffected(statement)])), [key]);
  const pushIndex = async (tag: string, ...manifests: readonly JsonObject[]): Promise<Supplied> => {
    const { digest } = await pusher.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, tag);
    await stage.turn();
    return { ...image, digest };
  };
  const stateOf = async ({ digest }: Supplied): Promise<string[]> =>
    (await stage.findings(image)).filter((each) => text(each, "digest") === digest).map((each) => text(each, "state"));
  await stage.attach(stated, about(stated.digest));
  const alone = await pushIndex("alone", stated.entry);
  assert.deepEqual(await stateOf(alone), ["AFFECTED_IMAGE_STATE_SUPPRESSED"], "all of its platforms are stated");
  const mixed = await pushIndex("mixed", stated.entry, hostile.entry);
  // As if it was for the stated architecture.
  const disguised = await pushIndex("disguised", stated.entry, { ...hostile.entry, platform: { os: "linux", architecture: "amd64", variant: "v2" } });
  // The document is replayed at the index, states a platform of another index, or a platform states the index.
  await stage.attach(mixed, about(stated.digest));
  await stage.attach(mixed, about(mixed.digest, { products: [{ "@id": `web@${unrelated.digest}` }] }));
  await stage.attach(stated, about(stated.digest, { products: [{ "@id": `web@${mixed.digest}` }] }));
  await stage.attach(stated, about(stated.digest, { products: [{ "@id": `web@${hostile.digest}` }] }));
  for (const each of [mixed, disguised]) assert.deepEqual(await stateOf(each), ["AFFECTED_IMAGE_STATE_AFFECTED"]);
});
