// Bad input: no request causes a 5xx, a stack trace, a hanging connection or a partial row. A refused request leaves the database unchanged, and
// accepted values are read back byte for byte.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { once } from "node:events";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { restRequest } from "../client.ts";
import { shareOf } from "../length.ts";
import { distributionRequest } from "../distribution.ts";
import { full, openWorld, type World } from "../world.ts";
import { items } from "./protocols.ts";
import { databaseContents } from "./installation.ts";
import { type PipelinedAnswer, sendAll, type PipelinedRequest } from "./pipeline.ts";

const fixtures = join(import.meta.dirname, "..", "fixtures");
const shared = join(import.meta.dirname, "..", "..", "..", "shared", "data", "conformance");
const suite = join(shared, "json-test-suite", "test_parsing");
const naughty = join(shared, "naughty-strings", "blns.json");

const readStrings = (file: string): string[] => JSON.parse(readFileSync(file, "utf8")) as string[];
const strings = [
  ...new Set([...readStrings(join(fixtures, "hostile-strings.json")), "a".repeat(513), "a".repeat(5000), ...(existsSync(naughty) ? readStrings(naughty) : [])]),
];
/** A sample, for code paths that have already seen all strings. */
const some = strings.filter((_, index) => index % 8 === 0);
/** A sample for sequential writes to one row. */
const few = shareOf(some, 2);
/** The strings for each field of each write. */
const sent = shareOf(strings, 7);

let world: World;
let token: string;
let organization: string;

before(async () => {
  world = await openWorld();
  token = await world.token();
  organization = world.organization;
});
after(() => world?.close());

