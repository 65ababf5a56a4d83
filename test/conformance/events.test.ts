// Every write records exactly one event, as the contract declares it; nothing else records one (decisions: Safe writes; shared facts: events).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fromJson } from "@bufbuild/protobuf";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { methods } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import type { MessageFact, MethodFact } from "#contract/facts.ts";
import { signedInType } from "#outbox";
import { bodyField, bodyOf, matcherOf, nonEmpty, valueAt } from "../samples.ts";
import {
  everyCapabilityBut,
  hasSafeWrites,
  protocols,
  protocolsOf,
  folder,
  groupMessage,
  type Holder,
  identityMessage,
  isForEverybody,
  unusedUid,
  openStage,
  roleMessage,
} from "./stage.ts";

const stage = await openStage({ GANTRY_PUBLIC_URL: "http://gantry.example.test/" });
const { world } = stage;
after(() => stage.close());

const place = await folder(stage);
const answered = nonEmpty(methods.filter(stage.answers), "operation with an answer");
// Writes that need capabilities; story tests cover users' actions on themselves.
const writes = nonEmpty(
  answered.filter((method) => method.event && (method.capabilities.length > 0 || isForEverybody(method))),
  "write with an event",
);
const reads = nonEmpty(
  answered.filter((method) => !method.writes),
  "read",
);
// An owner with every capability: events must name it instead of the operator.
const owner = await stage.holder(everyCapabilityBut(""), world.organization);

interface Told {
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly group: string;
  readonly audience: string;
  readonly extensions: JsonObject;
  readonly actor: JsonObject;
  readonly bodyType: string;
  readonly body: JsonObject;
  readonly requestId: string;
  readonly time: string;
}

const parsed = (json: string | null | undefined): JsonObject => {
  const value = JSON.parse(json ?? "{}") as Json;
  return isObject(value) ? value : {};
};

/** Returns the events after this number, except sign-ins, which only the audit log records. */
const toldAfter = async (number: number): Promise<Told[]> => {
  const rows = await stage.query(
    `select type, source, subject, group_uid, audience, extensions, data::jsonb -> 'actor', body_type, data::jsonb -> 'body', request_id,
       to_char(create_time, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
     from outbox where id > $1 and type <> $2 order by id`,
    [String(number), signedInType],
  );
  return rows.map(([type, source, subject, group, audience, extensions, actor, bodyType, body, requestId, time]) => ({
    type: type ?? "",
    source: source ?? "",
    subject: subject ?? "",
    group: group ?? "",
    audience: audience ?? "",
    extensions: parsed(extensions),
    actor: parsed(actor),
    bodyType: bodyType ?? "",
    body: parsed(body),
    requestId: requestId ?? "",
    time: time ?? "",
  }));
};

const lastNumber = async (): Promise<number> => Number((await stage.query("select coalesce(max(id), 0) from outbox"))[0]?.[0]);

/** Returns the public part of a message: without our additional fields and secrets, at any depth. */
const publicOf = (message: MessageFact, value: JsonObject): JsonObject => {
  const out: JsonObject = {};
  for (const [key, held] of Object.entries(value)) {
    const field = message.byName.get(key) ?? assert.fail(`${message.short} has no ${key}`);
    if (field.number >= 1000 || field.redacted) continue;
    const inner = field.message;
    const show = (entry: Json): Json => (inner && isObject(entry) ? publicOf(inner, entry) : entry);
    if (field.shape === "map" && isObject(held)) out[key] = Object.fromEntries(Object.entries(held).map(([name, entry]) => [name, show(entry)]));
    else out[key] = Array.isArray(held) ? held.map(show) : show(held);
  }
  return out;
};

const sparse = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(sparse);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== false && entry !== "" && entry !== 0 && entry !== "0")
      .map(([key, entry]) => [key, sparse(entry)]),
  );
};

const places = {
  self: (subject: string): string => subject,
  root: (subject: string): string => rootOf(subject),
  parent: (subject: string): string => parentOf(subject) || "/",
};

