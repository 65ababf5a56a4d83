import assert from "node:assert/strict";
import { test } from "node:test";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { messageNamed } from "#contract/catalog.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { applyMask, immutableChanges, maskedFields, readMask, withImmutables } from "./mask.ts";
import { fc, runs } from "../../test/property.ts";

const repo = messageNamed("chainguard.platform.registry.v2.Repo");
const identity = messageNamed("chainguard.platform.iam.v2.Identity");
const provider = messageNamed("chainguard.platform.iam.v2.IdentityProvider");

const oneOf = (field: FieldFact, depth: number): fc.Arbitrary<Json> => {
  switch (field.kind) {
    case "message":
      return field.message ? bodyOf(field.message, depth + 1) : fc.constant({});
    case "bool":
      return fc.boolean();
    case "int32":
      return fc.integer({ min: 0, max: 3 });
    case "enum":
      return fc.constantFrom(...(field.enum?.numbers.keys() ?? []));
    case "timestamp":
      return fc.constantFrom("2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z");
    default:
      return fc.constantFrom("", "one", "two");
  }
};

const valueOf = (field: FieldFact, depth: number): fc.Arbitrary<Json> => {
  const value = oneOf(field, depth);
  if (field.shape === "list") return fc.array(value, { maxLength: 2 });
  return field.shape === "map"
    ? (fc.dictionary(fc.constantFrom("k", "l", "__proto__", "constructor"), value, { maxKeys: 2, noNullPrototype: true }) as fc.Arbitrary<Json>)
    : value;
};

/** Any message that a transport may produce: any subset of its fields, at most one member of each oneof. */
const bodyOf = (message: MessageFact, depth = 0): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(
      ...message.fields.map((field) =>
        fc.option(depth > 3 ? fc.constant<Json>(field.kind === "message" ? {} : "x") : valueOf(field, depth), { nil: undefined, freq: 1 }),
      ),
    )
    .map((values) => {
      const body: JsonObject = {};
      const taken = new Set<string>();
      message.fields.forEach((field, index) => {
        const value = values[index];
        if (value === undefined || (field.oneof !== undefined && !field.presence && taken.has(field.oneof))) return;
        if (field.oneof !== undefined) taken.add(field.oneof);
        body[field.json] = value;
      });
      return body;
    });

const pathsOf = (message: MessageFact): string[][] =>
  message.fields
    .filter(({ outputOnly }) => !outputOnly)
    .flatMap((field) => [[field.name], ...(field.message && field.shape === "one" ? pathsOf(field.message).map((inner) => [field.name, ...inner]) : [])]);

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const at = (value: Json | undefined, path: readonly string[]): Json | undefined => {
  let held = value;
  for (const key of path) held = isObject(held) ? held[key] : undefined;
  return held;
};

/** The value without output-only fields. */
const written = (message: MessageFact, value: JsonObject): JsonObject =>
  Object.fromEntries(
    message.fields.flatMap((field) => {
      const held = value[field.json];
      if (held === undefined || field.outputOnly) return [];
      return [[field.json, field.message && field.shape === "one" && isObject(held) ? written(field.message, held) : held]];
    }),
  );

