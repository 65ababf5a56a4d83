// Attacks with signed AWS requests over every protocol that accepts them. The attacker has AWS credentials, an overheard request, or garbage.
// The AWS side is a real server that verifies signatures.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { codes } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newChild } from "#base/uid.ts";
import { type Answer, callOver } from "../client.ts";
import { freshDatabase } from "../database.ts";
import { awsToken, dateOf, type Principal, type Spelling, startSts, type Sts } from "../story/aws-sts.ts";
import { bind, databaseContents } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

const victim: Principal = {
  id: "AKIAVICTIMVICTIMVICT",
  secret: "victim's secret",
  account: "123456789012",
  arn: "arn:aws:iam::123456789012:role/deploy",
  userId: "AROAVICTIM",
};
const attacker: Principal = {
  id: "AKIAATTACKERATTACKER",
  secret: "attacker's secret",
  account: "999999999999",
  arn: "arn:aws:iam::999999999999:role/deploy",
  userId: "AROAATTACKER",
};
const colleague: Principal = {
  id: "AKIACOLLEAGUECOLLEAG",
  secret: "colleague's secret",
  account: "123456789012",
  arn: "arn:aws:iam::123456789012:role/deploy-all",
  userId: "AROACOLLEAGUE",
};
const almost: Principal = { id: "AKIAALMOSTALMOSTALMO", secret: "almost's secret", account: "123456789012", arn: victim.arn, userId: "AROAVICTIMS" };

let sts: Sts;
let world: World;
let second: World;
let identity: string;
let folder: string;
let drop: (() => Promise<void>) | undefined;

before(async () => {
  sts = await startSts([victim, attacker, colleague, almost]);
  const database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), "gantry-aws-"));
  await writeFile(join(folder, "key"), randomBytes(32).toString("base64"), { mode: 0o600 });
  const shared = {
    DATABASE_URL: database.url,
    GANTRY_SECRET_KEY_FILE: join(folder, "key"),
    GANTRY_PUBLIC_URL: "http://gantry.example.test",
    GANTRY_AWS_STS_URL: sts.url,
  };
  world = await openWorld(shared);
  second = await openWorld(shared);
  drop = database.drop;
  const awsIdentity = { awsAccount: victim.account, arnPattern: "arn:aws:iam::123456789012:role/deploy", userId: victim.userId };
  identity = String((await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "deploy", awsIdentity } })).uid);
  await bind(world, world.organization, identity, "viewer");
});
after(async () => {
  sts?.close();
  await second?.close();
  await world?.close();
  await drop?.();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  sts.asked.length = 0;
  sts.instead = undefined;
  // Two requests within one second have the same signature.
  world.clock.now += 1000;
  second.clock.now = world.clock.now;
});

const publicUrl = "http://gantry.example.test";
const sign = (spelling: Partial<Spelling> = {}): string => awsToken({ key: victim, audience: publicUrl, identity, nowMs: world.clock.now, ...spelling });

const exchange = (url: string, presented: string, as: string, protocol: "rest" | "grpc" = "rest"): Promise<Answer> =>
  callOver(protocol, url, "chainguard.platform.oidc.SecurityTokenService/Exchange", { identity: as }, { token: presented });

/** Asserts a 4xx over every protocol, with AWS as the only service contacted, if any. */
const assertRefused = async (
  presented: string,
  wanted: RegExp,
  { asks = 0, as = identity, code = codes.UNAUTHENTICATED }: { asks?: number; as?: string; code?: number } = {},
): Promise<void> => {
  sts.asked.length = 0;
  const exchanges = [await exchange(world.url, presented, as), await exchange(world.url, presented, as, "grpc")];
  for (const answer of exchanges) {
    assert.equal(answer.code, code, `${answer.code} ${answer.message}`);
    assert.match(answer.message, wanted);
  }
  for (const protocol of ["rest", "grpc"] as const) {
    const direct = await callOver(
      protocol,
      world.url,
      "chainguard.platform.iam.v2.GroupsService/GetGroup",
      { uid: world.organization },
      { token: presented, headers: { "gantry-identity": as } },
    );
    assert.equal(direct.code, codes.UNAUTHENTICATED, direct.message);
    assert.match(direct.message, wanted);
  }
  assert.equal(sts.asked.length, asks * 4, "AWS is asked only where there is a reason to");
};

