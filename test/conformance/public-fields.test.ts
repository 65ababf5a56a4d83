// Compatibility with public clients, whose decoders may refuse unknown fields. Every response of a public operation must decode with the
// public messages alone, that is, the contract without fields from 1000 up (decisions: Identity of the product).

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { clone, create, createFileRegistry, type DescFile, type DescMessage, type FileRegistry, fromJson } from "@bufbuild/protobuf";
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import { files } from "#contract/descriptors.ts";
import type { MethodFact } from "#contract/facts.ts";
import { callOver } from "../client.ts";
import { nonEmpty } from "../samples.ts";
import { runImport } from "../story/import.ts";
import { requestsOfGrown } from "./grown.ts";
import { answerableRequest, folder, isList, openStage, rowMessage } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const common = "requirement: Common fields. Every resource has uid, createTime and updateTime";
const envelope = "requirement: List response envelope. Every list has nextPageToken, totalCount and skipped";

/** Our own fields that a REST response can contain, and why. Any other one fails. */
const exceptions: Readonly<Record<string, string>> = {
  "iam.v2.Identity.labels": "labels of identities, by which a pull counts as use (0039); left out if there are none",
  "iam.v2.Group.authorApproval": "the organization's choice on reviews of authored advisories (0089); left out while it is false",
  "advisory.v2.ListDocumentsResponse.nextPageToken": envelope,
  "advisory.v2.ListDocumentsResponse.skipped": envelope,
  "advisory.v2.ListDocumentsResponse.totalCount": envelope,
  "advisory.v2.ListResolvedVulnsReportsResponse.nextPageToken": envelope,
  "advisory.v2.ListResolvedVulnsReportsResponse.skipped": envelope,
  "advisory.v2.ListResolvedVulnsReportsResponse.totalCount": envelope,
  "advisory.v2.Document.createTime": common,
  "advisory.v2.Document.uid": common,
  "advisory.v2.Document.updateTime": common,
  "advisory.v2.ResolvedVulnsReport.createTime": common,
  "advisory.v2.ResolvedVulnsReport.uid": common,
  "advisory.v2.ResolvedVulnsReport.updateTime": common,
  "advisory.v2.VulnerabilityMetadata.createTime": common,
  "advisory.v2.VulnerabilityMetadata.exploitPrediction": "set: EPSS says how likely it is to be exploited",
  "advisory.v2.VulnerabilityMetadata.knownExploited": "set: CISA's catalogue says that it is exploited",
  "advisory.v2.VulnerabilityMetadata.uid": common,
  "advisory.v2.VulnerabilityMetadata.updateTime": common,
  "advisory.v2.VulnerabilityMetadata.withdrawnBy": "set: another record replaces it",
  "advisory.v2.VulnerabilityMetadata.withdrawnTime": "set: it is withdrawn",
  "vulnerabilities.v2.Advisory.withdrawnBy": "set: another advisory replaces it",
  "vulnerabilities.v2.Advisory.withdrawnTime": "set: it is withdrawn",
  "vulnerabilities.v2.AdvisoryEvent.componentLocationChanged": "set: an organization wrote such an event, which is public in version 1 only",
  "events.v2.Subscription.createTime": common,
  "events.v2.Subscription.updateTime": common,
  "events.v2.Subscription.enabled": "set: it receives events",
  "events.v2.Subscription.eventTypes": "set: only these events are sent",
  "events.v2.Subscription.minFindingSeverity": "set: only events with such findings are sent",
  "events.v2.Subscription.exploitedFindings": "set: only events with exploited findings are sent",
  "events.v2.Subscription.secret": "set: shown once, by the call that made it",
  "iam.v2.ExternalGroupRoleMapping.updateTime": common,
  "iam.v2.GroupInvite.expireTime": "set: the role binding that it gives ends",
  "iam.v2.GroupInvite.updateTime": common,
  "iam.v2.Identity.expireTime": "set: nobody acts as it any more then",
  "iam.v2.IdentityMetadata.createTime": common,
  "iam.v2.IdentityMetadata.updateTime": common,
  "iam.v2.RoleBinding.updateTime": common,
  "iam.v2.RoleBinding.expireTime": "set: the binding ends",
  "iam.v2.TermsAcceptance.uid": common,
  "iam.v2.TermsAcceptance.updateTime": common,
  "libraries.v2beta1.RequestGroupItem.createTime": common,
  "libraries.v2beta1.RequestedLibrary.createTime": common,
  "iam.v2.IdentityProvider.callbackUrl": "set: the address to register at the provider",
  "libraries.v2beta1.RequestedLibrary.uid": common,
  "libraries.v2beta1.RequestedLibrary.updateTime": common,
  "libraries.v2beta1.RequestedLibraryVersion.createTime": common,
  "libraries.v2beta1.RequestedLibraryVersion.uid": common,
  "libraries.v2beta1.RequestedLibraryVersion.updateTime": common,
  "registry.v2beta1.Overlay.createTime": common,
  "registry.v2beta1.Overlay.updateTime": common,
  "registry.v2beta1.OverlayBinding.createTime": common,
  "registry.v2beta1.OverlayBinding.overlayUid": "set: the overlay that it binds",
  "registry.v2beta1.OverlayBinding.updateTime": common,
  "registry.v2.Repo.anonymousPull": "set: everybody may pull from it",
  "registry.v2.RepoReadme.createTime": common,
  "registry.v2.RepoReadme.updateTime": common,
  "registry.v2.Tag.createTime": common,
};

