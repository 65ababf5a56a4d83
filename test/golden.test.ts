// Golden files for review: routes, permissions, error texts, tables, and the SQL of all page types. Generated from the running
// code and compared with test/golden; one command accepts changes.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { builtInRoleUid, missingCapability } from "#authz";
import { codes } from "#base/fault.ts";
import { type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods, version1 } from "#contract/catalog.ts";
import type { DelegatesFact, MethodFact } from "#contract/facts.ts";
import { type Branch, type Condition, findRow, pageStatement, type Read, readCatalogue, type Selection, wholeTable, withAccessVersionCheck } from "#db";
import { builtInRoles } from "../server/authz/roles.ts";
import { callHttp } from "./client.ts";
import { folder, isOfOrganization, openStage } from "./conformance/stage.ts";
import { nonEmpty, withValue } from "./samples.ts";
import { describeSchema } from "./schema-text.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const assertGolden = (name: string, content: string): void => {
  const path = join(import.meta.dirname, "golden", name);
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(path, content);
  let held = "";
  try {
    held = readFileSync(path, "utf8");
  } catch {}
  assert.equal(held, content, `test/golden/${name} is not what the code makes now. If that is meant:  npm run golden`);
};

/** Fixed column widths, so that a longer name moves only its own line. */
const columns = (widths: readonly number[], rows: readonly (readonly string[])[]): string =>
  rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");

const short = (method: MethodFact): string => method.name.replace(/^chainguard\.platform\./, "");

const asks = (method: MethodFact): string => {
  if (method.scim) return "the provider's SCIM token";
  if (method.open) return method.groupFilter ? `open; ${method.capabilities.join(" + ")} at a group that is named` : "open";
  if (method.capabilities.length === 0) return "any caller";
  return `${method.capabilities.join(" + ")} ${method.unscoped ? "in reach" : `at ${method.scope?.join(".")}`}`;
};

test("the routes equal test/golden/routes.txt: path, operation, permission and event", () => {
  const rows = nonEmpty([...methods, ...version1], "operation").flatMap((method) =>
    [...method.http, ...(method.distribution ? [method.distribution] : []), ...(method.scim ? [method.scim] : [])].map(({ verb, template }) => [
      verb,
      template,
      short(method),
      asks(method),
      stage.answers(method) || method.scim ? (method.event?.type ?? "-") : "UNIMPLEMENTED",
    ]),
  );
  rows.sort(([verbA = "", pathA = ""], [verbB = "", pathB = ""]) => (pathA < pathB || (pathA === pathB && verbA < verbB) ? -1 : 1));
  assertGolden("routes.txt", `${columns([6, 58, 64, 62], [["VERB", "PATH", "OPERATION", "ASKS FOR", "TELLS"], ...rows])}\n`);
});

const dayMs = 24 * 60 * 60 * 1000;

/** Descriptions of delegations that require no grant from the caller, in place of the contract's. */
const givenWords: Readonly<Record<DelegatesFact["rights"], { readonly gives: string; readonly ends?: string; readonly fromSessions?: string }>> = {
  none: { gives: "nothing by itself", ends: "-", fromSessions: "-" },
  role: { gives: "the role's capabilities at its place" },
  identity: { gives: "all that the identity is bound to" },
  provider: { gives: "its default role, the roles of its mappings" },
  scim: { gives: "what SCIM may do: the rights it asks for" },
  roleHolders: { gives: "the role's capabilities, to whoever has it" },
  invite: { gives: "what the invite promises: asked of its maker again", ends: "the invite's expireTime", fromSessions: "as the invite" },
  organization: { gives: "ownership of the organization that it makes", fromSessions: "-" },
  deletion: { gives: "all that comes back, each as making it would", ends: "as what comes back" },
};

/** Sources of permissions or credentials outside the contract. */
const besides = [
  ["sign-in: the provider's default role", "a role: asked of whoever made the provider", "-", "never", "-"],
  [
    "sign-in: refresh token",
    "the person's own rights, as they are when it is used",
    "-",
    `${limits.refreshTokenLifetimeMs / dayMs} days unused, ${limits.refreshFamilyLifetimeMs / dayMs} in all`,
    "none is given",
  ],
  ["sign-in, exchange: access token", "the bearer's own rights, as they are when it is used", "-", "after an hour at the latest", "ends with the session"],
  ["pull token: an identity with static keys, and its role binding", "as CreateIdentity and CreateRoleBinding", "-", "-", "-"],
  ["gantry commands", "the operator's, which is everything", "-", "never", "-"],
];

