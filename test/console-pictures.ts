// An organization as the pictures of the console show it: images on a base image, findings, decisions, rules, webhooks and accounts.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInRoleUid } from "#authz";
import { type JsonObject, objectList, text } from "#base/json.ts";
import type { DraftEntry } from "../server/registry/contents/tar.fixture.ts";
import { type ConsoleWorld, openConsoleWorld } from "./console.ts";
import { sealAudit } from "./audit.ts";
import { debian, dpkg, npm, pushImageWith } from "./image-layers.ts";
import { openOwners } from "./owner.ts";
import { openPusher, type Pushed, type Pusher } from "./pusher.ts";
import { ed25519Key, sourcesService } from "./signed-vex.ts";
import { runImport } from "./story/import.ts";
import { openSink, type Sink } from "./story/sink.ts";

interface Layer {
  readonly command: string;
  readonly content: readonly DraftEntry[];
}

const base: readonly Layer[] = [
  { command: "ADD rootfs.tar.gz /", content: [debian, dpkg(["bash", "5.2.15-2"], ["libssl3", "3.0.9-1"], ["zlib1g", "1:1.2.13"])] },
  { command: "RUN apt-get install -y nodejs", content: [npm("qs", "6.7.0")] },
];

const pushLayers = (registry: Pusher, layers: readonly Layer[], tag: string): Promise<Pushed> =>
  pushImageWith(registry, tag, { commands: [...layers.map(({ command }) => command), 'CMD ["node", "server.js"]'] }, ...layers.map(({ content }) => content));