const place = await folder(stage);
const owner = await stage.owner();

/** Returns the file without our own fields. */
const publicFile = (file: DescFile): FileDescriptorProto => {
  const copy = clone(FileDescriptorProtoSchema, file.proto);
  const strip = (message: DescriptorProto): void => {
    message.field = message.field.filter(({ number }) => number < 1000);
    message.nestedType.forEach(strip);
  };
  copy.messageType.forEach(strip);
  return copy;
};

const publicRegistry = (): FileRegistry => {
  const all = new Map<string, DescFile>();
  const add = (file: DescFile): void => {
    file.dependencies.forEach(add);
    all.set(file.proto.name, file);
  };
  files.forEach(add);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...all.values()].map(publicFile) }));
};

const registry = publicRegistry();

const publicMessage = (name: string): DescMessage => registry.getMessage(name) ?? assert.fail(`no message ${name}`);

const shortName = (message: DescMessage): string => message.typeName.replace("chainguard.platform.", "");

/** Returns the value without fields that its public message lacks; adds those to `found`. */
const publicPart = (message: DescMessage, value: JsonObject, found: Set<string>): JsonObject => {
  const out: JsonObject = {};
  for (const [key, held] of Object.entries(value)) {
    const field = message.fields.find(({ jsonName }) => jsonName === key);
    if (!field) {
      found.add(`${shortName(message)}.${key}`);
      continue;
    }
    const inner = field.message && !field.message.typeName.startsWith("google.") ? field.message : undefined;
    const each = (entry: Json): Json => (inner && isObject(entry) ? publicPart(inner, entry, found) : entry);
    if (field.fieldKind === "map" && isObject(held)) out[key] = Object.fromEntries(Object.entries(held).map(([name, entry]) => [name, each(entry)]));
    else out[key] = Array.isArray(held) ? held.map(each) : each(held);
  }
  return out;
};

const seen = new Set<string>();

const platformMethods = nonEmpty(
  methods.filter((method) => method.name.startsWith("chainguard.") && stage.answers(method)),
  "public operation with an answer",
);