test("the permissions that each operation delegates, and their expiry, equal test/golden/delegations.txt", () => {
  const asked = nonEmpty(
    methods.filter(({ delegates }) => delegates),
    "operation that hands on",
  );
  const rows = asked.map((method) => {
    const { rights, end, fromSessions } = method.delegates ?? assert.fail();
    const words = givenWords[rights];
    const days = `${limits.sessionDelegationMs / dayMs} days at most, to others`;
    return [
      short(method),
      words.gives,
      method.open ? "-" : method.capabilities.join(" + "),
      words.ends ?? end?.join(".") ?? "never",
      words.fromSessions ?? (fromSessions ? days : "no"),
    ];
  });
  rows.sort(([one = ""], [other = ""]) => (one < other ? -1 : 1));
  const nothing = methods.filter(({ writes, delegates }) => writes && !delegates).map(short);
  const widths = [70, 52, 58, 32, 0];
  assertGolden(
    "delegations.txt",
    [
      "What hands on rights or makes a credential. What is given, and the right to give it, must be the giver's until it ends.",
      columns(widths, [["OPERATION", "HANDS ON", "ASKS FOR", "ENDS", "BY RIGHTS FROM A SIGN-IN'S GROUPS"], ...rows, ...besides]),
      `Writes that hand on nothing:\n\n${columns(
        [0],
        nothing.sort().map((name) => [name]),
      )}\n`,
    ].join("\n\n"),
  );
});

/** Returns whether a role with these capabilities allows the operation, by the usual permission check. */
const allows = (names: readonly string[], method: MethodFact): boolean => {
  if (method.scim) return false;
  const place = world.organization;
  const rights = {
    uid: "",
    grants: [{ path: place, capabilities: new Set(names) }],
    accessVersion: { root: "", version: "" },
    untilMs: Number.POSITIVE_INFINITY,
  };
  return method.open || missingCapability(rights, method.capabilities, place) === undefined;
};

const roles = nonEmpty(Object.entries(builtInRoles), "built-in role");

test("the permissions of each built-in role on every operation equal test/golden/roles.txt", () => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  assert.ok(roles.length <= letters.length);
  const legend = roles.map(([name, held], index) => [
    `${letters[index]}`,
    name.padEnd(40),
    `${held.length} ${held.length === 1 ? "capability" : "capabilities"}`,
  ]);
  const needs = (method: MethodFact): string => (method.capabilities.length > 0 && !method.open ? method.capabilities.join(" + ") : asks(method));
  const services = [...new Set(methods.map(({ service }) => service))].map((service) => {
    const of = methods.filter((method) => method.service === service);
    const head = [service.replace(/^chainguard\.platform\./, ""), letters.slice(0, roles.length), ""];
    return columns(
      [44, roles.length, 1],
      [head, ...of.map((method) => [`  ${method.rpc}`, roles.map(([, held], index) => (allows(held, method) ? letters[index] : "·")).join(""), needs(method)])],
    );
  });
  assertGolden(
    "roles.txt",
    [
      "Which built-in role allows which operation, at the group where it is bound and below. A letter: allowed. A dot: refused.",
      columns([1, 40], legend),
      ...services,
    ]
      .join("\n\n")
      .concat("\n"),
  );
});

test("each scoped operation is denied to a caller with a role exactly if the matrix says so", async () => {
  // The OCI protocol responds the same to denied and missing (oci: 4); conformance/access.test.ts covers it.
  const scoped = nonEmpty(
    methods.filter((method) => method.scope && stage.answers(method) && !method.distribution && !isOfOrganization(method)),
    "operation with a place",
  );
  const place = await folder(stage);
  const told = ["owner", "editor", "viewer", "limited_owner", "registry.push", "apk.pull"];
  for (const [name, held] of nonEmpty(
    roles.filter(([each]) => told.includes(each)),
    "role",
  )) {
    const { uid, token } = await stage.stranger(world.organization);
    await stage.bind(place, uid, builtInRoleUid(name));
    const answers = await Promise.all(
      // Only the scope: allowed calls fail later as invalid or missing, and change nothing.
      scoped.map(
        async (method) => [method, await stage.call("grpc", method, withValue({}, method.scope ?? [], `${place}/0123456789abcdef`), { token })] as const,
      ),
    );
    for (const [method, { code, message }] of answers)
      assert.equal(code !== codes.PERMISSION_DENIED, allows(held, method), `${name} ${method.name}: ${message}`);
  }
});

