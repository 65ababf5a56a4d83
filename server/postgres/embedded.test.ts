// Life cycle of the embedded server, with real processes, each in its own directory.

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { silent } from "#base/log.ts";
import { openStore, sqlState, type Store } from "#db";
import pg from "pg";
import { databaseUrlOf } from "./address.ts";
import { type EmbeddedOptions, type EmbeddedPostgres, startEmbedded } from "./embedded.ts";
import { findInstallation, installationIn } from "./installation.ts";

const isRoot = process.getuid?.() === 0;
/** An ordinary user, if the tests run as root. */
const nobody = { uid: 65534, gid: 65534 };
const nobodyRuns = isRoot && spawnSync(process.execPath, ["--version"], { ...nobody, cwd: "/" }).status === 0;

const temporary = (t: TestContext): string => {
  const directory = mkdtempSync(join(tmpdir(), "gantry-postgres-"));
  chmodSync(directory, 0o755);
  t.after(() => {
    const relocated = existsSync(join(directory, "data")) && relocationOf(join(directory, "data"));
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    if (relocated) rmSync(relocated, { recursive: true, force: true });
  });
  return directory;
};

/** The directory below /var/lib/gantry with the data, if any. */
const relocationOf = (data: string): string | undefined => {
  const link = join(data, "postgres");
  return lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() ? dirname(readlinkSync(link)) : undefined;
};

const urlsOf = ({ address, ownerAddress }: EmbeddedPostgres) => ({ databaseUrl: databaseUrlOf(address), migrateUrl: databaseUrlOf(ownerAddress) });

// Creating a cluster takes most of a second, so most tests copy this one.
const model = mkdtempSync(join(tmpdir(), "gantry-postgres-"));
before(async () => {
  chmodSync(model, 0o711);
  const server = await startEmbedded({ dataDirectory: model, log: silent, progress: () => {}, durable: false });
  await (await openStore({ ...urlsOf(server), log: silent })).close();
  await server.stop();
});
after(() => rmSync(model, { recursive: true }));

/** A data directory used before. */
const used = (t: TestContext, ...below: string[]): string => {
  const data = join(temporary(t), "data", ...below);
  mkdirSync(dirname(data), { recursive: true });
  const { status } = spawnSync("cp", ["-a", model, data]);
  assert.equal(status, 0);
  return data;
};

/** A store on an embedded server that stops with it. */
const open = async (t: TestContext, dataDirectory: string, more: Partial<EmbeddedOptions> = {}): Promise<Store> => {
  const options = { dataDirectory, log: silent, progress: () => {}, ...more };
  const embedded = await startEmbedded(options);
  const store = await openStore({ ...options, ...urlsOf(embedded) });
  const close = async (): Promise<void> => {
    await store.close();
    await embedded.stop();
  };
  t.after(close);
  return { ...store, close };
};

const remember = (store: Store, text: string): Promise<void> =>
  store.write(async (rows) => {
    await rows.query("insert into access_versions (root) values ($1)", [text]);
  });

const remembered = async (store: Store): Promise<unknown[]> => (await store.read.query("select root from access_versions order by root")).map(([root]) => root);

const postmaster = (data: string): number => Number.parseInt(readFileSync(join(data, "postgres", "postmaster.pid"), "utf8"), 10);

const refusedWith = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Fault, String(error));
  assert.match(error.message, pattern);
  assert.doesNotMatch(error.message, /\n/);
  return true;
};

const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  for (const end = Date.now() + 10_000; !(await condition()); await sleep(10)) {
    assert.ok(Date.now() < end, "what was awaited did not happen");
  }
};

