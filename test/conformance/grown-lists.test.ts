// Every List without a Create (events, deliveries, imported data): cursors, order, skip, totals, and page token ownership (requirement:
// Conventions; decisions: Lists). list.test.ts covers the others.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { oneOrAll } from "../length.ts";
import { createOf, nonEmpty } from "../samples.ts";
import { personOfSessions, requestsOfGrown, grown } from "./grown.ts";
import { everyCapabilityBut, protocols, folder, hasPlaces, isList, isMade, neighbour, openStage, pluralOf, rowMessage, rowsOf, violationsOf } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const rowsWanted = 12;
const pageSize = 5;

// A list of plain values, or of resources above a group, has its own test.
const lists = nonEmpty(
  methods.filter((method) => isList(method) && stage.answers(method) && !isMade(method) && !made(method)),
  "list of what grows",
);

/** Returns true if an operation other than Create makes the rows (accepted terms, bindings). */
function made(method: MethodFact): boolean {
  return (
    methods.some(({ writes, rpc, service }) => writes && service === method.service && rpc.startsWith("Accept")) ||
    createOf(rowMessage(method)?.name ?? "") !== undefined
  );
}

interface Subject {
  readonly method: MethodFact;
  /** Selects the known rows. */
  readonly scope: JsonObject;
  readonly mint: () => Promise<string>;
  readonly rows: readonly JsonObject[];
}

/** The test client's JSON shortens times over gRPC. */
const key = (row: JsonObject): string => text(row, "uid") || JSON.stringify(row).replaceAll(".000Z", "Z");

const ask = async (method: MethodFact, request: JsonObject, token: string): Promise<JsonObject> => {
  const { code, reply, message } = await stage.call("rest", method, request, { token });
  assert.equal(code, 0, message);
  return reply;
};

const fill = async (method: MethodFact): Promise<Omit<Subject, "rows">> => {
  const message = rowMessage(method) ?? assert.fail(`${method.rpc} lists nothing`);
  const grow = grown[message.name] ?? assert.fail(`nothing grows what ${method.rpc} lists: grown.ts says how`);
  const place = await folder(stage);
  for (let index = 0; index < rowsWanted; index++) {
    world.clock.now += [0, 1, 1000][index % 3] ?? 0;
    await grow(world, place);
  }
  const asked = { ...(await stage.request(method, { place })), ...requestsOfGrown[message.name] };
  const scope = hasPlaces(method.input) ? { ...asked, uidp: { descendantsOf: place } } : asked;
  // These belong to the caller, and the owner has none.
  const person = method.name === "gantry.sessions.v1.SessionsService/ListSessions" ? await personOfSessions(world, place) : undefined;
  return { method, scope, mint: () => (person === undefined ? stage.owner() : world.token(person)) };
};

const known = async ({ method, scope, mint }: Omit<Subject, "rows">): Promise<Subject> => {
  const rows = rowsOf(method, await ask(method, { ...scope, pageSize: limits.pageSizeMax }, await mint()));
  assert.ok(rows.length >= rowsWanted && rows.length < limits.pageSizeMax, `${method.rpc}: ${rows.length} rows`);
  return { method, scope, mint, rows };
};

const walk = async (method: MethodFact, request: JsonObject, token: string): Promise<JsonObject[]> => {
  const found: JsonObject[] = [];
  const totals = new Set<string>();
  for (let pageToken = "", page = 0; ; page++) {
    assert.ok(page < 100, "a walk ends");
    const { code, reply, message } = await stage.call(protocols[page % 2] ?? "rest", method, { ...request, ...(pageToken ? { pageToken } : {}) }, { token });
    assert.equal(code, 0, message);
    found.push(...rowsOf(method, reply));
    totals.add(text(reply, "totalCount"));
    pageToken = text(reply, "nextPageToken");
    if (pageToken === "") break;
  }
  assert.deepEqual(totals, new Set([String(found.length)]), "the total is exact and constant");
  return found;
};

// Fills all lists before reading any, since filling one may add rows to another.
const filled: Omit<Subject, "rows">[] = [];
for (const method of lists) filled.push(await fill(method));
const subjects: Subject[] = [];
for (const subject of filled) subjects.push(await known(subject));
const other = await neighbour(stage);

