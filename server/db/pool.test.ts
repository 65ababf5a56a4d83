// Statements and transactions on a real database.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { openStore } from "./open.ts";
import type { Store, Write } from "./handle.ts";
import { violatedConstraint } from "./faults.ts";
import { freshDatabase } from "../../test/database.ts";
import { requireRow } from "./rows.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  // To create tables.
  store = await openStore({ databaseUrl: database.ownerUrl, log: silent });
  await store.write((rows) => rows.query("create table notes (id integer primary key, text text, facts jsonb)"));
});
after(async () => {
  await store.close();
  await database.drop();
});

const faultOf = async (promise: Promise<unknown>): Promise<Fault> => {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof Fault, `expected a Fault, got ${thrown}`);
  return thrown;
};

const noted = (id: number): Promise<unknown> => store.read.query("select text from notes where id = $1", [id]);

test("two hundred concurrent reads each get their own rows", async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      store.read.query(index % 2 ? "select $1::int, g from generate_series(1, $2::int) as g" : "select $1::int, 1 limit $2::int", [index, (index % 7) + 1]),
    ),
  );
  for (const [index, rows] of answers.entries()) {
    assert.equal(rows.length, index % 2 ? (index % 7) + 1 : 1);
    for (const row of rows) assert.equal(row[0], String(index));
  }
});

test("values are returned in PostgreSQL's text format, in UTC", async () => {
  const rows = await store.read.query(
    "select $1::text, $2::int8, $3::boolean, $4::text[], null, '2026-11-20T12:00:00.120+02'::timestamptz(3), '{\"b\": [1]}'::jsonb",
    ["ü\\\"'", 42, true, ["a", 'b"\\c,{}', "", "NULL"]],
  );
  assert.deepEqual(rows, [["ü\\\"'", "42", "t", '{a,"b\\"\\\\c,{}","","NULL"}', null, "2026-11-20 10:00:00.12+00", '{"b": [1]}']]);
  assert.deepEqual(await store.read.query("select 1 where 'b' = any($1)", [["a", "b"]]), [["1"]]);
  assert.deepEqual(await store.read.query("select 1 where 'b' = any($1)", [[]]), []);
});

test("a failing read does not affect others on its connection", async () => {
  const answers = await Promise.allSettled(
    Array.from({ length: 60 }, (_, index) => store.read.query(index % 3 === 0 ? "select 1 / ($1::int * 0)" : "select $1::int", [index])),
  );
  for (const [index, answer] of answers.entries()) {
    if (index % 3 === 0) assert.equal(answer.status, "rejected");
    else assert.deepEqual(answer, { status: "fulfilled", value: [[String(index)]] });
  }
});

test("a statement that cannot be prepared fails the same way every time", async () => {
  for (let tries = 0; tries < 2; tries++) {
    const faults = await Promise.all(Array.from({ length: 9 }, () => faultOf(store.read.query("select nothing from nowhere where x = $1", [1]))));
    for (const fault of faults) assert.equal(fault.code, "INTERNAL");
  }
  assert.deepEqual(await store.read.query("select 1"), [["1"]]);
});

test("a read cannot write", async () => {
  const fault = await faultOf(store.read.query("insert into notes (id) values (99)"));
  assert.equal(fault.code, "INTERNAL");
  assert.deepEqual(await noted(99), []);
});

test("reads are retried on another connection if theirs is cut", async () => {
  const reads = Array.from({ length: 12 }, (_, index) => store.read.query("select $1::int from pg_sleep(0.1)", [index]));
  await store.write((rows) =>
    rows.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like '%pg_sleep(0.1)%' and pid <> pg_backend_pid()",
    ),
  );
  assert.deepEqual(
    (await Promise.all(reads)).flat(2),
    Array.from({ length: 12 }, (_, index) => String(index)),
  );
});

