// `gantry iam identities create --github …` and the other presets: each identity accepts exactly the intended jobs. A real issuer signs the claims of
// each CI system (docs/guides/ci-identities).

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";
import { type Exit, gantry, type Issuer, startIssuer, stopAll } from "./processes.ts";

let world: World;
let issuer: Issuer;
let home: string;
let operator: string;

before(async () => {
  world = await openWorld();
  [issuer, operator, home] = await Promise.all([startIssuer(), world.token(), mkdtemp(join(tmpdir(), "gantry-presets-"))]);
});
after(async () => {
  await world?.close();
  await stopAll();
  if (home) await rm(home, { recursive: true, force: true });
});

const create = (...args: string[]): Promise<Exit> =>
  gantry(["iam", "identities", "create", "--parent", world.organization, ...args], {
    env: { HOME: home, XDG_CONFIG_HOME: join(home, "config"), GANTRY_SERVER: world.url, GANTRY_TOKEN: operator },
  });

/** Creates the identity, with the tests' issuer as the CI system's. */
const made = async (...args: string[]): Promise<{ readonly identity: JsonObject; readonly said: string }> => {
  const { code, stdout, stderr } = await create(...args, "--claim-match-issuer", issuer.url, "-o", "json");
  assert.equal(code, 0, stderr);
  return { identity: JSON.parse(stdout) as JsonObject, said: stderr };
};

/** Returns "taken" if a job with these claims can act as the identity, otherwise the mismatched claim. */
const outcome = async (identity: JsonObject, claims: Readonly<Record<string, unknown>>): Promise<string> => {
  const response = await fetch(`${world.url}/sts/exchange`, {
    method: "POST",
    headers: { authorization: `Bearer ${await issuer.token({ aud: world.url, ...claims })}` },
    body: new URLSearchParams({ identity: text(identity, "uid") }),
  });
  const body = (await response.json()) as JsonObject;
  return response.status === 200 ? "taken" : (/invalid "(\w+)"/.exec(text(body, "message"))?.[1] ?? `${response.status} ${text(body, "message")}`);
};

test("--github with IDs accepts the branch's jobs in both subject formats, and no fork, other branch, pull request or namesake", async () => {
  const { identity, said } = await made("--github", "acme@4000001/shop.js@700000001", "--ref", "main");
  const own = { repository_id: "700000001", repository_owner_id: "4000001", event_name: "push" };
  const sub = "repo:acme@4000001/shop.js@700000001:ref:refs/heads/main";
  const cases: readonly (readonly [claims: Readonly<Record<string, unknown>>, said: string])[] = [
    [{ sub, ...own }, "taken"],
    [{ sub: "repo:acme/shop.js:ref:refs/heads/main", ...own }, "taken"],
    [{ sub: "repo:acme/shopxjs:ref:refs/heads/main", ...own }, "sub"],
    [{ sub: "repo:mallory@6/shop.js@700000001:ref:refs/heads/main", ...own }, "sub"],
    [{ sub: "repo:acme@4000009/shop.js@700000009:ref:refs/heads/main", ...own }, "sub"],
    [{ sub: "repo:acme/shop.js:ref:refs/heads/main", ...own, repository_id: "700000009" }, "repository_id"],
    [{ sub: "repo:acme/shop.js:ref:refs/heads/main", ...own, repository_owner_id: "4000009" }, "repository_owner_id"],
    [{ sub: `${sub}-2`, ...own }, "sub"],
    [{ sub: `x${sub}`, ...own }, "sub"],
    [{ sub: "repo:acme@4000001/shop.js@700000001:ref:refs/tags/main", ...own }, "sub"],
    [{ sub: "repo:acme@4000001/shop.js@700000001:pull_request", ...own }, "sub"],
    [{ sub, ...own, event_name: "pull_request_target" }, "event_name"],
  ];
  for (const [claims, wanted] of cases) assert.equal(await outcome(identity, claims), wanted, JSON.stringify(claims));
  assert.match(said, /^Tokens must match:\n {2}issuer is http.*\n/m);
  assert.match(said, /^ {2}repository_id is 700000001$/m);
  assert.equal(text(identity, "name"), "github acme-shop.js main");
});

test("--github with names only matches exactly and warns about the remaining risk", async () => {
  const { identity, said } = await made("--github", "acme/shop", "--environment", "production", "--ref", "refs/heads/main", "--name", "deploy");
  const claims = { sub: "repo:acme/shop:environment:production", ref: "refs/heads/main", event_name: "workflow_dispatch" };
  assert.equal(await outcome(identity, claims), "taken");
  assert.equal(await outcome(identity, { ...claims, ref: "refs/heads/other" }), "ref");
  assert.equal(await outcome(identity, { ...claims, sub: "repo:acme/shop:environment:production2" }), "sub");
  assert.equal(text(identity, "name"), "deploy");
  assert.match(said, /^A later owner of the names acme and shop could use this identity.*gh api repos\/acme\/shop /m);
});

