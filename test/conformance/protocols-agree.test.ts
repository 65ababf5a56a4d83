// REST and gRPC agree on code, text, typed details, response and headers for the same request, valid or not (requirement: the same operations
// over gRPC on the same host).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import type { MethodFact } from "#contract/facts.ts";
import { type Answer, callHttp, callOver, restRequest } from "../client.ts";
import { bodyField, matcherOf, nonEmpty, valueAt, withValue, writable } from "../samples.ts";
import { answerableRequest, folder, isBesideOpen, isList, isMade, unusedUid, openStage, protocolsOf } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const place = await folder(stage);
const owner = await stage.owner();
const stranger = await stage.stranger(world.organization);
const answered = nonEmpty(
  methods.filter((method) => stage.answers(method) && protocolsOf(method).length > 1 && !isBesideOpen(method)),
  "operation with an answer",
);

/** Normalizes the response by its message, without values that proto3 cannot distinguish from absence. */
const canonical = (method: MethodFact, reply: JsonObject): Json =>
  toJson(messageDescriptor(method.output), fromJson(messageDescriptor(method.output), reply, { registry }), { registry }) as Json;

/** Replaces values that differ in each response: new uids, and sealed tokens. */
const settled = (json: Json, request: JsonObject, writes: boolean): string => {
  const asked = JSON.stringify(request);
  return JSON.stringify(json, (key, value: Json) => {
    if (key === "nextPageToken" || key === "token") return typeof value === "string" ? "a token" : value;
    if (key === "eventId" && writes) return "a new event's";
    // An address can contain a new uid.
    if (typeof value === "string")
      return value.replace(/[0-9a-f]{40}(?:\/[0-9a-f]{16})*/g, (uid) =>
        asked.includes(uid) ? uid : `new below ${uid.includes("/") ? uid.slice(0, -17) : "nothing"}`,
      );
    return Array.isArray(value) || !isObject(value) ? value : Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
};

const telling = ["www-authenticate", "etag", "gantry-page-restarted", "gantry-validate-only", "gantry-warning", "gantry-replayed", "gantry-left-out"];

const said = (method: MethodFact, { code, message, details, reply, headers }: Answer, request: JsonObject): Json => ({
  code,
  message,
  details: [...details],
  reply: code === 0 ? settled(canonical(method, reply), request, method.writes) : "",
  headers: Object.fromEntries(telling.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))),
});

/**
 * Sends the same request over both protocols, writes as dry runs, so that both find the same state. An operation without a dry run runs for
 * real with a new `tokenOf` each time, since a refresh token works once.
 */
const agree = async (
  method: MethodFact,
  request: JsonObject,
  token: string | undefined,
  what: string,
  tokenOf: () => Promise<string | undefined> = async () => token,
): Promise<Answer> => {
  const validateOnly = method.writes && !method.credentials;
  await stage.putBack(method, request);
  const rest = await stage.call("rest", method, request, { token, validateOnly });
  await stage.putBack(method, request);
  const grpc = await stage.call("grpc", method, request, { token: method.credentials ? await tokenOf() : token, validateOnly });
  assert.deepEqual(said(method, grpc, request), said(method, rest, request), `${method.rpc}: ${what}`);
  return rest;
};

const valid = (method: MethodFact, whole = true): Promise<JsonObject> => answerableRequest(stage, method, place, whole);

