// The changed fields of every Update in the contract (requirement: Update convention; AIP-134).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { type Answer, callHttp, type Protocol } from "../client.ts";
import {
  bodyField,
  bodyOf,
  decidedByOthers,
  decidedTogether,
  withoutImmutable,
  rivalsOf,
  withoutInputOnly,
  nonEmpty,
  subjectOf,
  valueOf,
  writable,
} from "../samples.ts";
import { protocols, folder, groupMessage, unusedUid, openStage, violationsOf } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const updates = nonEmpty(
  methods.filter((method) => method.input.byName.has("update_mask") && method.scope && stage.answers(method)),
  "update with an answer",
);
const place = await folder(stage);

interface Subject {
  readonly method: MethodFact;
  readonly message: MessageFact;
  readonly get: MethodFact;
  /** JSON name of the request's resource. */
  readonly key: string;
  readonly path: string;
}

const subjectOfUpdate = (method: MethodFact): Subject => {
  const field = bodyField(method);
  const message = field?.message ?? assert.fail(`${method.rpc} has no resource`);
  const get = methods.find(({ output, rpc }) => output === message && rpc === `Get${message.short}`) ?? assert.fail(`nothing gets a ${message.short}`);
  return { method, message, get, key: field?.json ?? "", path: method.http[0]?.template ?? "" };
};

/** Creates a resource with every writable field. Groups are organizations, since some fields belong to them only. */
const fresh = async ({ method, message, key }: Subject): Promise<string> => {
  const subject = subjectOf(method)?.name ?? "";
  const made = await stage.make(subject, subject === groupMessage ? { parent: "", whole: true } : { place, whole: true });
  const uid = text(made, "uid");
  // A part without a Create of its own (a readme).
  if (subject !== message.name) await world.ok(method.name, { [key]: { ...(await bodyOf(message, stage.sampling(place), true)), uid } });
  // Fields that a flag makes read-only become writable without it.
  const keeping = [...new Set(message.fields.flatMap(({ fixedWhile }) => (fixedWhile === "" ? [] : [fixedWhile])))];
  for (const flag of keeping) {
    const asked = { [key]: { uid, [flag]: false }, updateMask: flag };
    await world.ok(method.name, asked, { token: await stage.tokenFor(method, asked) });
  }
  return uid;
};

const read = ({ get }: Subject, uid: string): Promise<JsonObject> => world.ok(get.name, { uid });

const patch = async ({ method, key }: Subject, uid: string, body: JsonObject, mask?: string, protocol: Protocol = "rest"): Promise<Answer> => {
  const asked = { [key]: { ...body, uid }, ...(mask === undefined ? {} : { updateMask: mask }) };
  return stage.call(protocol, method, asked, { token: await stage.tokenFor(method, asked) });
};

