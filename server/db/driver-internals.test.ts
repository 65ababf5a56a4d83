// Pins the undocumented parts of `pg` that driver-internals.ts depends on, so that an update fails with a clear sentence.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import pg from "pg";
import { freshDatabase } from "../../test/database.ts";
import { announcedBackend, corkUntilEndOfTick, outgoing, sendStatement, sendStatements } from "./driver-internals.ts";
import { brokenConnection } from "./faults.ts";

const { version } = createRequire(import.meta.url)("pg/package.json") as { version: string };

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: pg.Client;

const connect = async (): Promise<pg.Client> => {
  const opened = new pg.Client({ connectionString: database.url, pipeline: true, types: { getTypeParser: () => (text: string) => text } });
  opened.on("error", () => {});
  await opened.connect();
  return opened;
};

before(async () => {
  database = await freshDatabase();
  client = await connect();
});
after(async () => {
  await client.end();
  await database.drop();
});

const fieldOf = (object: unknown, name: string): unknown => (typeof object === "object" && object !== null ? Reflect.get(object, name) : undefined);

const capture = (name: string | undefined, text: string) => {
  let statement: unknown;
  const result = sendStatement({ query: (sent: unknown) => (statement = sent) } as unknown as pg.ClientBase, name, text, ["a"]);
  return { statement, result };
};

const typesOf = (bytes: Buffer): string => {
  let types = "";
  for (let at = 0; at < bytes.length; at += 1 + bytes.readInt32BE(at + 1)) types += String.fromCharCode(bytes[at] ?? 0);
  return types;
};

const recorder = () => {
  const calls: string[] = [];
  return {
    calls,
    connection: {
      parsedStatements: {} as Record<string, string>,
      submittedNamedStatements: {} as Record<string, string>,
      query: () => calls.push("query"),
      describe: () => calls.push("describe"),
      stream: { write: (bytes: Buffer) => calls.push(typesOf(bytes)), cork() {}, uncork() {} },
    },
  };
};

const submit = (statement: unknown, connection: unknown): unknown => {
  const method = fieldOf(statement, "submit");
  return typeof method === "function" ? Reflect.apply(method, statement, [connection]) : new Error("there is no submit");
};

const rowsOf = (name: string, text: string, more: readonly string[] = []): Promise<readonly unknown[]> => sendStatement(client, name, text, more);

