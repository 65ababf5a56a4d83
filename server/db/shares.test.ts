// Fair sharing of connections between organizations. Locks keep statements running as long as a test needs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { FairnessKey } from "#base/fair-queue.ts";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { openStore } from "./open.ts";
import type { Rows, Store } from "./handle.ts";
import { freshDatabase } from "../../test/database.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;
let other: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.ownerUrl, log: silent });
  other = await openStore({ databaseUrl: database.ownerUrl, log: silent });
  await store.write(async (rows) => {
    await rows.query("create table slow (id integer primary key, text text)");
    await rows.query("insert into slow values (1, ''), (2, ''), (3, '')");
  });
});
after(async () => {
  await Promise.all([store.close(), other.close()]);
  await database.drop();
});

const fairnessKey = (organization: string): FairnessKey => ({ organization, identity: "i" });
const of = (organization: string): Rows => store.forParty(fairnessKey(organization));
const wide = { rows: 1, wide: true };

/** While another transaction holds the locks of `statement`. */
const holding = async (statement: string, work: () => Promise<void>): Promise<void> => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: ready, resolve: locked } = Promise.withResolvers<void>();
  const holder = other.write(async (rows) => {
    await rows.query(statement);
    locked();
    await held;
  });
  await ready;
  try {
    await work();
  } finally {
    release();
    await holder;
  }
};