const program = `
  import { databaseUrlOf, startEmbedded } from "#postgres";
  import { openStore } from "#db";
  const [log, progress] = [() => {}, () => {}];
  try {
    const embedded = await startEmbedded({ dataDirectory: process.env.DATA, log, progress, join: process.env.JOIN === "yes" });
    const store = await openStore({ databaseUrl: databaseUrlOf(embedded.address), migrateUrl: databaseUrlOf(embedded.ownerAddress), log });
    await store.write((rows) => rows.query("insert into access_versions (root) values ($1)", [process.env.TEXT]));
    console.log("open");
    for await (const _ of process.stdin);
    await store.close();
    await embedded.stop();
    console.log("closed");
  } catch (error) {
    console.log("refused: " + error.message);
  }
`;

interface Gantry {
  readonly process: ChildProcess;
  /** Returns its next line. */
  nextLine(): Promise<string>;
  /** Stops it cleanly. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Another process that opens the store of this directory and writes `text`. */
const another = (t: TestContext, data: string, text: string, more: { as?: typeof nobody; join?: boolean } = {}): Gantry => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    ...more.as,
    cwd: join(import.meta.dirname, "..", ".."),
    env: { PATH: process.env["PATH"] ?? "", DATA: data, TEXT: text, JOIN: more.join ? "yes" : "" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  return {
    process: child,
    nextLine: async () => (await lines.next()).value ?? "nothing more",
    async stop() {
      child.stdin.end();
      await ended;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
};

test("data survives a restart, and nothing listens outside the data directory", async (t) => {
  const data = join(temporary(t), "data");
  const said: string[] = [];
  const first = await open(t, data, { progress: (line) => said.push(line) });
  await remember(first, "kept");
  const socket = join(data, "postgres", ".s.PGSQL.5432");
  assert.equal(statSync(join(data, "postgres")).mode & 0o777, 0o700);
  assert.equal(statSync(socket).mode & 0o777, 0o700);
  assert.deepEqual(await first.read.query("show listen_addresses"), [[""]]);
  const pid = postmaster(data);
  await first.close();
  assert.throws(() => process.kill(pid, 0), "PostgreSQL has ended");
  assert.match(said.join("\n"), /Making the database/);

  said.length = 0;
  const second = await open(t, data, { progress: (line) => said.push(line) });
  assert.deepEqual(await remembered(second), ["kept"]);
  assert.deepEqual(said, []);
  await second.close();
});

test("the serving role owns nothing and reaches only its own database, and the owner migrates", async (t) => {
  const data = used(t);
  const embedded = await startEmbedded({ dataDirectory: data, log: silent, progress: () => {} });
  t.after(() => embedded.stop());
  const ask = async (address: pg.ClientConfig, statement: string): Promise<unknown> => {
    const client = new pg.Client(address);
    await client.connect();
    try {
      return (await client.query({ text: statement, rowMode: "array" })).rows[0];
    } finally {
      await client.end();
    }
  };
  const roleText =
    "select current_user::text, rolsuper, exists (select from pg_class where relowner = pg_roles.oid) from pg_roles where rolname = current_user";
  assert.deepEqual(await ask({ ...embedded.address }, roleText), ["gantry_server", false, false]);
  assert.deepEqual(await ask({ ...embedded.ownerAddress }, roleText), ["gantry", true, true]);
  assert.deepEqual(await ask({ ...embedded.ownerAddress }, "show listen_addresses"), [""]);
  for (const database of ["postgres", "template1"])
    await assert.rejects(ask({ ...embedded.address, database }, "select 1"), /permission denied for database/, database);
  for (const statement of ["create table planted ()", "create temporary table planted ()", "create schema planted", "set role gantry", "create role planted"])
    await assert.rejects(ask({ ...embedded.address }, statement), (error) => sqlState(error) === "42501", statement);
  await assert.rejects(ask({ ...embedded.address, user: "somebody" }, "select 1"), /no pg_hba.conf entry/);
});

test("a data directory with one role gets the second at the next start, and keeps other access rules", async (t) => {
  const data = used(t);
  const rules = join(data, "postgres", "pg_hba.conf");
  const before = await open(t, data);
  await remember(before, "kept");
  await before.close();
  const embedded = await startEmbedded({ dataDirectory: data, log: silent, progress: () => {} });
  const owner = new pg.Client({ ...embedded.ownerAddress });
  await owner.connect();
  await owner.query("drop owned by gantry_server; drop role gantry_server");
  await owner.end();
  await embedded.stop();
  writeFileSync(rules, "local all gantry trust\nlocal all watcher trust");

  const after = await open(t, data);
  assert.deepEqual(await after.read.query("select current_user"), [["gantry_server"]]);
  await remember(after, "new");
  assert.deepEqual(await remembered(after), ["kept", "new"]);
  await after.close();
  assert.equal(readFileSync(rules, "utf8"), "local all gantry trust\nlocal all watcher trust\nlocal all gantry_server trust\n");
  await (await open(t, data)).close();
  assert.equal(readFileSync(rules, "utf8"), "local all gantry trust\nlocal all watcher trust\nlocal all gantry_server trust\n");
});

test("a second server on the same data directory is refused, and a command joins the first", async (t) => {
  const data = used(t);
  const server = await open(t, data);
  await assert.rejects(open(t, data), refusedWith(new RegExp(`${data} is in use by another Gantry \\(process ${process.pid}\\)`)));
  const other = another(t, data, "other");
  assert.match(await other.nextLine(), new RegExp(`^refused: .*in use by another Gantry \\(process ${process.pid}\\)`));

  const command = another(t, data, "from the command", { join: true });
  assert.equal(await command.nextLine(), "open");
  await command.stop();
  assert.deepEqual(await remembered(server), ["from the command"]);
  await server.close();

  const alone = await open(t, data, { join: true });
  assert.deepEqual(await remembered(alone), ["from the command"]);
  const pid = postmaster(data);
  await alone.close();
  assert.throws(() => process.kill(pid, 0), "the last user stops it");
});

test("a server uses the PostgreSQL that a command has started, and keeps it when the command ends", async (t) => {
  const data = used(t);
  const command = another(t, data, "from the command", { join: true });
  assert.equal(await command.nextLine(), "open");
  const pid = postmaster(data);
  const server = await open(t, data);
  assert.equal(postmaster(data), pid);
  await assert.rejects(open(t, data), refusedWith(/in use by another Gantry/), "there is one server");
  await command.stop();
  await remember(server, "from the server");
  assert.deepEqual(await remembered(server), ["from the command", "from the server"]);
  assert.equal(postmaster(data), pid);
  await server.close();
  assert.ok(!existsSync(join(data, "postgres", "postmaster.pid")), "the last user stops it");
});

test("after kill -9 of the server, a running command keeps its PostgreSQL, and the next server uses it", async (t) => {
  const data = used(t);
  const killed = another(t, data, "from the server");
  assert.equal(await killed.nextLine(), "open");
  const pid = postmaster(data);
  const command = await open(t, data, { join: true });
  await killed.kill();
  await remember(command, "from the command");
  const next = another(t, data, "from the next server");
  assert.equal(await next.nextLine(), "open");
  assert.equal(postmaster(data), pid);
  await next.stop();
  assert.deepEqual(await remembered(command), ["from the command", "from the next server", "from the server"]);
  await command.close();
  assert.ok(!existsSync(join(data, "postgres", "postmaster.pid")), "the last user stops it");
});

test("PostgreSQL survives a process that exits without stopping it if another one uses it", async (t) => {
  const data = used(t);
  const code = `
    import { startEmbedded } from "./server/postgres/embedded.ts";
    await startEmbedded({ dataDirectory: ${JSON.stringify(data)}, log() {}, progress() {}, durable: false });
    console.log("open");
    process.stdin.once("end", () => process.exit(1)).resume();
  `;
  const crashing = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: join(import.meta.dirname, "..", ".."),
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => crashing.kill("SIGKILL"));
  await once(crashing.stdout, "data");
  const events: string[] = [];
  const command = await open(t, data, { join: true, log: (event) => events.push(event) });
  crashing.stdin.end();
  await once(crashing, "close");
  await remember(command, "kept");
  assert.deepEqual(events, []);
  await command.close();
});

test("when PostgreSQL dies with the server, a command restarts it and continues", async (t) => {
  const data = used(t);
  const killed = another(t, data, "from the server");
  assert.equal(await killed.nextLine(), "open");
  const events: string[] = [];
  const command = await open(t, data, { join: true, log: (event) => events.push(event) });
  process.kill(postmaster(data), "SIGKILL");
  await killed.kill();
  await until(() => events.includes("store.postgres.revived"));
  await until(() =>
    remembered(command).then(
      (texts) => texts.includes("from the server"),
      () => false,
    ),
  );
  const server = another(t, data, "from the next server");
  assert.equal(await server.nextLine(), "open");
  await command.close();
  await server.stop();
});

test("of two servers started concurrently on a new directory, exactly one opens", async (t) => {
  const data = join(temporary(t), "data");
  const racers = [another(t, data, "one"), another(t, data, "two")];
  const said = await Promise.all(racers.map((racer) => racer.nextLine()));
  assert.equal(said.filter((line) => line === "open").length, 1, said.join(" | "));
  assert.equal(said.filter((line) => /^refused: .*in use/.test(line)).length, 1, said.join(" | "));
  await Promise.all(racers.map((racer) => racer.stop()));
  const after = await open(t, data);
  assert.equal((await remembered(after)).length, 1);
  await after.close();
});

test("after kill -9 of the server the next one takes over, with every committed row", async (t) => {
  const data = used(t);
  const killed = another(t, data, "committed");
  assert.equal(await killed.nextLine(), "open");
  const orphan = postmaster(data);
  await killed.kill();
  process.kill(orphan, 0);

  const next = await open(t, data);
  assert.notEqual(postmaster(data), orphan);
  assert.deepEqual(await remembered(next), ["committed"]);
  // After kill -9 of PostgreSQL too: its own recovery.
  await next.close();
  const again = another(t, data, "recovered");
  assert.equal(await again.nextLine(), "open");
  const lost = postmaster(data);
  await again.kill();
  process.kill(lost, "SIGKILL");
  const last = await open(t, data);
  assert.deepEqual(await remembered(last), ["committed", "recovered"]);
  await last.close();
});

test("a lock file with a reused process ID does not block the start", async (t) => {
  const data = used(t);
  const first = await open(t, data);
  const trace = join(data, "postgres", "postmaster.pid");
  const lock = join(data, "postgres", ".s.PGSQL.5432.lock");
  const [traceText, lockText] = [readFileSync(trace, "utf8"), readFileSync(lock, "utf8")];
  await first.close();
  const stranger = spawn("sleep", ["60"], isRoot ? nobody : {});
  t.after(() => stranger.kill());
  const { uid, gid } = statSync(join(data, "postgres"));
  for (const [file, text] of [
    [trace, traceText],
    [lock, lockText],
  ] as const) {
    writeFileSync(file, text.replace(/^\d+/, String(stranger.pid)), { mode: 0o600 });
    chownSync(file, uid, gid);
  }
  const second = await open(t, data);
  assert.notEqual(postmaster(data), stranger.pid);
  await second.close();
});

test("when PostgreSQL dies, calls are UNAVAILABLE until it has been restarted", async (t) => {
  const data = used(t);
  const events: string[] = [];
  const store = await open(t, data, { log: (event) => events.push(event) });
  await remember(store, "before");
  await Promise.all(Array.from({ length: 20 }, () => remembered(store)));
  const pid = postmaster(data);
  process.kill(pid, "SIGKILL");

  // Meanwhile: a result or UNAVAILABLE, nothing else. The outcome of a write is unknown if a process ended after its commit was sent.
  const reached = ["the database is not reachable"];
  const written = [
    ...reached,
    "the database did not confirm the change, which may have been made or not. Repeat the request with the same Idempotency-Key, or read the resource",
  ];
  const tried = async (call: () => Promise<unknown>, messages = reached): Promise<boolean> =>
    call().then(
      () => true,
      (error) => {
        assert.ok(error instanceof Fault, String(error));
        assert.equal(error.code, "UNAVAILABLE");
        assert.ok(messages.includes(error.message), error.message);
        return false;
      },
    );
  await until(async () => {
    await Promise.all([tried(() => remembered(store)), tried(() => store.write((rows) => rows.query("select 1")), written)]);
    return events.includes("store.postgres.revived");
  });
  await until(() => tried(() => remembered(store)));
  await until(() => tried(() => remember(store, "after")));
  assert.deepEqual(await remembered(store), ["after", "before"]);
  assert.notEqual(postmaster(data), pid);
  await assert.rejects(open(t, data), refusedWith(/in use by another Gantry/), "and it is still the owner");
});

test("a data directory too deep for a socket's path gets its socket in a private directory", async (t) => {
  const data = used(t, "d".repeat(60), "e".repeat(60));
  const store = await open(t, data);
  await remember(store, "deep");
  const folder = readFileSync(join(data, "postgres", "postmaster.pid"), "utf8").split("\n")[4] ?? "";
  assert.match(folder, /\/gantry-[0-9a-f]{16}$/);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  const command = another(t, data, "joined", { join: true });
  assert.equal(await command.nextLine(), "open");
  await command.stop();
  assert.deepEqual(await remembered(store), ["deep", "joined"]);
  await store.close();
  rmSync(folder, { recursive: true });
});

test("a data directory can have any name", async (t) => {
  const data = used(t, `100% of "it", a+b & c=d?#'`);
  const store = await open(t, data);
  await remember(store, "odd");
  assert.deepEqual(await remembered(store), ["odd"]);
  await store.close();
});

test("programs without links and execute bits are repaired, in a copy if they are read-only", async (t) => {
  const directory = temporary(t);
  const { folder: native } = findInstallation();
  const stripped = join(directory, "package", "native");
  cpSync(native, stripped, { recursive: true, verbatimSymlinks: true });
  cpSync(join(native, "..", "package.json"), join(directory, "package", "package.json"));
  const links = JSON.parse(readFileSync(join(stripped, "pg-symlinks.json"), "utf8")) as { target: string }[];
  const strip = (): void => {
    for (const { target } of links) unlinkSync(join(directory, "package", target));
    for (const name of ["initdb", "postgres"]) chmodSync(join(stripped, "bin", name), 0o644);
  };
  const options = { log: silent, progress: () => {}, durable: false, installed: installationIn(stripped) };

  strip();
  const repaired = await startEmbedded({ ...options, dataDirectory: join(directory, "data") });
  await repaired.stop();
  assert.ok(links.every(({ target }) => existsSync(join(directory, "package", target))));

  if (!nobodyRuns) return;
  // Owned by another user, so that the ordinary user cannot repair it.
  strip();
  const data = join(directory, "data2");
  mkdirSync(data);
  chownSync(data, nobody.uid, nobody.gid);
  const code = `
    import { startEmbedded } from "./server/postgres/embedded.ts";
    import { installationIn } from "./server/postgres/installation.ts";
    const installed = installationIn(${JSON.stringify(stripped)});
    const start = () => startEmbedded({ dataDirectory: ${JSON.stringify(data)}, log() {}, progress() {}, installed });
    for (let i = 0; i < 2; i++) await (await start()).stop();
    console.log("ran");
  `;
  const run = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { ...nobody, cwd: join(import.meta.dirname, "..", ".."), encoding: "utf8" });
  assert.equal(run.stdout, "ran\n", run.stderr);
  assert.ok(!existsSync(join(directory, "package", links[0]?.target ?? "")));
});

test("an unwritable directory is refused in one line that names GANTRY_DATA", { skip: !nobodyRuns && "needs root" }, async (t) => {
  const directory = temporary(t);
  const refused = another(t, join(directory, "data"), "x", { as: nobody });
  assert.match(await refused.nextLine(), /^refused: GANTRY_DATA: .*data cannot be made: EACCES/);
  const roots = await open(t, join(directory, "data"));
  await roots.close();
  const foreign = another(t, join(directory, "data"), "x", { as: nobody });
  assert.match(await foreign.nextLine(), /^refused: the database in .* belongs to user \d+.*GANTRY_DATA/);
});

test("an ordinary user's server works, and root continues its directory as that user", { skip: !nobodyRuns && "needs root" }, async (t) => {
  const data = join(temporary(t), "data");
  mkdirSync(data);
  chownSync(data, nobody.uid, nobody.gid);
  const ordinary = another(t, data, "ordinary", { as: nobody });
  assert.equal(await ordinary.nextLine(), "open");
  assert.equal(statSync(`/proc/${postmaster(data)}`).uid, nobody.uid);
  const command = another(t, data, "root's command", { join: true });
  assert.equal(await command.nextLine(), "open");
  await command.stop();
  await ordinary.stop();

  const root = await open(t, data);
  assert.equal(statSync(`/proc/${postmaster(data)}`).uid, nobody.uid);
  assert.deepEqual(await remembered(root), ["ordinary", "root's command"]);
  await root.close();
  const back = another(t, data, "again", { as: nobody });
  assert.equal(await back.nextLine(), "open");
  await back.stop();
});

test("below a directory that only root can enter, the database is relocated permanently", { skip: !isRoot && "needs root" }, async (t) => {
  const directory = temporary(t);
  chmodSync(directory, 0o700);
  const data = join(directory, "data");
  // A clone's programs are equally inaccessible.
  const { folder: native } = findInstallation();
  cpSync(native, join(directory, "package", "native"), { recursive: true, verbatimSymlinks: true });
  cpSync(join(native, "..", "package.json"), join(directory, "package", "package.json"));
  const said: string[] = [];
  const options = {
    dataDirectory: data,
    log: silent,
    progress: (line: string) => said.push(line),
    installed: installationIn(join(directory, "package", "native")),
  };

  const first = await startEmbedded(options);
  const relocated = relocationOf(data);
  assert.match(String(relocated), /^\/var\/lib\/gantry\/[0-9a-f]{12}$/);
  assert.match(said.join("\n"), new RegExp(`Only root can enter ${data}, so the database is kept in ${relocated}`));
  await assert.rejects(startEmbedded(options), refusedWith(/in use by another Gantry/));
  await first.stop();
  const second = await startEmbedded(options);
  await second.stop();
  assert.equal(relocationOf(data), relocated);

  // A missing directory must not become an empty database.
  rmSync(String(relocated), { recursive: true });
  await assert.rejects(startEmbedded(options), refusedWith(/is a link to .*, which does not exist\. .*GANTRY_DATA/));
});

test("data of another major version is refused with its number", async (t) => {
  const data = used(t);
  writeFileSync(join(data, "postgres", "PG_VERSION"), "17\n");
  await assert.rejects(open(t, data), refusedWith(/was made by PostgreSQL 17, and this Gantry brings 18/));
});

test("a process that does not close its store still exits, and PostgreSQL with it", async (t) => {
  const data = used(t);
  const code = `
    import { startEmbedded } from "./server/postgres/embedded.ts";
    await startEmbedded({ dataDirectory: ${JSON.stringify(data)}, log() {}, progress() {}, durable: false });
  `;
  const run = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { cwd: join(import.meta.dirname, "..", ".."), encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
  await until(() => !existsSync(join(data, "postgres", "postmaster.pid")));
});

test("the server uses the configured memory and disk", async (t) => {
  const tuning = { shared_buffers: "48MB", work_mem: "6MB", maintenance_work_mem: "80MB", max_wal_size: "320MB" };
  const store = await open(t, used(t), { tuning, durable: false });
  for (const [name, value] of Object.entries(tuning)) assert.deepEqual(await store.read.query("select current_setting($1)", [name]), [[value]]);
});
