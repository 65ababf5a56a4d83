// Two PostgreSQL servers, primary and standby, for failover tests, with the programs included in Gantry or those of a folder.
// They listen on local ports and trust local users.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { appendFile, chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { migrate } from "../server/db/migrate.ts";
import { freePort } from "./free-port.ts";
import { prepareDataDirectory } from "../server/postgres/data-directory.ts";
import pg from "pg";

const run = promisify(execFile);

/** Many times longer than any wait here. */
const untilMaxMs = 120_000;

/**
 * Polls until the condition is met. Throws after `maxMs`, because an endless loop would keep the process alive after its test has
 * failed and hang the run.
 */
export const until = async <T>(what: () => Promise<T | undefined> | T | undefined, maxMs: number = untilMaxMs): Promise<T> => {
  const endMs = performance.now() + maxMs;
  for (;;) {
    const found = await what();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`this did not come within ${maxMs} ms: ${what}`);
    await sleep(20);
  }
};

/** For a server that has started. */
const connectMaxMs = 5_000;

const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

export interface PostgresHost {
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Kills all its processes at once, as a power failure does. */
  kill(): Promise<void>;
  /** Freezes all its processes: requests are neither refused nor answered. */
  pause(): void;
  /** Continues the frozen processes. */
  resume(): void;
  query(statement: string): Promise<(string | null)[][]>;
}

export interface ReplicatedPostgres {
  /** Initially the primary and its standby. */
  readonly first: PostgresHost;
  readonly second: PostgresHost;
  /** DATABASE_URL of both hosts, standby first; for the server's role, and for the owner. */
  readonly url: string;
  readonly ownerUrl: string;
  /** The same for these hosts only. */
  urlOf(...hosts: readonly PostgresHost[]): string;
  promote(): Promise<void>;
  close(): Promise<void>;
}

export interface ReplicationOptions {
  /** A commit is acknowledged once the standby has it. */
  readonly synchronous: boolean;
  /** Folder of PostgreSQL's programs; default: those included in Gantry. */
  readonly programs?: string;
}

