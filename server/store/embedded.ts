// The embedded default: a real PostgreSQL that Gantry starts in its data directory and stops with itself. It
// listens on one Unix socket in a folder that only its own user (and root) may enter, never on TCP.
//
// Who owns it is settled inside PostgreSQL: the owner holds an advisory lock over one connection for as long as it
// lives. The kernel closes that connection even after kill -9, so there is no lock file that could go stale, no
// process id that could be another's by now, and no moment at which two can both believe that they own it.
//   postmaster.pid, lock held      another Gantry runs: refuse, or join it
//   postmaster.pid, lock free      its Gantry was killed: stop it in order, start anew
//   none, or nobody behind it      start
// Whatever two servers do at once, PostgreSQL itself lets only one of its kind into a data directory.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, link, lstat, mkdir, readdir, readFile, rename, rm, stat, unlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "#base/log.ts";
import pg from "pg";
import type { Binaries } from "./binaries.ts";
import { brokenConnection, sqlState } from "./faults.ts";
import { connectTimeoutMs, type DatabaseAddress } from "./pool.ts";
import { port, type Quarters, refusal, settle } from "./quarters.ts";

export interface Embedded {
  readonly place: DatabaseAddress;
  /** False when it belongs to another process, which was joined. */
  readonly owned: boolean;
  /** Stops the server; leaves one that was joined alone. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDirectory: string;
  readonly log: Log;
  readonly progress: (line: string) => void;
  /** Use the server of a running Gantry, if there is one, instead of refusing. */
  readonly join?: boolean;
  /** False for tests alone: loses everything with a crash, and is quicker. */
  readonly durable?: boolean;
  /** For tests alone: programs elsewhere than npm has put them. */
  readonly installed?: Binaries;
}

const user = "gantry";
const database = "gantry";

/** The advisory lock that the owner holds, in the database "postgres". */
const ownerLock = "7166352907140";

/** How often what cannot be waited for is looked at again. */
const pollMs = 5;

/** How long a server may neither answer nor go away before the start gives up. */
const silenceMs = 30_000;

/**
 * How long a lock may be held by a process that is gone, or not be held by the one that has started the server,
 * before that is taken at its word (process ids mean little across containers, and are used again).
 */
const fadeMs = 1_000;

/** How long each kind of stop may take before the next harder one: SIGINT, SIGQUIT, SIGKILL. */
const stopStepMs = 10_000;

const placeOf = (socketDirectory: string, name: string): DatabaseAddress => ({ host: socketDirectory, port, user, database: name, ssl: false });

/** Nothing of our own environment: PG* variables would change how the server behaves. */
const environment = { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" };

const settings = (socketDirectory: string, durable: boolean): string[] => {
  const values: Record<string, string> = {
    listen_addresses: "",
    port: String(port),
    // Who started it; see claimOwnership.
    cluster_name: `gantry ${process.pid}`,
    unix_socket_directories: socketDirectory.replaceAll('"', '""').replace(/^.*$/s, '"$&"'),
    unix_socket_permissions: "0700",
    // Several servers under test share one.
    max_connections: durable ? "60" : "200",
    shared_buffers: "128MB",
    // Nothing copies from this server as it writes: the write-ahead log is for crashes alone.
    wal_level: "minimal",
    max_wal_senders: "0",
    fsync: durable ? "on" : "off",
    synchronous_commit: durable ? "on" : "off",
    full_page_writes: durable ? "on" : "off",
    autovacuum: "on",
    jit: "off",
    // Our statements are short and many, and Node needs the other cores.
    max_parallel_workers_per_gather: "0",
    random_page_cost: "1.1",
    timezone: "UTC",
    log_timezone: "UTC",
    log_destination: "stderr",
    logging_collector: "off",
    log_line_prefix: "",
    log_min_messages: "fatal",
    log_min_error_statement: "panic",
  };
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
};

// ---- postmaster.pid -------------------------------------------------------------------------------------------

/** What a PostgreSQL that is or was in the directory has left in postmaster.pid. */
interface Trace {
  readonly pid: number;
  /** Empty until it has got that far. */
  readonly socketDirectory: string;
  readonly ready: boolean;
}

const readTrace = async (directory: string): Promise<Trace | undefined> => {
  const text = await readFile(join(directory, "postmaster.pid"), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw refusal(`the database in ${directory} cannot be looked at: ${error.message}`, error);
  });
  if (text === undefined) return undefined;
  const lines = text.split("\n");
  return { pid: Math.abs(Number(lines[0])), socketDirectory: lines[4]?.trim() ?? "", ready: lines[7]?.startsWith("ready") ?? false };
};

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};