test("a request as the SDK makes it is accepted; each request below is refused for one difference", async () => {
  assert.equal((await exchange(world.url, sign(), identity)).code, 0);
});

const header =
  (name: string, value: string) =>
  (text: string): string =>
    text.replace(new RegExp(`^${name}: .*$`, "mi"), `${name}: ${value}`);

const malformed: readonly (readonly [string, Partial<Spelling>, RegExp])[] = [
  ["another method", { requestLine: "GET /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1" }, /malformed/],
  ["another action, so that AWS answers another question", { requestLine: "POST /?Action=AssumeRole&Version=2011-06-15 HTTP/1.1" }, /does not begin/],
  ["an action beside the action", { requestLine: "POST /?Action=GetCallerIdentity&Version=2011-06-15&Action=AssumeRole HTTP/1.1" }, /does not begin/],
  ["another path", { requestLine: "POST /elsewhere?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1" }, /does not begin/],
  ["an absolute target", { requestLine: "POST http://127.0.0.1/?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1" }, /malformed|does not begin/],
  ["HTTP/1.0", { requestLine: "POST /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.0" }, /does not begin/],
  ["a body", { body: "Action=AssumeRole" }, /without a body/],
  ["a second request behind the first", { body: "POST / HTTP/1.1\r\n\r\n" }, /without a body/],
  ["a length that is not none", { turn: header("Content-Length", "5") }, /body/],
  ["a chunked body", { more: ["Transfer-Encoding: chunked"] }, /not expected/],
  ["a header that asks a proxy for something", { more: ["X-Forwarded-Host: evil.example"] }, /not expected/],
  ["a header twice, signed and not", { more: ["Chainguard-Identity: 0000000000000000000000000000000000000000"] }, /twice/],
  ["an audience twice", { more: ["chainguard-audience: http://evil.example"] }, /twice/],
  ["a date twice", { more: ["X-Amz-Date: 20200101T000000Z"] }, /twice/],
  ["an authorization twice", { more: ["Authorization: none"] }, /twice/],
  ["a host twice", { more: ["Host: evil.example"] }, /twice/],
  ["a folded header", { turn: (text) => text.replace("User-Agent: Go", "User-Agent: Go\r\n folded") }, /header/],
  ["a bare line feed in a header", { turn: (text) => text.replace("Go-http-client/1.1", "Go\nX-Evil: 1") }, /header/],
  ["a control character in a header", { turn: (text) => text.replace("Go-http-client/1.1", "Go\u0000") }, /header/],
  ["letters beyond ASCII", { turn: (text) => text.replace("Go-http-client/1.1", "G\u00f6") }, /header/],
  ["blanks before a colon", { turn: (text) => text.replace("User-Agent:", "User-Agent :") }, /header/],
  ["another host", { host: "evil.example" }, /host/],
  ["a host that ends like AWS", { host: "sts.amazonaws.com.evil.example" }, /host/],
  ["a host of AWS that is not STS", { host: "sts.us-east-1.s3.amazonaws.com" }, /host/],
  ["a bucket of that name", { host: "sts.evil-1.amazonaws.com" }, /host/],
  ["a host with a user name", { host: "sts.amazonaws.com@evil.example" }, /host/],
  ["a host with a port", { host: "sts.amazonaws.com:8080" }, /host/],
  ["a host in capital letters", { host: "STS.amazonaws.com" }, /host/],
  ["another partition, where account numbers are given out anew", { host: "sts.us-gov-west-1.amazonaws.com", region: "us-gov-west-1" }, /host/],
  ["another service's signature", { turn: (text) => text.replace("/sts/aws4_request", "/iam/aws4_request") }, /signature for STS/],
  ["no authorization", { turn: (text) => text.replace(/^Authorization: .*\r\n/m, "") }, /signature for STS/],
  ["another algorithm", { turn: (text) => text.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256") }, /signature for STS/],
  ["a short signature", { turn: (text) => text.replace(/Signature=[0-9a-f]{2}/, "Signature=") }, /signature for STS/],
  ["the audience not signed", { turn: (text) => text.replace("chainguard-audience;", "") }, /not signed/],
  ["the identity not signed", { turn: (text) => text.replace("chainguard-identity;", "") }, /not signed/],
  ["the host not signed", { turn: (text) => text.replace(";host", "") }, /not signed/],
  ["the date not signed", { turn: (text) => text.replace(";x-amz-date", "") }, /not signed/],
  ["a session token that is not signed", { more: ["X-Amz-Security-Token: stolen"] }, /not signed/],
  ["a signed header that is not there", { turn: (text) => text.replace("SignedHeaders=accept;", "SignedHeaders=accept;range;") }, /missing/],
  ["a header signed twice", { turn: (text) => text.replace("SignedHeaders=accept;", "SignedHeaders=accept;accept;") }, /twice/],
  ["no audience", { signed: { "chainguard-audience": undefined } }, /not signed/],
  ["no identity", { signed: { "chainguard-identity": undefined } }, /not signed/],
  ["a date that is none", { turn: header("X-Amz-Date", "yesterday") }, /X-Amz-Date/],
  ["a date that no calendar has", { turn: header("X-Amz-Date", "20269921T000000Z") }, /X-Amz-Date/],
  ["a packed answer asked for", { more: ["Accept-Encoding: gzip"] }, /compressed/],
];

for (const [what, spelling, wanted] of malformed) {
  test(`${what} is refused before AWS is contacted`, () => assertRefused(sign(spelling), wanted));
}

test("malformed requests are refused: truncated, doubled, not base64url, too long, or garbage of any length", async () => {
  const good = sign();
  for (const presented of [good.slice(0, good.length >> 1), good + good, `${good}!`, `${good} x`, `${good}===`, "UE9TVCAv", `UE9TVCAv${"A".repeat(2000)}`]) {
    await assertRefused(presented, /malformed|not of the form|not AWS/);
  }
  // An Authorization header has a lower limit than a form.
  const long = `UE9TVCAv${"A".repeat(limits.tokenBytesMax)}`;
  const form = new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", subject_token: long, identity });
  const answer = await fetch(`${world.url}/oauth/token`, { method: "POST", body: form });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /longer than/);
});

test("a request for another audience is refused, including a lookalike of this server's", async () => {
  for (const audience of ["http://evil.example", `${publicUrl}.evil.example`, `${publicUrl}//`, publicUrl.toUpperCase(), `${publicUrl}, x`, "", "*"]) {
    await assertRefused(sign({ audience }), /audience/);
  }
});

test("a request for one identity is refused for any other identity", async () => {
  const awsIdentity = { awsAccount: victim.account, arn: victim.arn, userId: victim.userId };
  const other = String((await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "other", awsIdentity } })).uid);
  await assertRefused(sign(), /invalid \\?"identity\\?"/, { as: other, code: codes.PERMISSION_DENIED });
});

