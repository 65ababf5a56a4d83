// The embedded PostgreSQL, started and stopped with Gantry. It listens only on a Unix socket in a directory that its user (and root)
// can enter.
//
// Ownership is an advisory lock in PostgreSQL, held over one connection, which the kernel closes even after kill -9. So no lock file
// can go stale, and two processes never both own it.
//   postmaster.pid, lock held      another Gantry runs: refuse, or join it
//   postmaster.pid, lock free      its Gantry was killed: stop it cleanly, then start
//   none, or no such process       start
// PostgreSQL itself allows only one server per data directory.

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
import { clearStaleLockFiles, isAlive, isServerOf, readPostmasterFile } from "./postmaster-file.ts";
import { hasCluster, makeCluster, pollMs, type ServerProcess, startProcess, stopProcess } from "./server-process.ts";
import { errorText, startFailure } from "./start-failure.ts";
import { defaultTuning, type Tuning } from "./tuning.ts";

export interface EmbeddedPostgres {
  /** For serving, with the restricted role. */
  readonly address: ServerAddress;
  /** For migrations, as the cluster's owner. */
  readonly ownerAddress: ServerAddress;
  /** False if it was joined and belongs to another process. */
  readonly owned: boolean;
  /** Stops the server, unless it was joined. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDirectory: string;
  readonly log: Log;
  readonly progress: (line: string) => void;
  /** Join the server of a running Gantry instead of refusing. */
  readonly join?: boolean;
  /** Memory and disk; ignored for a joined server. */
  readonly tuning?: Tuning | undefined;
  /** False for tests only: faster, but a crash loses everything. */
  readonly durable?: boolean;
  /** For tests only: other programs than npm's. */
  readonly installed?: Installation;
}

const ownerLock = "7166352907140";

const connectTimeoutMs = limits.outboundTimeoutMs;

/** Limit for an unresponsive server. */
const silenceMs = 30_000;

/**
 * Grace period before trusting that a lock's holder is dead, or a starter takes no lock: process IDs mean little across containers,
 * and are reused.
 */
const fadeMs = 1_000;

// ---- ownership --------------------------------------------------------------------------------------------------

interface LockConnection {
  readonly client: pg.Client;
  /** Below the client: decides whether the connection keeps this process alive. */
  readonly socket: Socket;
}

type Claim =
  | { readonly is: "mine"; readonly lock: LockConnection }
  | { readonly is: "held"; readonly holder: number }
  /** Starting, stopping, recovering, or changing owners. */
  | { readonly is: "busy" }
  | { readonly is: "absent" };

const processIdIn = (name = ""): number => {
  const digits = name.slice(withoutTrailing(name, "0123456789").length);
  return digits === "" ? Number.NaN : Number(digits);
};

/** While `patient`, leaves a server to its living starter, which may be about to take the lock. */
const claimOwnership = async (socketDirectory: string, patient: boolean): Promise<Claim> => {
  const socket = new Socket();
  const client = new pg.Client({
    ...addressIn(socketDirectory, "postgres"),
    stream: () => socket,
    application_name: `gantry owner ${process.pid}`,
    connectionTimeoutMillis: connectTimeoutMs,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ starter: string; holder: string | null }>(`
      select current_setting('cluster_name') as starter, (
        select application_name from pg_locks join pg_stat_activity using (pid)
        where locktype = 'advisory' and granted and (classid::bigint << 32) + objid::bigint = ${ownerLock} limit 1
      ) as holder`);
    const { starter = "", holder = null } = rows[0] ?? {};
    if (holder === null && !(patient && isAlive(processIdIn(starter)))) {
      const taken = await client.query<{ mine: boolean }>(`select pg_try_advisory_lock(${ownerLock}) as mine`);
      if (taken.rows[0]?.mine) return { is: "mine", lock: { client, socket } };
    }
    await client.end();
    return holder === null ? { is: "busy" } : { is: "held", holder: processIdIn(holder) };
  } catch (error) {
    await client.end().catch(() => {});
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ECONNREFUSED") return { is: "absent" };
    if (brokenConnection(error) || sqlState(error) === "53300") return { is: "busy" };
    throw startFailure(`the database in ${socketDirectory} does not let Gantry in: ${errorText(error)}`, error);
  }
};

// ---- starting -------------------------------------------------------------------------------------------------

interface Owned {
  readonly lock: LockConnection;
  readonly server: ServerProcess;
}

const inUse = (dataDirectory: string, holder: number) =>
  startFailure(
    `the data directory ${dataDirectory} is in use by another Gantry (process ${holder}). Stop that process, or set GANTRY_DATA to another directory`,
  );

