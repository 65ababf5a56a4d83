// Validation of every field of every request with every kind of invalid value. An error names exactly the field, and nothing has changed
// (AIP-203; decisions: JSON, Errors).

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { type Answer, callHttp, restRequest } from "../client.ts";
import { shareOf } from "../length.ts";
import { bodyField, matcherOf, nonEmpty, valueAt, valueOf, writable } from "../samples.ts";
import { protocols, protocolsOf, folder, groupMessage, isList, openStage, violationsOf } from "./stage.ts";
import { into, keyOf, type Spot, spotsIn, spotsOf } from "./spots.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const owner = await stage.owner();
const place = await folder(stage);
const data = join(import.meta.dirname, "../../../shared/data/conformance");

const answered = nonEmpty(methods.filter(stage.answers), "operation with an answer");
const bodied = nonEmpty(
  answered.filter((method) => bodyField(method)),
  "operation with a resource",
);
const creates = nonEmpty(
  bodied.filter(({ rpc }) => rpc.startsWith("Create")),
  "create",
);

const { placed } = spotsIn(stage, place);

interface Wrong {
  readonly value: Json | undefined;
  /** Appended to the spot's name. */
  readonly at?: string;
  readonly why: string;
}

const wrongKinds: Readonly<Record<string, readonly Json[]>> = {
  string: [7, true, [], {}],
  mask: [7, []],
  bool: ["yes", "true", 1, [], {}],
  int32: [1.5, "x", "", 2_147_483_648, -2_147_483_649, "1e3", true, [], {}],
  int64: ["x", "", 1.5, "9223372036854775808", 2 ** 60, true, {}],
  double: ["x", true, []],
  bytes: [7, "***", []],
  enum: ["NO_SUCH_VALUE", 99_999, true, [], "", "toString", "__proto__"],
  message: ["x", 7, true, []],
  timestamp: ["yesterday", "", 7, "2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T25:00:00Z", {}],
  duration: ["x", "", 7, "1h", {}],
  any: ["x", 7],
};

const notFitting = (field: FieldFact): string | undefined =>
  field.pattern === undefined
    ? undefined
    : ["UPPER", "é", "with/slash", "tab\there", "line\nbreak", "$", "a b"].find(
        (candidate) => !matcherOf(field).test(candidate) && (field.maxLength === 0 || candidate.length <= field.maxLength),
      );

const tooLong = (field: FieldFact): string | undefined => {
  const most = field.shape === "one" ? field.maxLength : 0;
  const fitting = (length: number): string | undefined =>
    ["a", "0"].map((letter) => letter.repeat(length)).find((candidate) => matcherOf(field).test(candidate));
  if (most === 0) return undefined;
  // If the pattern limits the length too, a longer text may not match it.
  return fitting(most + 1) ?? undefined;
};

const entriesMax = (field: FieldFact): number => (field.maxLength > 0 && field.kind !== "string" ? field.maxLength : field.shape === "one" ? 0 : 1000);

const wrongTexts = (field: FieldFact): Wrong[] => {
  const out: Wrong[] = [
    { value: "a\0b", why: "NUL" },
    { value: "lone \ud800 surrogate", why: "half a character" },
  ];
  const pattern = notFitting(field);
  if (pattern !== undefined) out.push({ value: pattern, why: `against the pattern: ${JSON.stringify(pattern)}` });
  else assert.equal(field.pattern, undefined, `${field.name}: nothing is found that breaks its pattern`);
  const long = tooLong(field);
  if (long !== undefined) out.push({ value: long, why: "too long" });
  if (field.uid)
    for (const value of ["x", "0".repeat(39), `${"0".repeat(40)}/`, "A".repeat(40), `${"0".repeat(40)}/${"0".repeat(15)}`])
      out.push({ value, why: `no uid: ${value}` });
  return out;
};