const assertTold = (method: MethodFact, told: Told, request: JsonObject, reply: JsonObject, requestId: string | undefined, by: Holder): void => {
  const event = method.event ?? assert.fail();
  const empty = method.output.fields.length === 0;
  const message = empty ? method.input : method.output;
  // The OCI protocol responds in headers, so no message contains the event's data.
  const whole = empty ? request : method.distribution ? told.body : reply;
  const subject = String(method.distribution ? request.repo : (valueAt(whole, event.subject) ?? valueAt(request, event.subject)));
  assert.equal(told.type, event.type);
  assert.equal(
    told.source,
    method.distribution ? "gantry.example.test" : `http://gantry.example.test${(method.http[0]?.template ?? "").replace(/\/\{.*$/, "")}`,
  );
  assert.equal(told.subject, subject);
  const from = event.groupFrom ? String(valueAt(whole, event.groupFrom)) : subject;
  const group = event.extensions.includes("group") ? places[event.group](from) : "";
  assert.equal(told.group, group);
  assert.equal(told.audience, event.audience);
  assert.deepEqual(Object.keys(told.extensions).sort(), [...event.extensions].sort());
  assert.equal(told.extensions.group ?? "", group);
  assert.deepEqual(told.actor, { subject: by.uid, ...(by.act && { act: by.act }) });
  assert.equal(told.bodyType, message.name);
  assert.deepEqual(sparse(told.body), sparse(publicOf(message, whole)));
  fromJson(messageDescriptor(message), told.body, { registry });
  assert.equal(told.time, new Date(world.clock.now).toISOString());
  assert.ok(requestId);
  assert.equal(told.requestId, requestId);
};

for (const method of writes) {
  for (const protocol of protocolsOf(method)) {
    test(`${method.rpc} over ${protocol} emits exactly one event: the contract's type, subject, group, actor, and a body of public fields only`, async () => {
      const request = await stage.request(method, { place, whole: true });
      // A subgroup does not accept organization-only fields.
      if (bodyField(method)?.message?.name === groupMessage)
        request.group = {
          ...(await bodyOf(bodyField(method)?.message ?? assert.fail(), stage.sampling(place))),
          uid: valueAt(request, ["group", "uid"]) ?? "",
        };
      const by = await stage.callerOf(method, { uid: owner.uid, token: await world.token(owner.uid) });
      const before = await lastNumber();
      world.clock.now += 1500;
      const { code, reply, message, headers } = await stage.call(protocol, method, request, { token: by.token });
      assert.equal(code, 0, message);
      // A restored resource also emits an event as if created.
      const isOwn = ({ type }: { readonly type: string }): boolean => method.delegates?.rights !== "deletion" || type === method.event?.type;
      const told = (await toldAfter(before)).filter(isOwn);
      assert.equal(told.length, 1);
      assertTold(method, told[0] ?? assert.fail(), request, reply, headers["x-request-id"], by);
    });
  }

  test(`${method.rpc} emits no event if it is refused, for any reason`, async () => {
    const request = await stage.request(method, { place, capabilities: ["groups.list"] });
    const stranger = await stage.stranger(world.organization);
    const field = bodyField(method);
    const path = method.scope ?? ["parent"];
    const absent = unusedUid(String(valueAt(request, path)));
    const missing = JSON.parse(JSON.stringify(request).replaceAll(String(valueAt(request, path)), absent)) as JsonObject;
    const named = field?.message?.fields.find(
      ({ pattern, shape, kind, outputOnly }) => pattern !== undefined && shape === "one" && kind === "string" && !outputOnly,
    );
    const wrong =
      named && field
        ? {
            ...request,
            [field.json]: { ...(request[field.json] as JsonObject), [named.json]: ["UPPER/", "\n"].find((text_) => !matcherOf(named).test(text_)) ?? "" },
          }
        : undefined;
    const by = await stage.callerOf(method, owner);
    const before = await lastNumber();
    for (const protocol of protocolsOf(method)) {
      assert.equal((await stage.call(protocol, method, request)).code, codes.UNAUTHENTICATED);
      const refused = await stage.call(protocol, method, request, { token: stranger.token });
      // An operation about the caller has nothing for a stranger; any other lacks the permission.
      if (isForEverybody(method))
        assert.ok(
          [codes.PERMISSION_DENIED, codes.NOT_FOUND].some((code) => code === refused.code),
          refused.message,
        );
      else {
        // In the OCI protocol, a hidden resource looks missing (oci: 4).
        assert.equal(refused.code, method.distribution ? codes.NOT_FOUND : codes.PERMISSION_DENIED);
        assert.equal((await stage.call(protocol, method, missing, { token: owner.token })).code, codes.NOT_FOUND);
      }
      if (wrong) assert.equal((await stage.call(protocol, method, wrong, { token: owner.token })).code, codes.INVALID_ARGUMENT);
      if (!hasSafeWrites(method)) continue;
      const rehearsed = await stage.call(protocol, method, request, { token: by.token, validateOnly: true });
      assert.equal(rehearsed.code, method.credentials ? codes.INVALID_ARGUMENT : 0, rehearsed.message);
    }
    assert.deepEqual(await toldAfter(before), []);
  });
}

