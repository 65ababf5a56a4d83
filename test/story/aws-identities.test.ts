// A program in AWS signs in with its AWS credentials alone (authentication.md: 6).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { codes } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { callHttp } from "../client.ts";
import { openWorld, type World } from "../world.ts";
import { runMaintenance } from "../../server/application/maintenance.ts";
import { awsToken, type Principal, signatureOf, type Spelling, startSts, type Sts } from "./aws-sts.ts";
import { bind } from "./installation.ts";

const builder: Principal = {
  id: "AKIAIOSFODNN7EXAMPLE",
  secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  account: "123456789012",
  arn: "arn:aws:iam::123456789012:user/builder",
  userId: "AIDAEXAMPLEBUILDER",
};
const deployer: Principal = {
  id: "ASIAIOSFODNN7EXAMPLE",
  secret: "anotherSecretKeyOfAnExample",
  session: "FwoGZXIvYXdzEXAMPLE//////////TOKEN==",
  account: "123456789012",
  arn: "arn:aws:sts::123456789012:assumed-role/deployer/i-0123456789",
  userId: "AROAEXAMPLEDEPLOYER:i-0123456789",
};

let sts: Sts;
let world: World;
let builds: string;
let deploys: string;

const create = async (awsIdentity: JsonObject): Promise<string> =>
  String((await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "in aws", awsIdentity } })).uid);

before(async () => {
  sts = await startSts([builder, deployer]);
  world = await openWorld({ GANTRY_AWS_STS_URL: sts.url });
  builds = await create({ awsAccount: builder.account, arn: builder.arn, userId: builder.userId });
  deploys = await create({
    awsAccount: deployer.account,
    arnPattern: "arn:aws:sts::123456789012:assumed-role/deployer/.*",
    userIdPattern: "AROAEXAMPLEDEPLOYER:.*",
  });
  for (const uid of [builds, deploys]) await bind(world, world.organization, uid, "viewer");
});
after(async () => {
  sts?.close();
  await world?.close();
});

const token = (spelling: Partial<Spelling> = {}): string => {
  // Two identical requests in one second would have the same signature.
  world.clock.now += 1000;
  return awsToken({ key: builder, audience: world.url, identity: builds, nowMs: world.clock.now, ...spelling });
};

const exchange = (presented: string, identity: string, protocol: "rest" | "grpc" = "rest") =>
  world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity, aud: [world.url] }, { token: presented, protocol });

const claimsOf = (jwt: string): JsonObject => JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()) as JsonObject;

test("the signature computed here equals AWS's published example", () => {
  assert.equal(
    signatureOf({
      method: "GET",
      path: "/",
      query: "Action=ListUsers&Version=2010-05-08",
      date: "20150830T123600Z",
      region: "us-east-1",
      service: "iam",
      secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
      headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8", host: "iam.amazonaws.com", "x-amz-date": "20150830T123600Z" },
    }),
    "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
  );
});

for (const protocol of ["rest", "grpc"] as const) {
  test(`a user's signed request is exchanged over ${protocol} for a token whose act claim names the AWS principal`, async () => {
    const answer = await exchange(token(), builds, protocol);
    assert.equal(answer.code, 0, answer.message);
    const { sub, act, email } = claimsOf(String(answer.reply.token));
    assert.equal(sub, builds);
    assert.equal(email, undefined);
    assert.deepEqual(act, { iss: "https://sts.amazonaws.com", sub: builder.userId, aud: world.url, "aws-acct": builder.account, "aws-arn": builder.arn });
    const read = await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token: String(answer.reply.token), protocol });
    assert.equal(read.code, 0, read.message);
  });

  test(`a role session is accepted directly over ${protocol} with Gantry-Identity, by patterns, once per signature`, async () => {
    const presented = token({ key: deployer, identity: deploys });
    const ask = () =>
      world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token: presented, headers: { "gantry-identity": deploys }, protocol });
    assert.equal((await ask()).code, 0);
    const again = await ask();
    assert.equal(again.code, codes.UNAUTHENTICATED);
    assert.match(again.message, /used before/);
    assert.equal(
      (await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token: token({ key: deployer, identity: deploys }), protocol })).code,
      codes.UNAUTHENTICATED,
      "no identity is named",
    );
  });
}