const waitingBackends = async (): Promise<unknown[]> =>
  (await other.read.query("select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).map(([pid]) => pid);

const waitingStatements = async (): Promise<number> => (await waitingBackends()).length;

const until = async (isTrue: () => Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await new Promise((resolve) => void setImmediate(resolve));
};

test("an organization's wide reads use only their share of the connections: cheap reads and other organizations' wide reads are not blocked", async () => {
  let running: Promise<PromiseSettledResult<unknown>[]> = Promise.resolve([]);
  await holding("lock table slow in access exclusive mode", async () => {
    running = Promise.allSettled(Array.from({ length: 20 }, () => of("greedy").read.query("select count(*) from slow", [], wide)));
    await until(async () => (await waitingStatements()) >= limits.wideReadsEach);
    assert.deepEqual(await of("quiet").read.query("select 1"), [["1"]]);
    assert.deepEqual(await of("greedy").read.query("select 1"), [["1"]]);
    assert.deepEqual(await of("quiet").read.query("select 2", [], { rows: 200, wide: false }), [["2"]]);
    assert.deepEqual(await of("quiet").read.query("select 3", [], wide), [["3"]]);
    assert.ok((await waitingStatements()) <= limits.wideReadsAlone);
  });
  assert.ok((await running).every(({ status }) => status === "fulfilled"));
});

test("wide reads beyond the queue limit are refused with a retry time, and queued ones complete", async () => {
  let running: Promise<PromiseSettledResult<unknown>[]> = Promise.resolve([]);
  const excess = 5;
  await holding("lock table slow in access exclusive mode", async () => {
    const count = limits.wideReadsAlone + limits.wideReadsWaitingEach + excess;
    const reads = Array.from({ length: count }, () => of("many").read.query("select count(*) from slow", [], wide));
    running = Promise.allSettled(reads);
    const refused = await Promise.race(reads.map((read) => read.then(() => undefined).catch((thrown: unknown) => thrown)));
    assert.ok(refused instanceof Fault && refused.code === "RESOURCE_EXHAUSTED");
    assert.equal(refused.headers["retry-after"], "1");
    assert.deepEqual(await of("few").read.query("select 1", [], wide), [["1"]]);
  });
  const failed = (await running).filter(({ status }) => status === "rejected");
  assert.ok(failed.length >= excess && failed.length <= excess + limits.wideReadsAlone - limits.wideReadsEach);
});

test("a read that is slower than expected continues as a wide read", async () => {
  let reading: Promise<unknown> = Promise.resolve();
  await holding("lock table slow in access exclusive mode", async () => {
    // Then it waits on another connection.
    reading = of("late").read.query("select text from slow where id = 1");
    await until(async () => (await waitingBackends()).length === 1);
    const [first] = await waitingBackends();
    await until(async () => {
      const backends = await waitingBackends();
      return backends.length === 1 && backends[0] !== first;
    });
    assert.deepEqual(await of("quiet").read.query("select 1"), [["1"]]);
    const all = Array.from({ length: 12 }, () => of("quiet").read.query("select 4"));
    assert.deepEqual(
      await Promise.all(all),
      Array.from({ length: 12 }, () => [["4"]]),
    );
  });
  assert.deepEqual(await reading, [[""]]);
});

/**
 * Whether a page of `rows` rows completes while another organization's page of `heldRows` waits. The waiting read moves to the wide
 * reads; a later result proves nothing and is tried again.
 */
const passesBeside = async (heldRows: number, rows: number): Promise<boolean> => {
  let passed = false;
  for (let tries = 0; !passed && tries < 5; tries++) {
    let reading: Promise<unknown> = Promise.resolve();
    await holding("lock table slow in access exclusive mode", async () => {
      // After one timeout a statement counts as wide.
      reading = of("holder").read.query(`select count(*) as held_${heldRows}_${tries} from slow`, [], { rows: heldRows, wide: false });
      await until(async () => (await waitingBackends()).length === 1);
      const [holder] = await waitingBackends();
      assert.deepEqual(await of("passing").read.query(`select ${tries}`, [], { rows, wide: false }), [[String(tries)]]);
      passed = (await waitingBackends())[0] === holder;
    });
    await reading;
  }
  return passed;
};

test("a page as large as an unpaged list uses only its organization's share and does not block other organizations' pages", async () => {
  assert.equal(await passesBeside(limits.unpagedListMax + 1, limits.pageSizeMax), true);
  assert.equal(await passesBeside(limits.unpagedListMax + 1, limits.unpagedListMax + 1), true);
});

test("a page as large as an unpaged list does not wait for other organizations' pages", async () => {
  assert.equal(await passesBeside(limits.pageSizeMax, limits.unpagedListMax + 1), true);
});

test("a transaction that waits for a row holds no connection that others need, even in the same organization", async () => {
  const change = (rows: Rows, id: number): Promise<unknown> =>
    rows.write((inside) => inside.query("update slow set text = 'changed' where id = $1", [id]), `row ${id}`);
  let running: Promise<unknown> = Promise.resolve();
  await holding("select 1 from slow where id = 1 for update", async () => {
    running = Promise.all(Array.from({ length: 100 }, () => change(of("greedy"), 1)));
    await until(async () => (await waitingStatements()) > 0);
    await change(of("greedy"), 2);
    await change(of("quiet"), 3);
    assert.equal(await waitingStatements(), 1);
  });
  await running;
});

test("an organization's transactions use only their share of the connections, whatever they wait for", async () => {
  const lock = (rows: Rows): Promise<unknown> => rows.write((inside) => inside.query("select 1 from slow where id = 1 for update"));
  let running: Promise<unknown> = Promise.resolve();
  await holding("select 1 from slow where id = 1 for update", async () => {
    running = Promise.all(Array.from({ length: 50 }, () => lock(of("greedy"))));
    await until(async () => (await waitingStatements()) >= limits.writesEach);
    await of("quiet").write((inside) => inside.query("update slow set text = 'quiet' where id = 2"));
    await store.write((inside) => inside.query("update slow set text = 'server' where id = 3"));
    assert.ok((await waitingStatements()) <= limits.writesAlone);
  });
  await running;
});

test("a failed transaction releases its slot", async () => {
  const failing = (): Promise<unknown> => of("failing").write((rows) => rows.query("select 1 / 0"), "row");
  for (let index = 0; index < limits.writesAlone * 3; index++) await assert.rejects(failing());
  await of("failing").write((rows) => rows.query("select 1"), "row");
});
