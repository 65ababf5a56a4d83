// Decisions about findings agree with a naive model: findings, affected images and the counts of version 1, after any sequence of pushes,
// imports, decisions, approvals, withdrawals and expiries, with and without approval policies.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { openOwners, type Owners } from "../owner.ts";
import { fc, runs } from "../property.ts";
import { openPusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";

const service = "gantry.decisions.v1.DecisionsService";
const policyService = "gantry.decisions.v1.DecisionApprovalPoliciesService";
const dayMs = 86_400_000;

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-decisions-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") }, undefined, Date.UTC(2026, 1, 1, 9));
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const packages = ["alpha", "beta"] as const;
const versions = ["1.0.0", "2.0.0"] as const;
const repos = ["web", "team/api"] as const;
const tags = ["latest", "dev-1"] as const;
const vulnerabilities = [0, 1] as const;
const decisionStates = ["NOT_AFFECTED", "ACCEPTED", "UNDER_INVESTIGATION", "FALSE_POSITIVE"] as const;

type Step =
  | { readonly does: "push"; readonly repo: string; readonly tag: string; readonly installed: readonly (readonly [name: string, version: string])[] }
  | { readonly does: "publish"; readonly vulnerability: number; readonly name: string; readonly fixed: string }
  | {
      readonly does: "decide";
      readonly vulnerability: number;
      readonly byAlias: boolean;
      readonly isOfTeam: boolean;
      readonly name: string;
      readonly repo: string;
      readonly ofDigest: boolean;
      readonly tagPattern: string;
      readonly state: (typeof decisionStates)[number];
      readonly days: number;
    }
  | { readonly does: "withdraw"; readonly index: number }
  | { readonly does: "require"; readonly isOfTeam: boolean; readonly isRequired: boolean }
  | { readonly does: "approve"; readonly index: number }
  | { readonly does: "wait"; readonly days: number; readonly isMatched: boolean };

const vulnerability = fc.constantFrom(...vulnerabilities);
const push: fc.Arbitrary<Step> = fc.record({
  does: fc.constant("push" as const),
  repo: fc.constantFrom(...repos),
  tag: fc.constantFrom(...tags),
  installed: fc.uniqueArray(fc.tuple(fc.constantFrom(...packages), fc.constantFrom(...versions)), { selector: ([name]) => name, minLength: 1, maxLength: 2 }),
});
const publish: fc.Arbitrary<Step> = fc.record({
  does: fc.constant("publish" as const),
  vulnerability,
  name: fc.constantFrom(...packages),
  fixed: fc.constantFrom("2.0.0", "3.0.0", ""),
});
const change: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: push },
  { weight: 1, arbitrary: publish },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant("decide" as const),
      vulnerability,
      byAlias: fc.boolean(),
      isOfTeam: fc.boolean(),
      name: fc.constantFrom("", "", ...packages),
      repo: fc.constantFrom("", "", ...repos),
      ofDigest: fc.constantFrom(false, false, true),
      tagPattern: fc.constantFrom("", "", "dev-*", "*t"),
      state: fc.constantFrom(...decisionStates),
      days: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("withdraw" as const), index: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("require" as const), isOfTeam: fc.boolean(), isRequired: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("approve" as const), index: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("wait" as const), days: fc.integer({ min: 1, max: 4 }), isMatched: fc.boolean() }) },
);
/** Sequences start with images and an advisory, so that decisions have findings; half of them with an approval policy, too. */
const sequence: fc.Arbitrary<Step[]> = fc
  .tuple(push, push, publish, fc.constantFrom("organization", "team", "", ""), fc.array(change, { minLength: 3, maxLength: 9 }))
  .map(([one, other, first, place, rest]): Step[] => [
    one,
    other,
    first,
    ...(place === "" ? [] : [{ does: "require" as const, isOfTeam: place === "team", isRequired: true }]),
    ...rest,
  ]);

interface Decision {
  readonly uid: string;
  readonly vulnerability: number;
  readonly isOfTeam: boolean;
  readonly name: string;
  readonly repo: string;
  readonly digest: string;
  readonly tagPattern: string;
  readonly state: string;
  readonly untilMs: number;
  readonly position: number;
}

