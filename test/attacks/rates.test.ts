// Attack 56: a flood of requests by one identity or organization. Each server limits the rate, knows the caller before it reads the body, and
// keeps serving others.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newChild } from "#base/uid.ts";
import type { Answer, Protocol } from "../client.ts";
import { asOwner } from "../database.ts";
import { createIdentity, openInstallation, type Installation } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

let installation: Installation;
/** The flooded server; it read the rates at startup. */
let server: World;

interface Tenant {
  readonly organization: string;
  readonly tokens: readonly string[];
}
let slow: Tenant;
let crowd: Tenant;
let changing: Tenant;

const setRate = (name: string, value: number, organization: string): Promise<unknown> =>
  asOwner(installation.world.databaseUrl, "insert into quotas (organization, name, value) values ($1, $2, $3)", [organization, name, value]);

const resourceExhausted = 8;

before(async () => {
  installation = await openInstallation();
  const { world, environment } = installation;
  const { DATABASE_URL = "", GANTRY_SECRET_KEY_FILE = "", GANTRY_PUBLIC_URL = "" } = environment;
  const tenant = async (name: string): Promise<Tenant> => {
    const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
    const tokens: string[] = [];
    for (const subject of ["one", "other", "third"]) {
      const identity = await createIdentity(world, organization, subject, { issuer: "https://issuer.example.com", subject: `${name} ${subject}` });
      tokens.push(await world.token(identity));
    }
    return { organization, tokens };
  };
  [slow, crowd, changing] = [await tenant("slow"), await tenant("crowd"), await tenant("changing")];
  await setRate("identity-requests", 2, slow.organization);
  await setRate("organization-requests", 3, crowd.organization);
  server = await openWorld({ DATABASE_URL, GANTRY_SECRET_KEY_FILE, GANTRY_PUBLIC_URL }, undefined, world.clock.now);
});
after(async () => {
  await server?.close();
  await installation?.close();
});

const ask = (token = "", protocol: Protocol = "rest"): Promise<Answer> =>
  server.call("iam.RolesService/ListRoles", { uidp: { ids: [newChild(slow.organization)] } }, { token, protocol });

const flood = async (tokens: readonly string[], count: number): Promise<{ readonly served: number; readonly refusals: readonly Answer[] }> => {
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => ask(tokens[index % tokens.length])));
  const refusals = answers.filter(({ code }) => code === resourceExhausted);
  return { served: answers.length - refusals.length, refusals };
};

test("attack 56: an identity gets a ten-second burst, then its rate, and others of its organization are unaffected", async () => {
  const [own = "", other = ""] = slow.tokens;
  const { served, refusals } = await flood([own], 30);
  assert.equal(served, 20);
  const [first] = refusals;
  assert.equal(first?.status, 429);
  assert.equal(first?.message, "this identity may send 2 requests a second (identity-requests); the next one can be sent in 500 ms");
  assert.deepEqual(
    [first?.headers["retry-after"], first?.headers["ratelimit-policy"], first?.headers.ratelimit],
    ["1", '"identity-requests";q=2;w=1', '"identity-requests";r=0;t=1'],
  );
  assert.notEqual((await ask(other)).code, resourceExhausted);
  assert.equal((await ask(own)).code, resourceExhausted);
  server.clock.now += 500;
  assert.equal((await flood([own], 3)).served, 1);
});

test("attack 56: identities of one organization share its rate over REST and gRPC, and other organizations are unaffected", async () => {
  const { served, refusals } = await flood(crowd.tokens, 45);
  assert.equal(served, 30);
  assert.match(refusals[0]?.message ?? "", /^this organization may send 3 requests a second \(organization-requests\)/);
  const overGrpc = await ask(crowd.tokens[0], "grpc");
  assert.equal(overGrpc.code, resourceExhausted);
  const retry = overGrpc.details.find((detail) => text(detail, "@type").endsWith("google.rpc.RetryInfo"));
  assert.equal(retry?.retryDelay, "0.334s");
  assert.equal((await flood(changing.tokens, 30)).served, 30);
});

test("attack 56: a request over the rate is refused before its body is read", async () => {
  const [, , token = ""] = slow.tokens;
  await flood([token], 30);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  // The body of a thousand bytes never arrives.
  socket.write(
    `POST /iam/v2/groups/ HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`,
  );
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 429 /);
  socket.destroy();
});

test("attack 56: a rate set or reset by the operator applies after ten seconds, for the server and for one organization", async () => {
  const [token = ""] = changing.tokens;
  assert.equal((await flood([token], 30)).served, 30);
  await setRate("identity-requests", 1, changing.organization);
  assert.equal((await flood([token], 30)).served, 30);
  server.clock.now += limits.ratesReadMs;
  // The first request makes the server reload; after it, exactly ten succeed.
  let served = 0;
  while ((await ask(token)).code !== resourceExhausted) served++;
  assert.ok(served < 1_000, `${served}`);
  await asOwner(installation.world.databaseUrl, "delete from quotas where organization = $1", [changing.organization]);
  server.clock.now += limits.ratesReadMs;
  while ((await flood([token], 30)).served < 30) server.clock.now += limits.ratesReadMs;
});