const settings = (port: number, more: Readonly<Record<string, string>>): string[] =>
  Object.entries({
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    wal_level: "replica",
    hot_standby: "on",
    max_connections: "100",
    shared_buffers: "32MB",
    // The kernel's buffers survive a kill; power failures are not tested.
    fsync: "off",
    wal_receiver_status_interval: "1s",
    wal_retrieve_retry_interval: "100ms",
    log_min_messages: "fatal",
    ...more,
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);

export const startReplicatedPostgres = async ({ synchronous, programs }: ReplicationOptions): Promise<ReplicatedPostgres> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-replicated-"));
  await chmod(folder, 0o711);
  const { installation, runAs } = await prepareDataDirectory(join(folder, "own"), () => {});
  const programsFolder = programs ?? join(installation.folder, "bin");
  const user = runAs ? { uid: runAs.uid, gid: runAs.gid } : {};
  const environment = { PATH: process.env.PATH ?? "", LC_ALL: "C", TZ: "UTC" };
  const tool = (name: string, args: readonly string[]) => run(join(programsFolder, name), [...args], { ...user, cwd: "/", env: environment });
  const data = join(folder, "data");
  await mkdir(data, { mode: 0o700 });
  if (runAs) await chown(data, runAs.uid, runAs.gid);

  const makeHost = async (name: string, more: Readonly<Record<string, string>>): Promise<PostgresHost & { readonly directory: string }> => {
    const port = await freePort();
    const directory = join(data, name);
    // Unique, because another test may have a server of the same name.
    const clusterName = `${name} of ${process.pid} at ${port}`;
    let child: ChildProcess | undefined;
    const query: PostgresHost["query"] = async (statement) => {
      const client = new pg.Client({
        connectionString: `postgresql://gantry@127.0.0.1:${port}/gantry`,
        types: { getTypeParser: () => (text: string) => text },
      });
      client.on("error", () => {});
      await client.connect();
      try {
        return (await client.query<(string | null)[]>({ text: statement, rowMode: "array" })).rows;
      } finally {
        await client.end();
      }
    };
    const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
    /** Signals the server and its child processes, each in its own group, and returns them. */
    const signalAll = (which: "SIGKILL" | "SIGSTOP" | "SIGCONT"): number[] => {
      const pid = child?.pid;
      if (pid === undefined || !isRunning()) return [];
      // First prevents it from starting others.
      process.kill(pid, "SIGSTOP");
      const others = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
      const all = [...others, pid];
      for (const each of all) if (isAlive(each)) process.kill(each, which);
      return all;
    };
    const closed = async (end: () => readonly number[]): Promise<void> => {
      if (child === undefined || !isRunning()) return;
      const gone = once(child, "close");
      const ending = end();
      await gone;
      // Child processes exit slightly later and block a new start on the directory.
      await until(() => (ending.some(isAlive) ? undefined : true));
    };
    return {
      port,
      directory,
      query,
      pause: () => void signalAll("SIGSTOP"),
      resume: () => void signalAll("SIGCONT"),
      stop: () =>
        closed(() => {
          child?.kill("SIGINT");
          return [];
        }),
      kill: () => closed(() => signalAll("SIGKILL")),
      async start() {
        child = spawn(join(programsFolder, "postgres"), ["-D", directory, ...settings(port, { cluster_name: clusterName, ...more })], {
          ...user,
          cwd: "/",
          env: environment,
          stdio: ["ignore", "ignore", "ignore"],
        });
        const isUp = async (): Promise<true | undefined> => {
          // Otherwise another process would be responding.
          if (!isRunning()) throw new Error(`the PostgreSQL server ${name} ended`);
          const client = new pg.Client({ connectionString: `postgresql://gantry@127.0.0.1:${port}/postgres`, connectionTimeoutMillis: connectMaxMs });
          client.on("error", () => {});
          try {
            await client.connect();
            const { rows } = await client.query<[string]>({ text: "show cluster_name", rowMode: "array" });
            return rows[0]?.[0] === clusterName ? true : undefined;
          } catch {
            return undefined;
          } finally {
            client.end().catch(() => {});
          }
        };
        await until(isUp);
      },
    };
  };

  const first = await makeHost("first", synchronous ? { synchronous_standby_names: "second" } : {});
  const second = await makeHost("second", {});
  const close = async (): Promise<void> => {
    await Promise.all([first.kill(), second.kill()]);
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  try {
    await tool("initdb", ["-D", first.directory, "-U", "gantry", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
    await appendFile(join(first.directory, "pg_hba.conf"), "host replication all 127.0.0.1/32 trust\n");
    const conninfo = `host=127.0.0.1 port=${first.port} user=gantry application_name=second`;
    const hasBackupProgram = existsSync(join(programsFolder, "pg_basebackup"));
    const role = "gantry_server";
    const urlFor =
      (user_: string) =>
      (...hosts: readonly PostgresHost[]): string =>
        `postgresql://${user_}@${hosts.map(({ port }) => `127.0.0.1:${port}`).join(",")}/gantry?target_session_attrs=read-write`;
    const urlOf = urlFor(role);
    const fillFirst = async (): Promise<void> => {
      const client = new pg.Client({ connectionString: `postgresql://gantry@127.0.0.1:${first.port}/postgres` });
      await client.connect();
      // The standby cannot acknowledge yet.
      await client.query("set synchronous_commit = local");
      await client.query("create database gantry");
      await client.query(`create role ${role} login`);
      await client.query("alter role gantry set synchronous_commit = local");
      await client.end();
      await migrate(urlFor("gantry")(first), { progress: () => {}, serverUrl: urlOf(first) });
      await first.query("alter role gantry reset synchronous_commit");
    };
    await first.start();
    await fillFirst();
    if (hasBackupProgram) {
      await tool("pg_basebackup", ["-d", conninfo, "-D", second.directory, "-R", "-X", "stream", "-c", "fast"]);
    } else {
      // Gantry's programs do not include pg_basebackup: copies the stopped primary.
      await first.stop();
      await run("cp", ["-a", first.directory, second.directory]);
      await writeFile(join(second.directory, "standby.signal"), "");
      await appendFile(join(second.directory, "postgresql.auto.conf"), `primary_conninfo = '${conninfo}'\n`);
      await first.start();
    }
    await second.start();
    const state = synchronous ? "sync" : "async";
    await until(async () =>
      (await first.query(`select from pg_stat_replication where state = 'streaming' and sync_state = '${state}'`)).length > 0 ? true : undefined,
    );
    return {
      first,
      second,
      urlOf,
      url: urlOf(second, first),
      ownerUrl: urlFor("gantry")(second, first),
      async promote() {
        await second.query("select pg_promote()");
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};