const wrongValues = async ({ field, owner }: Spot): Promise<Wrong[]> => {
  const wrong: Wrong[] = [];
  const kinds = wrongKinds[field.kind] ?? assert.fail(`nothing is known to be no ${field.kind}`);
  const texts = field.kind === "string" ? wrongTexts(field) : [];
  if (field.shape === "one") {
    wrong.push(...kinds.map((value) => ({ value, why: `no ${field.kind}: ${JSON.stringify(value)}` })), ...texts);
    if (field.kind === "int32" && field.maximum > 0) {
      wrong.push({ value: field.minimum - 1, why: "too small" });
      if (field.maximum < 2_147_483_647) wrong.push({ value: field.maximum + 1, why: "too large" });
    }
    if (field.kind === "duration" && field.maximum > 0) {
      wrong.push({ value: `${field.minimum - 1}s`, why: "too short" });
      if (field.maximum < 315_576_000_000) wrong.push({ value: `${field.maximum}.000000001s`, why: "too long" });
    }
    return wrong;
  }
  const good = await valueOf(field, owner, stage.sampling(place), true);
  const [entry] = Array.isArray(good) ? good : isObject(good) ? Object.values(good) : [];
  const collection = field.shape === "list" ? (value: Json): Json => [value] : (value: Json): Json => ({ [keyOf(field)]: value });
  const at = field.shape === "list" ? "[0]" : `[${JSON.stringify(keyOf(field))}]`;
  for (const value of field.shape === "list" ? ["x", 7, {}] : ["x", 7, []]) wrong.push({ value, why: `no ${field.shape}` });
  for (const value of kinds) wrong.push({ value: collection(value), at, why: `an entry that is no ${field.kind}: ${JSON.stringify(value)}` });
  for (const { value, why } of texts) wrong.push({ value: collection(value ?? null), at, why: `an entry: ${why}` });
  const most = entriesMax(field);
  const many =
    field.shape === "list"
      ? Array.from({ length: most + 1 }, () => entry ?? null)
      : Object.fromEntries(Array.from({ length: most + 1 }, (_, index) => [field.keyKind === "string" ? `k${index}` : String(index), entry ?? null]));
  if (JSON.stringify(many).length < 900_000) wrong.push({ value: many, why: `more than ${most} entries` });
  return wrong;
};

const assertNames = (answer: Answer, name: string, what: string): void => {
  assert.equal(answer.code, codes.INVALID_ARGUMENT, `${what}: ${answer.code} ${answer.message}`);
  if (answer.status !== undefined) assert.equal(answer.status, 400);
  const violations = violationsOf(answer);
  assert.deepEqual(
    violations.map(({ field }) => field),
    [name],
    what,
  );
  assert.equal(answer.message, `Invalid argument: ${name}: ${violations[0]?.description}`, what);
};

/** Sends the operation's request over REST with this body as its resource. */
const send = async (method: MethodFact, request: JsonObject, body: JsonObject): Promise<Answer> =>
  stage.call("rest", method, { ...request, [bodyField(method)?.json ?? ""]: body }, { token: await stage.tokenFor(method, request) });

/** Returns a valid request, for an organization if some fields belong to organizations only. */
const valid = async (method: MethodFact): Promise<JsonObject> => {
  if (bodyField(method)?.message?.name !== groupMessage) return stage.request(method, { place, whole: true });
  const made = method.input.byName.has("parent") ? undefined : await stage.make(groupMessage, { parent: "" });
  return { ...(await stage.request(method, { place, whole: true, uid: made ? text(made, "uid") : "" })) };
};

