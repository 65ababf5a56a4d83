// The embedded PostgreSQL, started and stopped with Gantry. It listens only on a Unix socket in a directory that its user (and root)
// can enter.
//
// The server and its commands share it. Each holds advisory locks in PostgreSQL over one connection, which the kernel closes even
// after kill -9. So no lock file can go stale.
//   use lock, shared        by every process that uses it. Whichever leaves last stops it
//   server lock             by `serve`: one server per data directory
//
//   postmaster.pid, in use         use it, whichever process started it
//   postmaster.pid, not in use     its users were killed: stop it cleanly, then start
//   none, or no such process       start
// PostgreSQL itself allows only one server per data directory.

import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { brokenConnection, sqlState } from "#db";
import pg from "pg";
import { addressIn, database, type ServerAddress, serverRole } from "./address.ts";
import { type DataDirectory, prepareDataDirectory } from "./data-directory.ts";
import type { Installation } from "./installation.ts";
import { clearStaleLockFiles, isServerOf } from "./postmaster-file.ts";
import { isAlive, readPostmasterFile } from "./postmaster-record.ts";
import { hasCluster, makeCluster, pollMs, type ServerProcess, startProcess, stopProcess } from "./server-process.ts";
import { errorText, startFailure } from "./start-failure.ts";
import { defaultTuning, type Tuning } from "./tuning.ts";

export interface EmbeddedPostgres {
  /** For serving, with the restricted role. */
  readonly address: ServerAddress;
  /** For migrations, as the cluster's owner. */
  readonly ownerAddress: ServerAddress;
  /** Stops the server, unless other processes use it. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDirectory: string;
  readonly log: Log;
  readonly progress: (line: string) => void;
  /** For commands: also next to a running server. */
  readonly join?: boolean;
  /** Memory and disk; ignored if another process has started it. */
  readonly tuning?: Tuning | undefined;
  /** False for tests only: faster, but a crash loses everything. */
  readonly durable?: boolean;
  /** For tests only: other programs than npm's. */
  readonly installed?: Installation;
}

const serverLock = "7166352907140";
const useLock = "7166352907142";
const setupLock = "7166352907143";

/** Announces this process to the other users of PostgreSQL. */
const useChannel = "gantry_use";

const connectTimeoutMs = limits.outboundTimeoutMs;

/** Limit for an unresponsive server. */
const silenceMs = 30_000;

/**
 * Grace period before trusting that a lock's holder is dead, or that a starter takes no lock: process IDs mean little across
 * containers, and are reused.
 */
const fadeMs = 1_000;

// ---- locks --------------------------------------------------------------------------------------------------------

interface LockConnection {
  readonly client: pg.Client;
  /** Below the client: decides whether the connection keeps this process alive. */
  readonly socket: Socket;
  /** Returns whether other processes have used the server since this one does, or before. */
  wasShared(): boolean;
}

type Claim =
  | { readonly is: "used"; readonly lock: LockConnection }
  /** No process uses it, and none can until this connection ends. */
  | { readonly is: "orphan"; readonly lock: LockConnection }
  /** By another server. */
  | { readonly is: "held"; readonly holder: number }
  /** Starting, stopping or recovering. */
  | { readonly is: "busy" }
  | { readonly is: "absent" };

const processIdIn = (name = ""): number => {
  const digits = name.slice(withoutTrailing(name, "0123456789").length);
  return digits === "" ? Number.NaN : Number(digits);
};

const holdersOf = (lock: string): string => `
  select application_name from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and granted and (classid::bigint << 32) + objid::bigint = ${lock} and pid <> pg_backend_pid()`;

const isTaken = async (client: pg.Client, call: string): Promise<boolean> =>
  (await client.query<{ taken: boolean }>(`select ${call} as taken`)).rows[0]?.taken === true;

interface ClaimOptions {
  /** Started by this process. */
  readonly ours: boolean;
  readonly asServer: boolean;
  /** Leave an unused server to its living starter, which may be about to use it. */
  readonly patient: boolean;
}

type Taken =
  | { readonly is: "used"; readonly byOthers: boolean }
  | { readonly is: "orphan" }
  | { readonly is: "busy" }
  | { readonly is: "held"; readonly holder: number };

const takeLocks = async (client: pg.Client, { ours, asServer, patient }: ClaimOptions): Promise<Taken> => {
  const busy: Taken = { is: "busy" };
  if (!(await isTaken(client, `pg_try_advisory_lock_shared(${useLock})`))) return busy;
  const { rows } = await client.query<{ starter: string; byOthers: boolean; server: string | null }>(`
    select current_setting('cluster_name') as starter, exists (${holdersOf(useLock)}) as "byOthers", (${holdersOf(serverLock)} limit 1) as server`);
  const { starter = "", byOthers = false, server = null } = rows[0] ?? {};
  if (asServer && server !== null) return { is: "held", holder: processIdIn(server) };
  // A server of an earlier version holds only its lock.
  if (!ours && !byOthers && server === null) {
    if (patient && isAlive(processIdIn(starter))) return busy;
    return (await isTaken(client, `pg_try_advisory_lock(${useLock})`)) ? { is: "orphan" } : busy;
  }
  return !asServer || (await isTaken(client, `pg_try_advisory_lock(${serverLock})`)) ? { is: "used", byOthers } : busy;
};

