// Safe writes (decisions): a write can be retried, run as a dry run, and made conditional on an ETag.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MethodFact } from "#contract/facts.ts";
import type { Answer, CallOptions, Protocol } from "../client.ts";
import { oneOrAll } from "../length.ts";
import { bodyField, nonEmpty, valueAt, withValue } from "../samples.ts";
import { everyCapabilityBut, protocols, folder, freshKey, groupMessage, hasSafeWrites, isForEverybody, openStage, violationsOf } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const place = await folder(stage);
const owner = await stage.holder(everyCapabilityBut(""), world.organization);
const answered = nonEmpty(
  methods.filter((method) => stage.answers(method) && hasSafeWrites(method)),
  "operation with an answer",
);
const writes = nonEmpty(
  answered.filter((method) => method.writes && (method.capabilities.length > 0 || isForEverybody(method))),
  "write",
);

const ask = (protocol: Protocol, method: MethodFact, request: JsonObject, options: CallOptions = {}): Promise<Answer> =>
  stage.call(protocol, method, request, { token: owner.token, ...options });

/** Returns the number of events; an undelete also emits one for the restored repo. */
const eventsOfOne = ({ delegates }: MethodFact): number => (delegates?.rights === "deletion" ? 2 : 1);
const eventCount = async (): Promise<number> => Number((await stage.query("select count(*) from outbox"))[0]?.[0]);

const elsewhere = await folder(stage);

/** Returns a different valid request of the same operation and caller; undefined if all are the same. */
const other = (method: MethodFact, request: JsonObject): JsonObject | undefined => {
  if (method.input.fields.length === 0) return undefined;
  const field = bodyField(method);
  const name = field?.message?.fields.find(({ kind, shape, outputOnly, uid }) => kind === "string" && shape === "one" && !outputOnly && !uid);
  if (field && name) return withValue(request, [field.json, name.json], "something-else");
  const [first = assert.fail()] = method.input.fields;
  const inner = first.message?.fields.find(({ kind, outputOnly }) => kind === "string" && !outputOnly);
  if (isForEverybody(method) && inner) return withValue(request, [first.json, inner.json], "something-else");
  return withValue(request, method.scope ?? [first.json], elsewhere);
};

/** Returns the one-time fields. */
const onceIn = (method: MethodFact): string[] => method.output.fields.filter(({ shownOnce }) => shownOnce).map(({ json }) => json);

/** Returns the response without one-time fields, as a retry gets it. */
const lasting = (method: MethodFact, reply: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(reply).filter(([key]) => !onceIn(method).includes(key)));

const updatable = (method: MethodFact): readonly FieldFact[] =>
  (bodyField(method)?.message?.fields ?? []).filter((field) => !field.outputOnly && !field.inputOnly);

const turned = (value: JsonObject): JsonObject => {
  const each = (entry: Json): Json => (Array.isArray(entry) ? entry.map(each) : isObject(entry) ? turned(entry) : entry);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, entry]) => [key, each(entry)]),
  );
};

/** Removes false values, which gRPC without a mask cannot express. */
const sayable = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).flatMap(([key, entry]) => (entry === false ? [] : [[key, isObject(entry) ? sayable(entry) : entry]])));