for (const method of bodied) {
  const resource = bodyField(method) ?? assert.fail();
  const message = resource.message ?? assert.fail();
  const updating = method.input.byName.has("update_mask");
  const spots = nonEmpty(spotsOf(message, "json"), `field of ${message.short}`);

  test(`${method.rpc} refuses invalid field values, names that field alone and changes nothing (${spots.length} fields)`, async () => {
    const request = await valid(method);
    const body = request[resource.json];
    assert.ok(isObject(body));
    const prepared: [Spot, Wrong, JsonObject][] = [];
    for (const spot of spots) for (const wrong of await wrongValues(spot)) prepared.push([spot, wrong, await placed(body, message, spot.path, wrong.value)]);
    const before = await stage.fingerprint();
    await Promise.all(
      shareOf(prepared, 3).map(async ([spot, wrong, sent]) =>
        assertNames(await send(method, request, sent), `${spot.name}${wrong.at ?? ""}`, `${spot.name}: ${wrong.why}`),
      ),
    );
    assert.equal(await stage.fingerprint(), before);
  });

  test(`${method.rpc} refuses a body without a required field, names that field alone and changes nothing`, async () => {
    const request = await valid(method);
    const body = request[resource.json];
    assert.ok(isObject(body));
    const prepared: [Spot, string, JsonObject][] = [];
    for (const spot of spots.filter(({ field }) => field.required && !field.scope)) {
      // An update ignores missing fields, but a message in it must be complete.
      const values: (Json | undefined)[] = updating && spot.path.length === 1 ? ["", null] : ["", null, undefined];
      for (const value of values) {
        if (value === "" && spot.field.kind !== "string") continue;
        const sent = await placed(body, message, spot.path, value);
        const nestedUpdate = updating && spot.path.length > 1;
        // Merging with the stored message supplies a missing nested field.
        if (nestedUpdate && value === undefined) continue;
        prepared.push([spot, JSON.stringify(value) ?? "absent", sent]);
      }
    }
    const before = await stage.fingerprint();
    for (const [spot, what, sent] of prepared) assertNames(await send(method, request, sent), spot.name, `${spot.name}: ${what}`);
    assert.equal(await stage.fingerprint(), before);
  });

  test(`${method.rpc} refuses unknown fields, other spellings and prototype keys at every level`, async () => {
    const request = await valid(method);
    const body = request[resource.json];
    assert.ok(isObject(body));
    const natural = Object.getOwnPropertyNames(Object.prototype).join();
    const strange = [
      "nonsense",
      "Name",
      "NAME",
      " name",
      "name ",
      "",
      "__proto__",
      "constructor",
      "prototype",
      "toString",
      "hasOwnProperty",
      "__defineGetter__",
    ];
    const levels = [
      { path: [] as readonly string[], name: "" },
      ...spots
        .filter(({ field }) => field.message)
        .map(({ field, path, name }) => ({ path: [...path, ...into(name, field).keys], name: into(name, field).name })),
    ];
    const prepared: [string, string, JsonObject][] = [];
    for (const { path, name } of levels) {
      const inside = spots.find((spot) => path.length > 0 && spot.path.length === path.length + 1 && path.every((step, index) => spot.path[index] === step));
      const value = inside ? await valueOf(inside.field, inside.owner, stage.sampling(place)) : {};
      const root = path.length > 0 ? await placed(body, message, inside?.path ?? path, value) : body;
      for (const key of strange) {
        const added = (value: Json, [first, ...rest]: readonly string[]): Json => {
          if (first !== undefined) {
            if (Array.isArray(value)) return value.map((entry, index) => (String(index) === first ? added(entry, rest) : entry));
            return isObject(value) ? { ...value, [first]: added(value[first] ?? {}, rest) } : value;
          }
          // An own key, even for __proto__.
          return Object.fromEntries([...Object.entries(isObject(value) ? value : {}), [key, { polluted: true }]]);
        };
        const sent = added(root, path);
        assert.ok(isObject(sent));
        prepared.push([name ? `${name}.${key}` : key, `${JSON.stringify(key)} in ${name || "the body"}`, sent]);
      }
    }
    const before = await stage.fingerprint();
    for (const [name, what, sent] of shareOf(prepared, 3)) assertNames(await send(method, request, sent), name, what);
    assert.equal(await stage.fingerprint(), before);
    assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), natural);
    assert.equal(Reflect.get({}, "polluted"), undefined);
  });

  test(`${method.rpc} ignores server-set fields`, async () => {
    const outputs = (within: MessageFact): FieldFact[] => within.fields.filter(({ outputOnly, uid }) => outputOnly && !(updating && uid));
    const forge = async (within: MessageFact, value: JsonObject): Promise<JsonObject> => {
      const out: JsonObject = { ...value };
      for (const field of outputs(within))
        out[field.json] = await valueOf(field, within, { ...stage.sampling(place), nowMs: world.clock.now + 1e9, refer: async () => "0".repeat(40) });
      for (const field of writable(within)) {
        const held = out[field.json];
        if (field.message && field.shape === "one" && isObject(held ?? null)) out[field.json] = await forge(field.message, held as JsonObject);
      }
      return out;
    };
    const request = await valid(method);
    const honest = request[resource.json];
    assert.ok(isObject(honest));
    const forged = await forge(message, honest);
    assert.ok(outputs(message).length === 0 || JSON.stringify(forged) !== JSON.stringify(honest));
    const trial = await stage.call("rest", method, request, { token: await stage.tokenFor(method, request), validateOnly: true });
    const answer = await send(method, request, forged);
    assert.equal(trial.code, 0, trial.message);
    assert.equal(answer.code, 0, `${answer.message}`);
    // The clock is frozen, so both responses are equal except for random and one-time values.
    const once = method.output.fields.filter(({ shownOnce }) => shownOnce).map(({ json }) => json);
    const without = (reply: JsonObject): JsonObject => {
      const lasting = Object.entries(reply).filter(([key]) => !once.includes(key) && !(updating && key === "updateTime"));
      const known = JSON.stringify(request);
      return JSON.parse(
        JSON.stringify(Object.fromEntries(lasting)).replace(/[0-9a-f]{40}(?:\/[0-9a-f]{16})*/g, (id) => (known.includes(id) ? id : "new")),
      ) as JsonObject;
    };
    assert.deepEqual(without(answer.reply), without(trial.reply));
  });
}