interface Image {
  readonly repo: string;
  readonly tag: string;
  readonly digest: string;
  readonly installed: ReadonlyMap<string, string>;
}

interface Finding {
  readonly image: Image;
  readonly name: string;
  readonly vulnerability: number;
}

const matchesTag: Readonly<Record<string, (tag: string) => boolean>> = {
  "": () => true,
  "dev-*": (tag) => tag === "dev-1",
  "*t": (tag) => tag === "latest",
};

const isInScope = (decision: Decision, { image, name, vulnerability: of }: Finding): boolean =>
  decision.vulnerability === of &&
  (!decision.isOfTeam || image.repo === "team/api") &&
  (decision.name === "" || decision.name === name) &&
  (decision.repo === "" || decision.repo === image.repo) &&
  (decision.digest === "" || decision.digest === image.digest) &&
  (matchesTag[decision.tagPattern]?.(image.tag) ?? false);

const rankOf = ({ isOfTeam, name, repo, digest, tagPattern, position }: Decision): number =>
  (isOfTeam ? 1e6 : 0) + [name, repo, digest, tagPattern].filter((each) => each !== "").length * 1e5 + position;

const claimMatch = { issuer: "https://issuer.example.com", subject: "approver" };

const everyState = ["AFFECTED", "UNDER_INVESTIGATION", "SUPPRESSED"].map((state) => `AFFECTED_IMAGE_STATE_${state}`);