test("a transaction's writes are visible when it returns and rolled back when it throws", async () => {
  const answer = await store.write(async (rows) => {
    await rows.query("insert into notes (id, text) values (1, 'kept')");
    return "done";
  });
  assert.equal(answer, "done");
  assert.deepEqual(await noted(1), [["kept"]]);
  class Own extends Error {}
  await assert.rejects(
    store.write(async (rows) => {
      await rows.query("insert into notes (id, text) values (2, 'lost')");
      throw Object.assign(new Own("mine"), { code: "ENOENT" });
    }),
    Own,
  );
  assert.deepEqual(await noted(2), []);
});

test("a failed statement rolls back its transaction even if its fault is swallowed", async () => {
  const fault = await faultOf(
    store.write(async (rows) => {
      await rows.query("insert into notes (id, text) values (3, 'lost')");
      await rows.query("insert into notes (id) values (1)").catch(() => {});
      return "done";
    }),
  );
  assert.equal(fault.code, "ALREADY_EXISTS");
  assert.deepEqual(await noted(3), []);
});

test("a statement that is sent without waiting is committed with its transaction, and rolls it back if it fails", async () => {
  await store.write(async (rows) => {
    rows.send("insert into notes (id, text) values ($1, 'first of all')", [20]);
  });
  await store.write(async (rows) => {
    await rows.query("insert into notes (id, text) values (21, 'kept')");
    rows.send("insert into notes (id, text) values ($1, 'behind')", [22]);
  });
  assert.deepEqual(await Promise.all([20, 21, 22].map(noted)), [[["first of all"]], [["kept"]], [["behind"]]]);
  for (const sendsFirst of [true, false]) {
    const fault = await faultOf(
      store.write(async (rows) => {
        if (!sendsFirst) await rows.query("insert into notes (id, text) values (23, 'lost')");
        rows.send("insert into notes (id) values ($1)", [20]);
      }),
    );
    assert.equal(fault.code, "ALREADY_EXISTS");
  }
  assert.deepEqual(await noted(23), []);
  await Promise.all(Array.from({ length: 20 }, (_, index) => store.write((rows) => rows.query("insert into notes (id) values ($1)", [1600 + index]))));
  assert.deepEqual(await store.read.query("select count(*) from notes where id between 1600 and 1699"), [["20"]]);
});

test("a transaction that awaits no statement throws the fault of its first failed statement, as mapped by its sender", async () => {
  class Named extends Error {}
  const failing = (work: () => Promise<void> | void) =>
    store.write(async (rows) => {
      rows.send("insert into notes (id, text) values ($1, 'lost')", [30]);
      rows.send("insert into notes (id) values ($1)", [20], (fault) => new Named(fault.code));
      rows.send("insert into notes (id) values ($1)", [20], () => new Error("not the first"));
      await work();
    });
  const isNamed = (thrown: unknown): boolean => thrown instanceof Named && thrown.message === "ALREADY_EXISTS";
  await assert.rejects(
    failing(() => {}),
    isNamed,
  );
  // Also if the work throws before anything is sent.
  await assert.rejects(
    failing(() => {
      throw new Error("what the work has found");
    }),
    isNamed,
  );
  assert.deepEqual(await noted(30), []);
});

test("after a required row that does not exist, no later statement of the transaction takes effect", async () => {
  const absent = new Fault("NOT_FOUND", "not there");
  const requiring = (id: number, work: (rows: Write) => Promise<unknown>) =>
    store.write(async (rows) => {
      requireRow(rows, "select from notes where id = $1", [id], () => absent);
      await work(rows);
    });
  const insert = (rows: Write): Promise<unknown> => rows.query("insert into notes (id) values (31)");
  await assert.rejects(requiring(404, insert), (thrown) => thrown === absent);
  await assert.rejects(
    requiring(404, async (rows) => {
      await insert(rows).catch(() => {});
    }),
    (thrown) => thrown === absent,
  );
  assert.deepEqual(await noted(31), []);
  await requiring(20, insert);
  assert.deepEqual(await noted(31), [[null]]);
});