for (const message of [repo, identity, provider]) {
  const paths = pathsOf(message);
  const chosen = fc
    .uniqueArray(fc.constantFrom(...paths), { minLength: 1, maxLength: 3, selector: (path) => path.join(".") })
    // If one path contains another, the longer one has no effect.
    .map((all) => all.filter((path) => !all.some((other) => other !== path && other.every((name, index) => path[index] === name))));
  const jsonOf = (path: readonly string[]): string[] => {
    let within: MessageFact | undefined = message;
    return path.map((name) => {
      const field: FieldFact | undefined = within?.byName.get(name);
      within = field?.message;
      return field?.json ?? name;
    });
  };

  test(`${message.short}: an update changes exactly the fields that its mask names`, () => {
    fc.assert(
      fc.property(bodyOf(message), bodyOf(message), chosen, fc.boolean(), (before, body, names, inCamel) => {
        const text = names.map((path) => (inCamel ? path.map(camel) : path).join(".")).join(inCamel ? "," : " , ");
        const { mask, violations } = readMask(message, text, ["name"], body);
        assert.deepEqual(violations, []);
        assert.deepEqual(mask.paths, names.map(jsonOf));
        const [beforeText, bodyText] = [JSON.stringify(before), JSON.stringify(body)];
        const result = applyMask(message, before, body, mask);
        assert.deepEqual([JSON.stringify(before), JSON.stringify(body)], [beforeText, bodyText], "neither is changed");
        const tops = maskedFields(mask);
        for (const field of message.fields) {
          const rivals = message.fields.filter((other) => other !== field && field.oneof !== undefined && !field.presence && other.oneof === field.oneof);
          if (tops.has(field.json) || rivals.some((rival) => tops.has(rival.json))) continue;
          assert.deepEqual(result[field.json], before[field.json], `${text} touched ${field.json}`);
        }
        for (const path of mask.paths) {
          const [top = ""] = path;
          const field = message.byName.get(top);
          const rivals = message.fields.filter((other) => other !== field && field?.oneof !== undefined && other.oneof === field.oneof && tops.has(other.json));
          if (rivals.length > 0) continue;
          const [wanted, got] = [at(body, path), at(result, path)];
          // For a oneof inside, the mask's other paths decided.
          if (path.length > 1 && mask.paths.length > 1) continue;
          const inner = path.length === 1 ? field?.message : undefined;
          if (inner && field?.shape === "one" && isObject(wanted) && isObject(got)) assert.deepEqual(written(inner, got), written(inner, wanted));
          else if (!isObject(wanted)) assert.deepEqual(got, wanted, text);
        }
        assert.deepEqual(applyMask(message, result, body, mask), result, "twice is once");
      }),
      { numRuns: runs(200) },
    );
  });

  test(`${message.short}: "*" replaces everything writable and keeps output-only fields`, () => {
    fc.assert(
      fc.property(bodyOf(message), bodyOf(message), (before, body) => {
        const { mask, violations } = readMask(message, "*", [], body);
        assert.deepEqual(violations, []);
        const result = applyMask(message, before, body, mask);
        assert.deepEqual(written(message, result), written(message, body));
        for (const field of message.fields.filter(({ outputOnly }) => outputOnly)) assert.deepEqual(result[field.json], before[field.json]);
        assert.deepEqual(applyMask(message, result, body, mask), result);
      }),
      { numRuns: runs(100) },
    );
  });

  test(`${message.short}: an update with the current values changes nothing, with any mask`, () => {
    fc.assert(
      fc.property(bodyOf(message), chosen, (before, names) => {
        for (const text of ["*", names.map((path) => path.join(".")).join(",")]) {
          const { mask } = readMask(message, text, [], before);
          // A nested path into an absent message creates it.
          const absent = mask.paths.some((path) => path.length > 1 && at(before, path.slice(0, -1)) === undefined);
          if (!absent) assert.deepEqual(applyMask(message, before, before, mask), before);
        }
        assert.deepEqual(immutableChanges(message, before, before), []);
      }),
      { numRuns: runs(100) },
    );
  });

  test(`${message.short}: only an unknown path, an output-only path, or a path next to "*" is rejected on update_mask`, () => {
    const known = new Set(paths.flatMap((path) => [path.join("."), path.map(camel).join("."), jsonOf(path).join(".")]));
    const refused = (text: string): boolean => {
      const { violations } = readMask(message, text, undefined, {});
      assert.ok(violations.every(({ field }) => field === "update_mask"));
      return violations.length > 0;
    };
    for (const field of message.fields) assert.equal(refused(field.name), field.outputOnly, field.name);
    for (const text of [
      "__proto__",
      "constructor",
      "name.__proto__",
      "toString",
      "name.name",
      "nonsense",
      "*,name",
      "name,*",
      "Name",
      "uid",
      "name.",
      ".name",
      ",",
      " ",
      "name,",
      "name,,name",
    ])
      assert.ok(refused(text), text);
    fc.assert(
      fc.property(fc.string(), (text) => {
        const names = text === "" ? [] : text.split(",").map((name) => name.trim());
        if (!names.every((name) => known.has(name) || name === "*")) assert.ok(refused(text));
      }),
    );
  });
}

