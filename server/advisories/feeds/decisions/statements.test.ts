// Which findings a VEX document of decisions states, and under which IDs.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExportedFinding, OpenFinding } from "#advisories/store";
import { statedIds, statementsOf } from "./statements.ts";

const digest = `sha256:${"ab".repeat(32)}`;

const finding = (more: Partial<ExportedFinding> = {}): ExportedFinding => ({
  decision: "group/one",
  vulnerability: "CVE-2026-1000",
  state: "FINDING_DECISION_STATE_FALSE_POSITIVE",
  justification: "",
  reason: "Another package.",
  expireTime: undefined,
  createTime: "2026-01-01T00:00:00.000Z",
  repoUid: "group/repo",
  digest,
  packageName: "pkg:deb/debian/tar?distro=debian-12&upstream=tar",
  installedVersion: "1.34-1",
  advisoryId: "GHSA-one",
  aliases: ["CVE-2026-1000"],
  ...more,
});

/** Returns "ID STATUS" for each statement. */
const statedOf = (findings: readonly ExportedFinding[], open: readonly OpenFinding[] = [], hidden = ""): string[] =>
  statementsOf({ findings, open, isShown: (decision) => decision !== hidden, pathOf: () => "acme/web", host: "gantry.example.com" }).statements.map(
    ({ name, status }) => `${name} ${status}`,
  );

test("a statement has the CVE ID as its name and the other IDs as aliases, and of several CVE IDs the decided one", () => {
  const rows: readonly (readonly [vulnerability: string, advisory: string, aliases: readonly string[], expected: readonly string[]])[] = [
    ["CVE-2026-1000", "GHSA-one", ["CVE-2026-1000"], ["CVE-2026-1000", "GHSA-one"]],
    ["GHSA-one", "GHSA-one", ["CVE-2026-1000"], ["CVE-2026-1000", "GHSA-one"]],
    ["CVE-2026-1000", "CVE-2026-1000", [], ["CVE-2026-1000"]],
    ["GHSA-one", "INTERNAL-1", ["GHSA-one"], ["GHSA-one", "INTERNAL-1"]],
    ["CVE-2026-1000", "USN-1-1", ["CVE-2026-1000", "CVE-2026-1001"], ["CVE-2026-1000"]],
    ["USN-1-1", "USN-1-1", ["CVE-2026-1000", "CVE-2026-1001"], ["USN-1-1"]],
  ];
  for (const [vulnerability, advisoryId, aliases, expected] of rows)
    assert.deepEqual(statedIds({ vulnerability, advisoryId, aliases }), expected, vulnerability);
});

test("a finding is not stated without a digest, a repo or a package URL, or if the decision is hidden", () => {
  assert.deepEqual(statedOf([finding()]), ["CVE-2026-1000 not_affected"]);
  for (const more of [{ digest: "" }, { repoUid: "" }, { packageName: "tar" }]) assert.deepEqual(statedOf([finding(more)]), [], JSON.stringify(more));
  assert.deepEqual(statedOf([finding()], [], "group/one"), []);
});

test("a finding is not stated if another one with the same ID, image and package is open, whatever the qualifiers of the package", () => {
  const other = { ...finding(), advisoryId: "DEBIAN-1" };
  assert.deepEqual(statedOf([finding()], [{ ...other, packageName: "pkg:deb/debian/tar?distro=debian-12" }]), []);
  for (const more of [
    { digest: "sha256:other" },
    { repoUid: "group/other" },
    { packageName: "pkg:deb/debian/gzip" },
    { installedVersion: "2" },
    { aliases: [] },
  ])
    assert.deepEqual(statedOf([finding()], [{ ...other, ...more }]), ["CVE-2026-1000 not_affected"], JSON.stringify(more));
});

test("of contradicting decisions about the same ID, image and package, only the one that claims least is stated, hidden or not", () => {
  const accepted = finding({ decision: "group/two", advisoryId: "GHSA-two", state: "FINDING_DECISION_STATE_ACCEPTED" });
  const examined = finding({ decision: "group/three", advisoryId: "GHSA-three", state: "FINDING_DECISION_STATE_UNDER_INVESTIGATION" });
  assert.deepEqual(statedOf([finding(), examined]), ["CVE-2026-1000 under_investigation"]);
  for (const findings of [
    [finding(), examined, accepted],
    [accepted, examined, finding()],
  ])
    assert.deepEqual(statedOf(findings), ["CVE-2026-1000 affected"]);
  assert.deepEqual(statedOf([finding(), accepted], [], "group/two"), []);
});

test("an image is named by digest and address, in the forms of the specification and of grype", () => {
  const { statements } = statementsOf({
    findings: [finding({ packageName: "pkg:rpm/fedora/tar", installedVersion: "2:1.34-1" })],
    open: [],
    isShown: () => true,
    pathOf: () => "acme/team/web",
    host: "gantry.example.com:8443",
  });
  const purl = `pkg:oci/web@${digest.replace(":", "%3A")}?repository_url=gantry.example.com:8443/acme/team`;
  assert.deepEqual(statements[0]?.images, [
    {
      name: `gantry.example.com:8443/acme/team/web@${digest}`,
      purl: `${purl}/web`,
      shortPurl: purl,
      packages: ["pkg:rpm/fedora/tar@1.34-1?epoch=2", "pkg:rpm/fedora/tar@2:1.34-1"],
    },
  ]);
});
