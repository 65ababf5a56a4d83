// The OpenAPI documents match the server (decisions: 0044): they are valid and served, and list exactly the served paths.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { methods, version1 } from "#contract/catalog.ts";
import { fetchDocument, judgeOf, type Operation, operationsOf } from "../openapi/document.ts";
import { newChild } from "#base/uid.ts";
import { openOwners } from "../owner.ts";
import { openWorld } from "../world.ts";

const owners = openOwners(await openWorld());
const world = owners.world();
after(() => world.close());

const whole = await fetchDocument(world.url, "/openapi.json");
const v1 = await fetchDocument(world.url, "/openapi/v1.json");
const names = [...new Set(operationsOf(whole).flatMap(({ path, described }) => (path === "/openapi/{name}.json" ? [described] : [])))].flatMap(
  ({ parameters }) => {
    const [{ schema }] = parameters as unknown as [{ schema: { enum: string[] } }];
    return schema.enum;
  },
);

test("every document is valid OpenAPI 3.1", async () => {
  assert.ok(names.length > 10);
  for (const path of ["/openapi.json", ...names.map((name) => `/openapi/${name}.json`)]) {
    const { valid, errors } = await new Validator().validate(await fetchDocument(world.url, path));
    assert.ok(valid, `${path}: ${JSON.stringify(errors)}`);
  }
});

test("the validator rejects an operation without responses", async () => {
  const broken = structuredClone(whole);
  const [first] = operationsOf(broken);
  delete first?.described.responses;
  if (first) first.described.responses = [];
  assert.equal((await new Validator().validate(broken)).valid, false);
});

test("the documents contain exactly the contract's HTTP operations, under their names", () => {
  const served = (all: typeof methods): string[] => all.filter(({ http }) => http.length > 0).map(({ service, rpc }) => `${service.split(".").at(-1)}_${rpc}`);
  const described = (document: typeof whole): string[] => operationsOf(document).map(({ id }) => id.replace(/_\d+$/, ""));
  const beside = new Set(["OAuth", "Discovery", "Health", "Feed", "OpenApi"]);
  assert.deepEqual([...new Set(described(whole).filter((id) => !beside.has(id.split("_")[0] ?? "")))].sort(), served(methods).sort());
  assert.deepEqual([...new Set(described(v1))].sort(), served(version1).sort());
});

test("exactly the unimplemented operations document 501", async () => {
  const described = (document: JsonObject): string[] =>
    operationsOf(document).flatMap((operation) => (part(operation.described, "responses")["501"] === undefined ? [] : [operation.id.replace(/_\d+$/, "")]));
  const unanswered = [...methods, ...version1].filter(
    (method) => method.http.length > 0 && !world.server.application.kernel.answers.has(method.view?.of.name ?? method.name),
  );
  assert.deepEqual(
    [...new Set([...described(whole), ...described(v1)])].sort(),
    unanswered.map(({ service, rpc }) => `${service.split(".").at(-1)}_${rpc}`).sort(),
  );
});

const account = { awsAccount: "123456789012" };
const caller = { arn: "arn:aws:iam::123456789012:user/ada", userId: "AIDA" };

/** Bodies by path: accepted ones and refused ones. */
const bodies: readonly (readonly [document: JsonObject, path: (root: string) => string, taken: readonly JsonObject[], refused: readonly JsonObject[]])[] = [
  [
    whole,
    (root) => `/gantry/v1/subscriptions/${newChild(root)}:rotateSecret`,
    ["0s", "0.000000001s", "9s", "599999s", "604799.9s", "604800s"].map((overlap) => ({ overlap })),
    ["-7s", "-0.5s", "604800.1s", "604801s", "700000s", "1000000s", "s", "7"].map((overlap) => ({ overlap })),
  ],
  [
    whole,
    (root) => `/iam/v2/identityProviders/${newChild(root)}:regenerateScimToken`,
    ["0s", "86400s", "99999999999s"].map((overlap) => ({ overlap, etag: "e" })),
    ["-7s", "-0.1s"].map((overlap) => ({ overlap, etag: "e" })),
  ],
  [
    v1,
    (root) => `/iam/v1/group_invites/${root}`,
    ["1s", "1.5s", "9s", "2591999.9s", "2592000s"].map((ttl) => ({ ttl, role: "ROLE" })),
    ["-7s", "0s", "0.9s", "2592000.1s", "2592001s", "3000000s", "10000000s"].map((ttl) => ({ ttl, role: "ROLE" })),
  ],
  ...(
    [
      [whole, (root: string) => `/iam/v2/identities/${root}`],
      [v1, (root: string) => `/iam/v1/identities/${root}`],
    ] as const
  ).map(([document, path]): (typeof bodies)[number] => [
    document,
    path,
    [
      { awsIdentity: { ...account, ...caller } },
      { awsIdentity: { ...account, arnPattern: ".*", userIdPattern: ".*" } },
      { claimMatch: { issuer: "https://issuer.example.com", subject: "a" } },
      { claimMatch: { issuer: "https://issuer.example.com", subjectPattern: "a.*" } },
    ].map((each) => ({ name: "x", ...each })),
    [
      { awsIdentity: account },
      { awsIdentity: { ...account, arn: caller.arn } },
      { awsIdentity: { ...account, userId: caller.userId } },
      { awsIdentity: { ...account, ...caller, arn: "" } },
      { awsIdentity: { ...account, ...caller, arnPattern: ".*" } },
      { claimMatch: { issuer: "https://issuer.example.com" } },
      { claimMatch: { subject: "a" } },
      { claimMatch: { issuer: "", subject: "a" } },
    ].map((each) => ({ name: "x", ...each })),
  ]),
];