// test/story/bad-input.test.ts covers REST-only operations. The OCI protocol has its own errors, covered by test/story/registry-push.test.ts
// and test/attacks/registry.test.ts.
for (const method of answered.filter((each) => protocolsOf(each).length > 1)) {
  const resource = bodyField(method);
  const whole = method.http[0]?.body === "*";
  const spots = spotsOf(method.input, whole ? "json" : "name")
    .filter(({ path }) => !resource || path[0] !== resource.json)
    .filter(({ field }) => field.kind !== "message" && field.kind !== "mask");
  if (spots.length === 0) continue;

  test(`${method.rpc} refuses wrong parameters over gRPC and names each alone (${spots.map(({ name }) => name).join(", ")})`, async () => {
    const request = await valid(method);
    const prepared: [string, string, JsonObject][] = [];
    for (const spot of spots) {
      const wrongs = (await wrongValues(spot)).filter(({ value, why }) => {
        if (spot.field.shape === "list" && !Array.isArray(value)) return false;
        if (spot.field.shape === "map" && !isObject(value)) return false;
        const texts = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [value];
        // A message cannot encode every wrong value.
        return (
          texts.every((each) =>
            spot.field.kind === "string" ? typeof each === "string" && each.isWellFormed() && each !== "" : typeof each === "number" && !why.startsWith("no"),
          ) && texts.length > 0
        );
      });
      const needed = spot.field.required && !(spot.field.scope && spot.path.length > 1);
      if (needed && spot.field.kind === "string" && spot.field.shape === "one") wrongs.push({ value: "", why: "required" });
      for (const wrong of wrongs) {
        prepared.push([`${spot.name}${wrong.at ?? ""}`, wrong.why, await placed(request, method.input, spot.path, wrong.value)]);
      }
    }
    const before = await stage.fingerprint();
    for (const [name, why, sent] of shareOf(prepared, 2)) assertNames(await stage.call("grpc", method, sent, { token: owner }), name, `${name}: ${why}`);
    assert.equal(await stage.fingerprint(), before);
  });

  test(`${method.rpc} refuses wrong parameters over REST, in the query and in the path, and names each alone`, async () => {
    const request = await valid(method);
    const { verb, path, body } = restRequest(method, request);
    for (const spot of spots) {
      const inPath = method.http[0]?.template.includes(`{${spot.field.name}`) && spot.path.length === 1;
      if (inPath && spot.field.uid) {
        const answer = await stage.call("rest", method, { ...request, [spot.field.json]: "x" }, { token: owner });
        assertNames(answer, spot.name, `${spot.name} in the path`);
      }
      if (inPath || whole) continue;
      const texts: Readonly<Record<string, readonly string[]>> = {
        bool: ["yes", "1", "TRUE", ""],
        int32: ["x", "1.5", "2147483648", "", "0x1"],
        enum: ["NO_SUCH_VALUE", "99999", "toString"],
        timestamp: ["yesterday", "", "2026-02-30T00:00:00Z"],
        string: ["a%00b", "%ff", "%zz"],
      };
      for (const value of texts[spot.field.kind] ?? []) {
        const answer = await callHttp(world.url, verb, `${path}${path.includes("?") ? "&" : "?"}${spot.name}=${value}`, { token: owner, body });
        const names = violationsOf(answer).map(({ field }) => field);
        assert.equal(answer.code, codes.INVALID_ARGUMENT, `${spot.name}=${value}: ${answer.message}`);
        assert.deepEqual(names, [spot.name], `${spot.name}=${value}`);
      }
    }
  });
}

