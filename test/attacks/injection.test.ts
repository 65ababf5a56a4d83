// Injection attacks: texts that try to become a header, a log line or a property of every object.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { isObject, type JsonObject } from "#base/json.ts";
import { jsonLog } from "#base/log.ts";
import { messageDescriptor } from "#contract/descriptors.ts";
import { methods } from "#contract/catalog.ts";
import { http, items } from "../story/protocols.ts";
import { databaseContents } from "../story/installation.ts";
import { type Issuer, startIssuer } from "../story/processes.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let issuer: Issuer;
let token: string;

before(async () => {
  [world, issuer] = await Promise.all([openWorld(), startIssuer()]);
  token = await world.token();
});
after(() => Promise.all([world?.close(), issuer?.close()]));

const control = ["\r\nx-injected: 1", "\n", "\u0000", "\u001b[31m", "\u007f", "\u0085", "\u2028x"];

test("attack 28: control characters in names and descriptions are refused over both protocols, and nothing is written", async () => {
  const before = await databaseContents(world);
  for (const evil of control.slice(0, 3))
    for (const protocol of ["rest", "grpc"] as const) {
      for (const repo of [{ name: `a${evil}` }, { name: "a", description: `a${evil}` }]) {
        const { code } = await world.call("registry.ReposService/CreateRepo", { parent: world.organization, repo }, { token, protocol });
        assert.equal(code, 3, JSON.stringify(repo));
      }
    }
  for (const evil of control) {
    const { code } = await world.call("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: `a${evil}` } }, { token });
    assert.equal(code, 3, JSON.stringify(evil));
  }
  assert.deepEqual(await databaseContents(world), before);
});

/** Sends a raw request; returns everything received until the server closes the connection. */
const raw = async (request: string): Promise<string> => {
  const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
  let heard = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    heard += text;
  });
  socket.on("error", () => {});
  socket.write(request, "latin1");
  await once(socket, "close");
  return heard;
};

test("attack 28: no part of a path, query or header becomes a response header", async () => {
  const evil = "%0d%0ax-injected:%201";
  const requests = [
    `GET /${evil} HTTP/1.1`,
    `GET /iam/v2/groups/${evil} HTTP/1.1`,
    `GET /iam/v2/roles?name=${evil} HTTP/1.1`,
    `GET /iam/v2/roles?${evil}=1 HTTP/1.1`,
    `PUT /iam/v2/roles/${evil} HTTP/1.1`,
    `GET /iam/v2/roles HTTP/1.1\r\ngantry-identity: a\x0bx-injected: 1`,
    `GET /iam/v2/roles HTTP/1.1\r\nidempotency-key: \x85x-injected: 1`,
    `GET /iam/v2/roles HTTP/1.1\r\nif-none-match: "\x7f"`,
  ];
  for (const line of requests) {
    const heard = await raw(`${line}\r\nhost: x\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`);
    const [head = ""] = heard.split("\r\n\r\n");
    assert.match(head, /^HTTP\/1\.1 [234]\d\d /, line);
    assert.doesNotMatch(head, /^x-injected/im, line);
  }
});

test("attack 28: an error that quotes the request stays one JSON text and one line of gRPC metadata", async () => {
  const evil = `"},{"code":0}\r\nx: 1\u2028`;
  const { body } = await http(world.url, "GET", `/iam/v2/roles?order_by=${encodeURIComponent(evil)}`, { token });
  assert.equal(body.code, 3);
  assert.ok(String(body.message).includes("code"));
  const rpc = await world.call("iam.RolesService/ListRoles", { orderBy: evil }, { token, protocol: "grpc" });
  assert.equal(rpc.code, 3);
  assert.equal(rpc.message, body.message);
  // The wire format is printable, percent-encoded ASCII.
  const session = connectHttp2(world.url);
  const stream = session.request({
    ":method": "POST",
    ":path": "/chainguard.platform.iam.v2.RolesService/ListRoles",
    "content-type": "application/grpc",
    te: "trailers",
    authorization: `Bearer ${token}`,
  });
  const descriptor = messageDescriptor(methods.find(({ rpc }) => rpc === "ListRoles")?.input ?? assert.fail("no ListRoles"));
  const message = toBinary(descriptor, fromJson(descriptor, { orderBy: "ü€\r\nx: 1" }));
  stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
  const [answer] = (await once(stream, "response")) as [Record<string, string>];
  stream.resume();
  session.close();
  assert.equal(String(answer["grpc-status"]), "3");
  assert.match(answer["grpc-message"] ?? "", /^[\x20-\x7e]*cannot order by[\x20-\x7e]*$/);
});

test("attack 28: a log entry is one line of JSON, whatever it contains", () => {
  const written: string[] = [];
  const log = jsonLog((line) => written.push(line));
  for (const evil of control) log("fault", { path: evil, [evil]: evil, cause: new Error(evil) });
  assert.equal(written.length, control.length);
  for (const line of written) {
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.doesNotThrow(() => JSON.parse(line));
  }
});

