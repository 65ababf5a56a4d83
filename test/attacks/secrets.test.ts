// Secrets are shown once, in the response that creates them. The tests create, send and misuse every secret of the contract over real sockets,
// then search all output and storage for it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { jsonLog } from "#base/log.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { type Answer, callHttp } from "../client.ts";
import { everyRow } from "../database.ts";
import { protocols, isList, openStage, uidsOf } from "../conformance/stage.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { nonEmpty, withValue } from "../samples.ts";
import { requestDeviceCodes, poll } from "../terminal.ts";

const logged: string[] = [];
const stage = await openStage(
  {},
  jsonLog((line) => logged.push(line)),
);
const { world } = stage;
let provider: FakeProvider;
let idp: string;
before(async () => {
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
});
after(() => Promise.all([stage.close(), provider?.close()]));

/** Returns the paths of matching fields, lists and maps included. */
const pathsOf = (message: MessageFact, wanted: (field: FieldFact) => boolean, within: readonly MessageFact[] = []): string[][] =>
  within.includes(message)
    ? []
    : message.fields.flatMap((field) => [
        ...(wanted(field) ? [[field.json]] : []),
        ...(field.message ? pathsOf(field.message, wanted, [...within, message]).map((inner) => [field.json, ...inner]) : []),
      ]);

const showing = nonEmpty(
  methods.filter((method) => stage.answers(method) && method.writes && pathsOf(method.output, ({ shownOnce }) => shownOnce).length > 0),
  "operation that shows a secret",
);
const taking = nonEmpty(
  methods.flatMap((method) =>
    stage.answers(method)
      ? pathsOf(method.input, ({ inputOnly, redacted, kind }) => inputOnly && redacted && kind === "string").map((path) => ({ method, path }))
      : [],
  ),
  "field that takes a secret",
);

const leaves = (value: Json | undefined): string[] =>
  typeof value === "string" ? [value] : isObject(value) ? Object.values(value).flatMap(leaves) : Array.isArray(value) ? value.flatMap(leaves) : [];

const shownIn = (message: MessageFact, reply: JsonObject): string[] =>
  message.fields.flatMap((field) => {
    const value = reply[field.json];
    if (field.shownOnce) return leaves(value).filter((each) => !/^\d{4}-\d\d-\d\dT/.test(each));
    return field.message && isObject(value) ? shownIn(field.message, value) : [];
  });

/** Returns the secret and its parts: the inner part of a code or token, a JWT's signature, the text after a prefix. */
const partsOf = (secret: string): string[] => {
  let inner: string[] = [];
  try {
    const parsed = JSON.parse(Buffer.from(secret, "base64").toString("utf8")) as Json;
    if (isObject(parsed)) inner = [text(parsed, "sec"), text(parsed, "secret")];
  } catch {
    // No JSON inside.
  }
  const [, , signature = ""] = secret.split(".");
  return [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64url"), secret.replace(/^[a-z]+_/, ""), signature, ...inner].filter(
    ({ length }) => length >= 16,
  );
};

const secrets = new Map<string, string>();
const seen: { readonly where: string; readonly content: string }[] = [];

const leaksIn = (all: typeof seen, hidden: ReadonlyMap<string, string>): string[] => [
  ...new Set(
    [...hidden].flatMap(([secret, what]) =>
      partsOf(secret).flatMap((piece) => all.filter(({ content }) => content.includes(piece)).map(({ where }) => `${what} is in ${where}`)),
    ),
  ),
];

const plant = (what: string, secret: string): void => {
  assert.ok(secret.length >= 16, `${what} is long enough to be a secret`);
  secrets.set(secret, what);
};
const watched = (where: string, answer: Answer): Answer => {
  seen.push({ where, content: JSON.stringify(answer) });
  return answer;
};