/** Whether this process is the PostgreSQL of this directory; false for any other that has got the same id since. */
const isServer = async (pid: number, directory: string): Promise<boolean> => {
  if (!Number.isInteger(pid) || pid <= 0 || !alive(pid)) return false;
  if (process.platform !== "linux") {
    try {
      return execFileSync("ps", ["-p", String(pid), "-o", "command="], { encoding: "utf8" }).includes(directory);
    } catch {
      return false;
    }
  }
  // Empty for one that has ended and was not fetched by its parent, for which a signal still finds it.
  const words = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  if (words.includes(directory)) return true;
  if (!words.includes("postgres")) return false;
  // Started under another name of the same folder: a PostgreSQL stands in its data directory. (In a container
  // even root may not see where another user's process stands.)
  const [theirs, ours] = await Promise.all([stat(`/proc/${pid}/cwd`).catch(() => undefined), stat(directory)]);
  return theirs !== undefined && theirs.dev === ours.dev && theirs.ino === ours.ino;
};

/** Removes a file that still has this text; what somebody has put there since is put back. */
const removeStale = async (file: string, text: string): Promise<void> => {
  const aside = `${file}.${randomBytes(4).toString("hex")}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  if ((await readFile(aside, "utf8")) !== text) await link(aside, file).catch(() => {});
  await unlink(aside);
};

/**
 * Lock files of a dead PostgreSQL whose process id is another's by now: PostgreSQL would take them for a living
 * one's and refuse to start for ever. (Where the id is nobody's, it clears them itself.)
 */
const clearStaleLocks = async ({ directory, socketDirectory }: Quarters): Promise<void> => {
  for (const file of [join(directory, "postmaster.pid"), join(socketDirectory, `.s.PGSQL.${port}.lock`)]) {
    const text = await readFile(file, "utf8").catch(() => "");
    const pid = Math.abs(Number(text.split("\n")[0]));
    if (text !== "" && alive(pid) && !(await isServer(pid, directory))) await removeStale(file, text);
  }
};

// ---- the owner's lock -----------------------------------------------------------------------------------------

type Claim =
  | { readonly is: "mine"; readonly client: pg.Client }
  | { readonly is: "held"; readonly holder: number }
  /** Starting, stopping, recovering, or changing hands this moment. */
  | { readonly is: "busy" }
  | { readonly is: "absent" };

/** The process id at the end of a name that we have given. */
const pidIn = (name: string | undefined): number => Number(/\d+$/.exec(name ?? "")?.[0]);

/**
 * Tries to become the owner. While `patient`, a server whose starter lives is left to it: it may be about to take
 * the lock itself.
 */
const claimOwnership = async (socketDirectory: string, patient: boolean): Promise<Claim> => {
  const client = new pg.Client({
    ...placeOf(socketDirectory, "postgres"),
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
    if (holder === null && !(patient && alive(pidIn(starter)))) {
      const taken = await client.query<{ mine: boolean }>(`select pg_try_advisory_lock(${ownerLock}) as mine`);
      if (taken.rows[0]?.mine) return { is: "mine", client };
    }
    await client.end();
    return holder === null ? { is: "busy" } : { is: "held", holder: pidIn(holder) };
  } catch (error) {
    await client.end().catch(() => {});
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ECONNREFUSED") return { is: "absent" };
    if (brokenConnection(error) || sqlState(error) === "53300") return { is: "busy" };
    throw refusal(`the database in ${socketDirectory} does not let Gantry in: ${error instanceof Error ? error.message : error}`, error);
  }
};

// ---- the process ----------------------------------------------------------------------------------------------

const runAsOptions = ({ runAs }: Quarters) => (runAs ? { uid: runAs.uid, gid: runAs.gid } : {});

/** Makes an empty database cluster: whole or not there, also when two servers do so at once. */
const makeCluster = async (quarters: Quarters, durable: boolean): Promise<void> => {
  const { directory, binaries, runAs } = quarters;
  const parent = dirname(directory);
  const prefix = `${basename(directory)}.new.`;
  for (const name of await readdir(parent)) {
    // What a start that was killed halfway has left.
    const [pid = ""] = name.startsWith(prefix) ? name.slice(prefix.length).split(".") : [];
    if (pid !== "" && !alive(Number(pid))) await rm(join(parent, name), { recursive: true, force: true });
  }
  const draft = join(parent, `${prefix}${process.pid}.${randomBytes(4).toString("hex")}`);
  await mkdir(draft, { mode: 0o700 });
  try {
    await chmod(draft, 0o700);
    if (runAs) await chown(draft, runAs.uid, runAs.gid);
    const args = ["-D", draft, "-U", user, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions"];
    const child = spawn(binaries.initdb, durable ? args : [...args, "--no-sync"], {
      ...runAsOptions(quarters),
      cwd: "/",
      env: environment,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const said: string[] = [];
    child.stderr.setEncoding("utf8").on("data", (text: string) => said.push(text));
    const code = await new Promise<number | null>((done, fail) => {
      child.once("error", fail);
      child.once("close", done);
    }).catch((error: Error) => {
      said.push(error.message);
      return 1;
    });
    if (code !== 0) {
      const why =
        said
          .join("")
          .split("\n")
          .find((line) => /error|fatal|could not|cannot/i.test(line)) ?? said.join(" ").trim();
      throw refusal(
        `the embedded PostgreSQL could not make its data directory ${directory} (${why.replace(/^initdb: /, "")}): put that right, or set DATABASE_URL`,
      );
    }
    // Over the socket alone, whose folder is its own user's: there is no other way in, and no other user.
    await writeFile(join(draft, "pg_hba.conf"), `local all ${user} trust\n`);
    await rename(draft, directory).catch(async (error: NodeJS.ErrnoException) => {
      // Another server was quicker.
      if (
        !(await lstat(join(directory, "PG_VERSION")).then(
          () => true,
          () => false,
        ))
      )
        throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
};

interface Launched {
  readonly child: ChildProcess;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  /** Its last complaint. */
  complaint(): string;
}

/** Starts the process. It gets a session of its own, so that Ctrl-C reaches us and not it. */
const launch = (quarters: Quarters, durable: boolean, log: Log): Launched => {
  const child = spawn(quarters.binaries.postgres, ["-D", quarters.directory, ...settings(quarters.socketDirectory, durable)], {
    ...runAsOptions(quarters),
    cwd: "/",
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  let complaint = "";
  let over = false;
  const ended = new Promise<void>((done) => {
    const end = (): void => {
      over = true;
      done();
    };
    child.once("error", (error) => {
      complaint = error.message;
      end();
    });
    // "close" rather than "exit": by then its last words have arrived.
    child.once("close", end);
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    const said = /^(?:FATAL|PANIC): +(.*)$/.exec(line)?.[1];
    if (said === undefined) return;
    complaint = said;
    // Said to everyone who comes while it starts or stops; no news.
    if (!/^the database system is |administrator command$/.test(said)) log("store.postgres", { message: said });
  });
  child.unref();
  (child.stderr as typeof child.stderr & { unref?: () => void }).unref?.();
  return { child, ended, hasEnded: () => over, complaint: () => complaint };
};

/** Asks a process to stop, ever harder, until `gone`. */
const stopProcess = async (pid: number, gone: () => Promise<boolean> | boolean): Promise<void> => {
  for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EPERM")
        throw refusal(`PostgreSQL (process ${pid}) is another user's: stop it, or run Gantry as that user`);
      return;
    }
    const until = Date.now() + stopStepMs;
    while (Date.now() < until) {
      if (await gone()) return;
      await sleep(pollMs);
    }
  }
};