test("document and server agree on duration limits and on the requirement of one of two fields", async () => {
  const [viewer = {}] = objectList(await world.ok("iam.RolesService/ListRoles", { name: "viewer" }), "roles");
  const role = text(viewer, "uid");
  const root = world.organization;
  const headers = { authorization: `Bearer ${await owners.token()}`, "content-type": "application/json" };
  for (const [document, path, taken, refused] of bodies) {
    const judge = judgeOf(document);
    for (const [isTaken, each] of [...taken.map((one) => [true, one] as const), ...refused.map((one) => [false, one] as const)]) {
      const body = JSON.stringify(each).replace("ROLE", role);
      const target = path(root);
      const found = judge.judgeRequest(judge.describe("POST", target, body));
      assert.equal(found.length === 0, isTaken, `the document, ${target}: ${body} ${found.join()}`);
      const answer = await fetch(`${world.url}${target}?validateOnly=true`, { method: "POST", headers, body });
      assert.equal(answer.status !== 400, isTaken, `the server, ${target}: ${body} ${answer.status} ${await answer.text()}`);
    }
  }
});

test("the partial documents together equal the whole one", async () => {
  const parts = await Promise.all(names.filter((name) => name !== "v1").map((name) => fetchDocument(world.url, `/openapi/${name}.json`)));
  const of = (documents: readonly (typeof whole)[]): string[] =>
    documents.flatMap((document) => operationsOf(document).map((each) => JSON.stringify(each))).sort();
  assert.deepEqual(
    of(parts),
    of([whole]).filter((each) => !each.includes('"OpenApi_')),
  );
});

test("a document is public, cached by its ETag, and compressed for clients that accept gzip", async () => {
  const url = `${world.url}/openapi.json`;
  const plain = await fetch(url, { headers: { "accept-encoding": "identity" } });
  const etag = plain.headers.get("etag") ?? "";
  const body = await plain.text();
  assert.equal(body, await readFile("contract/gen/openapi/whole.json", "utf8"));
  assert.equal(plain.headers.get("content-encoding"), null);
  assert.equal(plain.headers.get("content-type"), "application/json");
  assert.equal(plain.headers.get("vary"), "accept-encoding");
  const same = await fetch(url, { headers: { "accept-encoding": "identity", "if-none-match": etag } });
  assert.equal(same.status, 304);
  assert.equal(await same.text(), "");
  const packed = await fetch(url, { headers: { "accept-encoding": "gzip" } });
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  assert.notEqual(packed.headers.get("etag"), etag);
  assert.equal(await packed.text(), body);
  assert.equal((await fetch(url, { headers: { "accept-encoding": "gzip;q=0, identity" } })).headers.get("content-encoding"), null);
  const head = await fetch(url, { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), "");
  assert.equal((await fetch(`${world.url}/openapi/nothing.json`)).status, 404);
  assert.equal((await fetch(url, { method: "POST" })).status, 405);
});

/** Returns an operation's example request and response; undefined if it has none. `media` is the type of the response's example. */
const examplesOf = (operation: Operation): { readonly request: Json | undefined; readonly answer: Json | undefined; readonly media: string } => {
  const firstExample = (content: JsonObject): [string, Json] | undefined =>
    Object.entries(content).flatMap(([media, described]): [string, Json][] =>
      isObject(described) && described.example !== undefined ? [[media, described.example]] : [],
    )[0];
  const [media = "", answer] = firstExample(part(part(part(operation.described, "responses"), "200"), "content")) ?? [];
  return { request: firstExample(part(part(operation.described, "requestBody"), "content"))?.[1], answer, media };
};