test("AWS gets exactly the signed request, and its response is read as XML or JSON", async () => {
  for (const [accept, padding] of [
    ["application/json", ""],
    ["*/*", "=="],
  ] as const) {
    sts.asked.length = 0;
    const answer = await exchange(`${token({ accept })}${padding}`, builds);
    assert.equal(answer.code, 0, answer.message);
    assert.deepEqual(claimsOf(String(answer.reply.token)).act, {
      iss: "https://sts.amazonaws.com",
      sub: builder.userId,
      aud: world.url,
      "aws-acct": builder.account,
      "aws-arn": builder.arn,
    });
    const [asked, ...more] = sts.asked;
    assert.deepEqual(more, []);
    assert.equal(asked?.line, "POST /?Action=GetCallerIdentity&Version=2011-06-15");
    assert.deepEqual(
      { host: asked?.headers.host, accept: asked?.headers.accept, identity: asked?.headers["chainguard-identity"], length: asked?.headers["content-length"] },
      { host: "sts.amazonaws.com", accept, identity: builds, length: "0" },
    );
  }
});

test("every exchange accepts AWS requests: RFC 8693, GET, regional hosts, each audience of this server", async () => {
  const form = new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", subject_token: token(), identity: builds });
  const answered = await fetch(`${world.url}/oauth/token`, { method: "POST", body: form });
  assert.equal(answered.status, 200, await answered.clone().text());
  const got = await callHttp(world.url, "GET", `/sts/exchange?identity=${builds}`, { token: token() });
  assert.equal(got.code, 0, got.message);
  for (const audience of [`${world.url}/`, new URL(world.url).host, new URL(world.url).hostname])
    assert.equal((await exchange(token({ audience }), builds)).code, 0, audience);
  assert.equal((await exchange(token({ host: "sts.eu-central-1.amazonaws.com", region: "eu-central-1" }), builds)).code, 0);
});

test("an event of a caller from AWS names its account and ARN", async () => {
  await bind(world, world.organization, builds, "owner");
  const made = await world.call(
    "iam.GroupsService/CreateGroup",
    { parent: world.organization, group: { name: "made in aws" } },
    { token: token(), headers: { "gantry-identity": builds } },
  );
  assert.equal(made.code, 0, made.message);
  const [row] = await world.server.application.services.store.read.query("select data::jsonb -> 'actor' from outbox where subject = $1", [
    String(made.reply.uid),
  ]);
  const actor = JSON.parse(row?.[0] ?? "{}") as JsonObject;
  assert.equal(actor.subject, builds);
  assert.deepEqual(actor.act, { iss: "https://sts.amazonaws.com", sub: builder.userId, aud: world.url, "aws-acct": builder.account, "aws-arn": builder.arn });
});

test("if AWS is down, the exchange is UNAVAILABLE and the same request works later", async () => {
  const presented = token();
  for (const status of [500, 503, 429]) {
    sts.instead = (_request, response) => Boolean(response.writeHead(status).end("busy"));
    assert.equal((await exchange(presented, builds)).code, codes.UNAVAILABLE, String(status));
  }
  sts.instead = (request) => Boolean(request.destroy());
  assert.equal((await exchange(presented, builds)).code, codes.UNAVAILABLE);
  sts.instead = undefined;
  assert.equal((await exchange(presented, builds)).code, 0);
});

test("a request is valid for 15 minutes, and its replay record is deleted afterwards", async () => {
  const { services } = world.server.application;
  const presented = token();
  world.clock.now += limits.awsRequestAgeMs - 1000;
  assert.equal((await exchange(presented, builds)).code, 0);
  const remembered = async (): Promise<string | null | undefined> => (await services.store.read.query("select count(*) from aws_requests"))[0]?.[0];
  await runMaintenance(world.server.application.kernel);
  assert.notEqual(await remembered(), "0");
  world.clock.now += limits.clockSkewMs + 2000;
  await runMaintenance(world.server.application.kernel);
  assert.equal(await remembered(), "0");
  const late = await exchange(presented, builds);
  assert.equal(late.code, codes.UNAUTHENTICATED);
  assert.match(late.message, /expired/);
});
