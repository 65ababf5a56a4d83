import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isObject, type Json } from "#base/json.ts";
import { buildSearchIndex } from "./search.ts";

const folder = join(import.meta.dirname, "../../contract/gen/openapi");
const names = ["iam", "registry", "vulnerabilities", "events", "audit"];
const index = await buildSearchIndex({
  names,
  read: async (name) => {
    const document: Json = JSON.parse(await readFile(join(folder, `${name}.json`), "utf8"));
    return isObject(document) ? document : {};
  },
});

/** A newcomer's questions, and a page that answers each. */
const questions: readonly (readonly [question: string, page: RegExp])[] = [
  ["How do I let GitHub Actions push?", /ci-identities\/github-actions/],
  ["SSO", /how-to\/sign-in/],
  ["SSO with Okta", /how-to\/sign-in-providers/],
  ["RBAC", /api-tour|access|roles|iam/i],
  ["webhook", /how-to\/webhooks/],
  ["webhook signature", /webhooks|events|clients/],
  ["scan an image", /scanners|scan-reports|registry/],
  ["docker login", /log-in-with-docker|push-and-pull/],
  ["permission denied", /how-to\/permission-denied/],
  ["backup", /operate\/back-up/],
  ["restore a deleted group", /restore-deleted/],
  ["install with systemd", /operate\/install/],
  ["prometheus", /operate\/(?:metrics|alerts)/],
  ["upgrade", /operate\/upgrade/],
  ["TLS certificate", /operate\/tls/],
  ["Terraform", /how-to\/terraform/],
  ["SCIM", /how-to\/scim/],
  ["which images are affected by a CVE", /affected-images|advisories/],
  ["import OSV", /import-advisories|import-formats/],
  ["assistant", /guides\/mcp/],
  ["kubernetes pull secret", /push-and-pull|kubernetes|pull-tokens/],
  ["rate limit", /quotas|limits/],
  ["audit log export", /audit/],
  ["migrate from Harbor", /migrate-images/],
  ["migrate from v1 to v2", /migrate-from-version-1/],
  ["nginx reverse proxy", /operate\/proxy/],
  ["HTTPS_PROXY", /operate\/proxy/],
  ["grant a role", /grant-roles|permission-denied/],
  ["helm chart", /charts-and-signatures|push-and-pull/],
  ["disk full", /operate\/runbooks/],
  ["secret key lost", /runbooks|operate\/keys/],
  ["threat model", /threat-model/],
  ["event types", /reference\/events/],
];

for (const [question, page] of questions)
  test(`a search for "${question}" shows a page that answers it among the first three results`, () => {
    const first = index.find(question).slice(0, 3);
    assert.ok(
      first.some(({ href }) => page.test(href)),
      `\n${first.map(({ title, where, href }) => `${title} (${where}) ${href}`).join("\n")}`,
    );
  });

test("a search without a word of a subject finds nothing", () => {
  assert.deepEqual(index.find("how do I"), []);
  assert.deepEqual(index.find("?"), []);
});
