// Every List of the contract: cursors, order, skip, totals, filters, and page token ownership (requirement: Conventions; decisions: Lists).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isRoot, parentOf, rootOf } from "#base/uid.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { type Answer, callHttp, type Protocol } from "../client.ts";
import { oneOrAll, shareOf } from "../length.ts";
import { collectionOf, createOf, matcherOf, nonEmpty } from "../samples.ts";
import { plant } from "../told.ts";
import {
  everyCapabilityBut,
  protocols,
  folder,
  groupMessage,
  isList,
  isMade,
  neighbour,
  openStage,
  pluralOf,
  roleMessage,
  rowsOf,
  uidsOf,
  violationsOf,
} from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const rowsWanted = 23;
const pageSize = 5;

interface Subject {
  readonly method: MethodFact;
  readonly message: MessageFact;
  readonly create: MethodFact;
  readonly table: string;
  /** A separate group with known rows only. */
  readonly place: string;
  /** The parent of most rows. */
  readonly parent: string;
  readonly rows: ReadonlyMap<string, JsonObject>;
}

// Rows that an operation creates in or below a group. grown-lists.test.ts covers the others; a list of rows above a group
// (ListTermsAcceptances) has its own test.
const lists = nonEmpty(
  methods.filter((method) => isList(method) && method.unscoped && stage.answers(method) && isMade(method)),
  "list with an answer",
);

const method = (rpc: string): MethodFact | undefined => methods.find((each) => each.rpc === rpc && stage.answers(each));
const ownerCall = async (called: MethodFact, request: JsonObject): Promise<JsonObject> => world.ok(called.name, request);

// Byte order: a space sorts before "-", "Z" before "a".
const stems = ["a", "a b", "a-b", "a.b", "a_b", "aa", "z", "Z", "_", "0"];

const fill = async (list: MethodFact): Promise<Subject> => {
  const message = list.output.fields.find(({ json }) => json === pluralOf(list))?.message ?? assert.fail(`${list.rpc} lists nothing`);
  const create = createOf(message.name) ?? assert.fail(`nothing makes what ${list.rpc} lists`);
  const table = world.server.application.kernel.resources.get(message.name)?.shape.table.name ?? assert.fail(`${message.name} has no table`);
  const place = await folder(stage);
  const inner = await folder(stage, place);
  const above = create.input.byName.get("parent")?.refersTo ?? "";
  const parents = await Promise.all(
    [place, inner].map(async (each) => (above === groupMessage ? each : text(await stage.make(above, { place: each }), "uid"))),
  );
  const name = message.byName.get("name");
  const fitting = name ? stems.filter((stem) => matcherOf(name).test(`${stem}1`)) : [];
  const uids: string[] = above === groupMessage && message.name === groupMessage ? [inner] : [];
  for (let index = 0; uids.length < rowsWanted; index++) {
    // Some rows share a time, others differ by a millisecond or a second.
    world.clock.now += [0, 0, 1, 1000][index % 4] ?? 0;
    const body = fitting.length > 0 ? { name: `${fitting[index % fitting.length]}${index % 3}${index}` } : {};
    uids.push(text(await stage.make(message.name, { parent: parents[index % 4 === 3 ? 1 : 0] ?? place, body }), "uid"));
  }
  const update = method(`Update${message.short}`);
  if (update) {
    for (const uid of [uids[3], uids[11], uids[12]]) {
      world.clock.now += 500;
      await ownerCall(update, await stage.request(update, { place, uid: uid ?? "" }));
    }
  }
  const get = method(`Get${message.short}`) ?? assert.fail(`nothing gets a ${message.short}`);
  const rows = new Map<string, JsonObject>();
  for (const uid of uids) rows.set(uid, await ownerCall(get, { uid }));
  return { method: list, message, create, table, place, parent: parents[0] ?? place, rows };
};

interface Walk {
  readonly uids: string[];
  readonly totals: string[];
  readonly rows: JsonObject[];
}

