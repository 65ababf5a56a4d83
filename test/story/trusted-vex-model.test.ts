// Signed statements of trusted sources have the same effect on findings as a naive model: after any sequence of sources, documents,
// deletions, decisions and approvals, for plain images, indexes and their platforms.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, part, text, texts } from "#base/json.ts";
import { npm, pushImageWith } from "../image-layers.ts";
import { fc, runs } from "../property.ts";
import { descriptorOf, ociIndex, openPusher } from "../pusher.ts";
import { ed25519Key, envelope, openVexStage, openvex, p256Key, statementAbout, type Supplied, type VexStage } from "../signed-vex.ts";

let stage: VexStage;
let made = 0;

before(async () => {
  stage = await openVexStage();
});
after(() => stage?.close());

const keys = [ed25519Key(), p256Key()] as const;
const packages = ["lantern", "lamp"] as const;
/** Images by the names that steps use: two repos, and an index with two platforms, of which one has a tag of its own. */
const subjects = ["web", "index", "amd64", "arm64"] as const;
type Subject = (typeof subjects)[number];
const contents: Readonly<Record<Subject, readonly string[]>> = {
  web: ["lantern", "lamp"],
  index: ["lantern", "lamp"],
  amd64: ["lantern", "lamp"],
  arm64: ["lantern"],
};
const repoOf = (subject: Subject): "web" | "api" => (subject === "web" ? "web" : "api");
const platformsOf = (subject: Subject, name: string): readonly Subject[] =>
  (subject === "index" ? (["amd64", "arm64"] as const) : [subject]).filter((each) => contents[each].includes(name));

interface Statement {
  readonly vulnerability: number;
  readonly byAdvisory: boolean;
  readonly status: "not_affected" | "fixed" | "affected" | "under_investigation";
  readonly isJustified: boolean;
  /** A package, an image by its digest, or "" for none. */
  readonly product: "" | (typeof packages)[number] | Subject;
  readonly day: number;
}

type Step =
  | { readonly does: "trust"; readonly key: number; readonly isOfTeam: boolean; readonly repo: "" | "web" | "api" }
  | { readonly does: "distrust"; readonly index: number }
  | { readonly does: "state"; readonly subject: Subject; readonly signers: readonly number[]; readonly statements: readonly Statement[] }
  | { readonly does: "delete"; readonly index: number }
  | { readonly does: "decide"; readonly vulnerability: number; readonly isOfTeam: boolean; readonly state: "FALSE_POSITIVE" | "UNDER_INVESTIGATION" }
  | { readonly does: "withdraw"; readonly index: number }
  | { readonly does: "require"; readonly isRequired: boolean }
  | { readonly does: "approve"; readonly index: number };

const statement: fc.Arbitrary<Statement> = fc.record({
  vulnerability: fc.nat(1),
  byAdvisory: fc.boolean(),
  status: fc.constantFrom(
    "not_affected" as const,
    "not_affected" as const,
    "fixed" as const,
    "fixed" as const,
    "affected" as const,
    "under_investigation" as const,
  ),
  isJustified: fc.constantFrom(true, true, true, false),
  product: fc.constantFrom("" as const, "" as const, "" as const, ...packages, ...subjects),
  day: fc.integer({ min: 1, max: 6 }),
});
const trust: fc.Arbitrary<Step> = fc.record({
  does: fc.constant("trust" as const),
  key: fc.nat(1),
  isOfTeam: fc.boolean(),
  repo: fc.constantFrom("" as const, "" as const, "web" as const, "api" as const),
});
const state: fc.Arbitrary<Step> = fc.record({
  does: fc.constant("state" as const),
  subject: fc.constantFrom(...subjects, "index" as const),
  signers: fc.constantFrom([0], [1], [0, 1], []),
  statements: fc.array(statement, { minLength: 1, maxLength: 3 }),
});
const index = fc.nat(5);
const change: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: state },
  { weight: 2, arbitrary: trust },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("distrust" as const), index }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("delete" as const), index }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant("decide" as const),
      vulnerability: fc.nat(1),
      isOfTeam: fc.boolean(),
      state: fc.constantFrom("FALSE_POSITIVE" as const, "UNDER_INVESTIGATION" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("withdraw" as const), index }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("require" as const), isRequired: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("approve" as const), index }) },
);
/** Sequences start with a source and two documents that it signed, so that statements count. */
const sequence: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.nat(1),
    fc.array(statement, { minLength: 1, maxLength: 2 }),
    fc.array(statement, { minLength: 1, maxLength: 2 }),
    fc.array(change, { minLength: 4, maxLength: 8 }),
  )
  .map(([key, one, other, rest]): Step[] => [
    { does: "trust", key, isOfTeam: false, repo: "" },
    { does: "state", subject: "web", signers: [0, 1], statements: one },
    { does: "state", subject: "index", signers: [0, 1], statements: other },
    ...rest,
  ]);