for (const method of answered) {
  test(`${method.rpc} returns the same response to a valid request over both protocols`, async () => {
    for (const whole of [false, true]) {
      const request = await valid(method, whole);
      const otherwise = await stage.tokenFor(method, request);
      const { token } = await stage.callerOf(method, { uid: "", token: otherwise });
      const another = async (): Promise<string> => (await stage.callerOf(method, { uid: "", token: otherwise })).token;
      const { code, message } = await agree(method, request, token, "valid", another);
      assert.equal(code, 0, message);
    }
  });

  test(`${method.rpc} returns the same errors over both protocols: without a token, to a stranger, for missing or bad uids, for wrong fields`, async () => {
    const request = await valid(method);
    await agree(method, request, undefined, "nobody");
    await agree(method, request, "garbage", "a wrong token");
    await agree(method, request, stranger.token, "a stranger");
    await agree(method, request, await world.token(unusedUid(stranger.uid)), "an identity that is gone");
    const path = method.scope ?? ["uid", "parent"].filter((name) => method.input.byName.has(name)).slice(0, 1);
    if (path.length > 0 && valueAt(request, path) !== undefined) {
      const uid = String(valueAt(request, path));
      const about = (other: string): JsonObject =>
        uid === "" ? withValue(request, path, other) : (JSON.parse(JSON.stringify(request).replaceAll(uid, other)) as JsonObject);
      const absent = await agree(method, about(unusedUid(uid || place)), owner, "what does not exist");
      assert.notEqual(absent.code, 0);
      for (const wrong of ["x", `${uid}0`]) assert.notEqual((await agree(method, about(wrong), owner, `no uid: ${wrong}`)).code, 0);
    }
    const field = bodyField(method);
    for (const inner of field?.message ? writable(field.message) : []) {
      if (inner.shape !== "one" || inner.kind !== "string") continue;
      const at = [field?.json ?? "", inner.json];
      // Without a mask, an empty field is a key over REST but absent over gRPC, so an update names it.
      const masked = method.input.byName.has("update_mask") ? { updateMask: inner.name } : {};
      for (const value of ["", "UPPER/é", "a".repeat(70_000), "a\0b"])
        await agree(method, { ...withValue(request, at, value), ...masked }, owner, `${inner.json} = ${value.slice(0, 10)}`);
    }
    if (field?.message && !method.input.byName.has("update_mask")) await agree(method, withValue(request, [field.json], {}), owner, "an empty body");
    if (method.input.byName.has("update_mask")) {
      for (const updateMask of ["nonsense", "uid", "*", "*,name", "name,nonsense", "__proto__", "create_time"])
        await agree(method, { ...request, updateMask }, owner, `mask ${updateMask}`);
    }
    for (const inner of method.input.fields.filter(({ pattern, kind }) => pattern !== undefined && kind === "string")) {
      const wrong = ["x", "UPPER", "-"].find((value) => !matcherOf(inner).test(value)) ?? "";
      await agree(method, { ...request, [inner.json]: inner.shape === "list" ? [wrong] : wrong }, owner, inner.name);
    }
  });
}

// grown-lists.test.ts covers lists of rows without a Create over both protocols.
for (const method of nonEmpty(
  answered.filter((each) => isList(each) && isMade(each)),
  "list",
)) {
  test(`${method.rpc} pages alike over both protocols, and refuses wrong parameters alike`, async () => {
    const create = methods.find(({ service, rpc }) => service === method.service && rpc.startsWith("Create"));
    for (let made = 0; create && made < 4; made++) await stage.make(create.output.name, { place });
    const uidp = { descendantsOf: place };
    // A scoped list names its parent.
    const asked: JsonObject = method.scope ? { parent: world.organization } : {};
    const first = await agree(method, { ...asked, uidp, pageSize: 2, orderBy: "create_time desc" }, owner, "first page");
    const pageToken = text(first.reply, "nextPageToken");
    assert.ok(pageToken !== "");
    await agree(method, { ...asked, uidp, pageSize: 2, orderBy: "create_time desc", pageToken, skip: 1 }, owner, "next page");
    for (const request of [
      { pageSize: -1 },
      { pageSize: 500 },
      { skip: -1 },
      { skip: 2_000_000 },
      { skip: 3 },
      { orderBy: "nonsense" },
      { orderBy: "uid desc" },
      { orderBy: "uid sideways" },
      { pageToken: "forged" },
      { pageToken },
      { uidp: { childrenOf: "x" } },
      { uidp: { childrenOf: place } },
      { uidp: { ids: ["x"] } },
      { uidp: { inRoot: true } },
      { pageSize: -1, skip: -1, orderBy: "x", uidp: { descendantsOf: "x" } },
    ] satisfies JsonObject[])
      await agree(method, { ...asked, ...request }, owner, JSON.stringify(request));
    await agree(method, { ...asked, uidp }, stranger.token, "a stranger's list");
    world.clock.now += 4 * 24 * 60 * 60 * 1000;
    try {
      const { headers } = await agree(method, { ...asked, uidp, pageSize: 2, orderBy: "create_time desc", pageToken }, await stage.owner(), "an old token");
      assert.equal(headers["gantry-page-restarted"], "true");
    } finally {
      world.clock.now -= 4 * 24 * 60 * 60 * 1000;
    }
  });
}

test("both protocols also accept the earlier package and path segment, with the same response", async () => {
  for (const method of nonEmpty(
    answered.filter(({ version, writes }) => version === "v2" && !writes),
    "v2 read",
  )) {
    const { token } = await stage.callerOf(method, { uid: "", token: owner });
    const request = await valid(method);
    const now = await stage.call("rest", method, request, { token });
    const beta = { ...method, http: method.http.map((rule) => ({ ...rule, template: rule.template.replace("/v2/", "/v2beta1/") })) };
    const { verb, path, body } = restRequest(beta, request);
    assert.ok(path.includes("/v2beta1/"));
    const rest = await callHttp(world.url, verb, path, { token, body });
    assert.equal(settled(rest.reply, request, true), settled(now.reply, request, true), method.rpc);
    assert.equal(rest.code, 0, method.rpc);
    const grpc = await callOver("grpc", world.url, method.name.replace(".v2.", ".v2beta1."), request, { token });
    assert.equal(settled(canonical(method, grpc.reply), request, true), settled(canonical(method, now.reply), request, true));
  }
});