/** Walks from the first page to the last; calls `between` between pages. */
const walk = async (
  list: MethodFact,
  request: JsonObject,
  { token, protocol = "rest", between }: { readonly token: string; readonly protocol?: Protocol; readonly between?: (page: number) => Promise<void> },
): Promise<Walk> => {
  const found: Walk = { uids: [], totals: [], rows: [] };
  let pageToken = "";
  for (let page = 1; ; page++) {
    assert.ok(page < 100, "a walk ends");
    const { code, reply, message } = await stage.call(protocol, list, { ...request, ...(pageToken ? { pageToken } : {}) }, { token });
    assert.equal(code, 0, message);
    found.uids.push(...uidsOf(list, reply));
    found.rows.push(...rowsOf(list, reply));
    found.totals.push(String(reply.totalCount));
    pageToken = text(reply, "nextPageToken");
    if (pageToken === "") return found;
    await between?.(page);
  }
};

const bytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Sorts as the contract promises: by the bytes of the field, then of the uid, both in the order's direction. */
const sorted = (rows: Iterable<JsonObject>, field: FieldFact, descending: boolean): string[] => {
  // gRPC's JSON omits a zero fraction, and "12Z" sorts after "12.100Z".
  const key = (row: JsonObject): string => (field.kind === "timestamp" ? new Date(text(row, field.json)).toISOString() : text(row, field.json));
  return [...rows]
    .sort((one, other) => (bytes(key(one), key(other)) || bytes(text(one, "uid"), text(other, "uid"))) * (descending ? -1 : 1))
    .map((row) => text(row, "uid"));
};

const sortable = (message: MessageFact): readonly FieldFact[] =>
  nonEmpty(
    message.fields.filter((field) => field.sortable),
    `sortable field of ${message.short}`,
  );

const orders = (message: MessageFact): { field: FieldFact; descending: boolean; orderBy: string; protocol: Protocol }[] =>
  sortable(message).flatMap((field, index) =>
    [false, true].map((descending) => ({
      field,
      descending,
      orderBy: `${field.name}${descending ? " desc" : ""}`,
      protocol: protocols[(index + (descending ? 1 : 0)) % 2] ?? "rest",
    })),
  );

const subjects: Subject[] = [];
for (const list of lists) subjects.push(await fill(list));
const other = await neighbour(stage);
for (const { message } of subjects) await stage.make(message.name, { place: other.organization });
const owner = await stage.owner();
const restart = limits.pageTokenLifetimeMs;

const assertViolation = (answer: Answer, field: string): string => {
  assert.equal(answer.code, codes.INVALID_ARGUMENT, answer.message);
  const violations = violationsOf(answer);
  assert.deepEqual(
    violations.map((each) => each.field),
    [field],
  );
  return violations[0]?.description ?? "";
};

const all = async (list: MethodFact, request: JsonObject, token = owner, protocol: Protocol = "rest"): Promise<string[]> => {
  const found = await walk(list, { pageSize: limits.pageSizeMax, ...request }, { token, protocol });
  assert.deepEqual(new Set(found.totals), new Set([String(found.uids.length)]));
  return found.uids;
};