test("one response reports each wrong field once, and rules across fields apply only once every field is valid", async () => {
  for (const method of creates) {
    const resource = bodyField(method) ?? assert.fail();
    const message = resource.message ?? assert.fail();
    const request = await valid(method);
    const single = spotsOf(message, "json").filter(
      ({ field, path }) => path.length === 1 && field.shape === "one" && field.kind === "string" && (field.pattern !== undefined || field.uid),
    );
    if (single.length < 2) continue;
    // Other required fields stay valid.
    let body: JsonObject = Object.fromEntries(
      message.fields
        .filter(({ required, name }) => required && !single.some((spot) => spot.field.name === name))
        .map(({ json }) => [json, part(request, resource.json)[json] ?? {}]),
    );
    for (const { field } of single) body = { ...body, [field.json]: field.uid ? "x" : (notFitting(field) ?? "") };
    const answer = await send(method, request, { ...body, nonsense: 1 });
    assert.deepEqual(
      violationsOf(answer)
        .map(({ field }) => field)
        .sort(),
      [...single.map(({ name }) => name), "nonsense"].sort(),
      method.rpc,
    );
  }
});

test("a prototype key in a map is data: it is stored, returned and sent in events unchanged", async () => {
  const create = creates.find(({ rpc }) => rpc === "CreateIdentity") ?? assert.fail();
  const keys = ["__proto__", "constructor", "toString", "a.b", "", "é", "\u2028"];
  const claims = Object.fromEntries(keys.map((key) => [key, `value of ${key}`]));
  const get = methods.find(({ rpc }) => rpc === "GetIdentity") ?? assert.fail();
  for (const through of protocols) {
    const request = { parent: place, identity: { name: "map keys", claimMatch: { issuer: "https://issuer.example.com", subject: "s", claims } } };
    const made = await stage.call(through, create, request, { token: owner });
    assert.equal(made.code, 0, made.message);
    const read = await Promise.all(protocols.map((protocol) => stage.call(protocol, get, { uid: text(made.reply, "uid") }, { token: owner })));
    for (const found of [made.reply, ...read.map(({ reply }) => reply), (await world.events()).at(-1)?.body]) {
      const held = valueAt(found ?? {}, ["claimMatch", "claims"]);
      assert.deepEqual(isObject(held) && Object.entries(held).sort(), Object.entries(claims).sort());
    }
  }
});

test("a request with an unacceptable body is refused with a typed body and changes nothing", async () => {
  const create = creates.find(({ rpc }) => rpc === "CreateRepo") ?? assert.fail();
  const { path } = restRequest(create, { parent: place });
  const before = await stage.fingerprint();
  const bodies: [string, number, Readonly<Record<string, string>>?][] = [
    ["[]", 400],
    ['"text"', 400],
    ["7", 400],
    ["null", 400],
    ["{", 400],
    ['{"name":"a"', 400],
    ['{"name":"a"} x', 400],
    ["{'name':'a'}", 400],
    [`{"name":"a","description":"${"a".repeat(1_100_000)}"}`, 413],
    [`${"[".repeat(100_000)}`, 400],
    [`{"customOverlay":${'{"contents":'.repeat(40)}{}${"}".repeat(40)}}`, 400],
    ['{"name":"a"}', 415, { "content-type": "text/xml" }],
    ['{"name":"a"}', 415, { "content-type": "application/json; charset=latin1" }],
    ['{"name":"a"}', 415, { "content-encoding": "br" }],
  ];
  for (const [body, status, headers] of bodies) {
    const answer = await callHttp(world.url, "POST", path, { token: owner, body, ...(headers ? { headers } : {}) });
    assert.equal(answer.status, status, `${body.slice(0, 40)}: ${answer.raw.slice(0, 200)}`);
    assert.equal(answer.code, codes.INVALID_ARGUMENT);
    assert.deepEqual(answer.details[0], { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "INVALID_ARGUMENT", domain: "registry.example.test" });
  }
  assert.equal(await stage.fingerprint(), before);
});