/** Requests for methods where a generated valid request is not enough. */
const recipes: Readonly<Record<string, () => Promise<{ readonly request: JsonObject; readonly token: string }>>> = {
  "chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken": async () => {
    const { refreshToken, error } = await signIn(world, provider, idp, { sub: `keeper ${stage.next()}` }, { create_refresh_token: "true" });
    assert.equal(error, "");
    plant("a refresh token that was used", refreshToken);
    return { request: {}, token: refreshToken };
  },
  "chainguard.platform.iam.v2.IdentityProvidersService/RegenerateScimToken": async () => {
    const uid = text(await stage.make("chainguard.platform.iam.v2.IdentityProvider"), "uid");
    const { token, etag } = await world.ok("iam.IdentityProvidersService/GenerateScimToken", { identityProviderUid: uid });
    plant("a SCIM token that was replaced", String(token));
    return { request: { identityProviderUid: uid, etag: etag ?? "" }, token: await stage.operator() };
  },
  "gantry.events.v1.DeliveriesService/RotateSubscriptionSecret": async () => {
    const { uid = "", secret = "" } = await stage.make("chainguard.platform.events.v2.Subscription");
    plant("a secret of deliveries that was replaced", String(secret));
    const method = showing.find(({ rpc }) => rpc === "RotateSubscriptionSecret") ?? assert.fail();
    return { request: withValue(await stage.request(method), method.scope ?? [], uid), token: await stage.operator() };
  },
};

for (const method of showing)
  test(`${method.name} shows its secret in its own response only: not in a retry, a dry run or an invalid request`, async () => {
    for (const protocol of protocols) {
      const { request, token } = (await recipes[method.name]?.()) ?? { request: await stage.request(method), token: await stage.operator() };
      const headers = { "idempotency-key": `secret ${stage.next()}` };
      watched(`${method.rpc}, rehearsed`, await stage.call(protocol, method, request, { token, validateOnly: true }));
      const first = await stage.call(protocol, method, request, { token, headers });
      assert.equal(first.code, 0, `${method.name}: ${first.message} ${JSON.stringify(first.details)}`);
      const shown = shownIn(method.output, first.reply);
      assert.ok(shown.length > 0, "it shows one");
      for (const secret of shown) plant(`${method.rpc}'s`, secret);
      seen.push({ where: `${method.rpc}'s headers`, content: JSON.stringify(first.headers) });
      watched(`${method.rpc}, repeated`, await stage.call(protocol, method, request, { token, headers }));
      watched(
        `${method.rpc}, under the same key with another request`,
        await stage.call(protocol, method, { ...request, ...(await stage.request(method)) }, { token, headers }),
      );
      watched(`${method.rpc}, to nobody`, await stage.call(protocol, method, request, { token: "garbage" }));
    }
  });

for (const { method, path } of taking)
  test(`${method.name} accepts ${path.join(".")} and never returns it`, async () => {
    for (const protocol of protocols) {
      const secret = `planted-${stage.next()}-${"s3cret".repeat(4)}`;
      plant(`${method.rpc}'s ${path.at(-1)}`, secret);
      const valid = withValue(await stage.request(method, { whole: true }), path, secret);
      const masked = method.input.byName.has("update_mask") ? { updateMask: "*" } : {};
      const token = await stage.operator();
      const headers = { "idempotency-key": `secret ${stage.next()}` };
      const { code, message, details } = watched(method.rpc, await stage.call(protocol, method, { ...valid, ...masked }, { token, headers }));
      assert.equal(code, 0, `${message} ${JSON.stringify(details)}`);
      watched(`${method.rpc}, repeated`, await stage.call(protocol, method, { ...valid, ...masked }, { token, headers }));
      watched(`${method.rpc}, rehearsed`, await stage.call(protocol, method, { ...valid, ...masked }, { token, validateOnly: true }));
      const [body = ""] = path;
      watched(`${method.rpc}, wrong`, await stage.call(protocol, method, withValue({ ...valid, ...masked }, [body, "name"], "WRONG / NAME"), { token }));
      watched(`${method.rpc}, too long`, await stage.call(protocol, method, withValue({ ...valid, ...masked }, path, secret.repeat(500)), { token }));
    }
  });