/** Creates rows for a List; returns the request for its first page. */
const filled = async (method: MethodFact): Promise<JsonObject> => {
  const message = isList(method) ? rowMessage(method) : undefined;
  if (!message) return {};
  for (const _ of [1, 2]) await stage.make(message.name, { place });
  const accepts = methods.find(({ service, rpc }) => service === method.service && rpc.startsWith("Accept"));
  const accepted = accepts ? await world.ok(accepts.name, await answerableRequest(stage, accepts, place, true)) : {};
  return { ...(accepted.group ? { group: accepted.group } : {}), pageSize: 1, ...requestsOfGrown[message.name] };
};

for (const method of platformMethods) {
  test(`${method.rpc} returns over REST only fields of the public message, and the exceptions listed here`, async () => {
    const output = publicMessage(method.output.name);
    for (const whole of [false, true]) {
      const request = { ...(await answerableRequest(stage, method, place, whole)), ...(await filled(method)) };
      const { token } = await stage.callerOf(method, { uid: "", token: await stage.tokenFor(method, request) });
      const { code, message, reply } = await callOver("rest", world.url, method.name, request, { token });
      assert.equal(code, 0, message);
      const found = new Set<string>();
      const known = publicPart(output, reply, found);
      for (const name of found) {
        assert.ok(exceptions[name] !== undefined, `${name} is no public field`);
        seen.add(name);
      }
      fromJson(output, known, { ignoreUnknownFields: false, registry });
      if (found.size === 0) fromJson(output, reply, { ignoreUnknownFields: false, registry });
    }
  });
}

test("a withdrawn record, read by its ID, reports its withdrawal and its replacement", async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), "gantry-fields-"));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  const record = (id: string, aliases: readonly string[]): string =>
    JSON.stringify({ id, modified: "2026-01-01T00:00:00Z", aliases, affected: [{ package: { ecosystem: "npm", name: "withdrawn" } }] });
  for (const kind of ["advisories", "vulnerabilities"] as const) {
    const source = join(scratch, `${kind}.json`);
    for (const content of [record("WITHDRAWN-1", []), record("WITHDRAWN-2", ["WITHDRAWN-1"])]) {
      writeFileSync(source, content);
      await runImport(world, kind, [source], { group: place, public: true });
    }
  }
  const requests: readonly (readonly [string, JsonObject])[] = [
    ["vulnerabilities.v2.AdvisoriesService/ListAdvisories", { advisoryIds: ["WITHDRAWN-1"] }],
    ["advisory.v2.SecurityAdvisoryService/ListVulnerabilityMetadata", { ids: ["WITHDRAWN-1"] }],
  ];
  for (const [name, request] of requests) {
    const method = platformMethods.find((each) => each.name.endsWith(name)) ?? assert.fail(`no operation ${name}`);
    const output = publicMessage(method.output.name);
    const { reply } = await callOver("rest", world.url, method.name, request, { token: owner });
    const found = new Set<string>();
    const known = publicPart(output, reply, found);
    assert.equal([...found].filter((each) => /\.withdrawn(?:By|Time)$/.test(each)).length, 2, name);
    for (const each of found) {
      assert.ok(exceptions[each] !== undefined, `${each} is no public field`);
      seen.add(each);
    }
    fromJson(output, known, { ignoreUnknownFields: false, registry });
  }
});

test("an advisory with a component move has one additive field, in its event", async () => {
  const moved = { reviewState: "REVIEW_STATE_PENDING", componentLocationChanged: { newLocation: "/usr/lib/b.so" } };
  const body = { artifactName: "moved", artifactType: "apk", aliases: ["CVE-2026-1"], initialEvents: [moved] };
  const name = "gantry.vulnerabilities.v1.AuthoredAdvisoriesService/CreateAuthoredAdvisory";
  const { uid } = await world.ok(name, { parent: place, authoredAdvisory: body }, { token: owner });
  const method = platformMethods.find(({ rpc }) => rpc === "GetAdvisory") ?? assert.fail();
  const output = publicMessage(method.output.name);
  const { reply } = await callOver("rest", world.url, method.name, { uid: String(uid) }, { token: owner });
  const found = new Set<string>();
  fromJson(output, publicPart(output, reply, found), { ignoreUnknownFields: false, registry });
  assert.deepEqual([...found], ["vulnerabilities.v2.AdvisoryEvent.componentLocationChanged"]);
  for (const each of found) seen.add(each);
});