test("JSON that the JSON test suite marks invalid is refused and never causes an internal error", {
  skip: !existsSync(data) && "shared/data is not here",
}, async () => {
  const create = creates.find(({ rpc }) => rpc === "CreateRepo") ?? assert.fail();
  const { path } = restRequest(create, { parent: place });
  const before = await stage.fingerprint();
  const folderOfFiles = join(data, "json-test-suite/test_parsing");
  const files = nonEmpty(
    readdirSync(folderOfFiles).filter((name) => name.endsWith(".json")),
    "file of the suite",
  );
  await Promise.all(
    files.map(async (name) => {
      const bytes = readFileSync(join(folderOfFiles, name));
      const response = await fetch(`${world.url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${owner}`, "content-type": "application/json" },
        body: bytes,
      });
      const answer = (await response.json()) as { code: number; details: JsonObject[] };
      assert.equal(response.status, 400, name);
      assert.equal(answer.code, codes.INVALID_ARGUMENT, name);
      assert.ok(answer.details.length === 2, name);
    }),
  );
  assert.equal(await stage.fingerprint(), before);
});

test("hostile texts in every text field are refused by name or stored unchanged on both protocols, without internal errors", {
  skip: !existsSync(data) && "shared/data is not here",
}, async () => {
  const naughty = nonEmpty(
    (JSON.parse(readFileSync(join(data, "naughty-strings/blns.json"), "utf8")) as string[]).filter((each) => each !== ""),
    "hostile text",
  );
  let kept = 0;
  const tryOne = async (value: string, index: number): Promise<void> => {
    const method = creates[index % creates.length] ?? assert.fail();
    const resource = bodyField(method) ?? assert.fail();
    const message = resource.message ?? assert.fail();
    const request = await stage.request(method, { place, whole: true });
    const holds = (field: FieldFact): boolean =>
      field.kind === "string" &&
      field.shape === "one" &&
      !field.uid &&
      field.refersTo === "" &&
      matcherOf(field).test(value) &&
      (field.maxLength === 0 || value.length <= field.maxLength);
    const fill = (within: MessageFact, body: JsonObject): JsonObject => {
      const out: JsonObject = { ...body };
      for (const field of writable(within)) {
        const held = out[field.json];
        if (held === undefined) continue;
        if (holds(field) && !["source", "issuer"].includes(field.name)) out[field.json] = value;
        else if (field.message && field.shape === "one" && isObject(held)) out[field.json] = fill(field.message, held);
        else if (field.shape === "map" && field.kind === "string" && within.short !== "CustomOverlay") out[field.json] = { [value]: value };
      }
      return out;
    };
    const body = request[resource.json];
    assert.ok(isObject(body));
    const sent = fill(message, body);
    const asked = { ...request, [resource.json]: sent };
    const token = await stage.tokenFor(method, asked);
    const answer = await stage.call(protocols[index % 2] ?? "rest", method, asked, { token, validateOnly: true });
    assert.ok([0, codes.INVALID_ARGUMENT].includes(answer.code), `${method.rpc} ${JSON.stringify(value)}: ${answer.code} ${answer.message}`);
    if (answer.code !== 0) return;
    kept++;
    for (const field of writable(message))
      if (holds(field) && sent[field.json] === value) assert.equal(answer.reply[field.json], value, `${method.rpc}.${field.json}`);
  };
  // As many at once as the server has write connections; more would queue.
  const atOnce = limits.writeConnections;
  for (let from = 0; from < naughty.length; from += atOnce)
    await Promise.all(naughty.slice(from, from + atOnce).map((value, step) => tryOne(value, from + step)));
  assert.ok(kept > naughty.length / 4, `${kept} of ${naughty.length} were kept`);
  // The same texts in a list's filters, order and token.
  for (const [index, value] of naughty.entries()) {
    if (index % 7 !== 0) continue;
    const list = methods.filter((each) => isList(each) && stage.answers(each))[index % 6] ?? assert.fail();
    for (const request of [{ name: value }, { orderBy: value }, { pageToken: value }, { uidp: { childrenOf: value } }]) {
      if (!list.input.byName.has(Object.keys(request)[0] ?? "")) continue;
      const { code } = await stage.call("rest", list, request, { token: owner });
      assert.ok([0, codes.INVALID_ARGUMENT].includes(code), `${list.rpc} ${JSON.stringify(request)}: ${code}`);
    }
  }
});
