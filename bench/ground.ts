// What the figures are measured on: servers as real child processes on data directories of their own, organizations
// with rows in them, and callers as they are in life: an identity with one binding, not the operator.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { openApplication, type Application, readSettings } from "#application";
import { startEmbedded } from "#postgres";
import type { Place } from "./load.ts";

const root = join(import.meta.dirname, "..");

/** A port that nobody listens on. */
const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (typeof address !== "object" || !address) throw new Error("no free port");
  return address.port;
};

/** A status, or 0 where nobody answers. */
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

const running = new Set<ChildProcess>();

/** Starts a process and waits until `ready` says so. */
const startProcess = async (
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  ready: (child: ChildProcess) => Promise<boolean>,
): Promise<Pick<Process, "pid" | "stop">> => {
  const child = spawn(process.execPath, args, { cwd: root, env: { PATH: process.env.PATH ?? "", ...environment }, stdio: ["ignore", "ignore", "pipe", "ipc"] });
  running.add(child);
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-4000);
  });
  const ended = once(child, "exit").then(() => running.delete(child));
  const until = Date.now() + startLimitMs;
  while (!(await ready(child))) {
    if (child.exitCode !== null || Date.now() > until) {
      child.kill("SIGKILL");
      throw new Error(`${args.join(" ")} did not start:\n${said}`);
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

/** Ends what is still running, where nothing can be awaited. */
export const endAll = (): void => {
  for (const child of running) child.kill("SIGTERM");
};

export interface Site {
  readonly data: string;
  readonly url: string;
  readonly port: number;
}

export interface Folder {
  readonly path: string;
  /** A data directory and an address for a server that is not started yet. */
  site(name: string): Promise<Site>;
  write(name: string, content: string | Uint8Array): Promise<string>;
  remove(): Promise<void>;
}

const makeFolder = async (): Promise<Folder> => {
  const path = await mkdtemp(join(tmpdir(), "gantry-bench-"));
  // Under root the database runs as another user, who has to get in.
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

/** Runs `work` with a folder for everything that it leaves on the disk; afterwards, and when it is stopped, all is gone. */
export const withFolder = async <T>(work: (folder: Folder) => Promise<T>): Promise<T> => {
  const folder = await makeFolder();
  const end = (): void => {
    endAll();
    // The servers stop their databases; whatever is left of these has lost its files.
    setTimeout(() => void folder.remove().finally(() => process.exit(1)), 1000);
  };
  process.once("SIGINT", end).once("SIGTERM", end);
  try {
    return await work(folder);
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end);
    endAll();
    await folder.remove();
  }
};

const environmentOf = ({ data, port }: Site): Record<string, string> => ({ GANTRY_DATA: data, GANTRY_LISTEN: `127.0.0.1:${port}` });

export interface Serving {
  /** Node writes a CPU profile there when the server stops. */
  readonly profile?: string | undefined;
  /** What else its operator has set. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** `gantry serve` as a person starts it, up and answering. On this Node it stays one process. */
export const serve = async (site: Site, { profile, settings = {} }: Serving = {}): Promise<Process> => {
  const args = [...(profile ? ["--cpu-prof", `--cpu-prof-dir=${profile}`] : []), "bin/gantry.js", "serve"];
  const started = await startProcess(args, { ...environmentOf(site), ...settings }, async () => (await statusOf(`${site.url}/readyz`)) === 200);
  return { ...started, url: site.url };
};

/** Another command of `gantry`, beside the server of `site`. Rejects where it fails. */
export const runGantry = (site: Site, args: readonly string[]): { readonly pid: number; readonly ended: Promise<void> } => {
  const child = spawn(process.execPath, ["bin/gantry.js", ...args], {
    cwd: root,
    env: { PATH: process.env.PATH ?? "", ...environmentOf(site) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.add(child);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-4000);
  });
  const ended = once(child, "close").then(([code]: unknown[]) => {
    running.delete(child);
    if (code !== 0) throw new Error(`gantry ${args.join(" ")} ended with ${String(code)}:\n${said}`);
  });
  return { pid: child.pid ?? 0, ended };
};

/** One of bench/peers, beside the server of `site` on the same database. It sends a message when it serves. */
export const startPeer = async (name: string, site: Site, environment: Readonly<Record<string, string>> = {}): Promise<Process> => {
  const port = await freePort();
  let up = false;
  const started = await startProcess([`bench/peers/${name}.ts`], { ...environmentOf(site), PEER_PORT: String(port), ...environment }, async (child) => {
    if (child.listenerCount("message") === 0)
      child.once("message", () => {
        up = true;
      });
    return up;
  });
  return { ...started, url: `http://127.0.0.1:${port}` };
};

/** The house of a running server, entered beside it: for making callers, and for hearing what a call says to the store. */
export const enter = (site: Site): Promise<Application> => openApplication({ settings: readSettings(environmentOf(site)), log: silent, join: true });

/** The running server's database. */
export const placeOf = async ({ data }: Site): Promise<Place> => {
  const { address } = await startEmbedded({ dataDirectory: data, log: silent, progress: () => {}, join: true });
  return address;
};

/** A new organization. */
export const makeOrganization = async (open: Application, name: string): Promise<string> =>
  text(await open.call("chainguard.platform.iam.v2.GroupsService/CreateGroup", { group: { name } }), "uid");

export const makeGroup = async (open: Application, parent: string, name: string): Promise<string> =>
  text(await open.call("chainguard.platform.iam.v2.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

/** An identity at `home` that has this built-in role at `places`, and nothing more. Its uid. */
export const makeMember = async (open: Application, home: string, places: readonly string[], role: string): Promise<string> => {
  const identity: JsonObject = { name: "bench", claimMatch: { issuer: "https://issuer.example.com", subject: "bench" } };
  const uid = text(await open.call("chainguard.platform.iam.v2.IdentitiesService/CreateIdentity", { parent: home, identity }), "uid");
  for (const parent of places) {
    const roleBinding: JsonObject = { identityUid: uid, roleUid: builtInRoleUid(role) };
    await open.call("chainguard.platform.iam.v2.RoleBindingsService/CreateRoleBinding", { parent, roleBinding });
  }
  return uid;
};

/** What a caller sends as Authorization. */
export const authorizationOf = async ({ services }: Application, identity: string): Promise<string> =>
  `Bearer ${await services.authn.mint({ uid: identity, audience: [services.publicUrl] })}`;