test("a private key sent by mistake is refused, and neither returned nor stored", async () => {
  const d = "A-private-part-of-a-key-that-is-nobody-elses";
  plant("a private key", d);
  const create = methods.find(({ rpc }) => rpc === "CreateIdentity") ?? assert.fail();
  const issuerKeys = JSON.stringify({ keys: [{ kty: "OKP", crv: "Ed25519", kid: "one", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", d }] });
  for (const protocol of protocols) {
    const request = {
      parent: world.organization,
      identity: { name: "careless", staticKeys: { issuer: "https://mine.example.com", subject: "me", issuerKeys } },
    };
    assert.equal(watched("CreateIdentity", await stage.call(protocol, create, request, { token: await stage.operator() })).code, codes.INVALID_ARGUMENT);
  }
});

test("a misused user token, device code or other secret appears in no response", async () => {
  const { token } = await signIn(world, provider, idp, { sub: "ada" });
  plant("an access token", token);
  const terminal = await requestDeviceCodes(world);
  plant("a device code", terminal.deviceCode);
  seen.push({ where: "a poll", content: JSON.stringify(await poll(world, terminal)) });
  for (const [secret, what] of [...secrets])
    for (const protocol of protocols) {
      const list = methods.find(({ rpc }) => rpc === "ListRoles") ?? assert.fail();
      const register = methods.find(({ name }) => name === "chainguard.platform.auth.Auth/Register") ?? assert.fail();
      const exchange = methods.find(({ rpc }) => rpc === "ExchangeRefreshToken") ?? assert.fail();
      if (secret !== token) watched(`${what} as a token`, await stage.call(protocol, list, {}, { token: secret }));
      watched(`${what} as a page token`, await stage.call(protocol, list, { pageToken: secret.slice(0, 4096) }, { token }));
      watched(`${what} as a code of somebody else`, await stage.call(protocol, register, { code: secret }, { token: "garbage" }));
      watched(`${what} as a refresh token`, await stage.call(protocol, exchange, {}, { token: secret }));
    }
  for (const path of ["/sts/exchange", "/oauth/token", "/nowhere", "/iam/v2/groups"]) {
    watched(
      path,
      await callHttp(world.url, "POST", path, { token, body: "{", headers: { "content-type": "application/json" } }).catch(() =>
        callHttp(world.url, "GET", "/nowhere", { token }),
      ),
    );
  }
});

/** Reads every list and each of its items over both protocols. */
const readAll = async (): Promise<number> => {
  const token = await stage.operator();
  let read = 0;
  const getOf = (list: MethodFact): MethodFact | undefined =>
    methods.find(
      ({ service, rpc }) =>
        service === list.service && rpc === `Get${list.output.fields.find(({ shape, message }) => shape === "list" && message)?.message?.short ?? ""}`,
    );
  for (const list of methods.filter((method) => stage.answers(method) && isList(method) && method.unscoped))
    for (const protocol of protocols) {
      const answer = watched(list.rpc, await stage.call(protocol, list, { pageSize: 200 }, { token }));
      const get = getOf(list);
      for (const uid of get && answer.code === 0 ? uidsOf(list, answer.reply) : []) {
        if (get) watched(get.rpc, await stage.call(protocol, get, { uid }, { token }));
        read++;
      }
    }
  return read;
};

test("no secret is in any response, header, trailer, log line, event or row, in any form", async () => {
  assert.ok((await readAll()) > 50, "there was something to read");
  assert.ok(logged.length > 0 && secrets.size > 12, `${logged.length} lines, ${secrets.size} secrets`);
  seen.push({ where: "the log", content: logged.join("") }, { where: "the events", content: JSON.stringify(await world.events()) });
  const tables = await everyRow(world.databaseUrl);
  assert.ok(tables.size > 40, `only ${tables.size} tables`);
  for (const [table, rows] of tables) seen.push({ where: `the table ${table}`, content: JSON.stringify(rows) });
  assert.deepEqual(leaksIn(seen, secrets), []);
  // The issuer's own keys: their private halves are sealed.
  const keys = JSON.stringify(await stage.query("select t::text from signing_keys as t"));
  assert.ok(keys.includes("public_jwk") || keys.includes("kty"));
  assert.doesNotMatch(keys, /\\"(?:d|p|q|dp|dq|qi)\\\\?":/);
});

test("the search finds a planted secret, even inside its encodings", async () => {
  const [secret = ""] = secrets.keys();
  await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "leaky", description: `it is ${secret.slice(0, 400)}` } });
  const kept = [{ where: "groups", content: JSON.stringify(await stage.query("select t::text from groups as t")) }];
  assert.deepEqual(leaksIn(kept, new Map([[secret.slice(0, 400), "one"]])), ["one is in groups"]);
  const wrapped = Buffer.from(JSON.stringify({ sec: "inner-secret-of-a-code" })).toString("base64");
  assert.deepEqual(leaksIn([{ where: "a log", content: "a line with inner-secret-of-a-code" }], new Map([[wrapped, "a code"]])), ["a code is in a log"]);
});