/** Asserts that the response is below 500, has a JSON body if any, and exposes no internals; returns the body. */
const sound = (got: PipelinedAnswer, sent: PipelinedRequest): JsonObject => {
  const what = `${sent.verb} ${sent.path.slice(0, 200)} ${String(sent.body ?? "").slice(0, 200)}`;
  assert.ok(got.status >= 200 && got.status < 500, `${got.status} ${got.body.slice(0, 500)} for ${what}`);
  assert.doesNotMatch(got.body, /\bat \S+ \(|node:internal|\/server\/|select .* from /i, what);
  if (got.status === 200 && got.body === "") return {};
  const body = JSON.parse(got.body) as Json;
  assert.ok(isObject(body), what);
  if (got.status >= 400 && sent.path.startsWith("/v2/")) assert.ok(items(body, "errors").length > 0, what);
  else if (got.status >= 400 && !("error" in body))
    assert.deepEqual([typeof body.code, typeof body.message, Array.isArray(body.details)], ["number", "string", true], what);
  return body;
};

const fieldsOf = (body: JsonObject): string[] => items(body, "details").flatMap((detail) => items(detail, "fieldViolations").map(({ field }) => String(field)));

const methodOf = (name: string): MethodFact => {
  const found = methods.find((method) => method.name === full(name));
  if (!found) throw new Error(`no operation ${name}`);
  return found;
};

const sendingOf = (name: string, request: JsonObject): PipelinedRequest => {
  const { verb, path, body } = restRequest(methodOf(name), request);
  return { verb, path, token, ...(body === undefined ? {} : { body }) };
};

const post = async (name: string, request: JsonObject): Promise<string> => String((await world.ok(name, request)).uid);

// ---- the raw body ---------------------------------------------------------------------------------------------

const jsonFiles = [join(fixtures, "json"), ...(existsSync(suite) ? [suite] : [])].flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
const bodies: readonly (readonly [name: string, bytes: Buffer])[] = [
  ...jsonFiles.map((file) => [file.replace(/^.*\//, ""), readFileSync(file)] as const),
  ["n_open_brackets", Buffer.from("[".repeat(500_000))],
  ["n_open_objects", Buffer.from('{"a":'.repeat(100_000))],
  ["y_closed_brackets", Buffer.from(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)],
  ["y_deep_in_nothing", Buffer.from(`{"unheard":${"[".repeat(200_000)}${"]".repeat(200_000)}}`)],
  ["y_deep_in_a_map", Buffer.from(`{"customOverlay":{"environment":${'{"a":'.repeat(50_000)}1${"}".repeat(50_002)}`)],
  ["y_deep_in_a_field", Buffer.from(`{"customOverlay":${'{"contents":'.repeat(1000)}1${"}".repeat(1001)}`)],
];

test("invalid JSON is a 400, and valid JSON never causes a 5xx", async () => {
  assert.ok(bodies.length >= 30);
  const uid = await post("registry.ReposService/CreateRepo", { parent: organization, repo: { name: "bodies" } });
  const targets = [
    ["POST", `/registry/v2/repos/${organization}`],
    ["PATCH", `/registry/v2/repos/${uid}`],
    ["POST", "/iam/v2/roleBindings:batchCreate"],
    ["POST", `/iam/v2/identities/${organization}`],
  ] as const;
  const before = await databaseContents(world);
  const refused = bodies.filter(([name]) => name.startsWith("n_") && !/no_data/.test(name));
  const all = refused.flatMap(([, body]) => targets.map(([verb, path]): PipelinedRequest => ({ verb, path, token, body })));
  for (const [index, got] of (await sendAll(world.url, all)).entries()) {
    const sent = all[index] as PipelinedRequest;
    sound(got, sent);
    assert.equal(got.status, 400, `${refused[Math.floor(index / targets.length)]?.[0]} at ${sent.path}: ${got.body.slice(0, 200)}`);
  }
  assert.deepEqual(await databaseContents(world), before, "refusals write nothing");
  const others = bodies.flatMap(([, body]) => targets.map(([verb, path]): PipelinedRequest => ({ verb, path, token, body })));
  for (const [index, got] of (await sendAll(world.url, others)).entries()) sound(got, others[index] as PipelinedRequest);
});

test("without a write permission every body gets the same refusal, before it is parsed", async () => {
  const nobody = await world.token(
    await post("iam.IdentitiesService/CreateIdentity", {
      parent: organization,
      identity: { name: "nobody", claimMatch: { issuer: "https://issuer.example.com", subject: "s" } },
    }),
  );
  const all = bodies.map(([, body]): PipelinedRequest => ({ verb: "POST", path: `/registry/v2/repos/${organization}`, token: nobody, body }));
  const answers = await sendAll(world.url, all);
  assert.deepEqual(new Set(answers.map(({ status, body }) => `${status} ${body}`)).size, 1);
  assert.equal(answers[0]?.status, 403);
});

test("duplicate keys are refused, and out-of-range numbers and other oddities are read consistently or refused", async () => {
  const odd: readonly (readonly [body: string, status: number, says: RegExp])[] = [
    ['{"name":"first","name":"oddity last"}', 400, /gives the key \\"name\\" twice in one object/],
    ['{"name":null,"na\\u006de":"oddity last"}', 400, /twice in one object/],
    ['{"name":"a","customOverlay":{"environment":{"A":"1","B":"2","A":"3"}}}', 400, /gives the key \\"A\\" twice in one object/],
    ['{"name":"oddity two","createTime":null,"create_time":"2002-01-01T00:00:00Z"}', 400, /given twice/],
    ['{"name":"oddity two","createTime":"2001-01-01T00:00:00Z","create_time":"2002-01-01T00:00:00Z"}', 400, /given twice/],
    ['{"name":1e999}', 400, /name must be a string|must be a string/],
    ['{"name":9007199254740993}', 400, /must be a string/],
    ['{"name":true}', 400, /must be a string/],
    ['{"name":["a"]}', 400, /must be a string/],
    ['{"name":{}}', 400, /must be a string/],
    ['{"name":"a","bundles":"base"}', 400, /must be a list/],
    ['{"name":"a","bundles":[[]]}', 400, /must be a string/],
    ['{"name":"a","bundles":[null]}', 400, /bundles/],
    ['{"name":"a","customOverlay":[]}', 400, /must be an object/],
    ['{"name":"a","customOverlay":{"environment":[]}}', 400, /must be an object/],
    ['{"name":"a","customOverlay":{"environment":{"a":null}}}', 400, /environment/],
    ['{"name":"a","customOverlay":{"environment":{"a":1}}}', 400, /must be a string/],
    ['{"name":"a","customOverlay":{"accounts":{"users":[{"username":"u","uid":2147483648}]}}}', 400, /32 bits/],
    ['{"name":"a","customOverlay":{"accounts":{"users":[{"username":"u","uid":1.5}]}}}', 400, /32 bits/],
    ['{"name":"a","customOverlay":{"accounts":{"users":[{"username":"u","uid":"1e3"}]}}}', 400, /32 bits/],
    ['{"name":"oddity three","customOverlay":{"accounts":{"users":[{"username":"u","uid":-0}]}}}', 200, /"username":"u"/],
    ['{"name":"a","catalogTier":99}', 400, /is not a known value/],
    ['{"name":"a","catalogTier":1e999}', 400, /is not a known value/],
    ['{"name":"a","catalogTier":-1}', 400, /is not a known value/],
    ['{"name":"oddity four","catalogTier":2}', 200, /"catalogTier":"CATALOG_TIER_BASE"/],
    ['{"name":"oddity five","sync_config":null,"description":null}', 200, /"name":"oddity five"/],
    ['{"name":"a","sync_config":{"source":"x"},"syncConfig":{"source":"x"}}', 400, /given twice/],
  ];
  const all = odd.map(([body]): PipelinedRequest => ({ verb: "POST", path: `/registry/v2/repos/${organization}`, token, body }));
  for (const [index, got] of (await sendAll(world.url, all)).entries()) {
    const [body, status, says] = odd[index] ?? ["", 0, /x/];
    sound(got, all[index] as PipelinedRequest);
    assert.equal(got.status, status, `${body}: ${got.body}`);
    assert.match(got.body, says, body);
  }
});

// ---- every string field of every write ------------------------------------------------------------------------

type Path = readonly (string | number)[];

interface Leaf {
  /** JSON names; 0 for a list entry, "*" for a map's key and value. */
  readonly path: Path;
  readonly field: FieldFact;
}

/** Returns every path in a message where a client can write text. */
const leavesOf = (message: MessageFact, path: Path = []): Leaf[] =>
  message.fields.flatMap((field): Leaf[] => {
    if (field.outputOnly || field.version1Only) return [];
    const here: Path = field.shape === "list" ? [...path, field.json, 0] : field.shape === "map" ? [...path, field.json, "*"] : [...path, field.json];
    if (field.kind === "string" || field.kind === "enum") return [{ path: here, field }];
    return field.message && field.shape !== "map" && path.length < 6 ? leavesOf(field.message, here) : [];
  });

const sample = (field: FieldFact): Json | undefined => {
  if (field.kind === "string" && field.shape === "one") return field.example || "x";
  return undefined;
};

const completed = (message: MessageFact, value: JsonObject): JsonObject => {
  const out: JsonObject = { ...value };
  for (const field of message.fields) {
    const held = out[field.json];
    if (held === undefined && field.required && !field.outputOnly) {
      const given = sample(field);
      if (given !== undefined) out[field.json] = given;
    } else if (field.message && isObject(held) && field.shape === "one") out[field.json] = completed(field.message, held);
    else if (field.message && Array.isArray(held))
      out[field.json] = held.map((entry) => (isObject(entry) && field.message ? completed(field.message, entry) : entry));
  }
  return out;
};

const put = (value: Json | undefined, path: Path, text: string): Json => {
  const [step, ...rest] = path;
  if (step === undefined) return text;
  if (step === 0) return [put(Array.isArray(value) ? value[0] : undefined, rest, text)];
  const object = isObject(value) ? value : {};
  if (step === "*") return Object.fromEntries([[text, text]]);
  return { ...object, [step]: put(object[String(step)], rest, text) };
};

const take = (value: Json | undefined, path: Path, text: string): Json | undefined => {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (step === 0) return take(Array.isArray(value) ? value[0] : undefined, rest, text);
  if (step === "*") return isObject(value) && Object.hasOwn(value, text) ? value[text] : undefined;
  return take(isObject(value) ? value[String(step)] : undefined, rest, text);
};

const storable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");

const allowed = ({ field, path }: Leaf, text: string): boolean => {
  if (!storable(text)) return false;
  const isEntry = path.at(-1) === 0 || path.at(-1) === "*";
  // An empty field is absent; an empty entry matches its list's pattern or is refused.
  if (text === "" && !(isEntry && field.pattern)) return !field.required || isEntry;
  if (field.uid && !/^[0-9a-f]{40}(\/[0-9a-f]{16})*$/.test(text)) return false;
  if (field.pattern && !new RegExp(`^(?:${field.pattern})$`, "u").test(text)) return false;
  return field.shape !== "one" || field.maxLength === 0 || text.length <= field.maxLength;
};

interface Write {
  readonly name: string;
  readonly around: (body: JsonObject) => JsonObject;
  /** The rest of the body; `unique` differs in each call. */
  readonly base: (unique: string) => JsonObject;
  readonly message: () => MessageFact;
  readonly list?: string;
  /** Leaves that further rules validate: tested alone, and possibly refused. */
  readonly ruled: RegExp;
  /** Leaves that conflict with this base. */
  readonly without?: RegExp;
  readonly strings?: readonly string[];
}

const claimMatch = { issuer: "https://issuer.example.com", subject: "s" };
const keySet = '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}';
const digest = `sha256:${"a".repeat(64)}`;

const writes = async (): Promise<Write[]> => {
  const resourceOf = (name: string, field: string) => (): MessageFact => {
    const message = methodOf(name).input.byName.get(field)?.message;
    if (!message) throw new Error(`${name} has no ${field}`);
    return message;
  };
  const group = await post("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "fields" } });
  // Sibling groups have unique names, so created groups have another parent.
  const updates = await post("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "updates" } });
  const updatedGroup = await post("iam.GroupsService/CreateGroup", { parent: updates, group: { name: "updated" } });
  const identity = await post("iam.IdentitiesService/CreateIdentity", { parent: group, identity: { name: "fields", claimMatch } });
  const role = await post("iam.RolesService/CreateRole", { parent: group, role: { name: "fields", capabilities: ["CAP_REPO_LIST"] } });
  const repo = await post("registry.ReposService/CreateRepo", { parent: updatedGroup, repo: { name: "fields" } });
  const identities = {
    name: "iam.IdentitiesService/CreateIdentity",
    around: (body: JsonObject) => ({ parent: group, identity: body }),
    message: resourceOf("iam.IdentitiesService/CreateIdentity", "identity"),
    list: "iam.IdentitiesService/ListIdentities",
  };
  const relationship = /^(?:claimMatch|staticKeys|awsIdentity|servicePrincipal)/;
  return [
    {
      name: "iam.GroupsService/CreateGroup",
      around: (body) => ({ parent: group, group: body }),
      base: (name) => ({ name }),
      message: resourceOf("iam.GroupsService/CreateGroup", "group"),
      list: "iam.GroupsService/ListGroups",
      ruled: /^kind/,
    },
    {
      name: "iam.GroupsService/UpdateGroup",
      around: (body) => ({ group: { uid: updatedGroup, ...body } }),
      base: () => ({ name: "hostile update" }),
      message: resourceOf("iam.GroupsService/UpdateGroup", "group"),
      list: "iam.GroupsService/ListGroups",
      ruled: /^kind/,
      strings: few,
    },
    {
      ...identities,
      base: () => ({ name: "hostile", claimMatch }),
      ruled: /^claimMatch\.(?!claims)|^servicePrincipal/,
      without: /^(?:staticKeys|awsIdentity|servicePrincipal)/,
    },
    {
      ...identities,
      base: () => ({ name: "hostile", staticKeys: { issuer: "https://issuer.example.com", subject: "s", issuerKeys: keySet } }),
      ruled: /issuerKeys|audiences/,
      without: /^(?:name|description|company|claimMatch|awsIdentity|servicePrincipal)/,
    },
    {
      ...identities,
      base: () => ({ name: "hostile", awsIdentity: { awsAccount: "123456789012", arn: "a", userId: "u" } }),
      ruled: /^awsIdentity\.(?:arn|user)/,
      without: /^(?:name|description|company|claimMatch|staticKeys|servicePrincipal)/,
    },
    {
      name: "iam.IdentitiesService/UpdateIdentity",
      around: (body) => ({ identity: { uid: identity, ...body } }),
      base: () => ({ name: "hostile" }),
      message: resourceOf("iam.IdentitiesService/UpdateIdentity", "identity"),
      list: "iam.IdentitiesService/ListIdentities",
      ruled: relationship,
      strings: few,
    },
    {
      name: "iam.RolesService/CreateRole",
      around: (body) => ({ parent: group, role: body }),
      base: () => ({ name: "hostile", capabilities: ["CAP_REPO_LIST"] }),
      message: resourceOf("iam.RolesService/CreateRole", "role"),
      list: "iam.RolesService/ListRoles",
      ruled: /^capabilities/,
    },
    {
      name: "iam.RolesService/UpdateRole",
      around: (body) => ({ role: { uid: role, ...body } }),
      base: () => ({ name: "hostile" }),
      message: resourceOf("iam.RolesService/UpdateRole", "role"),
      list: "iam.RolesService/ListRoles",
      ruled: /^capabilities/,
      strings: few,
    },
    {
      name: "iam.RoleBindingsService/CreateRoleBinding",
      around: (body) => ({ parent: group, roleBinding: body }),
      base: () => ({}),
      message: resourceOf("iam.RoleBindingsService/CreateRoleBinding", "role_binding"),
      ruled: /./,
    },
    {
      name: "iam.RoleBindingsService/BatchCreateRoleBindings",
      around: (body) => ({ parent: group, ...body }),
      base: () => ({ requests: [{ roleBinding: { identityUid: identity } }] }),
      message: () => methodOf("iam.RoleBindingsService/BatchCreateRoleBindings").input,
      ruled: /./,
      strings: few,
    },
    {
      name: "registry.ReposService/CreateRepo",
      around: (body) => ({ parent: group, repo: body }),
      base: (name) => ({ name }),
      message: resourceOf("registry.ReposService/CreateRepo", "repo"),
      list: "registry.ReposService/ListRepos",
      ruled: /^catalogTier|sync_config|runtimeKeyring/,
    },
    {
      name: "registry.ReposService/UpdateRepo",
      around: (body) => ({ repo: { uid: repo, ...body } }),
      base: (name) => ({ name }),
      message: resourceOf("registry.ReposService/UpdateRepo", "repo"),
      list: "registry.ReposService/ListRepos",
      ruled: /^catalogTier|sync_config|runtimeKeyring/,
      strings: few,
    },
    {
      name: "registry.ReposService/UpdateRepoReadme",
      around: (body) => ({ repoReadme: { uid: repo, ...body } }),
      base: () => ({}),
      message: resourceOf("registry.ReposService/UpdateRepoReadme", "repo_readme"),
      ruled: /./,
    },
    {
      name: "registry.TagsService/CreateTag",
      around: (body) => ({ parent: repo, tag: body }),
      base: (name) => ({ name: name.replaceAll(" ", "_"), digest }),
      message: resourceOf("registry.TagsService/CreateTag", "tag"),
      list: "registry.TagsService/ListTags",
      ruled: /^$/,
    },
  ];
};

const dotted = (path: Path): string => path.filter((step) => step !== 0).join(".");

/** Returns the body with this text at these leaves; the last member of a oneof wins. */
const bodyWith = (write: Write, leaves: readonly Leaf[], text: string, unique: string): JsonObject => {
  let body: Json = structuredClone(write.base(unique));
  for (const { path, field } of leaves) {
    if (field.oneof !== undefined && !field.presence) {
      const [parent] = [path.slice(0, -1)];
      const around = take(body, parent, text);
      const message = parent.length === 0 ? write.message() : undefined;
      const rivals =
        (message ?? rivalMessage(write.message(), parent))?.fields.filter((other) => other.oneof === field.oneof && other !== field).map(({ json }) => json) ??
        [];
      if (isObject(around)) for (const rival of rivals) delete around[rival];
    }
    body = put(body, path, text);
  }
  return completed(write.message(), isObject(body) ? body : {});
};

const rivalMessage = (message: MessageFact, path: Path): MessageFact | undefined => {
  let within: MessageFact | undefined = message;
  for (const step of path) if (typeof step === "string") within = within?.byName.get(step)?.message;
  return within;
};

interface Case {
  readonly leaves: readonly Leaf[];
  readonly text: string;
  readonly sending: PipelinedRequest;
  readonly exact: boolean;
}

const casesOf = (write: Write): Case[] => {
  const leaves = leavesOf(write.message()).filter(({ path }) => !write.without?.test(dotted(path)) && !(path.length === 1 && path[0] === "uid"));
  const plain = leaves.filter(({ path }) => !write.ruled.test(dotted(path)));
  const ruled = leaves.filter(({ path }) => write.ruled.test(dotted(path)));
  const oneEach = (list: readonly Leaf[]): Leaf[] =>
    list.filter(
      (leaf, index) => leaf.field.oneof === undefined || leaf.field.presence || index === list.findIndex((other) => other.field.oneof === leaf.field.oneof),
    );
  let counter = 0;
  const made = (chosen: readonly Leaf[], text: string, exact: boolean): Case => {
    const body = bodyWith(write, chosen, text, `${write.name.includes("/Update") ? "updated" : "hostile"} ${counter++}`);
    return { leaves: chosen, text, exact, sending: sendingOf(write.name, write.around(body)) };
  };
  return (write.strings ?? sent).flatMap((text) => {
    const fitting = oneEach(plain.filter((leaf) => allowed(leaf, text)));
    const refused = oneEach(plain.filter((leaf) => !allowed(leaf, text)));
    return [
      ...(fitting.length > 0 ? [made(fitting, text, true)] : []),
      ...(refused.length > 0 ? [made(refused, text, true)] : []),
      ...ruled.map((leaf) => made([leaf], text, false)),
    ];
  });
};

const readBack = async (list: string, uids: readonly string[]): Promise<Map<string, JsonObject>> => {
  const found = new Map<string, JsonObject>();
  for (let from = 0; from < uids.length; from += 200) {
    const include = list.endsWith("ListTags") ? { includeReferrers: true, includeDates: true, includeEpochs: true } : {};
    const { reply } = await world.call(list, { uidp: { ids: uids.slice(from, from + 200) }, pageSize: 200, ...include }, { token, protocol: "grpc" });
    for (const list of Object.values(reply)) if (Array.isArray(list)) for (const each of list) if (isObject(each)) found.set(String(each.uid), each);
  }
  return found;
};

const rowsAndEvents = async (): Promise<number[]> => {
  const tables = ["groups", "identities", "roles", "role_bindings", "repos", "tags", "outbox"];
  const [row] = await world.server.application.services.store.read.query(`select ${tables.map((table) => `(select count(*) from ${table})`).join(", ")}`);
  return (row ?? []).map(Number);
};

test("every hostile text in every text field of every write is refused by field name or kept byte for byte", async (t) => {
  for (const write of await writes())
    await t.test(`${write.name}${write.without ? ` (${Object.keys(write.base("x")).at(-1)})` : ""}`, async () => {
      const cases = casesOf(write);
      assert.ok(cases.length > (existsSync(naughty) ? 20 : 5));
      const before = await rowsAndEvents();
      const answers = await sendAll(
        world.url,
        cases.map(({ sending }) => sending),
      );
      const kept: { uid: string; of: Case }[] = [];
      let accepted = 0;
      for (const [index, got] of answers.entries()) {
        const each = cases[index] as Case;
        const body = sound(got, each.sending);
        const what = `${JSON.stringify(each.text.slice(0, 60))} at ${each.leaves.map(({ path }) => dotted(path)).join(", ")}`;
        const wanted = each.leaves.filter((leaf) => !allowed(leaf, each.text));
        if (each.exact && wanted.length > 0) {
          assert.equal(got.status, 400, `${what}: accepted`);
          const named = fieldsOf(body);
          const isNamed = ({ path }: Leaf): boolean =>
            named.some((field) => path.filter((step) => step !== 0 && step !== "*").every((step) => field.includes(String(step))));
          const untold = wanted.filter((leaf) => !isNamed(leaf));
          // An update validates nested messages only after the fields of the top level.
          if (write.name.includes("/Update")) assert.ok(untold.length < wanted.length, `${what}: none is named in ${named.join(", ")}`);
          else
            assert.deepEqual(
              untold.map(({ path }) => dotted(path)),
              [],
              `${what}: not named in ${named.join(", ")}`,
            );
        } else if (each.exact) assert.equal(got.status, 200, `${what}: ${got.body.slice(0, 300)}`);
        if (got.status !== 200) continue;
        accepted++;
        for (const leaf of each.leaves) {
          const held = take(body, leaf.path, each.text);
          if (leaf.field.kind === "string") assert.equal(held ?? "", each.text, `${what}: not given back as it was sent`);
        }
        if (write.list && write.name.includes("/Create")) kept.push({ uid: String(body.uid), of: each });
      }
      if (write.list) {
        // If several cases moved one tag, the last one wins.
        const last = new Map(kept.map((each) => [each.uid, each]));
        const found = await readBack(write.list, [...last.keys()]);
        for (const { uid, of } of last.values()) {
          for (const { path, field } of of.leaves) {
            const held = take(found.get(uid), path, of.text);
            if (field.kind === "string" && write.name !== "registry.TagsService/CreateTag")
              assert.equal(held ?? "", of.text, `${JSON.stringify(of.text.slice(0, 60))} at ${dotted(path)}: not kept as it was sent`);
          }
          assert.ok(found.has(uid), "what was accepted is there");
        }
      }
      const now = await rowsAndEvents();
      const grown = now.map((count, index) => count - (before[index] ?? 0));
      const events = grown.at(-1) ?? 0;
      const rows = grown.slice(0, -1).reduce((sum, count) => sum + count, 0);
      // A batch emits one event for several rows; an update and a moved tag emit an event without a new row.
      assert.ok(events <= accepted, `${events} events for ${accepted} accepted requests`);
      if (/\/Create(?!Tag)/.test(write.name))
        assert.deepEqual([rows, events], [accepted, accepted], "one row and one event for each accepted request, none for a refused one");
      else if (write.name.includes("/Update")) assert.equal(rows, 0);
    });
});

test("hostile texts get the same results over gRPC as over REST", async () => {
  const group = await post("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "hostile rpc" } });
  // gRPC cannot distinguish an empty text from an absent one.
  for (const [index, text] of some.filter((each) => each.isWellFormed() && each !== "").entries()) {
    const [rest, rpc] = await Promise.all(
      (["rest", "grpc"] as const).map((protocol) =>
        world.call(
          "registry.ReposService/CreateRepo",
          { parent: group, repo: { name: `rpc ${protocol} ${index}`, customOverlay: { environment: { [text]: text }, accounts: { runAs: text } } } },
          { token, protocol },
        ),
      ),
    );
    assert.equal(rpc?.code, rest?.code, JSON.stringify(text));
    assert.deepEqual(rpc?.details, rest?.details);
    assert.deepEqual(rpc?.reply.customOverlay, rest?.reply.customOverlay);
  }
});

test("invalid UTF-8 in a gRPC text is refused, not replaced", async () => {
  const before = await databaseContents(world);
  const session = connectHttp2(world.url);
  for (const bad of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0x61, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
    const field = (number: number, value: Buffer): Buffer => Buffer.concat([Buffer.from([number * 8 + 2, value.length]), value]);
    const message = Buffer.concat([field(1, Buffer.from(organization)), field(2, Buffer.concat([field(2, Buffer.from("bytes")), field(3, Buffer.from(bad))]))]);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    const stream = session.request({
      ":method": "POST",
      ":path": "/chainguard.platform.registry.v2.ReposService/CreateRepo",
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${token}`,
    });
    stream.end(Buffer.concat([head, message]));
    const [answer] = (await once(stream, "response")) as [Record<string, string>];
    stream.resume();
    const status = answer["grpc-status"] ?? ((await once(stream, "trailers")) as [Record<string, string>])[0]["grpc-status"];
    assert.equal(String(status), "3", bad.join(" "));
  }
  session.destroy();
  assert.deepEqual(await databaseContents(world), before);
});

// ---- every query parameter ------------------------------------------------------------------------------------

const parametersOf = (method: MethodFact): string[] => {
  const body = method.http[0]?.body ?? "";
  const inPath = method.http[0]?.template ?? method.distribution?.template ?? "";
  return method.input.fields.flatMap((field) => {
    if (field.json === body || body === "*" || inPath.includes(`{${field.name}`)) return [];
    if (field.message) return field.message.fields.filter(({ message }) => !message).map((inner) => `${field.name}.${inner.name}`);
    return [field.name];
  });
};

test("every hostile text in every query parameter of every operation gets a fast response below 500", async () => {
  const before = await databaseContents(world);
  const uid = `${organization}/0123456789abcdef`;
  const all: PipelinedRequest[] = [];
  for (const method of methods.filter(({ name, scim }) => scim === undefined && world.server.application.kernel.answers.has(name))) {
    const asked = { uid, parent: uid, repoUid: uid, repo: uid, reference: "latest", upload: "0".repeat(32), digest };
    const { verb, path } = method.distribution ? distributionRequest(method, asked) : restRequest(method, asked);
    // File downloads are not JSON and have no known length; they are tested below.
    if (verb !== "GET" || method.givesFile) continue;
    const [bare = ""] = path.replace(/\/$/, `/${uid}`).split("?");
    for (const parameter of parametersOf(method)) {
      // All lists parse cursor and order with the same code.
      const whole = method.rpc === "ListRepos" || method.rpc === "ListTags";
      for (const text of whole ? strings : some)
        if (text.isWellFormed() && text.length < 2000) all.push({ verb, path: `${bare}?${parameter}=${encodeURIComponent(text)}`, token });
    }
  }
  assert.ok(all.length > 1000);
  const answers = await sendAll(world.url, all);
  for (const [index, got] of answers.entries()) sound(got, all[index] as PipelinedRequest);
  assert.deepEqual(await databaseContents(world), before);
});

test("operations that return files answer hostile texts in path and query below 500 and expose no internals", async () => {
  const before = await databaseContents(world);
  const every = existsSync(naughty) ? 24 : 1;
  const texts = strings.filter((text, index) => index % every === 0 && text.isWellFormed() && text.length < 2000);
  assert.ok(texts.length > 10);
  for (const method of methods.filter(({ givesFile }) => givesFile))
    for (const { template } of method.http)
      for (const text of texts) {
        const value = encodeURIComponent(text);
        const queries = parametersOf(method).map((parameter) => `${template.replace(/\{[^}]*\}/g, "all.json")}?${parameter}=${value}`);
        for (const path of [template.replace(/\{[^}]*\}/g, value), ...queries]) {
          const response = await fetch(`${world.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
          assert.ok(response.status < 500, `${response.status} for ${path}`);
          assert.doesNotMatch(await response.text(), /\bat \S+ \(|node:internal|\/server\/|select .* from /i, path);
        }
      }
  assert.deepEqual(await databaseContents(world), before);
});

test("an exact filter matches its value and nothing similar", async () => {
  const group = await post("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "filters" } });
  for (const name of ["a%", "a_", "ab", "a"]) await world.call("registry.ReposService/CreateRepo", { parent: group, repo: { name } }, { token });
  for (const text of ["a%", "%", "a_", "_", "a*", "a' or '1'='1", 'a"', "a\\", "A", " a", "a "]) {
    const [got] = await sendAll(world.url, [{ verb: "GET", path: `/registry/v2/repos?uidp.children_of=${group}&name=${encodeURIComponent(text)}`, token }]);
    const body = sound(got as PipelinedAnswer, { verb: "GET", path: text });
    for (const repo of items(body, "repos")) assert.equal(repo.name, text);
  }
});

// ---- paths, headers, values -----------------------------------------------------------------------------------

test("hostile UIDs and odd paths get responses below 500", async () => {
  const uid = await post("registry.ReposService/CreateRepo", { parent: organization, repo: { name: "paths" } });
  const deep = `${"a".repeat(40)}${`/${"b".repeat(16)}`.repeat(400)}`;
  const segments = [
    ...strings.filter((text) => text.isWellFormed() && text.length < 1000).map(encodeURIComponent),
    "..",
    ".",
    "%2e%2e",
    "%2E%2E%2F%2E%2E",
    "%2f",
    "%252f",
    "%00",
    "%0a",
    "%",
    "%4",
    "%zz",
    "%ff",
    "%c0%af",
    "%ed%a0%80",
    ";a=b",
    "a;b",
    "*",
    "{uid}",
    "~",
    "!$&'()*+,",
    "\\",
    "|",
    "^",
    "`",
    `${uid}/`,
    `/${uid}`,
    `${uid}//`,
    uid.replace("/", "//"),
    uid.replace("/", "%2F"),
    uid.replace("/", "%2f"),
    uid.replace("/", "%5c"),
    uid.toUpperCase(),
    `${uid}%00`,
    `${uid}/..`,
    `../${uid}`,
    deep,
    "a".repeat(7000),
  ].filter((segment) => /^[\x21-\x7e]*$/.test(segment) && !segment.includes("#") && !segment.includes("?"));
  const prefixes = ["/registry/v2/repos/", "/iam/v2/groups/", "/registry/v2/repos/x/digests/", "/"];
  const all = segments.flatMap((segment) =>
    prefixes.flatMap((prefix) =>
      (["GET", "DELETE", "PATCH"] as const)
        .map((verb): PipelinedRequest => ({ verb, path: `${prefix}${segment}`, token, ...(verb === "PATCH" ? { body: "{}" } : {}) }))
        .slice(0, prefix === "/registry/v2/repos/" ? 3 : 1),
    ),
  );
  // Skips requests that would delete or change the repo.
  const asked = all.filter(({ verb, path }) => verb === "GET" || !decodeURIComponentSafe(path).includes(uid));
  const before = await databaseContents(world);
  for (const [index, got] of (await sendAll(world.url, asked)).entries()) sound(got, asked[index] as PipelinedRequest);
  assert.deepEqual(await databaseContents(world), before);
  const [plain, encoded] = await sendAll(
    world.url,
    [uid, uid.replace("/", "%2F")].map((each): PipelinedRequest => ({ verb: "GET", path: `/registry/v2/repos/${each}`, token })),
  );
  assert.deepEqual([plain?.status, encoded?.body], [200, plain?.body]);
});

const decodeURIComponentSafe = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

test("odd headers get responses below 500 and have no unintended effect", async () => {
  const texts = strings.filter((text) => /^[\x20-\x7e\x80-\xff]*$/.test(text) && text.length < 4000 && text.trim() === text);
  const names = [
    "authorization",
    "gantry-identity",
    "if-match",
    "if-none-match",
    "idempotency-key",
    "accept",
    "accept-encoding",
    "origin",
    "content-type",
    "content-encoding",
    "expect",
    "te",
    "range",
    "x-http-method-override",
    "cookie",
    "forwarded",
  ];
  const all = names.flatMap((name) =>
    texts
      .filter((_, index) => index % 4 === 0)
      .map(
        (text): PipelinedRequest => ({
          verb: "GET",
          path: "/iam/v2/roles?page_size=1",
          ...(name === "authorization" ? {} : { token }),
          headers: [`${name}: ${text}`],
        }),
      ),
  );
  const before = await databaseContents(world);
  for (const [index, got] of (await sendAll(world.url, all)).entries()) {
    assert.ok(got.status >= 200 && got.status < 500, `${got.status} for ${all[index]?.headers?.join()}`);
  }
  assert.deepEqual(await databaseContents(world), before);
});

test("odd numbers and times are refused by name or read as their value", async () => {
  const cases: readonly (readonly [query: string, status: number])[] = [
    ["page_size=-0", 200],
    ["page_size=00", 400],
    ["page_size=%2B1", 400],
    ["page_size=1e999", 400],
    ["page_size=9223372036854775808", 400],
    ["page_size=1&page_size=2", 400],
    ["page_size=1&pageSize=2", 400],
    ["skip=1.0", 400],
    ["skip=99999999999999999999", 400],
    ["include_dates=TRUE", 400],
    ["include_dates=1", 400],
    ["include_dates=", 400],
    ["include_dates=true", 200],
    ["updated_since=0000-01-01T00:00:00Z", 400],
    ["updated_since=0001-01-01T00:00:00Z", 200],
    ["updated_since=0001-01-01T00:00:00%2B01:00", 400],
    ["updated_since=9999-12-31T23:59:59.999999999Z", 200],
    ["updated_since=9999-12-31T23:59:59-01:00", 400],
    ["updated_since=10000-01-01T00:00:00Z", 400],
    ["updated_since=-0001-01-01T00:00:00Z", 400],
    ["updated_since=2026-02-30T00:00:00Z", 400],
    ["updated_since=2026-13-01T00:00:00Z", 400],
    ["updated_since=2026-01-01T24:00:00Z", 400],
    ["updated_since=2016-12-31T23:59:60Z", 400],
    ["updated_since=2026-01-01T00:00:00%2B24:00", 400],
    ["updated_since=2026-01-01", 400],
    ["updated_since=now", 400],
    ["updated_since=", 400],
    ["updated_since=1e999", 400],
    ["=1", 400],
    ["&&&", 200],
    ["?", 400],
    ["a", 400],
    ["%", 400],
    ["name=%", 400],
    ["name=%ff", 400],
    ["name=%00", 400],
    ["uidp=1", 400],
    ["uidp.in_root=maybe", 400],
    ["uidp.ids=", 200],
    [`uidp.ids=${"a".repeat(40)}&uidp.ids=${"b".repeat(40)}`, 200],
  ];
  const all = cases.map(([query]): PipelinedRequest => ({ verb: "GET", path: `/registry/v2/tags?${query}`, token }));
  for (const [index, got] of (await sendAll(world.url, all)).entries()) {
    sound(got, all[index] as PipelinedRequest);
    assert.equal(got.status, cases[index]?.[1], `${cases[index]?.[0]}: ${got.body.slice(0, 300)}`);
  }
});

test("out-of-range times in a gRPC message are refused, not stored", async () => {
  const session = connectHttp2(world.url);
  const varint = (value: bigint): Buffer => {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, value);
    do {
      bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
      rest >>= 7n;
    } while (rest > 0n);
    return Buffer.from(bytes);
  };
  for (const [seconds, nanos] of [
    [2n ** 62n, 0n],
    [-(2n ** 62n), 0n],
    [253402300800n, 0n],
    [-62135596801n, 0n],
    [0n, 2n ** 31n - 1n],
    [0n, -1n],
  ] as const) {
    const time = Buffer.concat([Buffer.from([0x08]), varint(seconds), Buffer.from([0x10]), varint(nanos)]);
    const message = Buffer.concat([Buffer.from([3 * 8 + 2, time.length]), time]);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    const stream = session.request({
      ":method": "POST",
      ":path": "/chainguard.platform.registry.v2.TagsService/ListTags",
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${token}`,
    });
    stream.end(Buffer.concat([head, message]));
    const [answer] = (await once(stream, "response")) as [Record<string, string>];
    stream.resume();
    const status = String(answer["grpc-status"] ?? ((await once(stream, "trailers")) as [Record<string, string>])[0]["grpc-status"]);
    assert.ok(["0", "3"].includes(status), `${seconds} ${nanos}: ${status}`);
    if (seconds !== 0n) assert.equal(status, "3", String(seconds));
  }
  session.destroy();
});

test("a value at its limit is kept, and one beyond it is refused", async () => {
  const repo = (body: JsonObject): PipelinedRequest => ({ verb: "POST", path: `/registry/v2/repos/${organization}`, token, body: JSON.stringify(body) });
  const many256 = Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`K${index}`, "v"]));
  const { K256: _beyond, ...just } = many256;
  const cases: readonly (readonly [sending: PipelinedRequest, status: number])[] = [
    [repo({ name: "n".repeat(256) }), 200],
    [repo({ name: "n".repeat(257) }), 400],
    [repo({ name: "edge one", description: "d".repeat(512) }), 200],
    [repo({ name: "edge two", description: "d".repeat(513) }), 400],
    [repo({ name: "edge three", description: "\u{1f600}".repeat(512) }), 200],
    [repo({ name: "edge four", customOverlay: { environment: just } }), 200],
    [repo({ name: "edge five", customOverlay: { environment: many256 } }), 400],
    [repo({ name: "edge six", customOverlay: { contents: { packages: Array.from({ length: 1001 }, () => "p") } } }), 400],
    [repo({ name: "edge eight", customOverlay: { accounts: { runAs: "r".repeat(limits.bodyBytesMax) } } }), 413],
  ];
  for (const [sending, status] of cases) {
    // One at a time, because a connection may close after a body that is refused unread.
    const [got] = await sendAll(world.url, [sending]);
    const body = sound(got as PipelinedAnswer, sending);
    assert.equal(got?.status, status, `${String(sending.body).slice(0, 80)}: ${got?.body.slice(0, 300)}`);
    if (status !== 200) continue;
    const [back] = await sendAll(world.url, [{ verb: "GET", path: `/registry/v2/repos/${String(body.uid)}`, token }]);
    assert.equal(back?.body, got?.body);
  }
});