test("an unknown identity and one of another kind get the same error without contacting AWS", async () => {
  const claimMatch = { issuer: "https://issuer.example.com", subject: "s" };
  const other = String(
    (await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "other way", claimMatch } })).uid,
  );
  const absent = newChild(world.organization);
  const texts: string[] = [];
  for (const as of [other, absent]) {
    await assertRefused(sign({ identity: as }), /invalid \\?"iss\\?"/, { as, code: codes.PERMISSION_DENIED });
    const { raw } = await exchange(world.url, sign({ identity: as }), as);
    texts.push(raw);
  }
  assert.equal(texts[0], texts[1]);
  await assertRefused(sign({ identity: "not a uid" }), /invalid|uid/, { as: identity, code: codes.PERMISSION_DENIED });
});

test("a request without an identity name is refused and never signs in a user", async () => {
  for (const protocol of ["rest", "grpc"] as const) assert.equal((await exchange(world.url, sign(), "", protocol)).code, codes.UNAUTHENTICATED);
  assert.equal(sts.asked.length, 0);
});

test("a request that is too old or too far in the future is refused, on both sides of each limit", async () => {
  const at = (ms: number): string => sign({ nowMs: world.clock.now + ms });
  world.clock.now = Math.floor(world.clock.now / 1000) * 1000;
  await assertRefused(at(-limits.awsRequestAgeMs - 1000), /expired/);
  await assertRefused(at(limits.awsRequestAheadMs + 1000), /not valid yet/);
  assert.equal((await exchange(world.url, at(-limits.awsRequestAgeMs), identity)).code, 0);
  assert.equal((await exchange(world.url, at(limits.awsRequestAheadMs), identity)).code, 0);
});