/** Each part, what depends on it, and a check. */
const parts: readonly (readonly [part: string, use: string, isKept: () => boolean | Promise<boolean>])[] = [
  ["Query", "statements have its prototype, so that pipeline mode takes them", () => capture("s", "select 1").statement instanceof pg.Query],
  [
    "Query.submit(connection)",
    "it calls prepare() of a statement, and sends nothing by itself",
    () => {
      const { calls, connection } = recorder();
      return submit(capture("s", "select 1").statement, connection) === null && calls.join(" ") === "PBES";
    },
  ],
  [
    "Query.requiresPreparation()",
    "it decides whether submit() calls prepare() or sends the text alone, also of a statement without a name",
    () => {
      const { calls, connection } = recorder();
      return submit(capture(undefined, "select 1").statement, connection) === null && calls.join(" ") === "PBES";
    },
  ],
  ["Query.text", "submit() refuses a statement without it", () => fieldOf(capture("s", "select 1").statement, "text") === "select 1"],
  ["Query.name", "the driver keeps account of prepared statements by it", () => fieldOf(capture("s", "select 1").statement, "name") === "s"],
  [
    "Query.handleError(error)",
    "it is called on a statement, with the error that it has failed with",
    async () => {
      const { statement, result } = capture("s", "select 1");
      const method = fieldOf(statement, "handleError");
      if (typeof method === "function") Reflect.apply(method, statement, [new Error("planted"), undefined]);
      return result.then(
        () => false,
        (error: unknown) => error instanceof Error && error.message === "planted",
      );
    },
  ],
  [
    "Query.handleRowDescription(), Query.handleCommandComplete()",
    "they are called on a statement, which ignores the first; the second ends its rows and has PostgreSQL's tag",
    async () => {
      const tags: string[] = [];
      await new Promise<void>((resolve, reject) => {
        const answered = (_: unknown, tag: string): void => void tags.push(tag);
        const end = (_: unknown, tag: string): void => resolve(answered(_, tag));
        sendStatements(client, [outgoing("t1", "select 1", [], answered, reject), outgoing("t2", "set application_name = gantry", [], end, reject)]);
      });
      return tags.join() === "SELECT 1,SET" && typeof fieldOf(pg.Query.prototype, "handleRowDescription") === "function";
    },
  ],
  [
    "Query.handleDataRow({ fields })",
    "its fields are the texts of the columns, null for NULL",
    async () => JSON.stringify(await rowsOf("rows", "select g, null, 'a' || g from generate_series(1, 2) as g")) === '[["1",null,"a1"],["2",null,"a2"]]',
  ],
  [
    "Query.handleReadyForQuery()",
    "it is called once a statement's rows are complete, each statement's own in their order",
    async () => {
      const texts = [1, 2, 3].map((number) => rowsOf(`ready ${number}`, `select ${number} from pg_sleep(${number === 1 ? 0.05 : 0})`));
      return JSON.stringify(await Promise.all(texts)) === '[[["1"]],[["2"]],[["3"]]]';
    },
  ],
  ["Connection.stream.write()", "a statement writes its messages with it", () => typeof client.connection.stream.write === "function"],
  [
    "Connection.parsedStatements",
    "a name is in it, with its text, once PostgreSQL has parsed the statement",
    async () => {
      await rowsOf("parsed", "select 5");
      return fieldOf(fieldOf(client.connection, "parsedStatements"), "parsed") === "select 5";
    },
  ],
  [
    "Connection.submittedNamedStatements",
    "a name is in it while the statement is on its way, and no longer when it has been parsed or has failed",
    async () => {
      const names = (): unknown => fieldOf(client.connection, "submittedNamedStatements");
      const sent = [rowsOf("submitted", "select 6"), rowsOf("failed", "select nothing from nowhere").catch(() => [])];
      const during = fieldOf(names(), "submitted") === "select 6" && fieldOf(names(), "failed") !== undefined;
      await Promise.all(sent);
      // A skipped statement's name disappears too.
      await new Promise((resolve) => {
        const ignore = (): void => {};
        const passed = outgoing("passed", "select 8", [], resolve, resolve);
        sendStatements(client, [outgoing("failed", "select nothing from nowhere", [], ignore, ignore), passed]);
      });
      return during && fieldOf(names(), "passed") === undefined && fieldOf(names(), "submitted") === undefined && fieldOf(names(), "failed") === undefined;
    },
  ],
  [
    "Client.connection.stream",
    "it is the stream of the connection, and isKept back what is written while it is corked",
    async () => {
      const { stream } = client.connection;
      corkUntilEndOfTick(client);
      const sent = rowsOf("corked", "select 7");
      const isHeldBack = stream.writableCorked > 0 && stream.writableLength > 0;
      await sent;
      return isHeldBack && stream.writableCorked === 0;
    },
  ],
  [
    "Client.processID",
    "a pooler is known by it: PostgreSQL itself announces there the process that then says it serves the connection",
    async () => JSON.stringify(await rowsOf("process", "select pg_backend_pid()")) === `[["${String(announcedBackend(client))}"]]`,
  ],
  [
    "the text of its error for a connection that was cut",
    "a broken connection without an error of the system's or of PostgreSQL's is known by it",
    async () => {
      const cut = await connect();
      const failed = sendStatement(cut, undefined, "select pg_sleep(10)", []).then(
        () => undefined,
        (error: unknown) => error,
      );
      cut.connection.stream.destroy();
      const late = sendStatement(cut, undefined, "select 1", []).then(
        () => undefined,
        (error: unknown) => error,
      );
      return (await Promise.all([failed, late])).every((error) => error instanceof Error && fieldOf(error, "code") === undefined && brokenConnection(error));
    },
  ],
  [
    "the text of its errors for a database that does not answer",
    "a connection that is not made in time is known by it, alone or in a pool",
    async () => {
      const silent = createServer(() => {}).listen(0, "127.0.0.1");
      await once(silent, "listening");
      const address = silent.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const config = { host: "127.0.0.1", port, user: "nobody", database: "none", connectionTimeoutMillis: 50 };
      const alone = new pg.Client(config);
      alone.on("error", () => {});
      const pool = new pg.Pool(config);
      const errors = await Promise.allSettled([alone.connect(), pool.connect()]);
      await pool.end();
      silent.close();
      return errors.every((error) => error.status === "rejected" && brokenConnection(error.reason));
    },
  ],
  [
    "the text of its error for a client that was closed",
    "a statement that comes after the close fails as one that reaches no database",
    async () => {
      const closed = await connect();
      await closed.end();
      const error: unknown = await sendStatement(closed, undefined, "select 1", []).catch((thrown: unknown) => thrown);
      return error instanceof Error && brokenConnection(error);
    },
  ],
];