test("the examples of both documents match their schemas", () => {
  let judged = 0;
  for (const judge of [judgeOf(whole), judgeOf(v1)]) {
    for (const operation of judge.operations) {
      const { request, answer, media } = examplesOf(operation);
      if (answer !== undefined) {
        judged++;
        const raw = typeof answer === "string" && media !== "application/json" ? answer : JSON.stringify(answer);
        assert.deepEqual(judge.judgeAnswer(operation, { status: 200, headers: new Headers({ "content-type": media }), raw }), [], operation.id);
      }
      if (request === undefined) continue;
      judged++;
      assert.deepEqual(
        judge.judgeRequest({ operation, inPath: {}, inQuery: [], body: request }).filter((problem) => problem.startsWith("body")),
        [],
        operation.id,
      );
    }
  }
  assert.ok(judged > 250, String(judged));
});

/** Why an operation with a response shows no example. */
const withoutExample: Readonly<Record<string, string>> = {
  OAuth_SignIn: "a page for people",
  OAuth_Authorize: "a page for people",
  OAuth_AnswerAuthorize: "a page for people",
  OAuth_Callback: "a page for people",
  OAuth_ProviderCallback: "a page for people",
  OAuth_Device: "a page for people",
  OAuth_AnswerDevice: "a page for people",
  OAuth_ConfirmHeadless: "a page for people",
  OAuth_AnswerMemberships: "a page for people",
  OAuth_AnswerLoopback: "a page for people",
  OAuth_AnswerInvite: "a page for people",
  Feed_SecurityText: "there is none unless the operator has written one",
  OpenApi_Whole: "the document itself",
  OpenApi_Part: "a document like this one",
  Registry_GetBuildStatus: "not served: needs a build service",
  Registry_GetUpdateStatus: "not served: needs a build service",
};

test("every operation with a response body has an example, or is listed here with a reason", () => {
  const lacking = [whole, v1].flatMap((document) =>
    operationsOf(document).filter((operation) => {
      const { content } = part(part(operation.described, "responses"), "200");
      return isObject(content) && examplesOf(operation).answer === undefined;
    }),
  );
  assert.deepEqual(lacking.map(({ id }) => id).sort(), Object.keys(withoutExample).sort());
});

test("every fixed path beyond the contract is in the document with its verbs, and is served", async () => {
  const described = new Set(operationsOf(whole).map(({ verb, path }) => `${verb} ${path}`));
  const served = world.server.transport.openPaths.flatMap(({ path, verbs }) => verbs.map((verb) => `${verb} ${path}`));
  assert.ok(served.length > 10);
  assert.deepEqual(
    served.filter((each) => !described.has(each)),
    [],
  );
  // Conversely, each path that the document has beyond the contract is known.
  for (const { verb, path, id } of operationsOf(whole)) {
    if (!/^(?:OAuth|Discovery|Health|Feed|OpenApi)_/.test(id)) continue;
    const { status } = await fetch(`${world.url}${path.replace("{name}", "iam").replace("{uid}", newChild(world.organization))}`, {
      method: verb,
      redirect: "manual",
    });
    assert.ok(status !== 405 && (status !== 404 || path === "/.well-known/security.txt"), `${verb} ${path}: ${status}`);
  }
});

test("every operation, parameter, schema, field and value in the documents has a description", () => {
  const lacking: string[] = [];
  const need = (described: JsonObject, what: string): void => {
    if (text(described, "description") === "" && described.const === undefined) lacking.push(what);
  };
  for (const [name, document] of Object.entries({ whole, v1 })) {
    for (const { id, described } of operationsOf(document)) {
      if (text(described, "summary") === "") lacking.push(`${name}: ${id}`);
      for (const parameter of objectList(described, "parameters"))
        if (parameter.$ref === undefined) need(parameter, `${name}: ${id} ${text(parameter, "name")}`);
    }
    for (const tag of objectList(document, "tags")) need(tag, `${name}: ${text(tag, "name")}`);
    for (const [schema, described] of Object.entries(part(part(document, "components"), "schemas"))) {
      if (!isObject(described)) continue;
      need(described, `${name}: ${schema}`);
      for (const [field, value] of Object.entries(part(described, "properties"))) if (isObject(value)) need(value, `${name}: ${schema}.${field}`);
      const values = Array.isArray(described.enum) ? described.enum : [];
      for (const value of values) if (!text(described, "description").includes(`\`${String(value)}\``)) lacking.push(`${name}: ${schema} ${String(value)}`);
    }
  }
  assert.deepEqual(lacking, []);
});