const claimUse = async (socketDirectory: string, options: ClaimOptions): Promise<Claim> => {
  const socket = new Socket();
  const client = new pg.Client({
    ...addressIn(socketDirectory, "postgres"),
    stream: () => socket,
    application_name: `gantry ${options.asServer ? "server" : "command"} ${process.pid}`,
    connectionTimeoutMillis: connectTimeoutMs,
  });
  client.on("error", () => {});
  const ownName = randomUUID();
  let isShared = !options.ours;
  client.on("notification", ({ payload }) => {
    if (payload !== ownName) isShared = true;
  });
  const lock: LockConnection = { client, socket, wasShared: () => isShared };
  try {
    await client.connect();
    await client.query(`listen ${useChannel}`);
    const taken = await takeLocks(client, options);
    if (taken.is === "orphan") return { is: taken.is, lock };
    if (taken.is === "used") {
      if (taken.byOthers) isShared = true;
      await client.query("select pg_notify($1, $2)", [useChannel, ownName]);
      return { is: taken.is, lock };
    }
    await client.end();
    return taken;
  } catch (error) {
    await client.end().catch(() => {});
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ECONNREFUSED") return { is: "absent" };
    if (brokenConnection(error) || sqlState(error) === "53300") return { is: "busy" };
    throw startFailure(`the database in ${socketDirectory} does not let Gantry in: ${errorText(error)}`, error);
  }
};

/** Returns false if other processes use PostgreSQL. If true, none can until it has stopped or this connection ends. */
const leaveUse = async ({ client }: LockConnection): Promise<boolean> => {
  try {
    if (!(await isTaken(client, `pg_advisory_unlock_shared(${useLock})`))) return false;
    if (!(await isTaken(client, `pg_try_advisory_lock(${useLock})`))) return false;
    return (await client.query(holdersOf(serverLock))).rowCount === 0;
  } catch {
    // It is gone or stopping.
    return false;
  }
};

// ---- starting -------------------------------------------------------------------------------------------------

interface Used {
  readonly lock: LockConnection;
  /** Of PostgreSQL. */
  readonly pid: number;
  readonly socketDirectory: string;
  /** Undefined if another process has started it. */
  readonly server: ServerProcess | undefined;
}

const inUse = (dataDirectory: string, holder: number) =>
  startFailure(
    `the data directory ${dataDirectory} is in use by another Gantry (process ${holder}). Stop that process, or set GANTRY_DATA to another directory`,
  );

/** Returns the process of another server if there is one and this is a server too. `earlier`: a PostgreSQL started before. */
const beginUse = async (
  data: DataDirectory,
  { log, progress, join = false, durable = true, tuning = defaultTuning }: EmbeddedOptions,
  earlier: ServerProcess | undefined,
): Promise<Used | { holder: number }> => {
  const { directory } = data;
  let server = earlier;
  const quietSince = Date.now();
  let waitIsTold = false;
  for (;;) {
    if (server?.hasEnded() && server === earlier) server = undefined;
    if (server?.hasEnded()) {
      // Another PostgreSQL started first, or is still stopping.
      if (!/already exists|still in use|pre-existing/.test(server.complaint()) || Date.now() - quietSince > silenceMs) {
        throw startFailure(`the embedded PostgreSQL in ${directory} did not start: ${server.complaint() || "it gave no reason"}`);
      }
      server = undefined;
      await sleep(pollMs * 10);
    }
    const postmaster = await readPostmasterFile(directory);
    const ours = server !== undefined && postmaster?.pid === server.child.pid;
    if (postmaster && (ours ? postmaster.ready : postmaster.socketDirectory !== "")) {
      const patient = Date.now() - quietSince < fadeMs;
      const claim = await claimUse(postmaster.socketDirectory, { ours, asServer: !join, patient });
      // The holder was just killed: PostgreSQL is about to notice.
      const isFading = claim.is === "held" && !isAlive(claim.holder) && patient;
      if (claim.is === "held" && !isFading) return { holder: claim.holder };
      if (claim.is === "used") return { lock: claim.lock, ...postmaster, server: ours ? server : undefined };
      if (claim.is === "orphan") {
        log("store.postgres.orphan", { pid: postmaster.pid });
        await stopProcess(postmaster.pid, async () => (await readPostmasterFile(directory))?.pid !== postmaster.pid);
        await claim.lock.client.end().catch(() => {});
        continue;
      }
    }
    if (!server && (!postmaster || !(await isServerOf(postmaster.pid, directory)))) {
      await clearStaleLockFiles(data);
      server = await startProcess(data, durable, tuning, log);
      continue;
    }
    // Recovery after a crash has no time limit; only an unresponsive foreign process does.
    if (!waitIsTold && Date.now() - quietSince > connectTimeoutMs) {
      progress("Waiting for the database to recover or to stop…");
      waitIsTold = true;
    }
    if (!server && Date.now() - quietSince > silenceMs) {
      throw startFailure(`a PostgreSQL (process ${postmaster?.pid}) uses ${directory} and does not respond. Stop it`);
    }
    await sleep(pollMs);
  }
};