test("a changed date breaks the signature, and both AWS and the server refuse it", async () => {
  const old = sign({ nowMs: world.clock.now - 60_000, turn: header("X-Amz-Date", dateOf(world.clock.now)) });
  await assertRefused(old, /AWS rejected/, { asks: 1 });
});

test("credentials of another account, another role or another user of the same name are refused", async () => {
  await assertRefused(sign({ key: attacker }), /invalid \\?"aws_account\\?"/, { asks: 1, code: codes.PERMISSION_DENIED });
  await assertRefused(sign({ key: colleague }), /invalid \\?"arn\\?"/, { asks: 1, code: codes.PERMISSION_DENIED });
  await assertRefused(sign({ key: almost }), /invalid \\?"user_id\\?"/, { asks: 1, code: codes.PERMISSION_DENIED });
  await assertRefused(sign({ key: { id: victim.id, secret: "guessed" } }), /AWS rejected/, { asks: 1 });
});

test("of twenty concurrent uses of one request, over two servers and two protocols, one succeeds", async () => {
  const presented = sign();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => exchange(index % 2 ? world.url : second.url, presented, identity, index % 4 < 2 ? "rest" : "grpc")),
  );
  const taken = answers.filter(({ code }) => code === 0);
  assert.equal(taken.length, 1);
  // The server may report that it is busy if other requests occupy AWS.
  for (const { code, message } of answers) assert.ok([0, codes.UNAUTHENTICATED, codes.UNAVAILABLE].includes(code), `${code} ${message}`);
  const later = await exchange(second.url, presented, identity);
  assert.equal(later.code, codes.UNAUTHENTICATED);
  assert.match(later.message, /used before/);
  const dressed = Buffer.from(Buffer.from(presented, "base64url").toString("latin1").replace("Go-http-client/1.1", "other"), "latin1").toString("base64url");
  assert.match((await exchange(world.url, dressed, identity)).message, /used before/);
});