for (const method of writes) {
  for (const protocol of oneOrAll(protocols)) {
    test(`${method.rpc} over ${protocol} with an Idempotency-Key runs once: a retry gets the first response, a different request is refused`, async () => {
      const request = await stage.request(method, { place });
      const headers = { "idempotency-key": freshKey() };
      const { token } = await stage.callerOf(method, owner);
      const before = await eventCount();
      const first = await ask(protocol, method, request, { headers, token });
      assert.equal(first.code, 0, first.message);
      assert.equal(first.headers["gantry-replayed"], undefined);
      const untouched = await stage.fingerprint();
      world.clock.now += 1000;
      for (let again = 0; again < 2; again++) {
        const repeat = await ask(protocol, method, request, { headers, token });
        assert.equal(repeat.code, 0, repeat.message);
        assert.equal(repeat.headers["gantry-replayed"], "true");
        assert.deepEqual(repeat.reply, lasting(method, first.reply));
        assert.equal(repeat.headers["gantry-left-out"] ?? "", onceIn(method).join(", "));
      }
      for (const key of onceIn(method)) assert.notEqual(text(first.reply, key), "", `${key} is shown once`);
      const changed = other(method, request);
      if (changed) {
        const different = await ask(protocol, method, changed, { headers, token });
        assert.equal(different.code, codes.INVALID_ARGUMENT, different.message);
        assert.deepEqual(
          violationsOf(different).map(({ field }) => field),
          ["idempotency-key"],
        );
      }
      assert.equal(await eventCount(), before + eventsOfOne(method));
      assert.equal(await stage.fingerprint(), untouched);
    });
  }

  test(`${method.rpc} shares idempotency keys between protocols: a key used over one replays the response over the other`, async () => {
    for (const [one, another] of oneOrAll([protocols, protocols.toReversed()])) {
      const whole = await stage.request(method, { place, whole: bodyField(method)?.message?.name !== groupMessage });
      const masked = method.input.byName.has("update_mask") ? updatable(method) : [];
      for (const spelling of masked.length > 0 ? [undefined, masked.map(({ name }) => name).join(), "*"] : [undefined]) {
        const request = spelling === undefined ? sayable(whole) : { ...whole, updateMask: spelling };
        const camel = masked.map(({ json }) => json).reverse();
        const respelled = { ...turned(request), ...(spelling?.includes("*") === false ? { updateMask: camel.join(", ") } : {}) };
        const headers = { "idempotency-key": freshKey() };
        const { token } = await stage.callerOf(method, owner);
        const first = await ask(one ?? "rest", method, request, { headers, token });
        // A sample may not be valid under each mask.
        if (spelling === undefined) assert.equal(first.code, 0, first.message);
        if (first.code !== 0) continue;
        const untouched = await stage.fingerprint();
        const repeat = await ask(another ?? "grpc", method, respelled, { headers, token });
        assert.equal(repeat.code, 0, `${one} then ${another}, mask ${spelling}: ${repeat.message}`);
        assert.equal(repeat.headers["gantry-replayed"], "true");
        const changed = other(method, request);
        const different = changed && (await ask(another ?? "grpc", method, changed, { headers, token }));
        if (different) assert.equal(different.code, codes.INVALID_ARGUMENT, different.message);
        assert.equal(await stage.fingerprint(), untouched);
      }
    }
  });

  test(`${method.rpc} sent many times concurrently with one Idempotency-Key runs once`, async () => {
    const request = await stage.request(method, { place });
    const headers = { "idempotency-key": freshKey() };
    const { token } = await stage.callerOf(method, owner);
    const before = await eventCount();
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask("rest", method, request, { headers, token })));
    const done = answers.filter(({ code }) => code === 0);
    assert.ok(done.length > 0);
    // A duplicate waits for the first, or gets an error.
    for (const { code, message } of answers) assert.ok(code === 0 || code === codes.ABORTED, message);
    for (const { reply } of done) assert.deepEqual(lasting(method, reply), lasting(method, done[0]?.reply ?? {}));
    assert.equal(done.filter(({ headers: sent }) => sent["gantry-replayed"] === undefined).length, 1);
    assert.equal(await eventCount(), before + eventsOfOne(method));
  });

  test(`${method.rpc} with validateOnly responds as the write would, creates neither row nor event, and does not use the key`, async () => {
    const request = await stage.request(method, { place });
    const headers = { "idempotency-key": freshKey() };
    const { token } = await stage.callerOf(method, owner);
    const before = await stage.fingerprint();
    const trials: Answer[] = [];
    for (const protocol of protocols) trials.push(await ask(protocol, method, request, { validateOnly: true, headers, token }));
    for (const trial of trials) {
      assert.equal(trial.code, 0, trial.message);
      assert.equal(trial.headers["gantry-validate-only"], "true");
    }
    assert.equal(await stage.fingerprint(), before);
    const [trial] = trials;
    const real = await ask("rest", method, request, { headers, token });
    assert.equal(real.code, 0, real.message);
    assert.equal(real.headers["gantry-replayed"], undefined);
    // A dry run cannot know a new uid or event, and omits secrets.
    const without = (reply: JsonObject | undefined): string =>
      JSON.stringify(reply)
        .replace(/"eventId":"[^"]+"/, "an event")
        .replace(/[0-9a-f]{40}(?:\/[0-9a-f]{16})*/g, (uid) => (JSON.stringify(request).includes(uid) ? uid : "new"));
    assert.equal(without(trial?.reply), without(lasting(method, real.reply)));
    assert.notEqual(await stage.fingerprint(), before);
  });
}

const create = writes.find(({ rpc }) => rpc === "CreateRepo") ?? assert.fail();

