// Conversion between versions 1 and 2: requests, responses and violations.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { methodByName, views } from "./catalog.ts";
import { isViewed, type ViewedMethodFact } from "./facts.ts";
import { linksOfMethod } from "./links.ts";
import { readingInward, replyInView, requestInView, violationInView } from "./views.ts";

const viewNamed = (name: string): ViewedMethodFact => {
  const method = methodByName(`chainguard.platform.${name}`);
  return method && isViewed(method) ? method : assert.fail(`${name} is no view`);
};

const uid = "a".repeat(40);
const issuer = "https://issuer.example.com";

const requests: readonly (readonly [operation: string, first: JsonObject, second: JsonObject])[] = [
  ["iam.Groups/Create", { parent: uid, group: { id: "x", name: "n" } }, { parent: uid, group: { uid: "x", name: "n" } }],
  ["iam.Groups/List", { id: uid, name: "n" }, { uidp: { ids: [uid] }, name: "n" }],
  ["iam.Groups/List", { id: uid, uidp: { inRoot: true } }, { uidp: { ids: [uid], inRoot: true } }],
  ["iam.Groups/List", { id: "" }, {}],
  ["iam.Groups/Update", { id: uid, name: "n" }, { group: { uid, name: "n" }, updateMask: "name,description,verified" }],
  ["iam.Groups/Update", { id: uid, kind: "ORG_KIND_DEV" }, { group: { uid, kind: "ORG_KIND_DEV" }, updateMask: "name,description,verified,kind" }],
  ["iam.Roles/List", { parent: "/" }, { uidp: { inRoot: true } }],
  ["iam.Roles/List", { parent: uid }, { uidp: { childrenOf: uid } }],
  ["iam.Roles/Create", { parentId: uid, role: { capabilities: ["repo.list"] } }, { parent: uid, role: { capabilities: ["CAP_REPO_LIST"] } }],
  ["iam.Identities/Create", { parentId: uid, identity: { static: { issuer } } }, { parent: uid, identity: { staticKeys: { issuer } } }],
  ["iam.Identities/Create", { identity: { servicePrincipal: "COSIGNED" } }, { identity: { servicePrincipal: "SERVICE_PRINCIPAL_COSIGNED" } }],
  [
    "iam.RoleBindings/CreateBatch",
    { parent: uid, roleBindings: [{ identity: "i", role: "r" }, { identity: "j" }] },
    { parent: uid, requests: [{ roleBinding: { identityUid: "i", roleUid: "r" } }, { roleBinding: { identityUid: "j" } }] },
  ],
  ["iam.GroupInvites/Create", { group: uid, ttl: "60s", role: "r" }, { parent: uid, groupInvite: { ttl: "60s", roleUid: "r" } }],
  ["iam.GroupAccountAssociations/Create", { group: uid, amazon: { account: "1" } }, { parent: uid, accountAssociation: { uid, amazon: { account: "1" } } }],
  ["iam.GroupAccountAssociations/Check", { group: uid, accountType: "AZURE" }, { uid, providerType: "ACCOUNT_PROVIDER_TYPE_AZURE" }],
  [
    "events.Identities/UpdateMetadata",
    { updatesOptIn: true, onboardingQuestions: { companyName: "c", providers: ["p"] } },
    { identityMetadata: { updatesOptIn: true, company: "c" }, updateMask: "company,updates_opt_in" },
  ],
  ["vulnerabilities.v1.Advisories/List", { orderBy: "UPDATED_AT_DESC", pageSize: "20" }, { orderBy: "update_time desc", pageSize: 20 }],
  ["libraries.Artifacts/List", { ecosystems: ["JAVA", "GO"], includeUpstream: true }, { ecosystems: ["ECOSYSTEM_JAVA"] }],
];

for (const [operation, first, second] of requests) {
  test(`a request of ${operation} is converted: ${JSON.stringify(first).replaceAll(uid, "…")}`, () => {
    const { request, problems, bodyPaths } = readingInward(viewNamed(operation), { request: first, problems: [], bodyPaths: undefined });
    assert.deepEqual([request, problems, bodyPaths], [second, [], undefined]);
  });
}

test("a PATCH over REST changes exactly the fields of its body, including empty ones", () => {
  const method = viewNamed("events.Identities/UpdateMetadata");
  const said = { updatesOptIn: false, onboardingQuestions: { jobTitle: "" } };
  const { request } = readingInward(method, { request: said, problems: [], bodyPaths: ["updatesOptIn", "onboardingQuestions.jobTitle"] });
  assert.equal(request.updateMask, "job_title,updates_opt_in");
});

