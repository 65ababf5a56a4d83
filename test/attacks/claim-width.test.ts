// Attack 27: a claim match that any repository of a public CI provider satisfies. The response warns the caller in a header, over both
// protocols; a match that only the owner's jobs satisfy causes no warning.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import type { Protocol } from "../client.ts";
import { openWorld, type World } from "../world.ts";

const protocols = ["rest", "grpc"] as const satisfies readonly Protocol[];
let world: World;
before(async () => {
  world = await openWorld({ GANTRY_CORS_ORIGINS: "https://console.example.com", GANTRY_ISSUER_HOSTS: "*.example" });
});
after(() => world?.close());

const github = "https://token.actions.githubusercontent.com";
const identity = (claimMatch: JsonObject): JsonObject => ({ parent: world.organization, identity: { name: "ci", claimMatch } });

const wide: readonly (readonly [string, JsonObject])[] = [
  // As broad as the operator allows patterns to be.
  ["any issuer at all", { issuerPattern: "https://.+\\.example", subject: "repo:example/app:ref:refs/heads/main" }],
  ["any issuer at all", { issuerPattern: "https://.+\\.example", subjectPattern: ".*", claims: { repository_owner: "example" } }],
  ["any repository of GitHub Actions", { issuer: github, subjectPattern: ".*" }],
  ["any repository of GitHub Actions", { issuer: github, subjectPattern: "repo:.*" }],
  ["any repository of GitHub Actions", { issuer: github, subjectPattern: "^repo:.+/.+:ref:refs/heads/main$" }],
  ["any repository of GitHub Actions", { issuer: github, subjectPattern: "repo:[^/]+/[^:]+:pull_request" }],
  ["any repository of GitHub Actions", { issuer: github, subjectPattern: "repo:[^@]+@[0-9]+/[^@]+@[0-9]+:ref:refs/heads/main" }],
  [
    "any repository of GitHub Actions",
    { issuerPattern: "https://token\\.actions\\.githubusercontent\\.com(?:/.*)?", subjectPattern: ".*:environment:production" },
  ],
  ["any repository of GitHub Actions", { issuer: github, subjectPattern: ".*", audience: "gantry" }],
  ["any repository of GitHub Actions", { issuer: github, subjectPattern: ".*", claims: { ref: "refs/heads/main", event_name: "push" } }],
  ["any repository of GitHub Actions", { issuer: github, subjectPattern: ".*", claimPatterns: { repository: ".*" } }],
  ["any project of gitlab.com", { issuer: "https://gitlab.com", subjectPattern: "project_path:.*:ref_type:branch:ref:main" }],
  ["any Google account", { issuer: "https://accounts.google.com", subjectPattern: "[0-9]+" }],
  ["any Google account", { issuer: "accounts.google.com", subjectPattern: ".+" }],
  ["any organization of Buildkite", { issuer: "https://agent.buildkite.com", subjectPattern: "organization:.*" }],
  ["any organization of Buildkite", { issuer: "https://agent.buildkite.com", subjectPattern: "[0-9a-f-]{36}", claims: { build_branch: "main" } }],
  ["any workspace of HCP Terraform", { issuer: "https://app.terraform.io", subjectPattern: ".*:run_phase:apply" }],
  ["any organization of CircleCI", { issuerPattern: "https://oidc\\.circleci\\.com/org/.*", subjectPattern: "org/.*" }],
  [
    "any workspace of Bitbucket Pipelines",
    { issuerPattern: "https://api\\.bitbucket\\.org/2\\.0/workspaces/[^/]+/pipelines-config/identity/oidc", subjectPattern: ".*" },
  ],
  ["any tenant of Microsoft Entra", { issuerPattern: "https://login\\.microsoftonline\\.com/[^/]+/v2\\.0", subject: "the-one" }],
  [
    "any cluster of Google Kubernetes Engine",
    { issuerPattern: "https://container\\.googleapis\\.com/v1/projects/.*", subject: "system:serviceaccount:default:default" },
  ],
  ["any cluster of Amazon EKS", { issuerPattern: "https://oidc\\.eks\\..*\\.amazonaws\\.com/id/.*", subject: "system:serviceaccount:default:default" }],
];