test("attack 9: a key belongs to its caller and expires after 24 hours", async () => {
  const headers = { "idempotency-key": freshKey() };
  const request = await stage.request(create, { place });
  const mine = await ask("rest", create, request, { headers });
  assert.equal(mine.code, 0, mine.message);
  const colleague = await stage.holder(everyCapabilityBut(""), world.organization);
  const theirs = await ask("rest", create, await stage.request(create, { place }), { headers, token: colleague.token });
  assert.equal(theirs.code, 0, theirs.message);
  assert.notEqual(theirs.reply.uid, mine.reply.uid);
  const madeMs = world.clock.now;
  const later = async (ms: number): Promise<Answer> => {
    world.clock.now = madeMs + ms;
    return ask("rest", create, request, { headers, token: await world.token(owner.uid) });
  };
  assert.deepEqual((await later(limits.idempotencyLifetimeMs)).reply, mine.reply);
  // Then it is a new request, and the name is taken.
  assert.equal((await later(limits.idempotencyLifetimeMs + 1)).code, codes.ALREADY_EXISTS);
  world.clock.now = madeMs;
});

test("a refused write does not use its key, and a key of invalid length is refused", async () => {
  const headers = { "idempotency-key": freshKey() };
  const request = await stage.request(create, { place });
  const wrong = await ask("rest", create, withValue(request, ["repo", "name"], "UPPER"), { headers });
  assert.equal(wrong.code, codes.INVALID_ARGUMENT);
  assert.equal((await ask("rest", create, request, { headers })).code, 0);
  for (const protocol of protocols) {
    const long = await ask(protocol, create, await stage.request(create, { place }), {
      headers: { "idempotency-key": "k".repeat(limits.idempotencyKeyLengthMax + 1) },
    });
    assert.deepEqual(
      violationsOf(long).map(({ field }) => field),
      ["idempotency-key"],
    );
  }
});

test("a retry by a caller without the permission is refused, not replayed", async () => {
  const headers = { "idempotency-key": freshKey() };
  const caller = await stage.stranger(world.organization);
  const role = text(await stage.make("chainguard.platform.iam.v2.Role", { capabilities: ["repo.create"] }), "uid");
  const binding = await stage.bind(place, caller.uid, role);
  const request = await stage.request(create, { place });
  assert.equal((await ask("rest", create, request, { headers, token: caller.token })).code, 0);
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding });
  assert.equal((await ask("rest", create, request, { headers, token: caller.token })).code, codes.PERMISSION_DENIED);
});

// Resources read by uid have an ETag.
const gets = nonEmpty(
  answered.filter(({ rpc, output, writes: changes }) => rpc.startsWith("Get") && !changes && output.byName.has("uid")),
  "get",
);