test("every listed exception occurs in a response", () => {
  assert.deepEqual([...seen].sort(), Object.keys(exceptions).sort());
});

test("responses of the STS and auth services contain none of our own fields", () => {
  assert.ok(platformMethods.some(({ domain }) => domain === "oidc") && platformMethods.some(({ domain }) => domain === "auth"));
  assert.deepEqual(
    [...seen, ...Object.keys(exceptions)].filter((name) => /^(?:oidc|auth)\./.test(name)),
    [],
  );
});

// Responses that are no resource (a count, image data, a sign-in session, a membership decision). Also a feed's state, timed by its imports; a
// session, of which only the last use changes; and immutable data.
const withoutCommonFields: Readonly<Record<string, readonly string[]>> = {
  "auth.HeadlessSession": ["uid", "create_time", "update_time"],
  "libraries.v2.GetArtifactCountResponse": ["uid", "create_time", "update_time"],
  "registry.v2.Architectures": ["uid", "create_time", "update_time"],
  "registry.v2.Size": ["uid", "create_time", "update_time"],
  "gantry.audit.v1.AuditEntry": ["update_time"],
  "gantry.audit.v1.AuditEntryHistory": ["uid", "create_time", "update_time"],
  "gantry.events.v1.DeliveryHistory": ["uid", "create_time", "update_time"],
  "gantry.events.v1.Event": ["update_time"],
  "gantry.events.v1.EventHistory": ["uid", "create_time", "update_time"],
  "gantry.feeds.v1.Feed": ["create_time", "update_time"],
  "gantry.feeds.v1.HeldRecord": ["create_time", "update_time"],
  "gantry.findings.v1.FindingHistory": ["uid", "create_time", "update_time"],
  "gantry.memberships.v1.Membership": ["uid", "create_time", "update_time"],
  "gantry.organizations.v1.Quotas": ["uid", "create_time", "update_time"],
  "gantry.registry.v1.Pulls": ["uid", "create_time", "update_time"],
  "gantry.registry.v1.Storage": ["create_time", "update_time"],
  "gantry.registry.v1.StoredContent": ["uid", "create_time", "update_time"],
  "gantry.registry.v1.TagHistory": ["uid", "create_time", "update_time"],
  "gantry.registry.v1.Upload": ["uid", "create_time", "update_time"],
  "gantry.sessions.v1.Session": ["update_time"],
  // Computed with each request, with the times of its sources.
  "gantry.vulnerabilities.v1.AdvisoryCoverage": ["create_time", "update_time"],
  "google.protobuf.Empty": ["uid", "create_time", "update_time"],
};

test("every resource has uid, create_time and update_time (requirement: Common fields), and lists order by the times", () => {
  const lacking: Record<string, readonly string[]> = {};
  // SCIM resources have RFC 7643's fields (id, meta.created, meta.lastModified).
  for (const method of methods.filter(({ scim }) => scim === undefined)) {
    const message = isList(method) ? rowMessage(method) : /^(?:Get|Create|Update)/.test(method.rpc) ? method.output : undefined;
    if (!message) continue;
    const name = message.name.replace("chainguard.platform.", "");
    const absent = ["uid", "create_time", "update_time"].filter((field) => !message.byName.has(field));
    if (absent.length > 0) lacking[name] = absent;
    if (!isList(method)) continue;
    for (const field of ["create_time", "update_time"].filter((time) => !absent.includes(time)))
      assert.equal(message.byName.get(field)?.sortable, true, `${name} is not listed by ${field}`);
  }
  assert.deepEqual(lacking, withoutCommonFields);
});