/** Published facts about packages of npm. */
const records: readonly (readonly [id: string, cve: string, name: string, score: string, fixed: string, summary: string])[] = [
  ["GHSA-xvch-5gv4-984h", "CVE-2021-44906", "minimist", "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "1.2.6", "Prototype pollution in minimist"],
  ["GHSA-hrpp-h998-j3pp", "CVE-2022-24999", "qs", "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H", "6.7.3", "qs vulnerable to prototype pollution"],
  ["GHSA-35jh-r3h4-6jhm", "CVE-2021-23337", "lodash", "CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H", "4.17.21", "Command injection in lodash"],
  ["GHSA-rv95-896h-c2vc", "CVE-2024-29041", "express", "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", "4.19.2", "Open redirect in malformed URLs"],
];

const dayMs = 86_400_000;

export interface PicturesWorld extends ConsoleWorld {
  /** Digest of the image with the tag 2.1 in acme/payments/ledger. */
  readonly digest: string;
}

/** Fills the organization, and returns the digest. */
const fill = async ({ world, tokenOf }: ConsoleWorld, sink: Sink, folder: string): Promise<string> => {
  const owners = openOwners(world);
  const owned = owners.world();
  const make = async (rpc: string, request: JsonObject): Promise<string> => text(await owned.ok(rpc, request), "uid");
  const group = (parent: string, name: string): Promise<string> => make("iam.GroupsService/CreateGroup", { parent, group: { name } });
  const publish = async (): Promise<void> => {
    for (const [id, cve, name, score, fixed, summary] of records) {
      const affected = [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed }] }] }];
      const severity = [{ type: "CVSS_V3", score }];
      const path = join(folder, `${id}.json`);
      writeFileSync(path, JSON.stringify({ schema_version: "1.7.0", id, aliases: [cve], modified: "2026-01-01T00:00:00Z", severity, affected, summary }));
      for (const kind of ["vulnerabilities", "advisories"] as const) assert.deepEqual((await runImport(world, kind, [path], { public: true })).refused, []);
    }
  };

  await owned.ok("iam.GroupsService/UpdateGroup", { group: { uid: world.organization, name: "acme" }, updateMask: "name" });
  world.clock.now -= 40 * dayMs;
  const payments = await group(world.organization, "payments");
  await group(payments, "fraud");
  await group(world.organization, "platform");
  await publish();
  await pushLayers(
    openPusher(world, "acme/platform/node", () => owners.token()),
    base,
    "20",
  );
  const registry = openPusher(world, "acme/payments/ledger", () => owners.token());
  const app = (...packages: readonly DraftEntry[]): readonly Layer[] => [...base, { command: "COPY . /app", content: packages }];
  await pushLayers(registry, app(npm("minimist", "1.2.5"), npm("lodash", "4.17.20"), npm("express", "4.17.1")), "2.0");
  world.clock.now += 23 * dayMs;
  await pushLayers(registry, app(npm("minimist", "1.2.5"), npm("lodash", "4.17.21"), npm("express", "4.17.1")), "2.1-rc");
  world.clock.now += 11 * dayMs;
  // Names of people.
  for (const [kind, name] of [
    ["owner", "grace"],
    ["viewer", "ada"],
    ["nobody", "alan"],
  ] as const) {
    await tokenOf(kind);
    const [found] = objectList(await owned.ok("iam.IdentitiesService/ListIdentities", { name: `${kind} of tests` }), "identities");
    await owned.ok("iam.IdentitiesService/UpdateIdentity", { identity: { uid: text(found ?? {}, "uid"), name }, updateMask: "name" });
  }
  const { digest } = await pushLayers(registry, app(npm("minimist", "1.2.5"), npm("lodash", "4.17.21"), npm("express", "4.17.1"), npm("ms", "2.1.3")), "2.1");
  await world.server.contents.turn();
  await world.server.sboms.turn();

  const github = { issuer: "https://token.actions.githubusercontent.com", subject: "repo:acme/ledger:ref:refs/heads/main" };
  const robot = await make("iam.IdentitiesService/CreateIdentity", {
    parent: payments,
    identity: { name: "ledger-ci", description: "GitHub Actions of acme/ledger", claimMatch: github },
  });
  const bind = (parent: string, identityUid: string, role: string): Promise<string> =>
    make("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } });
  await bind(payments, robot, "registry.push");
  const kubernetes = { issuer: "https://kubernetes.example.com", subject: "system:serviceaccount:prod:puller" };
  await bind(
    world.organization,
    await make("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "cluster", claimMatch: kubernetes } }),
    "registry.pull",
  );
  const retentionRule = { name: "release candidates", tagPattern: ".*-rc", keepLast: 3, keepDays: 30, previewOnly: true };
  await owned.ok("gantry.registry.v1.RetentionRulesService/CreateRetentionRule", { parent: payments, retentionRule });
  const immutableTagRule = { pattern: "[0-9]+[.][0-9]+", description: "Releases are final" };
  await owned.ok("gantry.registry.v1.ImmutableTagRulesService/CreateImmutableTagRule", { parent: world.organization, immutableTagRule });
  const findingDecision = {
    vulnerability: "CVE-2024-29041",
    packageName: "pkg:npm/express",
    state: "FINDING_DECISION_STATE_NOT_AFFECTED",
    justification: "FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_IN_EXECUTE_PATH",
    reason: "The ledger never redirects.",
  };
  await owned.ok("gantry.decisions.v1.DecisionsService/CreateFindingDecision", { parent: payments, findingDecision });
  const decisionApprovalPolicy = { description: "Exceptions in payments need two people" };
  await owned.ok("gantry.decisions.v1.DecisionApprovalPoliciesService/CreateDecisionApprovalPolicy", { parent: payments, decisionApprovalPolicy });
  const pending = { ...findingDecision, vulnerability: "CVE-2022-24999", packageName: "pkg:npm/qs", reason: "The ledger parses no query strings." };
  await owned.ok("gantry.decisions.v1.DecisionsService/CreateFindingDecision", { parent: payments, findingDecision: pending });
  for (const name of ["base image team", "supplier of express"]) {
    const vexSource = { name, publicKey: ed25519Key().publicKey };
    await owned.ok(`${sourcesService}/CreateVexSource`, { parent: name.startsWith("base") ? world.organization : payments, vexSource });
  }
  const oidc = { issuer: "https://login.example.com", clientId: "gantry", clientSecret: "known to two", pkceEnabled: true };
  const identityProvider = { name: "contractors", description: "Until the end of the project", defaultRole: builtInRoleUid("viewer"), oidc };
  await owned.ok("iam.IdentityProvidersService/CreateIdentityProvider", { parent: payments, identityProvider });
  const role = { name: "release manager", description: "Promotes images to production", capabilities: ["CAP_REPO_LIST", "CAP_REPO_UPDATE", "CAP_TAG_LIST"] };
  await owned.ok("iam.RolesService/CreateRole", { parent: world.organization, role });
  await owned.ok("chainguard.platform.libraries.v2beta1.RequestGroupsService/CreateRequestGroup", {
    parent: payments,
    name: "reports",
    content: "requests==2.32.3\nurllib3==2.2.1",
    filename: "requirements.txt",
  });
  await owned.ok("events.SubscriptionsService/CreateSubscription", { parent: payments, subscription: { sink: sink.url } });
  sink.answer = ({ body }) => ({ status: body.includes("unstable") ? 503 : 200 });
  for (const name of ["statements", "unstable"]) await owned.ok("registry.ReposService/CreateRepo", { parent: payments, repo: { name } });
  await world.server.delivery.finish();
  const [old] = objectList(await owned.ok("registry.ReposService/ListRepos", { name: "unstable" }), "repos");
  await owned.ok("registry.ReposService/DeleteRepo", { uid: text(old ?? {}, "uid") });
  await world.call(
    "iam.IdentitiesService/CreateIdentity",
    { parent: payments, identity: { name: "more", claimMatch: github } },
    { token: await world.token(robot) },
  );
  await sealAudit(world);
  world.clock.now += 6 * dayMs;
  // The source was read again.
  await publish();
  await world.server.sboms.turn();
  return digest;
};

export const openPicturesWorld = async (): Promise<PicturesWorld> => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-console-pictures-"));
  const opened = await openConsoleWorld({ GANTRY_BLOBS: join(folder, "blobs"), GANTRY_DELIVERY_DELAYS: "0" });
  const sink = await openSink();
  const close = async (): Promise<void> => {
    await opened.close();
    await sink.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return { ...opened, digest: await fill(opened, sink, folder), close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
};