interface Source {
  readonly uid: string;
  readonly name: string;
  readonly key: number;
  readonly isOfTeam: boolean;
  readonly repo: string;
}

interface Document {
  readonly subject: Subject;
  readonly digest: string;
  readonly signers: readonly number[];
  readonly statements: readonly Statement[];
}

interface Decision {
  readonly uid: string;
  readonly vulnerability: number;
  readonly isOfTeam: boolean;
  readonly state: string;
  readonly position: number;
}

const isTeams = (subject: Subject): boolean => repoOf(subject) === "api";

const silences = ({ status, isJustified }: Statement): boolean => status === "fixed" || (status === "not_affected" && isJustified);

/** Sorts the latest first; at the same time, one that leaves the finding open. */
const compare = (one: Statement, other: Statement): number => other.day - one.day || Number(silences(one)) - Number(silences(other));

/** Returns whether a statement in a document about `subject` is about a platform of the finding's image. */
const isAbout = (subject: Subject, product: string, image: Subject, platform: Subject): boolean => {
  const named = packages.some((name) => name === product) ? "" : product;
  if (subject === image && (named === "" || named === image)) return true;
  if (image === "index") return (subject === "index" && named === platform) || (subject === platform && (named === "" || named === platform));
  const isListed = image === "amd64" || image === "arm64";
  return isListed && subject === "index" && (named === "" || named === "index" || named === image);
};