const hasDatabase = async (client: pg.Client): Promise<boolean> =>
  (await client.query("select from pg_database where datname = $1", [database])).rowCount !== 0;

const hasServerRole = async (client: pg.Client): Promise<boolean> =>
  (await client.query("select from pg_roles where rolname = $1", [serverRole])).rowCount !== 0;

/** The role for serving can enter only this database and create nothing. Migrations grant its access to rows (server/db). */
const ensureDatabase = async (client: pg.Client): Promise<void> => {
  if (await hasServerRole(client)) return;
  await client.query(`select pg_advisory_lock(${setupLock})`);
  if (!(await hasDatabase(client))) await client.query(`create database ${database}`);
  if (!(await hasServerRole(client)))
    await client.query(`
      begin;
      create role ${serverRole} login;
      revoke all on database ${database}, postgres, template1 from public;
      grant connect on database ${database} to ${serverRole};
      commit`);
  await client.query(`select pg_advisory_unlock(${setupLock})`);
};

const addressesIn = (socketDirectory: string): Pick<EmbeddedPostgres, "address" | "ownerAddress"> => ({
  address: addressIn(socketDirectory, database, serverRole),
  ownerAddress: addressIn(socketDirectory, database),
});

/** Starts the embedded server of a data directory, or uses the running one. */
export const startEmbedded = async (options: EmbeddedOptions): Promise<EmbeddedPostgres> => {
  const { dataDirectory, log, progress, durable = true } = options;
  const data = await prepareDataDirectory(dataDirectory, progress, options.installed);
  if (!(await hasCluster(data))) {
    progress(`Making the database in ${data.directory} (once)`);
    await makeCluster(data, durable);
  }

  const first = await beginUse(data, options, undefined);
  if ("holder" in first) throw inUse(dataDirectory, first.holder);

  let used: Used = first;
  let stopping = false;
  const stopped = new AbortController();
  let restarting: Promise<void> = Promise.resolve();

  // Stops the server cleanly even if this process crashes. One that others use continues, and the last of them stops it.
  const onExit = (): void => {
    const { server, lock } = used;
    if (server?.child.pid !== undefined && !server.hasEnded() && !lock.wasShared()) process.kill(server.child.pid, "SIGINT");
  };

  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal: stopped.signal }).catch(() => {});

  /** Retries until PostgreSQL runs or this process stops. */
  const restart = async (): Promise<void> => {
    log("store.postgres.lost", {});
    for (let pauseMs = 50; !stopping; pauseMs = Math.min(pauseMs * 2, connectTimeoutMs)) {
      try {
        const { server } = used;
        const next = await beginUse(data, options, server?.hasEnded() ? undefined : server);
        if ("holder" in next) {
          // Another Gantry restarted it, and our connections use that. When it stops, this one takes over.
          log("store.postgres.taken", { holder: next.holder });
          await pause(connectTimeoutMs);
          continue;
        }
        used = next;
        watchConnection();
        log("store.postgres.revived", { pid: next.pid });
        return;
      } catch (error) {
        log("store.postgres.failed", { error });
        await pause(pauseMs);
      }
    }
  };
  const watchConnection = (): void => {
    // Neither connection nor server keeps a finished process alive.
    used.lock.socket.unref();
    used.lock.client.once("end", () => {
      if (!stopping) restarting = restart();
    });
  };

  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    stopped.abort();
    await restarting;
    const { lock, pid, server } = used;
    lock.socket.ref();
    const hasEnded = server?.hasEnded ?? (async () => (await readPostmasterFile(data.directory))?.pid !== pid);
    if (!(await hasEnded()) && (await leaveUse(lock))) {
      server?.child.ref();
      await stopProcess(pid, hasEnded);
      await server?.ended;
    }
    await lock.client.end().catch(() => {});
    process.removeListener("exit", onExit);
  };

  process.on("exit", onExit);
  try {
    await ensureDatabase(used.lock.client);
  } catch (error) {
    await stop();
    throw error;
  }
  watchConnection();
  return { ...addressesIn(first.socketDirectory), stop };
};