for (const subject of subjects) {
  const { method: list, message, place, rows, table } = subject;
  const scope = { uidp: { descendantsOf: place } };

  test(`${list.rpc} walks every order forward, in both directions: each row once, sorted by bytes, with an exact and constant total`, async () => {
    for (const { field, descending, orderBy, protocol } of orders(message)) {
      const found = await walk(list, { ...scope, orderBy, pageSize }, { token: owner, protocol });
      assert.deepEqual(found.uids, sorted(rows.values(), field, descending), orderBy);
      assert.deepEqual(new Set(found.totals), new Set([String(rows.size)]));
    }
  });

  // A resource's Get may add fields without a column or an embedded summary (SCIM state).
  const besides = new Set((world.server.application.kernel.resources.get(message.name)?.methodFields ?? []).map((name) => message.byName.get(name)?.json));

  test(`${list.rpc} shows each row as its Get does`, async () => {
    for (const protocol of protocols) {
      const found = await walk(list, { ...scope, pageSize: 7 }, { token: owner, protocol });
      const get = method(`Get${message.short}`);
      assert.ok(get);
      for (const row of found.rows.slice(0, 5)) {
        const { reply } = await stage.call(protocol, get, { uid: text(row, "uid") }, { token: owner });
        assert.deepEqual(row, Object.fromEntries(Object.entries(reply).filter(([key]) => !besides.has(key) || key in row)));
      }
    }
  });

  test(`${list.rpc} neither misses nor repeats a row while others are created and deleted between pages`, async () => {
    const remove = method(`Delete${message.short}`) ?? assert.fail("nothing deletes");
    for (const { orderBy, protocol } of shareOf(
      orders(message).filter(({ field }) => ["uid", "name", "create_time", "update_time"].includes(field.name)),
      3,
    )) {
      const made: string[] = [text(await stage.make(message.name, { parent: subject.parent }), "uid")];
      const total = String(rows.size + 1);
      const { uids, totals } = await walk(
        list,
        { ...scope, orderBy, pageSize },
        {
          token: owner,
          protocol,
          between: async (page) => {
            world.clock.now += 1;
            made.push(text(await stage.make(message.name, { parent: subject.parent }), "uid"));
            if (page % 2 === 0) await ownerCall(remove, { uid: made.shift() ?? "" });
          },
        },
      );
      assert.equal(new Set(uids).size, uids.length, `${orderBy}: none twice`);
      assert.deepEqual(uids.filter((uid) => rows.has(uid)).length, rows.size, `${orderBy}: none missed`);
      assert.deepEqual(new Set(totals), new Set([total]), "the total is that of the first page");
      for (const uid of made) await ownerCall(remove, { uid });
    }
    assert.deepEqual(new Set(await all(list, scope)), new Set(rows.keys()));
  });

  test(`${list.rpc} skips from the start and from the cursor, and echoes this request's skip`, async () => {
    const uids = sorted(rows.values(), sortable(message)[0] ?? assert.fail(), false);
    for (const protocol of oneOrAll(protocols)) {
      const ask = async (request: JsonObject): Promise<JsonObject> => {
        const { code, reply, message: said } = await stage.call(protocol, list, { ...scope, orderBy: "uid", ...request }, { token: owner });
        assert.equal(code, 0, said);
        return reply;
      };
      for (const skip of [0, 1, 10, rowsWanted - 1, rowsWanted, rowsWanted + 5, 1000, 2_147_483_647]) {
        const reply = await ask({ skip, pageSize });
        assert.deepEqual(uidsOf(list, reply), uids.slice(skip, skip + pageSize));
        assert.equal(Number(reply.skipped ?? 0), skip);
        assert.equal(reply.totalCount, String(rows.size));
      }
      const first = await ask({ pageSize, skip: 3 });
      const second = await ask({ pageSize: 4, skip: 2, pageToken: text(first, "nextPageToken") });
      assert.deepEqual(uidsOf(list, second), uids.slice(3 + pageSize + 2, 3 + pageSize + 2 + 4));
      assert.equal(Number(second.skipped ?? 0), 2);
      const third = await ask({ pageSize, pageToken: text(second, "nextPageToken") });
      assert.deepEqual(uidsOf(list, third), uids.slice(14, 19));
      assert.equal(Number(third.skipped ?? 0), 0);
    }
    for (const protocol of protocols) assertViolation(await stage.call(protocol, list, { skip: -1 }, { token: owner }), "skip");
  });

  test(`${list.rpc} returns 50 rows by default, at most 200, and refuses a negative page_size`, async () => {
    const crowded = await folder(stage);
    const columns = (await stage.query("select column_name from information_schema.columns where table_name = $1 and is_generated = 'NEVER'", [table])).map(
      ([name]) => name ?? "",
    );
    const special: Readonly<Record<string, string>> = {
      uid: "$1 || '/' || lpad(to_hex(n), 16, '0')",
      name: "name || n",
      ...(table === "immutable_tag_rules" ? { pattern: "pattern || n" } : {}),
      identity_uid: "left(identity_uid, 41) || lpad(to_hex(n), 16, '0')",
      code_hash: "null",
      external_group_id: "external_group_id || n",
    };
    const clone = `insert into ${table} (${columns.join(", ")}) select ${columns.map((name) => special[name] ?? name).join(", ")}
      from ${table}, generate_series(1, 210) as n where uid = $2`;
    await world.server.application.services.store.write(async (write) => (await plant(write)).query(clone, [crowded, [...rows.keys()][1] ?? ""]));
    const within = { uidp: { descendantsOf: crowded } };
    for (const protocol of oneOrAll(protocols)) {
      for (const [asked, shown] of [
        [undefined, 50],
        [0, 50],
        [1, 1],
        [199, 199],
        [200, 200],
        [201, 200],
        [2_147_483_647, 200],
      ] as const) {
        const { reply } = await stage.call(protocol, list, { ...within, ...(asked === undefined ? {} : { pageSize: asked }) }, { token: owner });
        assert.equal(rowsOf(list, reply).length, shown, `page_size ${asked}`);
        assert.equal(reply.totalCount, "210");
        assert.ok(text(reply, "nextPageToken") !== "");
      }
      for (const asked of [-1, -2_147_483_648]) assertViolation(await stage.call(protocol, list, { pageSize: asked }, { token: owner }), "page_size");
    }
    assert.equal((await walk(list, within, { token: owner })).uids.length, 210);
    await world.server.application.services.store.write(async (write) =>
      (await plant(write)).query(`delete from ${table} where uid > $1 and uid < $2`, [`${crowded}/`, `${crowded}0`]),
    );
  });

  test(`${list.rpc} accepts every name of every sortable field, and lists them in the error for another`, async () => {
    for (const field of sortable(message)) {
      const wanted = await walk(list, { ...scope, orderBy: field.name, pageSize: 200 }, { token: owner });
      for (const name of [field.json, ...field.orderAliases, `${field.name} asc`, `  ${field.name}   asc `]) {
        assert.deepEqual((await walk(list, { ...scope, orderBy: name, pageSize: 200 }, { token: owner })).uids, wanted.uids, name);
      }
    }
    assert.deepEqual(
      (await walk(list, { ...scope, pageSize: 200 }, { token: owner })).uids,
      (await walk(list, { ...scope, orderBy: list.defaultOrder, pageSize: 200 }, { token: owner })).uids,
    );
    for (const protocol of oneOrAll(protocols)) {
      for (const orderBy of ["nonsense", "description", "__proto__", "constructor", "uid; drop table groups", "uid,name", "'"]) {
        const said = assertViolation(await stage.call(protocol, list, { orderBy }, { token: owner }), "order_by");
        for (const field of sortable(message)) assert.match(said, new RegExp(`\\b${field.name}\\b`));
      }
      for (const orderBy of ["uid sideways", "uid desc desc", "uid DESC", "desc uid"])
        assertViolation(await stage.call(protocol, list, { orderBy }, { token: owner }), "order_by");
    }
  });

  test(`${list.rpc} reports all errors of a request together`, async () => {
    for (const protocol of protocols) {
      const answer = await stage.call(protocol, list, { pageSize: -1, skip: -1, orderBy: "nonsense", uidp: { childrenOf: "no uid" } }, { token: owner });
      assert.equal(answer.code, codes.INVALID_ARGUMENT);
      assert.deepEqual(
        violationsOf(answer)
          .map(({ field }) => field)
          .sort(),
        ["order_by", "page_size", "skip", "uidp.children_of"],
      );
    }
  });

  test(`${list.rpc} reads snake_case and camelCase parameters alike, and refuses unknown and repeated ones by name`, async () => {
    const path = collectionOf(list);
    const get = (query: string): Promise<Answer> => callHttp(world.url, "GET", `${path}?${query}`, { token: owner });
    const camel = await get(`uidp.descendantsOf=${place}&pageSize=3&orderBy=uid%20desc&skip=1`);
    assert.equal(camel.code, 0, camel.message);
    const snake = await get(`uidp.descendants_of=${place}&page_size=3&order_by=uid+desc&skip=1`);
    const withoutToken = ({ nextPageToken: _token, ...reply }: JsonObject): JsonObject => reply;
    assert.deepEqual(withoutToken(snake.reply), withoutToken(camel.reply));
    const names = ["pageToken", "page_token"].map((name) =>
      get(`uidp.descendants_of=${place}&order_by=uid+desc&page_size=3&${name}=${text(camel.reply, "nextPageToken")}`),
    );
    const [one, two] = await Promise.all(names);
    assert.equal(one?.code, 0, one?.message);
    assert.deepEqual(uidsOf(list, one?.reply ?? {}), uidsOf(list, two?.reply ?? {}));
    for (const name of ["nonsense", "uidp.nonsense", "uidp", "__proto__", "uidp.__proto__", "constructor.name", "pageSize.x"])
      assertViolation(await get(`${name}=1`), name);
    assertViolation(await get("page_size=1&page_size=2"), "page_size");
    assertViolation(await get("page_size=1&pageSize=1"), "page_size");
    for (const value of ["many", "1.5", "1e3", "2147483648", "0x10", ""]) assertViolation(await get(`page_size=${value}`), "page_size");
  });

  test(`${list.rpc} always returns rows, totalCount and skipped, and nextPageToken on every page except the last`, async () => {
    const empty = await stage.call("rest", list, { uidp: { ids: [`${place}/0000000000000000`] } }, { token: owner });
    assert.deepEqual(empty.reply, { [pluralOf(list)]: [], totalCount: "0", skipped: 0 });
    const exact = await stage.call("rest", list, { ...scope, pageSize: rows.size }, { token: owner });
    assert.deepEqual(Object.keys(exact.reply).sort(), [pluralOf(list), "skipped", "totalCount"].sort());
    const short = await stage.call("rest", list, { ...scope, pageSize: rows.size - 1 }, { token: owner });
    assert.ok(Object.hasOwn(short.reply, "nextPageToken"));
  });

  test(`${list.rpc} accepts a page token only from its own caller and query, over either protocol, with any page_size and skip`, async () => {
    const request = { ...scope, orderBy: "uid", pageSize };
    const { reply } = await stage.call("rest", list, request, { token: owner });
    const pageToken = text(reply, "nextPageToken");
    const uids = sorted(rows.values(), sortable(message)[0] ?? assert.fail(), false);
    for (const protocol of protocols) {
      const next = await stage.call(protocol, list, { ...request, pageToken, pageSize: 3 }, { token: owner });
      assert.deepEqual(uidsOf(list, next.reply), uids.slice(pageSize, pageSize + 3), next.message);
    }
    const colleague = await stage.holder(everyCapabilityBut(""), world.organization);
    const foreign: [JsonObject, string][] = [
      [{ ...request, pageToken }, colleague.token],
      [{ ...request, pageToken }, other.owner.token],
      [{ ...request, pageToken, orderBy: "uid desc" }, owner],
      [{ ...request, pageToken, orderBy: "create_time" }, owner],
      [{ ...request, pageToken, uidp: { descendantsOf: world.organization } }, owner],
      [{ ...request, pageToken, uidp: { childrenOf: place } }, owner],
      [{ orderBy: "uid", pageToken }, owner],
    ];
    for (const protocol of oneOrAll(protocols))
      for (const [asked, token] of foreign) assertViolation(await stage.call(protocol, list, asked, { token }), "page_token");
    for (const elsewhere of shareOf(
      lists.filter((each) => each !== list),
      3,
    ))
      assertViolation(await stage.call("rest", elsewhere, { ...request, pageToken }, { token: owner }), "page_token");
  });

  test(`${list.rpc} refuses a page token with any part of it changed`, async () => {
    const { reply } = await stage.call("rest", list, { ...scope, pageSize }, { token: owner });
    const pageToken = text(reply, "nextPageToken");
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const places = [0, 7, 16, 17, 20, Math.floor(pageToken.length / 2), pageToken.length - 22, pageToken.length - 2, pageToken.length - 1];
    const forged = places.flatMap((at) =>
      [1, 32].map((by) => {
        const changed = alphabet[(alphabet.indexOf(pageToken[at] ?? "A") ^ by) % 64] ?? "A";
        return `${pageToken.slice(0, at)}${changed}${pageToken.slice(at + 1)}`;
      }),
    );
    forged.push(
      pageToken.slice(1),
      pageToken.slice(0, -1),
      `${pageToken}A`,
      `${pageToken}=`,
      `${pageToken} `,
      "x",
      "bnVsbA",
      "%00",
      `${pageToken}${pageToken}`,
      "é",
      " ",
    );
    for (const [index, token] of shareOf([...forged.entries()], 3)) {
      assert.notEqual(token, pageToken);
      assertViolation(await stage.call(protocols[index % 2] ?? "rest", list, { ...scope, pageSize, pageToken: token }, { token: owner }), "page_token");
    }
    assert.equal((await stage.call("rest", list, { ...scope, pageSize, pageToken }, { token: owner })).code, 0);
  });

  test(`${list.rpc} restarts at its first page if the token is older than three days, and reports it in a header`, async () => {
    const request = { ...scope, orderBy: "create_time", pageSize };
    const { reply } = await stage.call("rest", list, request, { token: owner });
    const pageToken = text(reply, "nextPageToken");
    const madeMs = world.clock.now;
    try {
      world.clock.now = madeMs + restart;
      const still = await stage.call("rest", list, { ...request, pageToken }, { token: await stage.owner() });
      assert.equal(still.headers["gantry-page-restarted"], undefined);
      assert.notDeepEqual(uidsOf(list, still.reply), uidsOf(list, reply));
      world.clock.now = madeMs + restart + 1;
      for (const protocol of protocols) {
        const again = await stage.call(protocol, list, { ...request, pageToken }, { token: await stage.owner() });
        assert.equal(again.code, 0, again.message);
        assert.equal(again.headers["gantry-page-restarted"], "true");
        assert.deepEqual(uidsOf(list, again.reply), uidsOf(list, reply));
        assert.equal(again.reply.totalCount, String(rows.size));
        assertViolation(await stage.call(protocol, list, { ...request, orderBy: "uid", pageToken }, { token: await stage.owner() }), "page_token");
        assertViolation(await stage.call(protocol, list, { ...request, pageToken: pageToken.slice(1) }, { token: await stage.owner() }), "page_token");
      }
    } finally {
      world.clock.now = madeMs;
    }
  });

  test(`${list.rpc} combines any uidp filters exactly as a plain filter over all rows`, async () => {
    // The owner's own organization, and built-in roles.
    const isVisible = (uid: string): boolean => rootOf(uid) === world.organization || (message.name === roleMessage && isRoot(uid));
    const everything = (await stage.query(`select uid from ${table} order by uid`)).map(([uid]) => uid ?? "").filter(isVisible);
    const isGroup = message.name === groupMessage;
    const plain: Readonly<Record<string, (uid: string, value: Json) => boolean>> = {
      descendantsOf: (uid, value) => uid.startsWith(`${value}/`),
      childrenOf: (uid, value) => uid.includes("/") && parentOf(uid) === value,
      ancestorsOf: (uid, value) =>
        isGroup ? String(value).startsWith(`${uid}/`) : uid.includes("/") && (value === parentOf(uid) || String(value).startsWith(`${parentOf(uid)}/`)),
      inRoot: (uid, value) => value !== true || uid.length === 40,
      ids: (uid, value) => Array.isArray(value) && value.includes(uid),
    };
    const declared = list.input.byName.get("uidp")?.message?.fields.map(({ json }) => json) ?? [];
    assert.deepEqual(Object.keys(plain).sort(), [...declared].sort(), "every uidp filter is tested");
    const [first = "", second = ""] = rows.keys();
    const [root = ""] = everything;
    const filters: JsonObject[] = [
      { descendantsOf: world.organization },
      { descendantsOf: place },
      { descendantsOf: subject.parent },
      { descendantsOf: first },
      { childrenOf: world.organization },
      { childrenOf: place },
      { childrenOf: subject.parent },
      { childrenOf: other.organization },
      { ancestorsOf: first },
      { ancestorsOf: place },
      { ancestorsOf: subject.parent },
      { ancestorsOf: world.organization },
      { inRoot: true },
      { inRoot: false },
      { ids: [first] },
      { ids: [first, second, root, `${place}/0000000000000000`] },
      { descendantsOf: place, childrenOf: subject.parent },
      { descendantsOf: subject.parent, childrenOf: place },
      { descendantsOf: other.organization, childrenOf: place },
      { childrenOf: subject.parent, ids: [first, root] },
      { inRoot: true, descendantsOf: world.organization },
      { ancestorsOf: first, descendantsOf: world.organization },
      {},
    ];
    for (const [index, uidp] of filters.entries()) {
      const wanted = everything.filter((uid) => Object.entries(uidp).every(([key, value]) => plain[key]?.(uid, value)));
      for (const orderBy of oneOrAll(["uid", "create_time desc"])) {
        const found = await all(list, { uidp, orderBy }, owner, protocols[index % 2]);
        assert.deepEqual([...found].sort(bytes), wanted, `${JSON.stringify(uidp)} ${orderBy}`);
      }
    }
    for (const protocol of oneOrAll(protocols)) {
      for (const field of ["descendants_of", "children_of", "ancestors_of"]) {
        const json = field.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
        for (const value of ["x", "/", place.slice(1), `${place}/`, `${place}0`, place.toUpperCase()]) {
          assertViolation(await stage.call(protocol, list, { uidp: { [json]: value } }, { token: owner }), `uidp.${field}`);
        }
      }
      assertViolation(await stage.call(protocol, list, { uidp: { ids: [first, "x"] } }, { token: owner }), "uidp.ids[1]");
    }
  });

  const filters = list.input.fields.filter(({ filter }) => filter);

  if (filters.length > 0)
    test(`${list.rpc} supports every declared filter (${filters.map(({ json }) => json).join(", ")}), alone and with a group`, async () => {
      const families: Readonly<Record<string, string>> = { is_referrer: "sha256-0a1b.sig", is_date: "latest-20250131", is_epoch: "1.2.3-r4" };
      const virtual: Readonly<Record<string, string>> = { parent: "left(uid, -17)" };
      const [, sample = {}] = [...rows.values()];
      const uid = text(sample, "uid");
      for (const [index, field] of filters.entries()) {
        const { column = "", comparison } = field.filter ?? {};
        const expression = virtual[column] ?? column;
        const protocol = protocols[index % 2] ?? "rest";
        const select = (condition: string, values: string[]): Promise<string[]> =>
          stage
            .query(`select uid from ${table} where uid > $1 and uid < $2 and ${condition} order by uid`, [`${place}/`, `${place}0`, ...values])
            .then((found) => found.map(([each]) => each ?? ""));
        if (comparison === "equal") {
          const [[value] = []] = await stage.query(`select ${expression} from ${table} where uid = $1`, [uid]);
          const wanted = await select(`${expression} = $3`, [value ?? ""]);
          const asked = (each: string): string | string[] => (field.shape === "list" ? [each] : each);
          assert.ok(wanted.length > 0);
          assert.deepEqual(await all(list, { ...scope, [field.json]: asked(value ?? ""), orderBy: "uid" }, owner, protocol), wanted, field.json);
          assert.ok((await all(list, { [field.json]: asked(value ?? ""), orderBy: "create_time" }, owner, protocol)).includes(uid));
          if (field.kind === "enum") continue;
          const none = field.uid ? `${place}/0000000000000000` : "no-such-value";
          assert.deepEqual(await all(list, { ...scope, [field.json]: asked(none) }, owner, protocol), []);
          // For proto3 `optional` fields and list entries an empty text is a filter; for others it is none.
          const empty = await callHttp(world.url, "GET", `${collectionOf(list)}?uidp.descendants_of=${place}&${field.name}=`, { token: owner });
          assert.equal(Number(empty.reply.totalCount), field.presence || field.shape === "list" ? 0 : rows.size, `${field.json} empty`);
        } else if (comparison === "after") {
          const times = [...rows.values()].map((row) => text(row, "updateTime")).sort();
          const middle = times[Math.floor(times.length / 2)] ?? "";
          const wanted = await select(`${expression} > $3::timestamptz`, [middle]);
          assert.ok(wanted.length > 0 && wanted.length < rows.size);
          assert.deepEqual(await all(list, { ...scope, [field.json]: middle, orderBy: "uid" }, owner, protocol), wanted);
        } else if (comparison === "include") {
          const name = families[column] ?? assert.fail(`no name for the family ${column}`);
          const made = text(await stage.make(message.name, { parent: subject.parent, body: { name } }), "uid");
          assert.ok(!(await all(list, scope, owner, protocol)).includes(made), "left out unless asked for");
          assert.ok((await all(list, { ...scope, [field.json]: true }, owner, protocol)).includes(made));
          assert.deepEqual(await all(list, { ...scope, name }, owner, protocol), [made], "asked for by name it is there");
          const remove = method(`Delete${message.short}`);
          if (remove) await ownerCall(remove, { uid: made });
        } else assert.fail(`${field.json}: how a ${comparison} filter narrows has no test`);
      }
    });

  test(`${list.rpc} returns the operator the rows of all organizations in one order, with an exact total`, async () => {
    const wanted = (await stage.query(`select uid from ${table} order by uid`)).map(([uid]) => uid ?? "");
    assert.ok([other.organization, world.organization].every((root) => wanted.some((uid) => uid.startsWith(root))));
    const operator = await stage.operator();
    for (const { field, descending, orderBy, protocol } of shareOf(orders(message), 3)) {
      const found = await walk(list, { orderBy, pageSize: 97 }, { token: operator, protocol });
      assert.deepEqual(new Set(found.totals), new Set([String(wanted.length)]), orderBy);
      assert.deepEqual([...found.uids].sort(bytes), wanted, orderBy);
      assert.deepEqual(found.uids, sorted(found.rows, field, descending), orderBy);
    }
  });

  test(`${list.rpc} merges a caller's sibling groups in every order, and shows nothing between them`, async () => {
    const [left, middle, right] = [await folder(stage), await folder(stage), await folder(stage)];
    const role = text(await stage.make(roleMessage, { capabilities: list.capabilities }), "uid");
    const { uid, token } = await stage.stranger(world.organization);
    await stage.bind(left, uid, role);
    await stage.bind(right, uid, role);
    await stage.bind(await folder(stage, right), uid, role);
    for (let index = 0; index < 4; index++)
      for (const group of [left, middle, right]) {
        world.clock.now += index;
        await stage.make(message.name, { place: group });
      }
    const everything = (await walk(list, { uidp: { descendantsOf: world.organization }, pageSize: 200 }, { token: owner })).rows;
    const readers = new Set(message.name === groupMessage ? [left, right] : []);
    const wanted = everything.filter(
      (row) => readers.has(text(row, "uid")) || text(row, "uid").startsWith(`${left}/`) || text(row, "uid").startsWith(`${right}/`),
    );
    assert.ok(wanted.length >= 8);
    for (const { field, descending, orderBy, protocol } of shareOf(orders(message), 3)) {
      const found = await walk(list, { orderBy, pageSize: 3, uidp: { descendantsOf: world.organization } }, { token, protocol });
      assert.deepEqual(found.uids, sorted(wanted, field, descending), orderBy);
      assert.deepEqual(new Set(found.totals), new Set([String(wanted.length)]));
    }
  });
}