/** Returns the current owner if it is another. `earlier`: a process started before. */
const takeOwnership = async (
  data: DataDirectory,
  { log, progress, durable = true, tuning = defaultTuning }: EmbeddedOptions,
  earlier: ServerProcess | undefined,
): Promise<Owned | { holder: number; socketDirectory: string }> => {
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
      const claim = await claimOwnership(postmaster.socketDirectory, !ours && Date.now() - quietSince < fadeMs);
      // The holder was just killed: PostgreSQL is about to notice.
      const isFading = claim.is === "held" && !isAlive(claim.holder) && Date.now() - quietSince < fadeMs;
      if (claim.is === "held" && !isFading) return { holder: claim.holder, socketDirectory: postmaster.socketDirectory };
      if (claim.is === "mine") {
        if (ours && server) return { lock: claim.lock, server };
        log("store.postgres.orphan", { pid: postmaster.pid });
        await claim.lock.client.end();
        await stopProcess(postmaster.pid, async () => (await readPostmasterFile(directory))?.pid !== postmaster.pid);
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
  if (!(await hasDatabase(client))) await client.query(`create database ${database}`);
  if (await hasServerRole(client)) return;
  await client.query(`
    begin;
    create role ${serverRole} login;
    revoke all on database ${database}, postgres, template1 from public;
    grant connect on database ${database} to ${serverRole};
    commit`);
};

const addressesIn = (socketDirectory: string): Pick<EmbeddedPostgres, "address" | "ownerAddress"> => ({
  address: addressIn(socketDirectory, database, serverRole),
  ownerAddress: addressIn(socketDirectory, database),
});

/** The server may still be creating its database. */
const joinServer = async (socketDirectory: string): Promise<EmbeddedPostgres> => {
  const client = new pg.Client({ ...addressIn(socketDirectory, "postgres"), connectionTimeoutMillis: connectTimeoutMs });
  client.on("error", () => {});
  await client.connect();
  try {
    const until = Date.now() + silenceMs;
    while (!(await hasServerRole(client))) {
      if (Date.now() > until) {
        throw startFailure(`the Gantry that runs in ${socketDirectory} has made no role ${serverRole}, so it is of an earlier version: restart it first`);
      }
      await sleep(pollMs);
    }
  } finally {
    await client.end();
  }
  return { ...addressesIn(socketDirectory), owned: false, stop: async () => {} };
};

/** Starts the embedded server of a data directory, or joins the running one. */
export const startEmbedded = async (options: EmbeddedOptions): Promise<EmbeddedPostgres> => {
  const { dataDirectory, log, progress, durable = true } = options;
  const data = await prepareDataDirectory(dataDirectory, progress, options.installed);
  if (!(await hasCluster(data))) {
    progress(`Making the database in ${data.directory} (once)`);
    await makeCluster(data, durable);
  }

  const first = await takeOwnership(data, options, undefined);
  if ("holder" in first) {
    if (!options.join) throw inUse(dataDirectory, first.holder);
    return joinServer(first.socketDirectory);
  }

  let owned: Owned = first;
  let stopping = false;
  const stopped = new AbortController();
  let restarting: Promise<void> = Promise.resolve();

  // Stops the server cleanly even if this process crashes.
  const onExit = (): void => {
    const { pid } = owned.server.child;
    if (pid !== undefined && !owned.server.hasEnded()) process.kill(pid, "SIGINT");
  };

  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal: stopped.signal }).catch(() => {});

  /** Retries until PostgreSQL runs or this process stops. */
  const restart = async (): Promise<void> => {
    log("store.postgres.lost", {});
    for (let pauseMs = 50; !stopping; pauseMs = Math.min(pauseMs * 2, connectTimeoutMs)) {
      try {
        const { server } = owned;
        const next = await takeOwnership(data, options, server.hasEnded() ? undefined : server);
        if ("holder" in next) {
          // Another Gantry restarted it, and our connections use that. When it stops, this one takes over.
          log("store.postgres.taken", { holder: next.holder });
          await pause(connectTimeoutMs);
          continue;
        }
        owned = next;
        watchConnection();
        log("store.postgres.revived", { pid: next.server.child.pid });
        return;
      } catch (error) {
        log("store.postgres.failed", { error });
        await pause(pauseMs);
      }
    }
  };
  const watchConnection = (): void => {
    // Neither connection nor server keeps a finished process alive.
    owned.lock.socket.unref();
    owned.lock.client.once("end", () => {
      if (!stopping) restarting = restart();
    });
  };

  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    stopped.abort();
    await restarting;
    owned.lock.socket.ref();
    await owned.lock.client.end().catch(() => {});
    const { child, ended, hasEnded } = owned.server;
    if (child.pid !== undefined && !hasEnded()) {
      child.ref();
      await stopProcess(child.pid, hasEnded);
      await ended;
    }
    process.removeListener("exit", onExit);
  };

  process.on("exit", onExit);
  try {
    await ensureDatabase(owned.lock.client);
  } catch (error) {
    await stop();
    throw error;
  }
  watchConnection();
  return { ...addressesIn(data.socketDirectory), owned: true, stop };
};