test("without a mask, REST changes the keys of the body, even empty ones, and gRPC the fields that are set", () => {
  assert.deepEqual(readMask(repo, "", ["description", "customOverlay.accounts.runAs", "uid"], {}).mask.paths, [
    ["description"],
    ["customOverlay", "accounts", "runAs"],
  ]);
  assert.deepEqual(readMask(repo, "", undefined, { uid: "u", name: "n" }).mask.paths, [["name"]]);
  assert.deepEqual(readMask(repo, "", ["name"], {}).violations, []);
});

test(`"*" keeps an additive field unless the body names it`, () => {
  const binding = messageNamed("chainguard.platform.iam.v2.RoleBinding");
  const held = { identityUid: "i", roleUid: "r", expireTime: "2026-01-01T00:00:00.000Z" };
  const replaced = (implied: string[] | undefined, body: JsonObject): JsonObject => applyMask(binding, held, body, readMask(binding, "*", implied, body).mask);
  assert.deepEqual(replaced(["roleUid"], { roleUid: "s" }), { roleUid: "s", expireTime: held.expireTime });
  assert.deepEqual(replaced(undefined, { roleUid: "s" }), { roleUid: "s", expireTime: held.expireTime });
  // Over REST, `null` is a value that names the field.
  assert.deepEqual(replaced(["roleUid", "expireTime"], { roleUid: "s" }), { roleUid: "s" });
  const later = "2026-02-01T00:00:00.000Z";
  assert.deepEqual(replaced(undefined, { roleUid: "s", expireTime: later }), { roleUid: "s", expireTime: later });
});

test("one member of a oneof replaces the other, even if the mask names both", () => {
  const before = { name: "n", claimMatch: { issuer: "i", subject: "s" } };
  for (const text of ["static_keys", "static_keys,claim_match", "claim_match,static_keys", "*"]) {
    const body = { name: "n", staticKeys: { issuer: "j" } };
    assert.deepEqual(applyMask(identity, before, body, readMask(identity, text, undefined, body).mask), { name: "n", staticKeys: { issuer: "j" } }, text);
  }
  const pattern = { claimMatch: { issuerPattern: "p" } };
  assert.deepEqual(applyMask(identity, before, pattern, readMask(identity, "claim_match.issuer_pattern", undefined, pattern).mask), {
    name: "n",
    claimMatch: { issuerPattern: "p", subject: "s" },
  });
});

test("output-only fields inside a message survive its replacement", () => {
  const before = { sync_config: { source: "a", expirationTime: "2026-01-01T00:00:00.000Z", uniqueTags: true, google: "g" } };
  const body = { sync_config: { source: "b" } };
  for (const text of ["sync_config", "syncConfig", "*"]) {
    assert.deepEqual(
      applyMask(repo, before, body, readMask(repo, text, undefined, body).mask),
      { sync_config: { source: "b", expirationTime: "2026-01-01T00:00:00.000Z", uniqueTags: true } },
      text,
    );
  }
  assert.deepEqual(applyMask(repo, before, {}, readMask(repo, "sync_config", undefined, {}).mask), {});
});

test("an immutable field may be repeated but not changed, at any depth", () => {
  const held = { oidc: { issuer: "i", correlationRule: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID" } };
  const changed = { oidc: { issuer: "i", correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" } };
  assert.deepEqual(immutableChanges(provider, held, held), []);
  assert.deepEqual(
    immutableChanges(provider, held, changed).map(({ field }) => field),
    ["oidc.correlationRule"],
  );
});

test("an immutable field that an update omits or leaves unspecified keeps its value", () => {
  const held = { oidc: { issuer: "i", correlationRule: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID" } };
  const kept = { oidc: { issuer: "j", correlationRule: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID" } };
  for (const oidc of [{ issuer: "j" }, { issuer: "j", correlationRule: "CORRELATION_RULE_UNSPECIFIED" }])
    assert.deepEqual(withImmutables(provider, held, { oidc }), kept);
  const changed = { oidc: { issuer: "i", correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" } };
  assert.deepEqual(withImmutables(provider, held, changed), changed);
  assert.deepEqual(withImmutables(provider, held, {}), {});
  assert.deepEqual(withImmutables(provider, {}, changed), changed);
});