const narrow: readonly JsonObject[] = [
  { issuer: github, subject: "repo:example/app:ref:refs/heads/main" },
  { issuer: github, subjectPattern: "repo:example/.*" },
  { issuer: github, subjectPattern: "repo:example@1/app@2:.*" },
  { issuer: github, subjectPattern: ".*", claims: { repository_owner: "example" } },
  { issuer: github, subjectPattern: ".*", claimPatterns: { repository: "example/.*" } },
  { issuer: github, subjectPattern: ".*", claims: { repository_owner_id: "1" }, claimPatterns: { ref: ".*" } },
  { issuer: "https://gitlab.com", subjectPattern: "project_path:example/.*" },
  { issuer: "https://gitlab.example.com", subjectPattern: ".*" },
  { issuer: "https://oidc.circleci.com/org/aaaaaaaa-0000-4000-8000-000000000000", subjectPattern: ".*" },
  { issuerPattern: "https://container\\.googleapis\\.com/v1/projects/example/.*", subjectPattern: "system:serviceaccount:.*" },
  { issuerPattern: "https://oidc\\.circleci\\.com/org/(aaaaaaaa|bbbbbbbb)-0000-4000-8000-000000000000", subjectPattern: ".*" },
];

for (const protocol of protocols) {
  test(`over ${protocol} a claim match that admits strangers returns a warning that names them`, async () => {
    for (const [who, claimMatch] of wide) {
      const answer = await world.call("iam.IdentitiesService/CreateIdentity", identity(claimMatch), { protocol });
      assert.equal(answer.code, 0, answer.message);
      assert.equal(
        answer.headers["gantry-warning"],
        `claim_match accepts tokens of ${who}; require an issuer, a subject or a claim that only your tokens have`,
        JSON.stringify(claimMatch),
      );
    }
  });

  test(`over ${protocol} a match that only the owner's tokens satisfy returns no warning`, async () => {
    for (const claimMatch of narrow) {
      const answer = await world.call("iam.IdentitiesService/CreateIdentity", identity(claimMatch), { protocol });
      assert.equal(answer.code, 0, answer.message);
      assert.equal(answer.headers["gantry-warning"], undefined, JSON.stringify(claimMatch));
    }
  });

  test(`over ${protocol} an update warns about its result, and so does a dry run`, async () => {
    const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", identity({ issuer: github, subject: "repo:example/app:ref:refs/heads/main" }));
    const update = (claimMatch: JsonObject, updateMask: string, validateOnly = false) =>
      world.call("iam.IdentitiesService/UpdateIdentity", { identity: { uid: String(uid), claimMatch }, updateMask }, { protocol, validateOnly });
    const rehearsed = await update({ subjectPattern: "repo:.*" }, "claim_match.subject_pattern", true);
    assert.match(rehearsed.headers["gantry-warning"] ?? "", /any repository of GitHub Actions/);
    assert.equal(rehearsed.headers["gantry-validate-only"], "true");
    assert.match((await update({ subjectPattern: "repo:.*" }, "claim_match.subject_pattern")).headers["gantry-warning"] ?? "", /any repository/);
    assert.equal((await update({ subjectPattern: "repo:example/.*" }, "claim_match.subject_pattern")).headers["gantry-warning"], undefined);
  });
}

test("a page of an allowed origin can read the warning", async () => {
  const response = await fetch(`${world.url}/iam/v2/identities/${world.organization}`, {
    method: "POST",
    headers: { authorization: `Bearer ${await world.token()}`, origin: "https://console.example.com", "content-type": "application/json" },
    body: JSON.stringify({ name: "ci", claimMatch: { issuer: github, subjectPattern: ".*" } }),
  });
  assert.equal(response.status, 200);
  assert.match(response.headers.get("gantry-warning") ?? "", /GitHub Actions/);
  assert.match(response.headers.get("access-control-expose-headers") ?? "", /\bgantry-warning\b/);
});

test("identities of other kinds never cause this warning", async () => {
  const awsIdentity = { awsAccount: "123456789012", arnPattern: ".*", userIdPattern: ".*" };
  const answer = await world.call("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "aws", awsIdentity } });
  assert.equal(answer.code, 0);
  assert.equal(answer.headers["gantry-warning"], undefined);
});