/** Emitted only as a sign-in of each organization in which it gives permissions (server/outbox/sign-in.ts). */
const toldAsSignIns: ReadonlySet<string> = new Set(["chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken"]);

const distributionService = "gantry.registry.v1.DistributionService";
/** Covered by the events of the changed rows, or changing nothing visible. */
const toldOtherwise: Readonly<Record<string, string>> = {
  [`${distributionService}/DeleteRepoTag`]: "the Tag's own event tells it",
  [`${distributionService}/AppendUpload`]: "nobody sees an upload before it is finished",
  [`${distributionService}/CancelUpload`]: "nobody sees an upload before it is finished",
  "gantry.sessions.v1.SessionsService/RevokeAllSessions": "each session has the event of RevokeSession (test/story/sessions.test.ts)",
};

test("every write names its event, and no read has one", () => {
  for (const method of answered.filter(({ name }) => toldOtherwise[name] === undefined))
    assert.equal(method.writes && !toldAsSignIns.has(method.name), method.event !== undefined, method.name);
});

test("no read emits an event, whether it succeeds or is refused", async () => {
  const asked: [MethodFact, JsonObject][] = [];
  for (const method of reads) asked.push([method, await stage.request(method, { place })]);
  const before = await lastNumber();
  for (const [method, request] of asked)
    for (const protocol of protocolsOf(method)) for (const token of [owner.token, undefined]) await stage.call(protocol, method, request, { token });
  assert.deepEqual(await toldAfter(before), []);
});

test("a change that fails in its last step leaves neither row nor event: a taken name, a bound role, a group with content", async () => {
  const repo = await stage.make("chainguard.platform.registry.v2.Repo", { place });
  const role = text(await stage.make(roleMessage, { place, parent: place }), "uid");
  await stage.bind(place, text(await stage.make(identityMessage, { place, parent: place }), "uid"), role);
  const before = await stage.fingerprint();
  const find = (rpc: string): MethodFact => methods.find((method) => method.rpc === rpc) ?? assert.fail(rpc);
  const refused: [string, JsonObject, number][] = [
    ["CreateRepo", { parent: place, repo: { name: text(repo, "name") } }, codes.ALREADY_EXISTS],
    ["DeleteRole", { uid: role }, codes.FAILED_PRECONDITION],
    ["DeleteGroup", { uid: place }, codes.FAILED_PRECONDITION],
    [
      "BatchCreateRoleBindings",
      { parent: place, requests: [{ roleBinding: { identityUid: owner.uid, roleUid: role } }, { roleBinding: { identityUid: owner.uid, roleUid: role } }] },
      codes.ALREADY_EXISTS,
    ],
  ];
  for (const [rpc, request, code] of refused) {
    for (const protocol of protocols) assert.equal((await stage.call(protocol, find(rpc), request, { token: owner.token })).code, code, rpc);
  }
  assert.equal(await stage.fingerprint(), before);
});

test("an upsert without changes creates neither row nor event, and one with changes creates one event", async () => {
  const createTag = methods.find(({ rpc }) => rpc === "CreateTag") ?? assert.fail();
  const request = await stage.request(createTag, { place });
  const made = await stage.call("rest", createTag, request, { token: owner.token });
  const before = await stage.fingerprint();
  world.clock.now += 1000;
  for (const protocol of protocols) {
    const again = await stage.call(protocol, createTag, request, { token: owner.token });
    assert.equal(again.code, 0, again.message);
    assert.equal(again.reply.updateTime, made.reply.updateTime);
  }
  assert.equal(await stage.fingerprint(), before);
  const number = await lastNumber();
  const tag = request.tag as JsonObject;
  const moved = await stage.call("rest", createTag, { ...request, tag: { ...tag, digest: `sha256:${"0".repeat(64)}` } }, { token: owner.token });
  assert.equal(moved.reply.uid, made.reply.uid);
  assert.ok(text(moved.reply, "updateTime") > text(made.reply, "updateTime"));
  assert.deepEqual(
    (await toldAfter(number)).map(({ subject }) => subject),
    [text(made.reply, "uid")],
  );
});

test("the deletion of an organization is emitted above it, where no subscription receives it", async () => {
  const organization = text(await stage.make(groupMessage, { parent: "" }), "uid");
  const remove = methods.find(({ rpc }) => rpc === "DeleteGroup") ?? assert.fail();
  const before = await lastNumber();
  // The organization has no owner who could do it.
  assert.equal((await stage.call("rest", remove, { uid: organization }, { token: await stage.operator() })).code, 0);
  const [told] = await toldAfter(before);
  assert.equal(told?.group, "/");
  assert.equal(told?.subject, organization);
});