test("attack 23: any unexpected AWS response is a denial", async () => {
  const xml = (inner: string): string => `<GetCallerIdentityResponse><GetCallerIdentityResult>${inner}</GetCallerIdentityResult></GetCallerIdentityResponse>`;
  const own = `<Arn>${victim.arn}</Arn><UserId>${victim.userId}</UserId><Account>${victim.account}</Account>`;
  const plain = JSON.stringify({ GetCallerIdentityResponse: { GetCallerIdentityResult: { Account: victim.account, Arn: victim.arn, UserId: victim.userId } } });
  const answers: readonly (readonly [string, number, string, string, RegExp])[] = [
    ["a redirect", 302, "application/json", plain, /AWS rejected/],
    ["another success", 202, "application/json", plain, /AWS rejected/],
    ["nothing", 200, "application/json", "", /does not name the signer/],
    ["no JSON", 200, "application/json", "{", /does not name the signer/],
    ["a list", 200, "application/json", "[]", /does not name the signer/],
    ["an account that is a number", 200, "application/json", plain.replace(`"${victim.account}"`, victim.account), /does not name the signer/],
    ["no user", 200, "application/json", plain.replace(victim.userId, ""), /does not name the signer/],
    ["an ARN with a line break", 200, "application/json", plain.replace(victim.arn, `${victim.arn}\\n`), /does not name the signer/],
    ["no XML", 200, "text/xml", "<<<", /does not name the signer/],
    ["a DTD with entities", 200, "text/xml", `<!DOCTYPE x [<!ENTITY a "${victim.account}">]>${xml(own)}`, /does not name the signer/],
    ["comments", 200, "text/xml", xml(own.replace("</Account>", "<!-- x --></Account>")), /does not name the signer/],
    ["two accounts", 200, "text/xml", xml(`${own}<Account>${victim.account}</Account>`), /does not name the signer/],
    ["another document", 200, "text/xml", `<AssumeRoleResponse>${own}</AssumeRoleResponse>`, /does not name the signer/],
    ["prototype keys", 200, "text/xml", `<__proto__><GetCallerIdentityResult>${own}</GetCallerIdentityResult></__proto__>`, /does not name the signer/],
  ];
  for (const [what, status, type, body, wanted] of answers) {
    sts.instead = (_request, response) => Boolean(response.writeHead(status, { "content-type": type, location: `${sts.url}/other` }).end(body));
    await assertRefused(sign(), wanted, { asks: 1 }).catch((error: unknown) => assert.fail(`${what}: ${String(error)}`));
  }
  sts.instead = (_request, response) =>
    Boolean(response.writeHead(200, { "content-type": "text/xml" }).end(xml(`${own}${" ".repeat(limits.awsAnswerBytesMax)}`)));
  assert.equal((await exchange(world.url, sign(), identity)).code, codes.UNAVAILABLE);
  assert.equal(Object.getOwnPropertyNames({}).length, 0);
});

test("a refused request stores nothing, and neither errors nor events contain a signature or session token", async () => {
  const before_ = await databaseContents(world, ["identities", "outbox", "aws_requests", "access_versions"]);
  const presented = sign({ key: { ...attacker, session: "session-token-that-must-not-leak" } });
  const answer = await exchange(world.url, presented, identity);
  assert.notEqual(answer.code, 0);
  const signature = /Signature=([0-9a-f]{64})/.exec(Buffer.from(presented, "base64url").toString("latin1"))?.[1] ?? "none";
  for (const secret of [signature, "session-token-that-must-not-leak", attacker.id]) assert.ok(!`${answer.raw}${answer.message}`.includes(secret));
  assert.deepEqual(await databaseContents(world, ["identities", "outbox", "aws_requests", "access_versions"]), before_);
  const good = sign();
  const taken: JsonObject = (await exchange(world.url, good, identity)).reply;
  assert.ok(taken.token);
  const kept = JSON.stringify(await world.server.application.services.store.read.query("select digest from aws_requests"));
  assert.ok(!kept.includes(/Signature=([0-9a-f]{64})/.exec(Buffer.from(good, "base64url").toString("latin1"))?.[1] ?? "none"));
});

test("a change to an identity's AWS settings takes effect on the next request", async () => {
  const change = (awsIdentity: JsonObject) =>
    world.ok("iam.IdentitiesService/UpdateIdentity", { identity: { uid: identity, awsIdentity }, updateMask: "aws_identity" });
  const was = { awsAccount: victim.account, arn: victim.arn, userId: victim.userId };
  await change({ ...was, arn: "arn:aws:iam::123456789012:role/other" });
  await assertRefused(sign(), /invalid \\?"arn\\?"/, { asks: 1, code: codes.PERMISSION_DENIED });
  await change(was);
  assert.equal((await exchange(second.url, sign(), identity)).code, 0);
});