test("more statements than fit in one message keep their order", async () => {
  await store.write(async (rows) => {
    for (let index = 0; index < 350; index++)
      rows.send("insert into notes (id, text) values ($1, (select count(*) from notes where id <= -1000))", [-1000 - index]);
  });
  assert.deepEqual(await store.read.query("select count(*), count(*) filter (where text <> (-1000 - id)::text) from notes where id <= -1000"), [["350", "0"]]);
});

test("statements of one transaction may be sent together", async () => {
  await store.write((rows) => Promise.all(Array.from({ length: 50 }, (_, index) => rows.query("insert into notes (id) values ($1)", [1000 + index]))));
  assert.deepEqual(await store.read.query("select count(*) from notes where id between 1000 and 1499"), [["50"]]);
});

test("if a transaction cannot begin, nothing runs outside it, and it is retried on another connection", async () => {
  // Simulates a pooler that loses prepared statements.
  await store.write((rows) => rows.query('deallocate "begin"'));
  await store.write((rows) => Promise.all([1, 2, 3].map((index) => rows.query("insert into notes (id) values ($1)", [1500 + index]))));
  assert.deepEqual(await store.read.query("select count(*) from notes where id between 1500 and 1503"), [["3"]]);
});

test("a statement after the end of its transaction is refused", async () => {
  let leaked: Store["read"] | undefined;
  await store.write(async (rows) => {
    leaked = rows;
  });
  const fault = await faultOf(leaked?.query("insert into notes (id) values (4)") ?? Promise.resolve());
  assert.equal(fault.code, "INTERNAL");
});

test("a transaction with a serialization failure is retried from the start", async () => {
  await store.write((rows) => rows.query("insert into notes (id, text) values (5, '0')"));
  let tries = 0;
  let start = (): void => {};
  const allHaveRead = new Promise<void>((done) => (start = done));
  const add = (): Promise<unknown> =>
    store.write(async (rows) => {
      await rows.query("set transaction isolation level repeatable read");
      const [row] = await rows.query("select text from notes where id = 5");
      if (++tries === 3) start();
      await allHaveRead;
      await rows.query("update notes set text = $1 where id = 5", [String(Number(row?.[0]) + 1)]);
    });
  await Promise.all([add(), add(), add()]);
  assert.deepEqual(await noted(5), [["3"]]);
  assert.ok(tries > 3);
});

test("a transaction with repeated serialization failures is ABORTED after the maximum number of tries", async () => {
  let tries = 0;
  const fault = await faultOf(
    store.write(async (rows) => {
      tries++;
      await rows.query("do $$ begin raise exception 'again' using errcode = '40001'; end $$");
    }),
  );
  assert.equal(fault.code, "ABORTED");
  assert.equal(tries, limits.transactionTriesMax);
});

test("a failed commit is reported", async () => {
  await store.write((rows) => rows.query("create table late (id integer unique deferrable initially deferred)"));
  const fault = await faultOf(
    store.write(async (rows) => {
      await rows.query("insert into late values (1), (1)");
    }),
  );
  assert.equal(fault.code, "ALREADY_EXISTS");
  assert.deepEqual(await store.read.query("select * from late"), []);
});

test("a unique violation is ALREADY_EXISTS and names the index", async () => {
  const fault = await faultOf(store.write((rows) => rows.query("insert into notes (id) values (6), (6)")));
  assert.equal(fault.code, "ALREADY_EXISTS");
  assert.equal(violatedConstraint(fault), "notes_pkey");
  assert.equal(violatedConstraint(new Fault("ALREADY_EXISTS", "x")), undefined);
});