// ---- starting -------------------------------------------------------------------------------------------------

/** The driver's types leave these out. */
type Unheld = pg.Client & { ref(): void; unref(): void };

interface Owned {
  readonly client: pg.Client;
  readonly server: Launched;
}

const inUse = (dataDirectory: string, holder: number) =>
  refusal(`the data directory ${dataDirectory} is in use by another Gantry (process ${holder}): stop that one, or set GANTRY_DATA to another folder`);

/** Becomes the owner of a running server, started by us, or says who is. `known` is one that we started before. */
const takeOwnership = async (
  quarters: Quarters,
  { log, progress, durable = true }: EmbeddedOptions,
  known: Launched | undefined,
): Promise<Owned | { held: number; socketDirectory: string }> => {
  const { directory } = quarters;
  let server = known;
  const quietSince = Date.now();
  let told = false;
  for (;;) {
    if (server?.hasEnded() && server === known) server = undefined;
    if (server?.hasEnded()) {
      // Another PostgreSQL was quicker, or one that is just going has not quite gone.
      if (!/already exists|still in use|pre-existing/.test(server.complaint()) || Date.now() - quietSince > silenceMs) {
        throw refusal(`the embedded PostgreSQL in ${directory} did not start: ${server.complaint() || "it said nothing"}`);
      }
      server = undefined;
      await sleep(pollMs * 10);
    }
    const trace = await readTrace(directory);
    const ours = server !== undefined && trace?.pid === server.child.pid;
    if (trace && (ours ? trace.ready : trace.socketDirectory !== "")) {
      const claim = await claimOwnership(trace.socketDirectory, !ours && Date.now() - quietSince < fadeMs);
      // A holder that was killed this moment: PostgreSQL is about to notice.
      const fading = claim.is === "held" && !alive(claim.holder) && Date.now() - quietSince < fadeMs;
      if (claim.is === "held" && !fading) return { held: claim.holder, socketDirectory: trace.socketDirectory };
      if (claim.is === "mine") {
        if (ours && server) return { client: claim.client, server };
        log("store.postgres.orphan", { pid: trace.pid });
        await claim.client.end();
        await stopProcess(trace.pid, async () => (await readTrace(directory))?.pid !== trace.pid);
        continue;
      }
    }
    if (!server && (!trace || !(await isServer(trace.pid, directory)))) {
      await clearStaleLocks(quarters);
      server = launch(quarters, durable, log);
      continue;
    }
    // Recovery after a crash takes as long as it takes; only a stranger's silence ends the wait.
    if (!told && Date.now() - quietSince > connectTimeoutMs) {
      progress("Waiting for the database to recover or to stop…");
      told = true;
    }
    if (!server && Date.now() - quietSince > silenceMs) {
      throw refusal(`a PostgreSQL (process ${trace?.pid}) is in ${directory} and does not answer: stop it`);
    }
    await sleep(pollMs);
  }
};