for (const [part, use, isKept] of parts)
  test(`pg keeps ${part}: ${use}`, async () => {
    const kept = await Promise.resolve()
      .then(isKept)
      .catch(() => false);
    assert.ok(kept, `pg ${version} has changed ${part}, which its documentation does not promise and the store leans on: ${use}.`);
  });

test("statements sent together form one message that ends with one Sync", () => {
  let sent: unknown;
  const ignore = (): void => {};
  const statements = ["a", "b", "c"].map((name) => outgoing(name, `select '${name}'`, [null, "é", 3, true, ['"']], ignore, ignore));
  sendStatements({ query: (batch: unknown) => (sent = batch) } as unknown as pg.ClientBase, statements);
  const { calls, connection } = recorder();
  submit(sent, connection);
  assert.deepEqual(calls, ["PBEPBEPBES"]);
});

test("PostgreSQL receives every text and byte of a list", async () => {
  const texts = ["", "a", '"', "\\", "{}", "null", "NULL", "é", "\u{1f600}", " a,b ", "line\nend", "long".repeat(20_000)];
  const bodies = texts.map((text) => Buffer.from(text));
  for (const count of [texts.length, 1, 0]) {
    const lists = [texts.slice(0, count), bodies.slice(0, count), "7", ["1", "2"]];
    const statement = `select text, encode(body, 'hex'), $3::integer, (select sum(n) from unnest($4::bigint[]) as n)
      from unnest($1::text[], $2::bytea[]) with ordinality as given(text, body, ordinal) order by ordinal`;
    const rows = await sendStatement(client, undefined, statement, lists);
    assert.deepEqual(
      rows,
      texts.slice(0, count).map((text, index) => [text, bodies[index]?.toString("hex"), "7", "3"]),
    );
  }
});

test("PostgreSQL refuses a text with NUL in a list", async () => {
  const refused = sendStatement(client, undefined, "select unnest($1::text[])", [["a\0b"]]);
  await assert.rejects(refused, { code: "22021" });
});

test("this contract covers every driver method that a statement overrides", () => {
  const { statement } = capture("s", "select 1");
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(statement)).filter((name) => name !== "constructor");
  assert.ok(methods.length > 3);
  for (const method of methods) {
    assert.equal(typeof fieldOf(pg.Query.prototype, method), "function", `pg ${version} has no ${method} on its Query any more: nothing calls ours.`);
    assert.ok(method === "prepare" || parts.some(([part]) => part.includes(`Query.${method}(`)), `${method} is not in this contract`);
  }
});