/** Sends a PATCH with an explicit query, for snake_case and unknown names. */
const patchRaw = async ({ method, key, path }: Subject, uid: string, query: string, body: JsonObject | string): Promise<Answer> =>
  callHttp(world.url, "PATCH", `${path.replace(/\{[^}]*\}/, uid)}${query}`, {
    token: await stage.tokenFor(method, { [key]: { uid } }),
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

/** Returns true if `held` contains everything in `wanted`; the server may add defaults. */
const includes = (held: Json | undefined, wanted: Json | undefined): boolean => {
  if (Array.isArray(wanted) && Array.isArray(held)) return wanted.length === held.length && wanted.every((value, index) => includes(held[index], value));
  if (isObject(wanted) && isObject(held)) return Object.entries(wanted).every(([key, value]) => includes(held[key], value));
  return (held ?? false) === (wanted ?? false);
};

const another = async (field: FieldFact, message: MessageFact, held: Json | undefined): Promise<Json> => {
  for (let tries = 0; tries < 8; tries++) {
    const value = withoutImmutable(field, await valueOf(field, message, stage.sampling(place), true));
    if (!includes(held, withoutInputOnly(field, value))) return value;
  }
  return assert.fail(`${message.short}.${field.name} has only one value to test with`);
};

/** Returns a whole body of different values in which `field` is set, without its rivals in a oneof. */
const bodyWith = async (field: FieldFact, message: MessageFact, value: Json): Promise<JsonObject> => {
  const body = await bodyOf(message, stage.sampling(place), true);
  for (const rival of rivalsOf(message, field)) delete body[rival.json];
  return { ...body, [field.json]: value };
};

/** Asserts that only these fields, the members of their oneofs, and updateTime differ. */
const assertOnly = (message: MessageFact, before: JsonObject, later: JsonObject, fields: readonly FieldFact[], what: string): void => {
  const free = new Set(fields.flatMap((field) => [field, ...rivalsOf(message, field)]).map(({ json }) => json));
  for (const field of writable(message)) if (!free.has(field.json)) assert.deepEqual(later[field.json], before[field.json], `${what} changed ${field.json}`);
  for (const name of ["uid", "createTime"]) assert.deepEqual(later[name], before[name]);
  if (before.updateTime !== undefined) assert.ok(text(later, "updateTime") > text(before, "updateTime"), `${what} moves updateTime`);
};

const eventCount = async (): Promise<number> => Number((await stage.query("select count(*) from outbox"))[0]?.[0]);

const assertUnchanged = async (subject: Subject, uid: string, before: JsonObject, eventsBefore: number, what: string): Promise<void> => {
  assert.deepEqual(await read(subject, uid), before, what);
  assert.equal(await eventCount(), eventsBefore, `${what} makes no event`);
};

/** Returns the field as a record shows it, which omits our own flags if false. Absent numbers are shown as 0. */
const shown = (field: FieldFact, record: JsonObject): Json | undefined => {
  const value = record[field.json];
  if (value === 0 || value === "0") return undefined;
  return value ?? (field.additive && field.kind === "bool" ? false : undefined);
};

/** Reports whether the field can be cleared: not if it is REQUIRED, a reference, or in a required oneof. */
const clearable = (message: MessageFact, field: FieldFact): boolean =>
  !field.required && field.minItems === 0 && field.refersTo === "" && rivalsOf(message, field).length === 0;

const emptyOf = (field: FieldFact): Json => {
  if (field.shape === "list") return [];
  if (field.shape === "map" || field.kind === "message") return {};
  switch (field.kind) {
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "double":
      return 0;
    case "timestamp":
    case "duration":
      return null;
    case "enum":
      return field.enum?.names.get(0) ?? "";
    default:
      return "";
  }
};

const refusedOn = (answer: Answer, field: string): void => {
  assert.equal(answer.code, codes.INVALID_ARGUMENT, answer.message);
  assert.deepEqual([...new Set(violationsOf(answer).map((each) => each.field))], [field]);
};

for (const subject of updates.map(subjectOfUpdate)) {
  const { method, message } = subject;
  const fields = nonEmpty(
    writable(message).filter(({ inputOnly, immutable, name }) => {
      const path = `${message.name}.${name}`;
      return !inputOnly && !immutable && !decidedByOthers.has(path) && !decidedTogether.has(path);
    }),
    `writable field of ${message.short}`,
  );

  test(`${method.rpc} with a mask of one field changes that field alone, whatever else the body contains`, async () => {
    const uid = await fresh(subject);
    for (const [index, field] of fields.entries()) {
      const before = await read(subject, uid);
      const value = await another(field, message, before[field.json]);
      const mask = index % 2 === 0 ? field.name : field.name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      const answer = await patch(subject, uid, await bodyWith(field, message, value), mask, protocols[index % 2]);
      assert.equal(answer.code, 0, `${mask}: ${answer.message}`);
      const later = await read(subject, uid);
      assert.ok(includes(later[field.json], withoutInputOnly(field, value)), `${field.json} is ${JSON.stringify(later[field.json])}`);
      assertOnly(message, before, later, [field], `a mask of ${field.json}`);
      for (const rival of rivalsOf(message, field)) assert.equal(later[rival.json], undefined, "one member of a oneof replaces the other");
      if (answer.status !== undefined) assert.deepEqual(answer.reply, later, "the answer is the resource as it now is");
    }
  });

  test(`${method.rpc} reads masks in snake_case and camelCase, in the query parameter of either name, and lists of them`, async () => {
    const uid = await fresh(subject);
    const chosen = fields.filter((field) => rivalsOf(message, field).length === 0).slice(0, 3);
    const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    for (const spell of [(field: FieldFact) => field.name, (field: FieldFact) => camel(field.name), (field: FieldFact) => field.json]) {
      for (const parameter of ["updateMask", "update_mask"]) {
        const before = await read(subject, uid);
        const body: JsonObject = {};
        for (const field of chosen) body[field.json] = await another(field, message, before[field.json]);
        const answer = await patchRaw(subject, uid, `?${parameter}=${chosen.map(spell).join(",")}`, body);
        assert.equal(answer.code, 0, answer.message);
        const later = await read(subject, uid);
        for (const field of chosen) assert.ok(includes(later[field.json], withoutInputOnly(field, body[field.json] ?? null)), field.json);
        assertOnly(message, before, later, chosen, "a list of masks");
      }
    }
  });

  const nested = fields.flatMap((field) =>
    field.shape === "one" && field.message
      ? writable(field.message)
          .filter(({ shape, kind, refersTo, inputOnly }) => shape === "one" && kind === "string" && refersTo === "" && !inputOnly)
          .map((leaf) => ({ field, leaf }))
      : [],
  );

  test(`${method.rpc} with a nested path, or a nested key without a mask, keeps the rest of the message (${nested.length} paths)`, async () => {
    const uid = await fresh(subject);
    // A client secret belongs to its issuer and client ID, so changing them would require it again (attack 64).
    const oidc = { clientSecret: "", pkceEnabled: true };
    if (message.byName.has("oidc")) await world.ok(method.name, { identityProvider: { uid, oidc }, updateMask: "oidc.client_secret,oidc.pkce_enabled" });
    const get = async ({ field }: { readonly field: FieldFact }): Promise<JsonObject> => {
      const held = (await read(subject, uid))[field.json];
      return isObject(held) ? held : {};
    };
    for (const [index, { field, leaf }] of nested.entries()) {
      const inner = field.message ?? assert.fail();
      // The field's oneof member must be set before its fields can change.
      if (rivalsOf(message, field).length > 0)
        await patch(subject, uid, { [field.json]: await valueOf(field, message, stage.sampling(place), true) }, field.name);
      const before = await read(subject, uid);
      const start = await get({ field });
      const value =
        leaf.name === "source" ? text(await stage.make("chainguard.platform.registry.v2.Repo"), "uid") : await another(leaf, inner, start[leaf.json]);
      const mask = index % 2 === 0 ? `${field.name}.${leaf.name}` : undefined;
      const answer = await patch(subject, uid, { [field.json]: { [leaf.json]: value } }, mask);
      assert.equal(answer.code, 0, `${field.name}.${leaf.name}: ${answer.message}`);
      const later = await get({ field });
      assert.deepEqual(later[leaf.json], value);
      const rivals = new Set(rivalsOf(inner, leaf).map(({ json }) => json));
      for (const key of Object.keys(start))
        if (key !== leaf.json && !rivals.has(key)) assert.deepEqual(later[key], start[key], `${field.json}.${leaf.json} changed ${key}`);
      assertOnly(message, before, await read(subject, uid), [field], "a nested path");
    }
  });

  test(`${method.rpc} without a mask changes the JSON body's keys, and empty values clear; over gRPC it changes the fields that are set`, async () => {
    const uid = await fresh(subject);
    for (const field of fields) {
      const before = await read(subject, uid);
      const value = await another(field, message, before[field.json]);
      for (const protocol of protocols) {
        // gRPC omits false and 0.
        if (protocol === "grpc" && (value === false || value === 0)) continue;
        const start = await read(subject, uid);
        const next = protocol === "rest" ? value : await another(field, message, start[field.json]);
        if (protocol === "grpc" && (next === false || next === 0)) continue;
        const answer = await patch(subject, uid, { [field.json]: next }, undefined, protocol);
        assert.equal(answer.code, 0, `${protocol} ${field.json}: ${answer.message}`);
        const later = await read(subject, uid);
        assert.ok(includes(shown(field, later), withoutInputOnly(field, next)), `${protocol}: ${field.json} is ${JSON.stringify(later[field.json])}`);
        assertOnly(message, start, later, [field], `${protocol}: the body's ${field.json}`);
      }
      if (field.kind === "message" && field.shape === "one") continue;
      const held = await read(subject, uid);
      const eventsBefore = await eventCount();
      if (rivalsOf(message, field).length === 0 && !field.presence) {
        // gRPC cannot distinguish an empty field from an absent one unless it is optional.
        const silent = await patch(subject, uid, { [field.json]: emptyOf(field) }, undefined, "grpc");
        assert.equal(silent.code, 0, silent.message);
        await assertUnchanged(subject, uid, held, eventsBefore, `gRPC with an empty ${field.json} and no mask`);
      }
      const answer = await patch(subject, uid, { [field.json]: emptyOf(field) });
      if (clearable(message, field)) {
        assert.equal(answer.code, 0, answer.message);
        const later = await read(subject, uid);
        assert.deepEqual(shown(field, later), field.kind === "bool" ? false : undefined, `${field.json} is cleared`);
        if (JSON.stringify(held[field.json]) !== JSON.stringify(later[field.json])) assertOnly(message, held, later, [field], "an empty value");
      } else {
        assert.equal(answer.code, codes.INVALID_ARGUMENT, `${field.json} cannot be emptied`);
        await assertUnchanged(subject, uid, held, eventsBefore, "a refused clearing");
      }
    }
  });

  test(`${method.rpc} with a mask clears fields missing from the body, over both protocols, and refuses to clear required ones`, async () => {
    const uid = await fresh(subject);
    for (const [index, field] of fields.entries()) {
      const protocol = protocols[index % 2] ?? "rest";
      const rivals = rivalsOf(message, field);
      const before = await read(subject, uid);
      const eventsBefore = await eventCount();
      const answer = await patch(subject, uid, {}, field.name, protocol);
      if (clearable(message, field) || (rivals.length > 0 && before[field.json] === undefined)) {
        assert.equal(answer.code, 0, `${protocol} ${field.name}: ${answer.message}`);
        const later = await read(subject, uid);
        assert.deepEqual(shown(field, later), field.kind === "bool" && field.shape === "one" ? false : undefined);
        if (before[field.json] !== undefined && before[field.json] !== false) assertOnly(message, before, later, [field], `clearing ${field.json}`);
      } else {
        assert.equal(answer.code, codes.INVALID_ARGUMENT, `${protocol} ${field.name}`);
        await assertUnchanged(subject, uid, before, eventsBefore, `${field.json} cannot be cleared`);
      }
    }
  });

  test(`${method.rpc} with "*" replaces every writable public field, and our own fields only if the body has them`, async () => {
    for (const protocol of protocols) {
      const uid = await fresh(subject);
      const before = await read(subject, uid);
      const least = await bodyOf(message, stage.sampling(place));
      const named = fields.filter(({ namedOnly, json }) => namedOnly && before[json] !== undefined);
      const eventsBefore = await eventCount();
      if (named.length > 0) {
        refusedOn(await patch(subject, uid, least, "*", protocol), named[0]?.json ?? "");
        await assertUnchanged(subject, uid, before, eventsBefore, "what must be named");
      }
      for (const { json } of named) least[json] = before[json] ?? null;
      const answer = await patch(subject, uid, least, "*", protocol);
      assert.equal(answer.code, 0, answer.message);
      const later = await read(subject, uid);
      for (const field of fields) {
        const wanted = least[field.json];
        if (field.additive && wanted === undefined) assert.deepEqual(later[field.json], before[field.json], `${field.json} was not named`);
        else if (wanted === undefined) assert.deepEqual(shown(field, later) ?? false, false, `${field.json} is cleared`);
        else assert.ok(includes(later[field.json], withoutInputOnly(field, wanted)), field.json);
      }
      for (const name of ["uid", "createTime"]) assert.deepEqual(later[name], before[name]);
      for (const field of fields.filter(({ additive }) => additive)) {
        const value = await another(field, message, later[field.json]);
        const renamed = await patch(subject, uid, { ...least, [field.json]: value }, "*", protocol);
        assert.equal(renamed.code, 0, renamed.message);
        assert.ok(includes(shown(field, await read(subject, uid)), value), `${field.json} changes where "*" comes with it`);
      }
    }
  });

  for (const field of fields.filter(({ fixedWhile }) => fixedWhile !== "")) {
    test(`${method.rpc} never changes ${field.json} while ${field.fixedWhile} is true`, async () => {
      const uid = await fresh(subject);
      const asked = { [subject.key]: { uid, [field.fixedWhile]: true }, updateMask: field.fixedWhile };
      await world.ok(method.name, asked, { token: await stage.tokenFor(method, asked) });
      const before = await read(subject, uid);
      const eventsBefore = await eventCount();
      const body = { ...before, [field.json]: await another(field, message, before[field.json]) };
      for (const protocol of protocols) for (const mask of [field.name, "*"]) refusedOn(await patch(subject, uid, body, mask, protocol), field.json);
      refusedOn(await patch(subject, uid, { [field.json]: body[field.json] ?? null }), field.json);
      await assertUnchanged(subject, uid, before, eventsBefore, "what a flag keeps");
    });
  }

  test(`${method.rpc} refuses a mask with an unknown path, an output-only path or extra paths next to "*", and changes nothing`, async () => {
    const uid = await fresh(subject);
    const before = await read(subject, uid);
    const [first = assert.fail()] = fields;
    const body = await bodyWith(first, message, await another(first, message, before[first.json]));
    const eventsBefore = await eventCount();
    const outputs = message.fields.filter(({ outputOnly }) => outputOnly).map(({ name }) => name);
    const paths = [
      "nonsense",
      `${first.name}.nonsense`,
      `${first.name},nonsense`,
      "__proto__",
      "constructor",
      "constructor.name",
      "*,name",
      "toString",
      // Present but empty: read as no mask, it would change every field of the body.
      ",",
      " ",
      "  ,  ",
      `${first.name},`,
      `,${first.name}`,
      `${first.name},,${first.name}`,
      ...outputs,
    ];
    for (const [index, path] of paths.entries())
      refusedOn(await patchRaw(subject, uid, `?${index % 2 ? "updateMask" : "update_mask"}=${encodeURIComponent(path)}`, body), "update_mask");
    for (const path of ["nonsense", "*,nonsense", ",", " ", `${first.name},,${first.name}`, ...outputs.slice(0, 2)])
      refusedOn(await patch(subject, uid, body, path, "grpc"), "update_mask");
    await assertUnchanged(subject, uid, before, eventsBefore, "a refused mask");
  });

  test(`${method.rpc} refuses a body with another uid than the path's, and accepts the same one`, async () => {
    const [uid, otherUid] = [await fresh(subject), await fresh(subject)];
    const before = await read(subject, uid);
    const otherBefore = await read(subject, otherUid);
    const body = await bodyOf(message, stage.sampling(place));
    const eventsBefore = await eventCount();
    for (const claimed of [otherUid, unusedUid(uid), "x"]) {
      refusedOn(await patchRaw(subject, uid, "", { ...body, uid: claimed }), "uid");
      refusedOn(await patchRaw(subject, uid, "?updateMask=*", { ...body, uid: claimed }), "uid");
    }
    await assertUnchanged(subject, uid, before, eventsBefore, "another uid");
    assert.deepEqual(await read(subject, otherUid), otherBefore);
    const repeated = await patchRaw(subject, uid, "", { ...body, uid });
    assert.equal(repeated.code, 0, repeated.message);
  });

  test(`${method.rpc} without a change keeps the resource, updateTime included, and emits no event`, async () => {
    const uid = await fresh(subject);
    const before = await read(subject, uid);
    const eventsBefore = await eventCount();
    const turned = (value: Json): Json =>
      Array.isArray(value)
        ? value.map(turned)
        : isObject(value)
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([key, entry]) => [key, turned(entry)]),
            )
          : value;
    const same = turned(before);
    assert.ok(isObject(same));
    world.clock.now += 5;
    for (const protocol of protocols) {
      for (const mask of [
        undefined,
        "*",
        fields
          .filter((field) => before[field.json] !== undefined)
          .map(({ name }) => name)
          .join(","),
      ]) {
        for (const body of [before, same]) {
          const answer = await patch(subject, uid, body, mask, protocol);
          assert.equal(answer.code, 0, answer.message);
          if (protocol === "rest") assert.deepEqual(answer.reply, before);
          await assertUnchanged(subject, uid, before, eventsBefore, `${protocol}, mask ${mask}`);
        }
      }
    }
    const nothing = await patchRaw(subject, uid, "", {});
    assert.equal(nothing.code, 0, nothing.message);
    await assertUnchanged(subject, uid, before, eventsBefore, "an empty body");
  });

  test(`${method.rpc} of a missing resource is NOT_FOUND and names it`, async () => {
    const uid = unusedUid(await fresh(subject));
    for (const protocol of protocols) {
      const answer = await patch(subject, uid, await bodyOf(message, stage.sampling(place)), undefined, protocol);
      assert.equal(answer.code, codes.NOT_FOUND, answer.message);
      assert.deepEqual(answer.details.find((detail) => String(detail["@type"]).endsWith("ResourceInfo"))?.resourceName, uid);
    }
  });
}