test("--gitlab, --kubernetes, --jenkins and --buildkite accept exactly the named jobs", async () => {
  const systems: readonly (readonly [args: readonly string[], taken: Readonly<Record<string, unknown>>, refused: readonly (readonly [object, string])[]])[] = [
    [
      ["--gitlab", "acme/team/shop", "--ref", "main", "--project-id", "4711"],
      { sub: "project_path:acme/team/shop:ref_type:branch:ref:main", project_id: "4711", ref_protected: "true" },
      [
        [{ ref_protected: "false" }, "ref_protected"],
        [{ project_id: "4712" }, "project_id"],
        [{ sub: "project_path:acme/team/shop:ref_type:tag:ref:main" }, "sub"],
        [{ sub: "project_path:acme/team/shop:ref_type:branch:ref:main2" }, "sub"],
      ],
    ],
    [
      ["--kubernetes", "shop/deployer", "--issuer", "https://replaced.example.com"],
      { sub: "system:serviceaccount:shop:deployer" },
      [[{ sub: "system:serviceaccount:shop:deployer2" }, "sub"]],
    ],
    [
      ["--jenkins", "https://jenkins.example.com/job/shop/job/main"],
      { sub: "https://jenkins.example.com/job/shop/job/main/", build_number: 17 },
      [[{ sub: "https://jenkins.example.com/job/shop/job/main/job/x/" }, "sub"]],
    ],
    [
      ["--buildkite", "acme/shop", "--ref", "main", "--pipeline-id", "0184990a-4782-42b5-afc1-16715b10b110", "--organization-id", "0184990a-477b"],
      { sub: "0184990a-4782-42b5-afc1-16715b10b110", organization_id: "0184990a-477b", build_branch: "main" },
      [
        [{ build_branch: "mallory:main" }, "build_branch"],
        [{ organization_id: "0184990a-477c" }, "organization_id"],
      ],
    ],
    [
      ["--buildkite", "acme/shop", "--ref", "main"],
      {
        sub: "organization:acme:pipeline:shop:ref:refs/heads/main:commit:9f3182061f1e2cca4702c368cbc039b7dc9d4485:step:push",
        organization_slug: "acme",
        pipeline_slug: "shop",
        build_branch: "main",
      },
      [[{ sub: "organization:acme:pipeline:shop:ref:refs/heads/main-2:commit:9f:step:push" }, "sub"]],
    ],
  ];
  for (const [args, taken, refused] of systems) {
    const { identity } = await made(...args);
    assert.equal(await outcome(identity, taken), "taken", args.join(" "));
    for (const [lie, claim] of refused) assert.equal(await outcome(identity, { ...taken, ...lie }), claim, JSON.stringify(lie));
  }
});

test("--aws-role matches the exact role with any session name", async () => {
  const { code, stdout, stderr } = await create("--aws-role", "arn:aws:iam::123456789012:role/ci/deployer", "--aws-role-id", "AROAEXAMPLE", "-o", "json");
  assert.equal(code, 0, stderr);
  const aws = part(JSON.parse(stdout) as JsonObject, "awsIdentity");
  const [arn, user] = [new RegExp(text(aws, "arnPattern")), new RegExp(text(aws, "userIdPattern"))];
  assert.equal(text(aws, "awsAccount"), "123456789012");
  assert.ok(arn.test("arn:aws:sts::123456789012:assumed-role/deployer/i-0123456789") && user.test("AROAEXAMPLE:i-0123456789"));
  for (const other of [
    "arn:aws:sts::123456789012:assumed-role/deployer2/i",
    "arn:aws:sts::123456789012:assumed-role/deployer/",
    "arn:aws:sts::123456789012:assumed-role/deployer/a/b",
  ])
    assert.ok(!arn.test(other), other);
  assert.ok(!user.test("AROAEXAMPLE2:i") && !user.test("XAROAEXAMPLE:i"));
});

test("--role binds; an unknown role creates nothing, and a failed binding prints the UID and the command to finish", async () => {
  const { identity } = await made("--github", "acme/bound", "--ref", "main", "--role", "registry.push,viewer");
  const bindings = objectList(await world.ok("iam.RoleBindingsService/ListRoleBindings", { uidp: { descendantsOf: world.organization } }), "roleBindings");
  assert.equal(bindings.filter((each) => text(each, "identityUid") === text(identity, "uid")).length, 2);
  const none = await create("--github", "acme/unmade", "--ref", "main", "--role", "no.such.role");
  assert.deepEqual([none.code, none.stdout], [6, ""]);
  const identities = await world.ok("iam.IdentitiesService/ListIdentities", { name: "github acme-unmade main" });
  assert.deepEqual(objectList(identities, "identities"), []);
  const half = await create("--github", "acme/half", "--ref", "main", "--role", "0".repeat(40), "-o", "json");
  assert.equal(half.code, 2, half.stderr);
  const uid = text(JSON.parse(half.stdout) as JsonObject, "uid");
  assert.match(half.stderr, new RegExp(`^gantry: the identity ${uid} was created but not bound: `, "m"));
  assert.match(half.stderr, new RegExp(`^  gantry iam role-bindings create --parent ${world.organization} --identity-uid ${uid} --role-uid 0{40}$`, "m"));
});

test("contradicting or incomplete flags are a usage error and create nothing", async () => {
  const wrong: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [["--github", "acme/shop"], /--github requires --ref, --environment or --pull-request/],
    [["--github", "acme"], /--github must be OWNER\/REPO/],
    [["--github", "acme@1/shop", "--ref", "main"], /must have both IDs or none/],
    [["--github", "acme/shop", "--gitlab", "acme/shop", "--ref", "main"], /--github and --gitlab cannot be used together/],
    [["--ref", "main"], /--ref requires --github or --gitlab or --buildkite/],
    [["--jenkins", "https://jenkins.example.com/"], /--jenkins must be the URL of a job/],
    [["--kubernetes", "shop/deployer"], /--kubernetes requires --issuer/],
    [["--aws-role", "deployer"], /--aws-role must be the ARN of a role/],
  ];
  const done = await Promise.all(wrong.map(([args]) => create(...args)));
  for (const [index, [args, says]] of wrong.entries()) {
    assert.deepEqual([done[index]?.code, done[index]?.stdout], [64, ""], args.join(" "));
    assert.match(done[index]?.stderr ?? "", says);
  }
});