test("attack 28: an event's type, subject, source and group contain no text from a caller", async () => {
  const evil = "a\u2028b";
  await world.call("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "evented", description: evil } }, { token });
  const rows = await world.server.application.services.store.read.query("select type, source, subject, group_uid, audience, body_type, request_id from outbox");
  assert.ok(rows.length > 0);
  for (const row of rows) for (const text of row) assert.match(text ?? "", /^[\w.:/-]*$/);
});

const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];

const clean = (): void => {
  const bare: Record<string, unknown> = {};
  assert.equal(bare.polluted, undefined);
  assert.equal(bare.name, undefined);
  assert.deepEqual(
    Object.getOwnPropertyNames(Object.prototype).filter((name) => /polluted|name|claims/.test(name)),
    [],
  );
};

test("attack 30: a key that would touch a prototype is an unknown field, at any depth", async () => {
  const before = await databaseContents(world);
  for (const name of names) {
    const evil = `{"polluted":1,"name":"x"}`;
    const bodies: readonly (readonly [path: string, body: string, field: string])[] = [
      [`/registry/v2/repos/${world.organization}`, `{"name":"a","${name}":${evil}}`, name],
      [
        `/iam/v2/identities/${world.organization}`,
        `{"name":"a","claimMatch":{"issuer":"https://a.example","subject":"s","${name}":${evil}}}`,
        `claimMatch.${name}`,
      ],
      [`/iam/v2/roleBindings:batchCreate`, `{"parent":"${world.organization}","requests":[{"${name}":${evil}}]}`, `requests[0].${name}`],
    ];
    for (const [path, body, field] of bodies) {
      const seen = await http(world.url, "POST", path, { token, body });
      assert.equal(seen.status, 400, `${path} ${body}`);
      assert.ok(
        items({ list: items(seen.body, "details")[1]?.fieldViolations ?? [] }, "list").some((violation) => violation.field === field),
        seen.text,
      );
    }
    const query = await http(world.url, "GET", `/iam/v2/roles?${name}=1&uidp.${name}=1&${name}.polluted=1`, { token });
    assert.equal(query.status, 400);
    clean();
  }
  assert.deepEqual(await databaseContents(world), before);
});

test("attack 30: prototype names in masks, orders, enums and paths are refused as unknown", async () => {
  const { uid } = await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "proto" } });
  for (const name of names) {
    for (const mask of [name, `${name}.polluted`, `customOverlay.${name}`]) {
      const seen = await http(world.url, "PATCH", `/registry/v2/repos/${String(uid)}?updateMask=${mask}`, { token, body: `{"description":"x"}` });
      assert.equal(seen.status, 400, mask);
    }
    assert.equal((await http(world.url, "GET", `/iam/v2/roles?order_by=${name}`, { token })).status, 400);
    assert.equal((await http(world.url, "GET", `/iam/v2/identities?relationship_type=${name}`, { token })).status, 400);
    assert.equal(
      (await http(world.url, "POST", `/iam/v2/roles/${world.organization}`, { token, body: `{"name":"a","capabilities":["${name}"]}` })).status,
      400,
    );
    assert.equal((await http(world.url, "GET", `/iam/v2/${name}`, { token })).status, 404);
    assert.equal((await http(world.url, "GET", `/${name}/v2/roles`, { token })).status, 404);
    assert.equal((await http(world.url, "GET", `/iam/v2/roles:${name}`, { token })).status >= 400, true);
  }
  clean();
});

test("attack 30: prototype names as map keys are stored, returned and compared as data", async () => {
  const claims = Object.fromEntries(names.map((name) => [name, `value of ${name}`]));
  const claimMatch = { issuer: issuer.url, subject: "s", claims };
  const made = await http(world.url, "POST", `/iam/v2/identities/${world.organization}`, {
    token,
    body: JSON.stringify({ name: "mapped", claimMatch }),
  });
  assert.equal(made.status, 200, made.text);
  const uid = String(made.body.uid);
  const read = async (): Promise<JsonObject> => (await http(world.url, "GET", `/iam/v2/identities/${uid}`, { token })).body;
  const kept = (await read()).claimMatch;
  assert.ok(isObject(kept) && isObject(kept.claims));
  assert.deepEqual(Object.entries(kept.claims).sort(), Object.entries(claims).sort());
  const exchange = async (extra: JsonObject): Promise<number> => {
    // The issuer's JSON must contain the key too, so it is written by hand.
    const foreign = await issuer.token({ sub: "s", aud: world.url, ...extra });
    return (await http(world.url, "GET", `/sts/exchange?identity=${uid}`, { token: foreign })).status;
  };
  assert.equal(await exchange({}), 403, "what every object inherits is no claim");
  const { __proto__: _left, ...others } = Object.fromEntries(Object.entries(claims));
  assert.equal(await exchange(others), 403, "the one that is missing is missed");
  clean();
});