const unstorable: [string, string, (string | number | readonly string[])[]][] = [
  ["a NUL in a text", "insert into notes (id, text) values (7, $1)", ["a\0b"]],
  ["a NUL in a list", "select 1 where 'x' = any($1)", [["a\0b"]]],
  ["a NUL in JSON", "insert into notes (id, facts) values (7, $1)", ['{"a":"\\u0000"}']],
  ["half a surrogate pair in JSON", "insert into notes (id, facts) values (7, $1)", ['{"a":"\\ud800"}']],
  ["a number out of range", "insert into notes (id) values ($1)", [2 ** 40]],
  ["a year out of range", "select $1::timestamptz", ["999999-01-01T00:00:00Z"]],
];
for (const [what, statement, values] of unstorable) {
  test(`${what} is INVALID_ARGUMENT with a clear message`, async () => {
    const fault = await faultOf(store.write((rows) => rows.query(statement, values)));
    assert.equal(fault.code, "INVALID_ARGUMENT");
    assert.match(fault.message, /^Invalid argument: a (text|value) .*stored/);
  });
}

test("a text too long for its index is INVALID_ARGUMENT", async () => {
  const long = Array.from({ length: 20_000 }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000))).join("");
  const fault = await faultOf(
    store.write((rows) => rows.query("insert into groups (uid, name, create_time, update_time) values ('g', $1, now(), now())", [long])),
  );
  assert.equal(fault.code, "INVALID_ARGUMENT");
  assert.match(fault.message, /too long/);
});

test("a lock timeout is ABORTED", async () => {
  let release = (): void => {};
  const held = new Promise<void>((done) => (release = done));
  let locked = (): void => {};
  const ready = new Promise<void>((done) => (locked = done));
  const holder = store.write(async (rows) => {
    await rows.query("update notes set text = 'held' where id = 1");
    locked();
    await held;
  });
  await ready;
  const fault = await faultOf(
    store.write(async (rows) => {
      await rows.query("set local lock_timeout = 20");
      await rows.query("update notes set text = 'waited' where id = 1");
    }),
  );
  release();
  await holder;
  assert.equal(fault.code, "ABORTED");
});

test("a statement timeout is DEADLINE_EXCEEDED", async () => {
  const fault = await faultOf(
    store.write(async (rows) => {
      await rows.query("set local statement_timeout = 20");
      await rows.query("select pg_sleep(10)");
    }),
  );
  assert.equal(fault.code, "DEADLINE_EXCEEDED");
});

test("a transaction on a cut connection is UNAVAILABLE, and the next one works", async () => {
  const fault = await faultOf(store.write((rows) => rows.query("select pg_terminate_backend(pg_backend_pid())")));
  assert.equal(fault.code, "UNAVAILABLE");
  await store.write((rows) => rows.query("select 1"));
});

test("statements beyond the limit of prepared ones still run", async () => {
  for (let index = 0; index < 2_100; index += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, more) => store.read.query(`select $1::int + ${index + more}`, [1])));
  }
  assert.deepEqual(await store.read.query("select $1::int + 2099", [1]), [["2100"]]);
});

test("more transactions than connections wait for one", async () => {
  const count = limits.writeConnections * 4;
  await Promise.all(Array.from({ length: count }, (_, index) => store.write((rows) => rows.query("insert into notes (id) values ($1)", [2000 + index]))));
  assert.deepEqual(await store.read.query("select count(*) from notes where id >= 2000"), [[String(count)]]);
});

test("a missing database or an invalid URL is reported in one clear line", async () => {
  const refusal = async (databaseUrl: string): Promise<string> => (await faultOf(openStore({ databaseUrl, log: silent }))).message;
  assert.match(await refusal("mysql://secret@host/db"), /^DATABASE_URL must be an address of the form/);
  const address = new URL(database.url);
  address.pathname = "/nosuchdatabase";
  assert.match(await refusal(address.href), /^DATABASE_URL: the database does not let Gantry in: database "nosuchdatabase" does not exist$/);
  assert.match(await refusal("postgresql://u:secret@nosuchhost.invalid/db"), /^DATABASE_URL: the database is not reachable: .*nosuchhost/);
});

test("a closed store reports that it is stopping", async () => {
  const other = await openStore({ databaseUrl: database.url, log: silent });
  await other.read.query("select 1");
  await other.close();
  assert.equal((await faultOf(other.read.query("select 1"))).code, "UNAVAILABLE");
  assert.equal((await faultOf(other.write(async () => {}))).code, "UNAVAILABLE");
});