type ErrorCase = readonly [
  title: string,
  verb: string,
  path: string,
  sent: { readonly token?: string; readonly body?: string; readonly headers?: Readonly<Record<string, string>> },
];

test("REST errors equal test/golden/errors.json and errors-version-1.json", async () => {
  const group = await folder(stage);
  await stage.make("chainguard.platform.registry.v2.Repo", { parent: group, body: { name: "nginx" } });
  const stranger = await stage.stranger(world.organization);
  const seer = await stage.holder(["groups.list"], world.organization);
  const operator = await stage.operator();
  const absent = `${world.organization}/0123456789abcdef`;
  const beside = await folder(stage);
  const role = text(await stage.make("chainguard.platform.iam.v2.Role", { parent: beside }), "uid");
  await stage.bind(beside, stranger.uid, role);
  const repo = await stage.make("chainguard.platform.registry.v2.Repo", { parent: group, body: { name: "taken" } });
  const cases: readonly ErrorCase[] = [
    ["requirement: POST identity with a body that lacks a valid name", "POST", `/iam/v2/identities/${group}`, { body: "{}" }],
    ["requirement: delete of a group that still has child resources", "DELETE", `/iam/v2/groups/${group}`, {}],
    ["requirement: a resource that does not exist", "GET", `/registry/v2/repos/${absent}`, {}],
    ["several fields at once", "POST", `/registry/v2/tags/${text(repo, "uid")}`, { body: '{"name":"/","digest":"sha256:x","nonsense":1}' }],
    ["rules across fields", "POST", `/iam/v2/identities/${group}`, { body: '{"name":"a","claimMatch":{"issuer":"ftp://x"}}' }],
    ["a name that is taken", "POST", `/registry/v2/repos/${group}`, { body: '{"name":"nginx"}' }],
    ["a role that is bound", "DELETE", `/iam/v2/roles/${role}`, {}],
    ["a built-in role", "DELETE", "/iam/v2/roles/63921b2c44617e3f2603851537be0123af4a57d7", {}],
    ["a forged page token", "GET", "/registry/v2/repos?page_token=forged", {}],
    ["an unknown order", "GET", "/registry/v2/repos?order_by=size", {}],
    ["an unknown query parameter", "GET", "/registry/v2/repos?size=1", {}],
    ["an unknown mask path", "PATCH", `/registry/v2/repos/${text(repo, "uid")}?updateMask=size`, { body: "{}" }],
    ["a uid that is none", "GET", "/registry/v2/repos/nginx", {}],
    ["authentication required", "GET", "/registry/v2/repos", { headers: { authorization: "" } }],
    ["a token that is none", "GET", "/registry/v2/repos", { token: "garbage" }],
    ["a stranger", "GET", `/registry/v2/repos/${text(repo, "uid")}`, { token: stranger.token }],
    ["a caller who may see the group", "GET", `/registry/v2/repos/${text(repo, "uid")}`, { token: seer.token }],
    ["an ETag of before", "PATCH", `/registry/v2/repos/${text(repo, "uid")}`, { body: '{"description":"x"}', headers: { "if-match": '"old"' } }],
    ["version 1 that is not served", "GET", "/registry/v1/charts", {}],
    ["a path that leads nowhere", "GET", "/registry/v2/nothing", {}],
    ["a verb that is not offered", "PUT", "/registry/v2/repos", { body: "{}" }],
    ["JSON that is none", "POST", `/registry/v2/repos/${group}`, { body: '{"name":' }],
    ["a body of another type", "POST", `/registry/v2/repos/${group}`, { body: "<a/>", headers: { "content-type": "text/xml" } }],
    ["a body that is too large", "POST", `/registry/v2/repos/${group}`, { body: " ".repeat(limits.bodyBytesMax + 1) }],
  ];
  const repoUid = text(repo, "uid");
  await world.ok("chainguard.platform.iam.GroupAccountAssociations/Create", { group: beside, name: "accounts" });
  const casesOfVersion1: readonly ErrorCase[] = [
    ["a body that lacks what is required", "POST", `/iam/v1/identities/${group}`, { body: "{}" }],
    ["several fields at once", "POST", `/registry/v1/tags/${repoUid}`, { body: '{"name":"/","digest":"sha256:x","nonsense":1}' }],
    ["delete of a group that still has child resources", "DELETE", `/iam/v1/groups/${group}`, {}],
    ["a uid that is none", "DELETE", "/registry/v1/repos/nginx", {}],
    ["authentication required", "GET", "/registry/v1/repos", { headers: { authorization: "" } }],
    ["a token that is none", "GET", "/registry/v1/repos", { token: "garbage" }],
    ["a stranger", "DELETE", `/registry/v1/repos/${repoUid}`, { token: stranger.token }],
    ["a caller who may see the group", "DELETE", `/registry/v1/repos/${repoUid}`, { token: seer.token }],
    ["a resource that does not exist", "DELETE", `/registry/v1/repos/${absent}`, {}],
    // A repository with a taken name would be updated to the request.
    ["what a group has already", "POST", `/iam/v1/account_associations/${beside}`, { body: '{"name":"accounts"}' }],
    ["an ETag of before", "PUT", `/registry/v1/repos/${repoUid}`, { body: '{"name":"taken"}', headers: { "if-match": '"old"' } }],
    ["a body that is too large", "POST", `/registry/v1/repos/${group}`, { body: " ".repeat(limits.bodyBytesMax + 1) }],
    ["a body of another type", "POST", `/registry/v1/repos/${group}`, { body: "<a/>", headers: { "content-type": "text/xml" } }],
    ["an operation that is not served", "GET", `/registry/v1/repos/${repoUid}:updatestatus`, {}],
  ];
  const named: readonly (readonly [string, string])[] = [
    [absent, "<absent>"],
    [text(repo, "uid"), "<repo>"],
    [role, "<role>"],
    [beside, "<another group>"],
    [group, "<group>"],
    [world.organization, "<organization>"],
  ];
  const plain = (value: string): string => named.reduce((out, [uid, name]) => out.replaceAll(uid, name), value);
  const shownOf = async (each: readonly ErrorCase[]): Promise<string> => {
    const shown: Record<string, Json> = {};
    for (const [title, verb, path, { token = operator, body, headers }] of each) {
      const answer = await callHttp(world.url, verb, path, { token, body, ...(headers ? { headers } : {}) });
      assert.ok((answer.status ?? 0) >= 400, `${title}: ${answer.status} ${answer.raw}`);
      const kept = Object.fromEntries(
        ["allow", "www-authenticate"].flatMap((name) => (answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]])),
      );
      shown[title] = {
        request: plain(`${verb} ${path}${body === undefined ? "" : ` ${body.length > 100 ? `(${body.length} bytes)` : body}`}`),
        status: answer.status ?? 0,
        ...(Object.keys(kept).length > 0 ? { headers: kept } : {}),
        body: JSON.parse(plain(answer.raw)) as JsonObject,
      };
    }
    return `${JSON.stringify(shown, undefined, 2)}\n`;
  };
  assertGolden("errors.json", await shownOf(cases));
  assertGolden("errors-version-1.json", await shownOf(casesOfVersion1));
});

