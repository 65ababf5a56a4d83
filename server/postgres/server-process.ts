// Processes of PostgreSQL: initdb, and starting and stopping the server.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFile, chmod, chown, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "#base/log.ts";
import { ownerRole, serverRole } from "./address.ts";
import { type DataDirectory, port } from "./data-directory.ts";
import { fileExists } from "./file-status.ts";
import { isAlive } from "./postmaster-record.ts";
import { startFailure } from "./start-failure.ts";
import type { Tuning } from "./tuning.ts";

/** For each of SIGINT, SIGQUIT, SIGKILL. */
const stopStepMs = 10_000;

export const pollMs = 5;

/** PG* variables would change the server. */
const environment = { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" };

const serverSettings = (socketDirectory: string, durable: boolean, tuning: Tuning): string[] => {
  const values: Record<string, string> = {
    ...tuning,
    listen_addresses: "",
    port: String(port),
    // The starter; see claimOwnership in embedded.ts.
    cluster_name: `gantry ${process.pid}`,
    unix_socket_directories: socketDirectory.replaceAll('"', '""').replace(/^.*$/s, '"$&"'),
    unix_socket_permissions: "0700",
    // Tests share one server.
    max_connections: durable ? "60" : "200",
    // No replication: the write-ahead log is for crashes only.
    wal_level: "minimal",
    max_wal_senders: "0",
    fsync: durable ? "on" : "off",
    synchronous_commit: durable ? "on" : "off",
    full_page_writes: durable ? "on" : "off",
    autovacuum: "on",
    jit: "off",
    // Statements are short and many, and Node needs the other cores.
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

const userOptions = ({ runAs }: DataDirectory) => (runAs ? { uid: runAs.uid, gid: runAs.gid } : {});

/** pg_hba.conf: only over the socket, in a directory private to its user. */
const accessRules = `local all ${ownerRole} trust\nlocal all ${serverRole} trust\n`;

/** Older data directories lack the serving role. Other rules stay. */
const completeAccessRules = async ({ directory }: DataDirectory): Promise<void> => {
  const file = join(directory, "pg_hba.conf");
  const present = await readFile(file, "utf8");
  const missing = accessRules.split("\n").filter((rule) => rule !== "" && !present.split("\n").includes(rule));
  if (missing.length > 0) await appendFile(file, `${present.endsWith("\n") ? "" : "\n"}${missing.join("\n")}\n`);
};

/** Returns whether initdb has completed in this data directory. */
export const hasCluster = ({ directory }: DataDirectory): Promise<boolean> => fileExists(join(directory, "PG_VERSION"));

/** Creates an empty cluster atomically, even with concurrent servers. */
export const makeCluster = async (data: DataDirectory, durable: boolean): Promise<void> => {
  const { directory, installation, runAs } = data;
  const parent = dirname(directory);
  const prefix = `${basename(directory)}.new.`;
  for (const name of await readdir(parent)) {
    // Left over from a killed start.
    const [pid = ""] = name.startsWith(prefix) ? name.slice(prefix.length).split(".") : [];
    if (pid !== "" && !isAlive(Number(pid))) await rm(join(parent, name), { recursive: true, force: true });
  }
  const draft = join(parent, `${prefix}${process.pid}.${randomBytes(4).toString("hex")}`);
  await mkdir(draft, { mode: 0o700 });
  try {
    await chmod(draft, 0o700);
    if (runAs) await chown(draft, runAs.uid, runAs.gid);
    const args = ["-D", draft, "-U", ownerRole, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions"];
    const child = spawn(installation.initdb, durable ? args : [...args, "--no-sync"], {
      ...userOptions(data),
      cwd: "/",
      env: environment,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const complaints: string[] = [];
    child.stderr.setEncoding("utf8").on("data", (text: string) => complaints.push(text));
    const code = await new Promise<number | null>((done, fail) => {
      child.once("error", fail);
      child.once("close", done);
    }).catch((error: Error) => {
      complaints.push(error.message);
      return 1;
    });
    if (code !== 0) {
      const why =
        complaints
          .join("")
          .split("\n")
          .find((line) => /error|fatal|could not|cannot/i.test(line)) ?? complaints.join(" ").trim();
      throw startFailure(
        `the embedded PostgreSQL could not create its data directory ${directory} (${why.replace(/^initdb: /, "")}). Fix the cause, or set DATABASE_URL`,
      );
    }
    await writeFile(join(draft, "pg_hba.conf"), accessRules);
    await rename(draft, directory).catch(async (error: NodeJS.ErrnoException) => {
      // Another server created it concurrently.
      if (!(await hasCluster(data))) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
};

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  /** Returns its last error message. */
  complaint(): string;
}

/** Starts the server in its own session, so that Ctrl-C does not reach it. */
export const startProcess = async (data: DataDirectory, durable: boolean, tuning: Tuning, log: Log): Promise<ServerProcess> => {
  await completeAccessRules(data);
  const child = spawn(data.installation.postgres, ["-D", data.directory, ...serverSettings(data.socketDirectory, durable, tuning)], {
    ...userOptions(data),
    cwd: "/",
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  let complaint = "";
  let finished = false;
  const ended = new Promise<void>((done) => {
    const end = (): void => {
      finished = true;
      done();
    };
    child.once("error", (error) => {
      complaint = error.message;
      end();
    });
    // "close" rather than "exit", so that all output has arrived.
    child.once("close", end);
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    const message = /^(?:FATAL|PANIC): (.*)$/.exec(line)?.[1]?.trimStart();
    if (message === undefined) return;
    complaint = message;
    // Sent to every client during start and stop.
    if (!/^the database system is |administrator command$/.test(message)) log("store.postgres", { message });
  });
  child.unref();
  (child.stderr as typeof child.stderr & { unref?: () => void }).unref?.();
  return { child, ended, hasEnded: () => finished, complaint: () => complaint };
};

/** Stops a process with increasingly hard signals until `isGone`. */
export const stopProcess = async (pid: number, isGone: () => Promise<boolean> | boolean): Promise<void> => {
  for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EPERM")
        throw startFailure(`PostgreSQL (process ${pid}) is another user's: stop it, or run Gantry as that user`);
      return;
    }
    const until = Date.now() + stopStepMs;
    while (Date.now() < until) {
      if (await isGone()) return;
      await sleep(pollMs);
    }
  }
};