test("signed statements, sources, deletions, decisions and approvals have the same effect on findings as in a model in memory", async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(sequence, async (steps) => {
      const { world } = stage;
      const organization = await stage.newOrganization();
      const { name, group, token } = organization;
      const own = async (method: string, request: JsonObject): Promise<JsonObject> => world.ok(method, request, { token: await token() });
      const team = await stage.newGroup(organization, group, "team");
      const paths = { web: `${name}/web`, api: `${name}/team/api` };
      const claimMatch = { issuer: "https://issuer.example.com", subject: "approver" };
      const approver = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: group, identity: { name: "approver", claimMatch } }), "uid");
      await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: approver, roleUid: builtInRoleUid("owner") } });
      const ids = packages.map((_, of) => ({ advisory: `GHSA-${name}-${of}`, cve: `CVE-2026-${800_000 + 2 * made++}` }));
      for (const [of, each] of packages.entries()) await stage.importRecord(organization, ids[of]?.advisory ?? "", [ids[of]?.cve ?? ""], each);

      const api = openPusher(world, paths.api, token);
      const images = {} as Record<Subject, Supplied>;
      images.web = { ...organization, path: paths.web, digest: await stage.push(organization, paths.web, ...contents.web) };
      const manifests: JsonObject[] = [];
      for (const [architecture, tag] of [
        ["amd64", "1-amd64"],
        ["arm64", undefined],
      ] as const) {
        const layer = contents[architecture].map((each) => npm(each, "1.0.0"));
        const pushed = await pushImageWith(api, tag, { architecture, annotations: { platform: architecture } }, layer);
        manifests.push({ ...descriptorOf(pushed), platform: { os: "linux", architecture } });
        images[architecture] = { ...organization, path: paths.api, digest: pushed.digest };
      }
      const pushed = await api.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, "1");
      images.index = { ...organization, path: paths.api, digest: pushed.digest };
      await stage.turn();
      const repoUids = new Map<string, string>();
      for (const finding of await stage.findings(organization))
        repoUids.set(text(finding, "digest") === images.web.digest ? "web" : "api", text(finding, "repoUid"));

      const sources: Source[] = [];
      const documents: Document[] = [];
      const counting: Decision[] = [];
      const waiting: Decision[] = [];
      let policy = "";

      const verdictOf = (source: Source, image: Subject, of: number): { readonly isOpen: boolean; readonly shown: Statement | undefined } => {
        const packageName = packages[of] ?? "";
        const signed = documents.filter(({ subject, signers }) => repoOf(subject) === repoOf(image) && signers.includes(source.key));
        const latest = platformsOf(image, packageName).map((platform) =>
          signed
            .flatMap(({ subject, statements }) => statements.filter(({ product }) => isAbout(subject, product, image, platform)))
            .filter(({ vulnerability, product }) => vulnerability === of && (!packages.some((each) => each === product) || product === packageName))
            .sort(compare)
            .at(0),
        );
        if (latest.some((each) => each !== undefined && !silences(each))) return { isOpen: true, shown: undefined };
        const all = latest.flatMap((each) => each ?? []);
        return { isOpen: false, shown: all.length === latest.length ? all.sort(compare)[0] : undefined };
      };
      const expectedOf = (image: Subject, of: number): string => {
        const decision = counting
          .filter((each) => each.vulnerability === of && (!each.isOfTeam || isTeams(image)))
          .sort((one, other) => Number(other.isOfTeam) - Number(one.isOfTeam) || other.position - one.position)[0];
        if (decision) return `${decision.state === "UNDER_INVESTIGATION" ? "AFFECTED" : "SUPPRESSED"} ${decision.uid}`;
        const trusted = sources.filter(({ isOfTeam, repo }) => (!isOfTeam || isTeams(image)) && (repo === "" || repo === repoOf(image)));
        const verdicts = trusted.map((source) => ({ source, ...verdictOf(source, image, of) }));
        if (verdicts.some(({ isOpen }) => isOpen)) return "AFFECTED -";
        const silent = verdicts.flatMap(({ source, shown }) => (shown === undefined ? [] : [{ source, shown }]));
        const [first] = silent.sort(
          (one, other) =>
            Number(other.source.isOfTeam) - Number(one.source.isOfTeam) || other.shown.day - one.shown.day || (one.source.uid < other.source.uid ? -1 : 1),
        );
        return first === undefined ? "AFFECTED -" : `SUPPRESSED ${first.source.uid}`;
      };
      const check = async (after: string): Promise<void> => {
        const expected = (["web", "index", "amd64"] as const).flatMap((image) =>
          contents[image].map((each) => `${image} ${each} ${expectedOf(image, packages.indexOf(each as (typeof packages)[number]))}`),
        );
        const found = (await stage.findings(organization)).map((finding) => {
          const image = subjects.find((each) => images[each].digest === text(finding, "digest"));
          const of = ids.findIndex(({ cve }) => texts(finding, "aliases").includes(cve));
          const decision = part(finding, "decision");
          const decided = text(decision, "uid") || text(decision, "vexSourceUid") || "-";
          return `${image} ${packages[of]} ${text(finding, "state").replace("AFFECTED_IMAGE_STATE_", "")} ${decided}`;
        });
        assert.deepEqual(found.sort(), expected.sort(), after);
        for (const each of expected) {
          const kind = each.endsWith("-") ? "open" : sources.some(({ uid }) => each.endsWith(uid)) ? `stated ${each.split(" ", 1)[0]}` : "decided";
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
        }
      };

      await check("the push");
      for (const step of steps) {
        if (step.does === "trust") {
          // A source of the team cannot name a repo above it.
          const repo = step.isOfTeam && step.repo === "web" ? "" : step.repo;
          const [key] = [keys[step.key] ?? keys[0]];
          const source = { name: `source ${++made}`, ...(repo === "" ? {} : { repoUid: repoUids.get(repo) ?? "" }) };
          const uid = await stage.trust(organization, key, source, step.isOfTeam ? team : group);
          sources.push({ uid, name: source.name, key: step.key, isOfTeam: step.isOfTeam, repo });
        } else if (step.does === "distrust") {
          const [source] = sources.splice(step.index % Math.max(1, sources.length), 1);
          if (source) await stage.distrust(organization, source.uid);
        } else if (step.does === "state") {
          const stated = step.statements.map(({ vulnerability, byAdvisory, status, isJustified, product, day }): JsonObject => {
            const id = ids[vulnerability] ?? { advisory: "", cve: "" };
            const image = subjects.find((each) => each === product);
            const products = product === "" ? [] : [{ "@id": image === undefined ? `pkg:npm/${product}` : `registry.example/any@${images[image].digest}` }];
            return {
              vulnerability: { name: byAdvisory ? id.advisory : id.cve },
              status,
              timestamp: `2026-01-0${day}T00:00:00Z`,
              ...(products.length > 0 ? { products } : {}),
              ...(status === "not_affected" && isJustified ? { justification: "component_not_present" } : {}),
            };
          });
          const predicate = { ...openvex(stated), version: ++made };
          const signers = step.signers.flatMap((each) => keys[each] ?? []);
          const document = envelope(statementAbout(images[step.subject].digest, predicate), signers);
          const { digest } = await stage.attach(images[step.subject], document);
          documents.push({ subject: step.subject, digest, signers: step.signers, statements: step.statements });
        } else if (step.does === "delete") {
          const [document] = documents.splice(step.index % Math.max(1, documents.length), 1);
          if (document) {
            const response = await openPusher(world, paths[repoOf(document.subject)], token).send("DELETE", `manifests/${document.digest}`);
            assert.equal(response.status, 202);
            await stage.turn();
          }
        } else if (step.does === "decide") {
          const vulnerability = ids[step.vulnerability]?.cve ?? "";
          const decision = { vulnerability, state: `FINDING_DECISION_STATE_${step.state}` };
          const uid = text(await stage.decide(organization, decision, step.isOfTeam ? team : group), "uid");
          const isPending = policy !== "" && step.state !== "UNDER_INVESTIGATION";
          (isPending ? waiting : counting).push({ uid, ...step, position: ++made });
        } else if (step.does === "withdraw") {
          const [decision] = counting.splice(step.index % Math.max(1, counting.length), 1);
          if (decision) await own("gantry.decisions.v1.DecisionsService/DeleteFindingDecision", { uid: decision.uid });
          await stage.turn();
        } else if (step.does === "require") {
          const policies = "gantry.decisions.v1.DecisionApprovalPoliciesService";
          if (policy !== "" && !step.isRequired) await own(`${policies}/DeleteDecisionApprovalPolicy`, { uid: policy });
          if (policy === "" && step.isRequired)
            policy = text(await own(`${policies}/CreateDecisionApprovalPolicy`, { parent: group, decisionApprovalPolicy: {} }), "uid");
          else if (!step.isRequired) policy = "";
          await stage.turn();
        } else {
          const [decision] = waiting.splice(step.index % Math.max(1, waiting.length), 1);
          if (decision) {
            await world.ok("gantry.decisions.v1.DecisionsService/ApproveFindingDecision", { uid: decision.uid }, { token: await world.token(approver) });
            counting.push(decision);
          }
          await stage.turn();
        }
        await check(JSON.stringify(step));
      }
    }),
    { numRuns: runs(10) },
  );
  for (const kind of ["open", "decided", "stated web", "stated index", "stated amd64"]) assert.ok((seen.get(kind) ?? 0) > 0, `no finding was ${kind}`);
});
