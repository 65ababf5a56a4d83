// Child processes: servers on their own data directories, `gantry` commands and baselines; and the temporary folder for their
// files.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = join(import.meta.dirname, "..");

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (typeof address !== "object" || !address) throw new Error("no free port");
  return address.port;
};

const statusOf = (url: string): Promise<number> =>
  new Promise((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on("error", () => resolve(0));
  });

/** A child process that serves at `url`. */
export interface Process {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const startLimitMs = 60_000;
const stopLimitMs = 30_000;
const outputMax = 4000;

const running = new Set<ChildProcess>();

const startProcess = async (
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  ready: (child: ChildProcess) => Promise<boolean>,
  directory = root,
  program = process.execPath,
): Promise<Pick<Process, "pid" | "stop">> => {
  const child = spawn(program, args, {
    cwd: directory,
    env: { PATH: process.env.PATH ?? "", ...environment },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  running.add(child);
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    errors = (errors + chunk).slice(-outputMax);
  });
  const ended = once(child, "exit").then(() => running.delete(child));
  const until = Date.now() + startLimitMs;
  while (!(await ready(child))) {
    if (child.exitCode !== null || Date.now() > until) {
      child.kill("SIGKILL");
      throw new Error(`${args.join(" ")} did not start:\n${errors}`);
    }
    await sleep(5);
  }
  return {
    pid: child.pid ?? 0,
    async stop() {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
      await ended;
      clearTimeout(late);
    },
  };
};

/** Stops running children, synchronously. */
const endAll = (): void => {
  for (const child of running) child.kill("SIGTERM");
};

export interface Site {
  readonly data: string;
  readonly url: string;
  readonly port: number;
}

export interface Folder {
  readonly path: string;
  /** Returns a data directory and an address for a new server. */
  site(name: string): Promise<Site>;
  write(name: string, content: string | Uint8Array): Promise<string>;
  remove(): Promise<void>;
}

const makeFolder = async (): Promise<Folder> => {
  const path = await mkdtemp(join(tmpdir(), "gantry-bench-"));
  // If started by root, the database runs as another user and needs access.
  await chmod(path, 0o711);
  return {
    path,
    async site(name) {
      const port = await freePort();
      return { data: join(path, name), url: `http://127.0.0.1:${port}`, port };
    },
    async write(name, content) {
      const file = join(path, name);
      await writeFile(file, content);
      return file;
    },
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
};

/** Runs `work` with a temporary folder, which is removed afterwards or on a signal. */
export const withFolder = async <T>(work: (folder: Folder) => Promise<T>): Promise<T> => {
  const folder = await makeFolder();
  const end = (): void => {
    endAll();
    // Servers stop their databases; remaining ones lose their files.
    setTimeout(() => void folder.remove().finally(() => process.exit(1)), 1000);
  };
  process.once("SIGINT", end).once("SIGTERM", end);
  // Also after an unhandled error.
  process.once("exit", endAll);
  try {
    return await work(folder);
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end).off("exit", endAll);
    endAll();
    await folder.remove();
  }
};

export const settingsOf = ({ data, port }: Site): Record<string, string> => ({ GANTRY_DATA: data, GANTRY_LISTEN: `127.0.0.1:${port}` });

export interface Serving {
  /** Folder for Node's CPU profile, written when the server stops. */
  readonly profile?: string | undefined;
  readonly settings?: Readonly<Record<string, string>>;
  /** The checkout to serve; default: this one. */
  readonly checkout?: string;
}

/** Starts `gantry serve` and waits until it is ready. On this Node it stays one process. */
export const serve = async (site: Site, { profile, settings = {}, checkout = root }: Serving = {}): Promise<Process> => {
  const args = [...(profile ? ["--cpu-prof", `--cpu-prof-dir=${profile}`] : []), "bin/gantry.js", "serve"];
  const isReady = async (): Promise<boolean> => (await statusOf(`${site.url}/readyz`)) === 200;
  return { ...(await startProcess(args, { ...settingsOf(site), ...settings }, isReady, checkout)), url: site.url };
};

/** Starts an external server and waits for status 200. */
export const startProgram = async (
  program: string,
  args: readonly string[],
  url: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Process> => {
  const started = startProcess(args, settings, async () => (await statusOf(url)) === 200, root, program);
  return { ...(await started), url: new URL(url).origin };
};

/** Runs another `gantry` command next to the server of `site`. `ended` resolves with its output and rejects if it fails. */
export const runGantry = (site: Site, args: readonly string[], checkout = root): { readonly pid: number; readonly ended: Promise<string> } => {
  const child = spawn(process.execPath, ["bin/gantry.js", ...args], {
    cwd: checkout,
    env: { PATH: process.env.PATH ?? "", ...settingsOf(site) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output = (output + chunk).slice(-outputMax);
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors = (errors + chunk).slice(-outputMax);
  });
  const ended = once(child, "close").then(([code]: unknown[]) => {
    running.delete(child);
    if (code !== 0) throw new Error(`gantry ${args.join(" ")} ended with ${String(code)}:\n${errors}`);
    return output;
  });
  return { pid: child.pid ?? 0, ended };
};

/** Runs a `gantry` command, or `node -e 0` without one, and returns the CPU milliseconds of its processes. */
export const runGantryCpu = async (site: Site, args: readonly string[] | undefined, settings: Readonly<Record<string, string>> = {}): Promise<number> => {
  // The shell prints its children's CPU time; an exited process has no /proc entry.
  const program = args === undefined ? ["-e", "0"] : ["bin/gantry.js", ...args];
  const child = spawn("/bin/sh", ["-c", '"$@" >/dev/null || exit; times', "sh", process.execPath, ...program], {
    cwd: root,
    env: { PATH: process.env.PATH ?? "", ...settingsOf(site), ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (errors = (errors + chunk).slice(-outputMax)));
  const [code] = (await once(child, "close")) as unknown[];
  running.delete(child);
  if (code !== 0) throw new Error(`${program.join(" ")} ended with ${String(code)}:\n${errors}`);
  // The second line: user and system time of the children, as 0m0.123000s.
  const times = [...(output.trim().split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g)].map(([, minutes, seconds]) => 60 * Number(minutes) + Number(seconds));
  if (times.length !== 2) throw new Error(`sh printed no times: ${output}`);
  return 1000 * times.reduce((sum, time) => sum + time, 0);
};

/** Lifts the rate limits, because the load comes from one identity. Applies to servers started later. */
export const liftRates = async (site: Site, checkout = root): Promise<void> => {
  for (const name of ["identity-requests", "organization-requests", "scim-writes"])
    await runGantry(site, ["admin", "quota", "set", name, "1000000"], checkout).ended;
};

/** Starts a baseline of bench/baselines next to the server of `site`, on the same database. It sends a message when it is ready. */
export const startBaseline = async (name: string, site: Site, settings: Readonly<Record<string, string>> = {}): Promise<Process> => {
  const port = await freePort();
  let up = false;
  const started = await startProcess([`bench/baselines/${name}.ts`], { ...settingsOf(site), BASELINE_PORT: String(port), ...settings }, async (child) => {
    if (child.listenerCount("message") === 0)
      child.once("message", () => {
        up = true;
      });
    return up;
  });
  return { ...started, url: `http://127.0.0.1:${port}` };
};