test("decisions have the same effect on findings, affected images and version 1 as in a model in memory", async () => {
  let decidedFindings = 0;
  let approvals = 0;
  await fc.assert(
    fc.asyncProperty(sequence, async (steps) => {
      const organization = `decided-${++made}`;
      const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: organization } }), "uid");
      const token = (): Promise<string> => owners.token(group);
      const own = async (name: string, request: JsonObject): Promise<JsonObject> => world.ok(name, request, { token: await token() });
      const team = text(await own("iam.GroupsService/CreateGroup", { parent: group, group: { name: "team" } }), "uid");
      const repoUids = new Map<string, string>();
      for (const [repo, parent, name] of [["web", group, "web"] as const, ["team/api", team, "api"] as const])
        repoUids.set(repo, text(await own("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid"));
      const ids = (of: number): { readonly id: string; readonly cve: string } => ({
        id: `GHSA-${organization}-${of}`,
        cve: `CVE-2026-${group.slice(0, 12).replaceAll(/[a-f]/g, "7")}${of}`,
      });
      const images = new Map<string, Image>();
      const advisories = new Map<number, { readonly name: string; readonly fixed: string }>();
      const counting: Decision[] = [];
      const waiting: Decision[] = [];
      /** Uids of the approval policies, of the team or of the organization. */
      const policies = new Map<boolean, string>();
      const approver = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: group, identity: { name: "approver", claimMatch } }), "uid");
      await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: approver, roleUid: builtInRoleUid("owner") } });

      const findings = (): Finding[] =>
        [...images.values()].flatMap((image) =>
          [...advisories].flatMap(([of, { name, fixed }]) => {
            const version = image.installed.get(name);
            return version !== undefined && (fixed === "" || version < fixed) ? [{ image, name, vulnerability: of }] : [];
          }),
        );
      const countingFor = (finding: Finding): Decision | undefined =>
        counting.filter((each) => isInScope(each, finding) && each.untilMs > world.clock.now).sort((one, other) => rankOf(other) - rankOf(one))[0];
      const describe = (finding: Finding): string => {
        const decision = countingFor(finding);
        if (decision) decidedFindings++;
        const state = decision && decision.state !== "UNDER_INVESTIGATION" ? "SUPPRESSED" : "AFFECTED";
        return `${finding.image.digest} ${finding.name} ${finding.vulnerability} ${state} ${decision ? `${decision.state} ${decision.uid}` : "-"}`;
      };
      const describeRow = (row: JsonObject): string => {
        const decision = part(row, "decision");
        const of = vulnerabilities.find((each) => texts(row, "aliases").includes(ids(each).cve));
        const name = text(row, "packageName").replace("pkg:npm/", "");
        const decided = row.decision === undefined ? "-" : `${text(decision, "state").replace("FINDING_DECISION_STATE_", "")} ${text(decision, "uid")}`;
        return `${text(row, "digest")} ${name} ${of} ${text(row, "state").replace("AFFECTED_IMAGE_STATE_", "")} ${decided}`;
      };
      const asked = { uidp: { descendantsOf: group }, pageSize: 200 };
      const listed = async (filter: JsonObject): Promise<JsonObject[]> => {
        const reply = await own("gantry.findings.v1.FindingsService/ListFindings", { ...asked, ...filter });
        const rows = objectList(reply, "findings");
        assert.equal(Number(reply.totalCount), rows.length);
        const counts = objectList(part(reply, "summary"), "severityCounts");
        assert.equal(
          counts.reduce((sum, { count }) => sum + Number(count), 0),
          rows.length,
        );
        return rows;
      };
      const affected = async (): Promise<JsonObject[]> =>
        objectList(await own("gantry.images.v1.AffectedImagesService/ListAffectedImages", asked), "affectedImages").filter(
          (row) => text(row, "endTime") === "",
        );

      for (const each of steps) {
        // Reports and decisions are ordered by their times.
        world.clock.now += 1000;
        if (each.does === "push") {
          const registry = openPusher(world, `${organization}/${each.repo}`, token, String(++made));
          const image = await registry.image("amd64", each.tag);
          const components = each.installed.map(([name, version]) => ({ type: "library", name, purl: `pkg:npm/${name}@${version}` }));
          const sbom = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components });
          await registry.artifact([await registry.blob(sbom, "application/vnd.cyclonedx+json")], { subject: image });
          await world.server.sboms.turn();
          images.set(`${each.repo}:${each.tag}`, { repo: each.repo, tag: each.tag, digest: image.digest, installed: new Map(each.installed) });
        } else if (each.does === "publish") {
          const events = [{ introduced: "0" }, ...(each.fixed === "" ? [] : [{ fixed: each.fixed }])];
          const { id, cve } = ids(each.vulnerability);
          const file = join(folder, `${id}.json`);
          const modified = new Date(world.clock.now).toISOString();
          const ranges = [{ package: { ecosystem: "npm", name: each.name }, ranges: [{ type: "SEMVER", events }] }];
          writeFileSync(file, JSON.stringify({ schema_version: "1.7.0", id, modified, aliases: [cve], affected: ranges }));
          assert.deepEqual((await runImport(world, "advisories", [file], { group })).refused, []);
          advisories.set(each.vulnerability, each);
          // Earlier decisions were made about other content.
          for (const list of [counting, waiting])
            for (const [index, decision] of [...list.entries()].reverse()) if (decision.vulnerability === each.vulnerability) list.splice(index, 1);
        } else if (each.does === "decide") {
          const parent = each.isOfTeam ? team : group;
          const repo = each.isOfTeam && each.repo === "web" ? "" : each.repo;
          const digest = each.ofDigest ? ([...images.values()][0]?.digest ?? "") : "";
          const untilMs = each.state === "ACCEPTED" ? world.clock.now + each.days * dayMs : Number.POSITIVE_INFINITY;
          const { id, cve } = ids(each.vulnerability);
          const findingDecision: JsonObject = {
            vulnerability: each.byAlias ? cve : id,
            state: `FINDING_DECISION_STATE_${each.state}`,
            reason: "Decided.",
            packageName: each.name === "" ? "" : `pkg:npm/${each.name}`,
            repoUid: repoUids.get(repo) ?? "",
            digest,
            tagPattern: each.tagPattern,
            ...(each.state === "NOT_AFFECTED" ? { justification: "FINDING_DECISION_JUSTIFICATION_COMPONENT_NOT_PRESENT" } : {}),
            ...(each.state === "ACCEPTED" ? { expireTime: new Date(untilMs).toISOString() } : {}),
          };
          const reply = await own(`${service}/CreateFindingDecision`, { parent, findingDecision });
          const decision = {
            uid: text(reply, "uid"),
            vulnerability: each.vulnerability,
            isOfTeam: each.isOfTeam,
            name: each.name,
            repo,
            digest,
            tagPattern: each.tagPattern,
            state: each.state,
            untilMs,
            position: ++made,
          };
          assert.equal(reply.findingCount ?? 0, findings().filter((finding) => isInScope(decision, finding)).length);
          const isPending = each.state !== "UNDER_INVESTIGATION" && (policies.has(false) || (each.isOfTeam && policies.has(true)));
          assert.equal(reply.approvalState, `FINDING_DECISION_APPROVAL_STATE_${isPending ? "PENDING" : "NOT_REQUIRED"}`);
          // Without an advisory, there is nothing that it is about.
          if (advisories.has(each.vulnerability)) (isPending ? waiting : counting).push(decision);
          await world.server.sboms.turn();
        } else if (each.does === "withdraw") {
          const [decision] = counting.splice(each.index % Math.max(1, counting.length), 1);
          if (decision) await own(`${service}/DeleteFindingDecision`, { uid: decision.uid });
          await world.server.sboms.turn();
        } else if (each.does === "require") {
          const known = policies.get(each.isOfTeam);
          if (!each.isRequired && known !== undefined) await own(`${policyService}/DeleteDecisionApprovalPolicy`, { uid: known });
          policies.delete(each.isOfTeam);
          const request = { parent: each.isOfTeam ? team : group, decisionApprovalPolicy: {} };
          if (each.isRequired) policies.set(each.isOfTeam, known ?? text(await own(`${policyService}/CreateDecisionApprovalPolicy`, request), "uid"));
          await world.server.sboms.turn();
        } else if (each.does === "approve") {
          const [decision] = waiting.splice(each.index % Math.max(1, waiting.length), 1);
          if (decision && decision.untilMs > world.clock.now) {
            await world.ok(`${service}/ApproveFindingDecision`, { uid: decision.uid }, { token: await world.token(approver) });
            counting.push(decision);
            approvals++;
          }
          await world.server.sboms.turn();
        } else {
          world.clock.now += each.days * dayMs;
          if (each.isMatched) await world.server.sboms.turn();
          // Also before matching, no expired decision counts.
          const rows = await listed({ states: everyState });
          const open = findings().filter((finding) => countingFor(finding)?.state === undefined);
          const opened = new Set(rows.filter((row) => text(row, "state") !== "AFFECTED_IMAGE_STATE_SUPPRESSED").map((row) => describeRow(row)));
          for (const finding of open) assert.ok(opened.has(describe(finding)), describe(finding));
          assert.deepEqual((await affected()).map(describeRow).sort(), rows.map(describeRow).sort());
          assert.deepEqual((await listed({})).map(describeRow).sort(), [...opened].sort());
        }
      }
      await world.server.sboms.turn();
      const expected = findings().map(describe).sort();
      assert.deepEqual((await listed({ states: everyState })).map(describeRow).sort(), expected);
      assert.deepEqual((await affected()).map(describeRow).sort(), expected);
      assert.deepEqual((await listed({})).map(describeRow).sort(), expected.filter((each) => !each.includes(" SUPPRESSED ")).sort());
      for (const state of decisionStates)
        assert.deepEqual(
          (await listed({ decisionStates: [`FINDING_DECISION_STATE_${state}`] })).map(describeRow).sort(),
          expected.filter((each) => new RegExp(` ${state} [0-9a-f]`).test(each)).sort(),
          state,
        );
      for (const { repo, tag } of images.values()) {
        const request = { repo: `${organization}/${repo}`, tag };
        const [last = {}] = objectList(await own("chainguard.platform.registry.Vulnerabilities/ListVulnCountReports", request), "items").slice(-1);
        const counted = objectList(last, "vulnCounts").reduce((sum, { count }) => sum + Number(count ?? 0), 0);
        const open = findings().filter((finding) => finding.image.repo === repo && finding.image.tag === tag && !describe(finding).includes(" SUPPRESSED "));
        assert.equal(counted, open.length, `${repo}:${tag}`);
      }
    }),
    { numRuns: runs(10) },
  );
  assert.ok(decidedFindings > 0, "some findings were decided");
  assert.ok(approvals > 0, "some decisions were approved");
});