/** One line per clause, so that changes are easy to locate. */
const pretty = (sql: string): string => sql.replace(/ (from|where|order by|left join|cross join lateral|join|and) /g, "\n  $1 ");

test("the SQL of a get and of every page type equals test/golden/queries.sql", async () => {
  const table = world.server.application.kernel.resources.get("chainguard.platform.registry.v2.Repo")?.shape.table ?? assert.fail();
  const root = "a".repeat(40);
  const inFolder = `${root}/${"0".repeat(16)}`;
  const tree = (at: string): Branch => ({ low: at, high: `${at}0` });
  const below = (at: string): Branch => ({ low: `${at}/`, high: `${at}0` });
  const [name, created, uid] = ["name", "create_time", "uid"].map((column) => ({ column, descending: false }));
  const parent: Condition = { column: "parent", comparison: "equal", value: inFolder };
  const last = { value: "v", uid: `${root}/${"1".repeat(16)}` };
  const [few, many] = [10, limits.sortRowsMax + 1];
  const ways: [string, Partial<Selection>][] = [
    ["an organization by uid", { branches: [tree(root)], order: uid ?? assert.fail() }],
    ["an organization by uid, next page, backwards", { branches: [tree(root)], order: { column: "uid", descending: true }, after: last, count: false }],
    ["an organization by name", { branches: [tree(root)], order: name ?? assert.fail() }],
    ["an organization by creation, next page", { branches: [below(root)], order: created ?? assert.fail(), after: last, count: false, size: many }],
    ["a small branch by creation", { branches: [tree(inFolder)], order: created ?? assert.fail(), size: few }],
    ["a large branch by creation", { branches: [tree(inFolder)], order: created ?? assert.fail(), size: many }],
    ["a large branch by creation, next page", { branches: [tree(inFolder)], order: created ?? assert.fail(), size: many, after: last, count: false }],
    ["the children of a place by name", { branches: [below(inFolder)], order: name ?? assert.fail(), conditions: [parent] }],
    ["few children of a place by creation", { branches: [below(inFolder)], order: created ?? assert.fail(), conditions: [parent], size: few }],
    ["many children of a place by creation", { branches: [below(inFolder)], order: created ?? assert.fail(), conditions: [parent], size: many }],
    [
      "a name in an organization",
      { branches: [tree(root)], order: uid ?? assert.fail(), conditions: [{ column: "name", comparison: "equal", value: "nginx", indexed: true }] },
    ],
    ["several branches by uid", { branches: [tree(inFolder), tree(`${root}/${"2".repeat(16)}`)], order: uid ?? assert.fail() }],
    ["several small branches by name", { branches: [tree(inFolder), tree(`${root}/${"2".repeat(16)}`)], order: name ?? assert.fail(), size: few }],
    [
      "several large branches by name, next page",
      { branches: [tree(inFolder), tree(`${root}/${"2".repeat(16)}`)], order: name ?? assert.fail(), size: many, after: last, count: false },
    ],
    ["several organizations by name", { branches: [tree(root), tree("b".repeat(40))], order: name ?? assert.fail() }],
    ["everything by uid", { branches: [wholeTable], order: uid ?? assert.fail() }],
    ["everything by name", { branches: [wholeTable], order: name ?? assert.fail() }],
  ];
  const asked: string[] = [];
  const listening: Read = {
    query: async (statement) => {
      asked.push(statement);
      return [];
    },
  };
  await findRow(withAccessVersionCheck(listening, { root, version: "1" }), table, inFolder).catch(() => {});
  const statements: [string, string][] = [["a get, with the version of the caller's rights", asked[0] ?? assert.fail()]];
  for (const [title, way] of ways) {
    const whole: Selection = {
      branches: [],
      conditions: [],
      order: { column: "uid", descending: false },
      after: undefined,
      skip: 0,
      limit: 51,
      count: true,
      size: undefined,
      ...way,
    };
    statements.push([title, pageStatement(table, whole, root).text]);
  }
  const brief = (sql: string): string => sql.replaceAll(table.columns.join(", "), "…");
  assertGolden(
    "queries.sql",
    [
      `-- What a read asks the database, on the table ${table.name}; "…" stands for its columns:\n-- ${table.columns.join(", ")}\n`,
      ...statements.map(([title, sql]) => `-- ${title}\n${pretty(brief(sql))};\n`),
    ].join("\n"),
  );
});

test("the tables equal test/golden/schema.txt: columns, indexes with purpose, and cascading and blocking deletions", async () => {
  const { kernel, services } = world.server.application;
  assertGolden("schema.txt", describeSchema(kernel.resources, await readCatalogue(services.store.read)));
});

test("a golden file that differs fails and names the command that accepts the change", () => {
  if (process.env.GANTRY_GOLDEN === "accept") return;
  assert.throws(() => assertGolden("routes.txt", "something else"), /npm run golden/);
  assert.throws(() => assertGolden("no-such-file.txt", "new"), /npm run golden/);
});