for (const method of gets) {
  const update = answered.find(({ service, rpc }) => service === method.service && rpc === `Update${method.output.short}`);
  const remove = answered.find(({ service, rpc }) => service === method.service && rpc === `Delete${method.output.short}`);

  test(`${method.rpc} returns an ETag that changes only with the resource, and 304 without a body for If-None-Match`, async () => {
    const request = await stage.request(method, { place });
    const first = await ask("rest", method, request);
    const { etag = assert.fail("no ETag") } = first.headers;
    assert.match(etag, /^"[A-Za-z0-9_-]+"$/);
    assert.equal((await ask("grpc", method, request)).headers.etag, etag);
    for (const known of [etag, `"other", ${etag}`, `W/${etag}`, "*"]) {
      const same = await ask("rest", method, request, { headers: { "if-none-match": known } });
      assert.equal(same.status, 304, known);
      assert.equal(same.raw, "");
      assert.equal(same.headers.etag, etag);
    }
    const changed = await ask("rest", method, request, { headers: { "if-none-match": '"other"' } });
    assert.equal(changed.status, 200);
    assert.deepEqual(changed.reply, first.reply);
  });

  if (update) {
    test(`${update.rpc} returns the ETag of the next ${method.rpc}, and If-Match with an old one fails with ABORTED and 412`, async () => {
      const request = await stage.request(update, { place, whole: method.output.short !== "Group" });
      const uid = String(valueAt(request, update.scope ?? []));
      const read = (): Promise<Answer> => ask("rest", method, { uid });
      const before = (await read()).headers.etag ?? assert.fail();
      const updated = await ask("rest", update, request);
      assert.equal(updated.code, 0, updated.message);
      const after_ = (await read()).headers.etag ?? assert.fail();
      assert.equal(updated.headers.etag, after_, "the update's ETag is the next read's");
      assert.notEqual(after_, before);
      const key = bodyField(update)?.json ?? "";
      const fresh = await stage.request(update, { place });
      const body = fresh[key];
      const next = { ...fresh, [key]: { ...(isObject(body) ? body : {}), uid } };
      const untouched = await stage.fingerprint();
      for (const protocol of protocols) {
        const refused = await ask(protocol, update, next, { headers: { "if-match": before } });
        assert.equal(refused.code, codes.ABORTED, refused.message);
        if (protocol === "rest") assert.equal(refused.status, 412);
        assert.equal(refused.headers.etag, after_, "the refusal tells the ETag of now");
      }
      assert.equal(await stage.fingerprint(), untouched);
      for (const known of [`"other", ${after_}`, "*"]) {
        const trial = await ask("rest", update, next, { headers: { "if-match": known }, validateOnly: true });
        assert.equal(trial.code, 0, `${known}: ${trial.message}`);
      }
      const done = await ask("grpc", update, next, { headers: { "if-match": after_ } });
      assert.equal(done.code, 0, done.message);
      assert.equal(done.headers.etag, (await read()).headers.etag);
    });

    test(`of concurrent ${update.rpc} requests with the same If-Match exactly one succeeds`, async () => {
      const uid = String(valueAt(await stage.request(update, { place }), update.scope ?? []));
      const { etag = "" } = (await ask("rest", method, { uid })).headers;
      const key = bodyField(update)?.json ?? "";
      const requests = await Promise.all(Array.from({ length: 4 }, () => stage.request(update, { place, uid })));
      const answers = await Promise.all(
        requests.map((request) => ask("rest", update, withValue(request, [key, "uid"], uid), { headers: { "if-match": etag } })),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412]);
    });
  }

  if (remove) {
    test(`${remove.rpc} honours If-Match: an old ETag keeps the resource, the current one deletes it`, async () => {
      const request = await stage.request(remove, { place });
      const { etag = "" } = (await ask("rest", method, request)).headers;
      const untouched = await stage.fingerprint();
      for (const protocol of protocols) {
        const refused = await ask(protocol, remove, request, { headers: { "if-match": '"old"' } });
        assert.equal(refused.code, codes.ABORTED, refused.message);
        if (protocol === "rest") assert.equal(refused.status, 412);
      }
      assert.equal(await stage.fingerprint(), untouched);
      const done = await ask("rest", remove, request, { headers: { "if-match": etag } });
      assert.equal(done.code, 0, done.message);
      assert.equal(done.raw, "");
      assert.equal((await ask("rest", method, request)).code, codes.NOT_FOUND);
      for (const protocol of protocols) assert.equal((await ask(protocol, remove, request, { headers: { "if-match": etag } })).code, codes.NOT_FOUND);
    });
  }
}

test("lists and other responses without a single resource have no ETag", async () => {
  for (const method of answered.filter(({ rpc, writes: changes }) => rpc.startsWith("List") && !changes))
    assert.equal((await ask("rest", method, {})).headers.etag, undefined, method.rpc);
});

test("clearing a field by its name over REST is a different request than omitting it", async () => {
  const update = writes.find(({ rpc }) => rpc === "UpdateRepo") ?? assert.fail();
  const repo = await stage.make("chainguard.platform.registry.v2.Repo", { place });
  const uid = text(repo, "uid");
  const headers = { "idempotency-key": freshKey() };
  assert.equal((await ask("rest", update, { repo: { uid, name: "cleared", description: "" } }, { headers })).code, 0);
  for (const [protocol, body, replays] of [
    ["rest", { description: "", name: "cleared" }, true],
    ["rest", { name: "cleared" }, false],
    ["grpc", { name: "cleared" }, false],
    ["rest", { name: "cleared", description: "", bundles: [] }, false],
  ] as const) {
    const answer = await ask(protocol, update, { repo: { uid, ...body } as JsonObject }, { headers });
    assert.deepEqual([answer.code, answer.headers["gantry-replayed"]], replays ? [0, "true"] : [codes.INVALID_ARGUMENT, undefined], JSON.stringify(body));
  }
});

test('requests with the text "0" and without it are different', async () => {
  const create = writes.find(({ rpc }) => rpc === "CreateRepo") ?? assert.fail();
  for (const protocol of ["rest", "grpc"] as const) {
    const headers = { "idempotency-key": freshKey() };
    const name = `repo-${freshKey()}`;
    assert.equal((await ask(protocol, create, { parent: place, repo: { name, description: "0" } }, { headers })).code, 0);
    for (const [description, code] of [
      ["0", 0],
      ["", codes.INVALID_ARGUMENT],
    ] as const)
      assert.equal((await ask(protocol, create, { parent: place, repo: { name, description } }, { headers })).code, code, `${protocol} ${description}`);
  }
});
