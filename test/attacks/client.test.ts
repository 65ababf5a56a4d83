// Attacks on client programs: a server or impostor after the client's token or memory (146), and a hostile uid that turns a request into a
// different one (147).

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { text } from "#base/json.ts";
import { ApiError, createClient, exchangedToken } from "#contract-client";
import { methods } from "#contract/catalog.ts";
import { jsonPathOf, type MethodFact } from "#contract/facts.ts";
import { openScriptedServer } from "../client/scripted-server.ts";
import { fc, runs } from "../property.ts";
import { withValue } from "../samples.ts";
import { openWorld } from "../world.ts";

const [server, elsewhere] = [await openScriptedServer(), await openScriptedServer()];
after(() => Promise.all([server.close(), elsewhere.close()]));

const getGroup = "chainguard.platform.iam.v2.GroupsService/GetGroup";
const isReason =
  (reason: string) =>
  (thrown: unknown): boolean =>
    thrown instanceof ApiError && thrown.reason === reason;

test("attack 146: the client sends no token after a redirect, for a request, a file or a token exchange", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    server.play({ status, headers: { location: `${elsewhere.url}/iam/v2/groups/x` } });
    elsewhere.play({ status: 200, body: '{"uid":"x"}' });
    const client = createClient({ server: server.url, token: "secret" });
    await assert.rejects(client.call(getGroup, { uid: "x" }), isReason("REDIRECTED"));
    await assert.rejects(client.file("gantry.feeds.v1.FeedFilesService/ReadOsvList", {}), isReason("REDIRECTED"));
    const exchanging = createClient({ server: server.url, token: exchangedToken({ server: server.url, subjectToken: "secret" }) });
    await assert.rejects(exchanging.call(getGroup, { uid: "x" }), isReason("REDIRECTED"));
    assert.equal(elsewhere.received.length, 0);
  }
});

test("attack 146: the client bounds an endless response over either transport", async () => {
  let sent = 0;
  const endless = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const more = (): void => {
      if (response.destroyed) return;
      sent += 65_536;
      response.write(" ".repeat(65_536), more);
    };
    more();
  }).listen(0, "127.0.0.1");
  await once(endless, "listening");
  try {
    const client = createClient({ server: `http://127.0.0.1:${(endless.address() as AddressInfo).port}`, answerBytesMax: 1_000_000 });
    await assert.rejects(client.call(getGroup, { uid: "x" }), isReason("ANSWER_TOO_LARGE"));
    assert.ok(sent < 20_000_000);
  } finally {
    endless.closeAllConnections();
    endless.close();
  }
  const world = await openWorld();
  try {
    const client = createClient({ server: world.url, token: await world.token(), transport: "grpc", answerBytesMax: 20 });
    await assert.rejects(client.call(getGroup, { uid: world.organization }), isReason("ANSWER_TOO_LARGE"));
  } finally {
    await world.close();
  }
});

test("attack 146: fields of a hostile error stay text and set no property in the program", async () => {
  const body =
    '{"code":3,"message":"m","details":[{"@type":"x/google.rpc.ErrorInfo","metadata":{"__proto__":"a","toString":"b"}},{"__proto__":{"x":1}},7,null]}';
  server.play({ status: 400, body });
  const error = await createClient({ server: server.url })
    .call(getGroup, { uid: "x" })
    .then(undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof ApiError);
  assert.equal(error.details.length, 1);
  assert.deepEqual(Object.keys(error.metadata), ["__proto__", "toString"]);
  assert.equal(Object.getPrototypeOf(error.metadata), Object.prototype);
});

/** Returns an expression for the whole request target: no query, and no characters that a URL parser reads as another path. */
const formOf = (template: string): RegExp =>
  new RegExp(
    `^${template
      .replace(/[.:]/g, "\\$&")
      .replace(/\{[^}]+=\*\*\}/g, "([^?#:\\\\]*)")
      .replace(/\{[^}]+\}/g, "([^?#:/\\\\]+)")}$`,
  );

const pathOf = ({ input }: MethodFact, name: string): string[] => jsonPathOf(input, name);

test("attack 147: a request with any uid reaches the named operation with that uid, or is not sent", async () => {
  const operations = methods.filter(({ http, distribution }) => distribution === undefined && /\{[^}]+\}/.test(http[0]?.template ?? ""));
  const piece = fc.constantFrom(
    "..",
    ".",
    "%2e%2e",
    "/",
    "\\",
    "?",
    "#",
    ":",
    "&validateOnly=true",
    "?validateOnly=true",
    "a",
    "\u0000",
    "\r\n",
    "é",
    "%",
    ";",
    "@",
    "0f",
  );
  const hostile = fc.oneof(
    fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join("")),
    fc.string({ unit: "binary", maxLength: 12 }),
  );
  const client = createClient({ server: server.url });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...operations), hostile, async (method, value) => {
      const [http] = method.http;
      const template = http?.template ?? "";
      const [first = "", ...others] = [...template.matchAll(/\{([^}=]+)/g)].map(([, name = ""]) => name);
      const request = others.reduce((built, name) => withValue(built, pathOf(method, name), "0f"), withValue({}, pathOf(method, first), value));
      server.play({ status: 200, body: "{}" });
      const sent = method.givesFile ? client.file(method, request) : client.call(method, request);
      const error = await sent.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error !== undefined) {
        assert.ok(error instanceof ApiError && error.code === "INVALID_ARGUMENT", String(error));
        assert.equal(server.received.length, 0);
        return;
      }
      const [{ verb, target } = { verb: "", target: "" }] = server.received;
      const [, ...parts] = (formOf(template).exec(target) ?? assert.fail(target)) as readonly string[];
      assert.equal(verb, http?.verb);
      assert.equal((parts[0] ?? "").split("/").map(decodeURIComponent).join("/"), value);
      assert.deepEqual(
        parts.slice(1),
        others.map(() => "0f"),
      );
    }),
    { numRuns: runs(250) },
  );
});

test("attack 147: the server refuses a hostile uid as malformed", async () => {
  const world = await openWorld();
  try {
    const client = createClient({ server: world.url, token: await world.token() });
    const { uid } = await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "kept" } });
    for (const hostile of [
      `${uid}/../${uid}`,
      `${uid}?`,
      `${uid}#`,
      `x/../../../iam/v2/groups/${uid}`,
      `${uid}:batchDelete`,
      `${uid}%2f..`,
      "..",
      `./${uid}`,
    ]) {
      const error = await client.call("chainguard.platform.iam.v2.GroupsService/DeleteGroup", { uid: hostile }).then(undefined, (thrown: unknown) => thrown);
      assert.ok(error instanceof ApiError && error.code === "INVALID_ARGUMENT", `${hostile}: ${String(error)}`);
    }
    for (const operation of [getGroup, "chainguard.platform.iam.v2.GroupsService/DeleteGroup"])
      await assert.rejects(client.call(operation, {}), (thrown) => thrown instanceof ApiError && thrown.violations[0]?.field === "uid");
    assert.equal(text(await client.call(getGroup, { uid: String(uid) }), "name"), "kept");
  } finally {
    await world.close();
  }
});