for (const { method, scope, mint, rows } of subjects) {
  const token = await mint();
  const sortable = (rowMessage(method)?.fields ?? []).filter((field) => field.sortable);
  const orders = sortable.flatMap(({ name }) => [name, `${name} desc`]);

  test(`${method.rpc} walks every order, each row once, and its reverse in reverse`, async () => {
    for (const { name } of sortable) {
      const [forth, back] = await Promise.all([name, `${name} desc`].map((orderBy) => walk(method, { ...scope, orderBy, pageSize }, token)));
      assert.deepEqual(forth?.map(key).sort(), rows.map(key).sort(), name);
      assert.deepEqual(back?.map(key), forth?.map(key).reverse(), name);
    }
    assert.deepEqual((await walk(method, { ...scope, pageSize: 7 }, token)).map(key), rows.map(key), "its default order");
  });

  const repeated = method.input.fields.flatMap(({ shape, filter, json }) => {
    const column = shape === "list" && filter?.comparison === "equal" ? rowMessage(method)?.byName.get(filter.column) : undefined;
    return column ? [{ json, column: column.json }] : [];
  });
  const textsOf = (value: Json | undefined): string[] => [value ?? []].flat().map(String);
  for (const { json, column } of repeated) {
    test(`${method.rpc} returns each row with a ${column} among its ${json} once, even for repeated values`, async () => {
      const values = [...new Set(rows.flatMap((row) => textsOf(row[column])))].slice(0, 2);
      assert.ok(values.length > 0, `no row has ${column}`);
      for (const wanted of [values.slice(0, 1), values]) {
        const found = rows
          .filter((row) => textsOf(row[column]).some((value) => wanted.includes(value)))
          .map(key)
          .sort();
        for (const orderBy of oneOrAll(orders))
          assert.deepEqual((await walk(method, { ...scope, [json]: [...wanted, ...wanted], orderBy, pageSize }, token)).map(key).sort(), found, orderBy);
      }
    });
  }

  test(`${method.rpc} skips from the start and from the cursor, and echoes this request's skip`, async () => {
    const first = await ask(method, { ...scope, skip: 2, pageSize }, token);
    assert.deepEqual(rowsOf(method, first).map(key), rows.slice(2, 2 + pageSize).map(key));
    assert.equal(first.skipped, 2);
    const second = await ask(method, { ...scope, skip: 1, pageSize: 3, pageToken: text(first, "nextPageToken") }, token);
    assert.deepEqual(rowsOf(method, second).map(key), rows.slice(3 + pageSize, 6 + pageSize).map(key));
    for (const skip of [rows.length + 5, 2_147_483_647]) {
      for (const pageToken of ["", text(first, "nextPageToken")]) {
        const beyond = await ask(method, { ...scope, skip, pageSize, ...(pageToken ? { pageToken } : {}) }, token);
        assert.deepEqual([rowsOf(method, beyond), beyond.totalCount, beyond.skipped, beyond.nextPageToken], [[], String(rows.length), skip, undefined]);
      }
    }
  });

  test(`${method.rpc} refuses a negative page_size and skip and an unknown order by name, and lists the valid orders`, async () => {
    for (const protocol of protocols) {
      const answer = await stage.call(protocol, method, { ...scope, pageSize: -1, skip: -1, orderBy: "nonsense" }, { token });
      assert.equal(answer.code, codes.INVALID_ARGUMENT);
      const violations = violationsOf(answer);
      assert.deepEqual(violations.map(({ field }) => field).sort(), ["order_by", "page_size", "skip"]);
      const said = violations.find(({ field }) => field === "order_by")?.description ?? "";
      for (const { name } of sortable) assert.match(said, new RegExp(`\\b${name}\\b`));
    }
  });

  test(`${method.rpc} always returns rows, totalCount and skipped, and nextPageToken on every page except the last`, async () => {
    const whole = await ask(method, { ...scope, pageSize: limits.pageSizeMax }, token);
    // Lists of affected images also report unevaluated packages (docs/decisions/0074), and findings are counted by severity.
    const besides = method.output.fields.map(({ json }) => json).filter((json) => ["coverage", "summary"].includes(json));
    assert.deepEqual(Object.keys(whole).sort(), [pluralOf(method), ...besides, "skipped", "totalCount"].sort());
    assert.ok(Object.hasOwn(await ask(method, { ...scope, pageSize: rows.length - 1 }, token), "nextPageToken"));
  });

  test(`${method.rpc} accepts a page token only from its own caller and query, and restarts after three days`, async () => {
    const reply = await ask(method, { ...scope, pageSize }, token);
    const pageToken = text(reply, "nextPageToken");
    const refused = async (request: JsonObject, by: string): Promise<void> => {
      const answer = await stage.call("rest", method, { ...request, pageToken: text(request, "pageToken") || pageToken }, { token: by });
      assert.equal(answer.code, codes.INVALID_ARGUMENT, answer.message);
      assert.deepEqual(
        violationsOf(answer).map(({ field }) => field),
        ["page_token"],
      );
    };
    if (!method.open) {
      await refused(scope, (await stage.holder(everyCapabilityBut(""), world.organization)).token);
      if (method.unscoped) await refused(scope, other.owner.token);
    }
    for (const orderBy of oneOrAll(orders.filter((order) => order !== method.defaultOrder))) await refused({ ...scope, orderBy }, token);
    for (const forged of [pageToken.slice(1), `${pageToken}A`, "x", "é"]) await refused({ ...scope, pageToken: forged }, token);
    const madeMs = world.clock.now;
    try {
      world.clock.now = madeMs + limits.pageTokenLifetimeMs + 1;
      const again = await stage.call("rest", method, { ...scope, pageSize, pageToken }, { token: await mint() });
      assert.equal(again.headers["gantry-page-restarted"], "true");
      assert.deepEqual(rowsOf(method, again.reply).map(key), rows.slice(0, pageSize).map(key));
    } finally {
      world.clock.now = madeMs;
    }
  });
}