const hasDatabase = async (client: pg.Client): Promise<boolean> =>
  (await client.query("select from pg_database where datname = $1", [database])).rowCount !== 0;

/** Joins the server of another process, which may be about to make its database. */
const joinServer = async (socketDirectory: string): Promise<Embedded> => {
  const client = new pg.Client({ ...placeOf(socketDirectory, "postgres"), connectionTimeoutMillis: connectTimeoutMs });
  client.on("error", () => {});
  await client.connect();
  try {
    const until = Date.now() + silenceMs;
    while (!(await hasDatabase(client)) && Date.now() < until) await sleep(pollMs);
  } finally {
    await client.end();
  }
  return { place: placeOf(socketDirectory, database), owned: false, stop: async () => {} };
};

/** Starts the embedded server of a data directory, or joins the one that runs there. */
export const startEmbedded = async (options: EmbeddedOptions): Promise<Embedded> => {
  const { dataDirectory, log, progress, durable = true } = options;
  const quarters = await settle(dataDirectory, progress, options.installed);
  if (
    !(await lstat(join(quarters.directory, "PG_VERSION")).then(
      () => true,
      () => false,
    ))
  ) {
    progress(`Making the database in ${quarters.directory} (once)`);
    await makeCluster(quarters, durable);
  }

  const first = await takeOwnership(quarters, options, undefined);
  if ("held" in first) {
    if (!options.join) throw inUse(dataDirectory, first.held);
    return joinServer(first.socketDirectory);
  }

  let owned: Owned = first;
  let stopping = false;
  const stopped = new AbortController();
  let reviving: Promise<void> = Promise.resolve();

  // When we end without having stopped it (an uncaught exception), at least it stops in order behind us.
  const onExit = (): void => {
    const { pid } = owned.server.child;
    if (pid !== undefined && !owned.server.hasEnded()) process.kill(pid, "SIGINT");
  };

  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal: stopped.signal }).catch(() => {});

  /** PostgreSQL has died under us, or reset itself: start it again and again, until it runs or we stop. */
  const revive = async (): Promise<void> => {
    log("store.postgres.lost", {});
    for (let pauseMs = 50; !stopping; pauseMs = Math.min(pauseMs * 2, connectTimeoutMs)) {
      try {
        const { server } = owned;
        const next = await takeOwnership(quarters, options, server.hasEnded() ? undefined : server);
        if ("held" in next) {
          // Another Gantry was quicker. Our connections use its server; when it goes, we are here.
          log("store.postgres.taken", { holder: next.held });
          await pause(connectTimeoutMs);
          continue;
        }
        owned = next;
        watch();
        log("store.postgres.revived", { pid: next.server.child.pid });
        return;
      } catch (error) {
        log("store.postgres.failed", { error });
        await pause(pauseMs);
      }
    }
  };
  const watch = (): void => {
    // Neither it nor the server keeps a process alive that has otherwise ended.
    (owned.client as Unheld).unref();
    owned.client.once("end", () => {
      if (!stopping) reviving = revive();
    });
  };

  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    stopped.abort();
    await reviving;
    (owned.client as Unheld).ref();
    await owned.client.end().catch(() => {});
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
    if (!(await hasDatabase(owned.client))) await owned.client.query(`create database ${database}`);
  } catch (error) {
    await stop();
    throw error;
  }
  watch();
  return { place: placeOf(quarters.socketDirectory, database), owned: true, stop };
};