const refused: readonly (readonly [operation: string, request: JsonObject, field: string])[] = [
  ["iam.Roles/Create", { role: { capabilities: ["repo.list", "repo.fly"] } }, "role.capabilities[1]"],
  ["iam.Groups/List", { id: uid, uidp: { ids: [uid] } }, "uidp"],
  ["libraries.Artifacts/List", { ecosystems: ["GO"] }, "ecosystems"],
  ["vulnerabilities.v1.Advisories/List", { orderBy: "ALIASES_ASC" }, "orderBy"],
];

for (const [operation, request, field] of refused) {
  test(`a request of ${operation} without an equivalent in version 2 is refused and names its own ${field}`, () => {
    const { problems } = readingInward(viewNamed(operation), { request, problems: [], bodyPaths: undefined });
    assert.deepEqual(
      problems.map((problem) => problem.field),
      [field],
    );
  });
}

const replies: readonly (readonly [operation: string, second: JsonObject, first: JsonObject])[] = [
  ["iam.Groups/Create", { uid, name: "n", createTime: "t", verified: false }, { id: uid, name: "n", verified: false }],
  ["iam.Groups/List", { groups: [{ uid }], nextPageToken: "x", totalCount: "1" }, { items: [{ id: uid }] }],
  ["iam.Roles/Create", { uid, capabilities: ["CAP_REPO_LIST"] }, { id: uid, capabilities: ["repo.list"] }],
  ["iam.RoleBindings/Create", { uid, identityUid: "i", roleUid: "r", group: { uid: "g" } }, { id: uid, identity: "i", group: "g", role: "r" }],
  [
    "iam.RoleBindings/List",
    { roleBindings: [{ uid, identityUid: "i", identity: { uid: "i", issuer, email: "e" }, role: { uid: "r", name: "viewer" } }] },
    { items: [{ id: uid, identity: "i", role: { id: "r", name: "viewer" }, email: "e", claimMatchIssuer: issuer }] },
  ],
  ["iam.GroupAccountAssociations/Check", { status: "CHECK_STATUS_NOT_READY", reason: "r" }, { ready: "NotReady", reason: "r" }],
  ["events.Identities/UpdateMetadata", { uid, name: "n", company: "c" }, { onboardingQuestions: { companyName: "c" }, name: "n" }],
  ["libraries.Artifacts/List", { artifacts: [], totalCount: "7" }, { items: [], totalArtifacts: 7 }],
];

for (const [operation, second, first] of replies) {
  test(`a response of ${operation} is converted: ${JSON.stringify(second).replaceAll(uid, "…")}`, () => {
    assert.deepEqual(replyInView(viewNamed(operation), second), first);
  });
}

const violations: readonly (readonly [operation: string, field: string, description: string, shownField: string, shown: string])[] = [
  ["iam.Groups/Update", "uid", "uid is required", "id", "id is required"],
  ["iam.Groups/List", "uidp.ids[0]", "ids[0] must be a uid", "id", "id must be a uid"],
  ["iam.Identities/Create", "parent", "parent is required", "parent_id", "parent_id is required"],
  ["iam.Identities/Create", "staticKeys.expirationTime", "must be in the future", "static.expiration", "must be in the future"],
  ["iam.RoleBindings/CreateBatch", "requests", "requests is required", "roleBindings", "roleBindings is required"],
  ["iam.RoleBindings/CreateBatch", "requests[2].roleBinding.roleUid", "roleUid is required", "roleBindings[2].role", "role is required"],
  ["iam.GroupInvites/Create", "ttl", "ttl must be between 1s and 2592000s", "ttl", "ttl must be between 1s and 2592000s"],
  ["iam.GroupInvites/Create", "roleUid", "does not exist", "role", "does not exist"],
  ["iam.Groups/Create", "nonsense", "unknown field", "nonsense", "unknown field"],
];

for (const [operation, field, description, shownField, shown] of violations) {
  test(`a violation of ${operation} on ${field} is reported on ${shownField}`, () => {
    assert.deepEqual(violationInView(viewNamed(operation), { field, description }), { field: shownField, description: shown });
  });
}

test("a version 1 request converted to version 2 and back is unchanged", () => {
  for (const [operation, first, second] of requests) {
    const back = requestInView(viewNamed(operation), second);
    for (const [key, value] of Object.entries(first))
      if (typeof value === "string" && value !== "" && value !== "/" && key !== "pageSize") assert.deepEqual(back[key], value, `${operation} ${key}`);
  }
});

test("no two fields of a version 1 message map to the same field of version 2, except the uid's own place", () => {
  for (const method of views) {
    const paths = linksOfMethod(method).reply.map(({ path }) => path.map(({ name }) => name).join("."));
    assert.equal(new Set(paths).size, paths.length, method.name);
  }
});
