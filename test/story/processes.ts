// Processes of tests: the `gantry` command and the issuer. Each ends with the test.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

export const gantryFile = join(root, "bin", "gantry.js");

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Waits for the first match in either output; rejects if the program exits first. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<Exit>;
  signal(name: NodeJS.Signals): void;
}

type Environment = Readonly<Record<string, string>>;

export interface StartOptions {
  readonly env?: Environment;
  readonly cwd?: string;
  /** Starts it in its own process group, like a terminal. */
  readonly group?: boolean;
  readonly node?: string;
}

/** Keeps programs' contexts separate from other tests and from the user's. */
const configFolder = join(tmpdir(), `gantry-config-of-tests-${process.pid}`);
process.once("exit", () => rmSync(configFolder, { recursive: true, force: true }));

/** Returns a child's environment: nothing that would configure a server or client. */
export const environmentOfProgram = (env: Environment = {}): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || /^(?:GANTRY_|DATABASE_URL$|NODE_(?!COMPILE_CACHE$))/.test(name) ? [] : [[name, value]],
    ),
  ),
  XDG_CONFIG_HOME: configFolder,
  ...env,
});

const alive = new Set<ChildProcess>();

// A run that times out ends this process (test/run.ts) with its programs.
process.once("SIGTERM", () => {
  for (const child of alive) child.kill("SIGKILL");
  process.exit(143);
});

/** Ends every program that a test left running. */
export const stopAll = async (): Promise<void> => {
  await Promise.all(
    [...alive].map(async (child) => {
      const closed = once(child, "close");
      child.kill("SIGKILL");
      await closed;
    }),
  );
};

/** Starts a Node program. */
export const start = (file: string, args: readonly string[], { env = {}, cwd = root, group = false, node }: StartOptions = {}): Program => {
  const child = spawn(node ?? process.execPath, [file, ...args], {
    cwd,
    env: environmentOfProgram(env),
    stdio: ["pipe", "pipe", "pipe"],
    detached: group,
  });
  alive.add(child);
  child.once("close", () => alive.delete(child));
  let [out, err] = ["", ""];
  const waiting = new Set<() => void>();
  const look = (): void => {
    for (const wake of [...waiting]) wake();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    look();
  });
  const ended = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout: out, stderr: err }));
  });
  ended.then(look, look);
  let over = false;
  ended
    .finally(() => {
      over = true;
    })
    .catch(() => {});
  return {
    child,
    stdout: () => out,
    stderr: () => err,
    ended,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const wake = (): void => {
          const found = pattern.exec(out) ?? pattern.exec(err);
          if (!found && !over) return;
          waiting.delete(wake);
          if (found) resolve(found);
          else reject(new Error(`it ended without saying ${pattern}:\n${out}${err}`));
        };
        waiting.add(wake);
        wake();
        ended.finally(wake).catch(reject);
      }),
    signal: (name) => {
      if (child.pid === undefined || over) return;
      process.kill(group ? -child.pid : child.pid, name);
    },
  };
};

export const gantry = (args: readonly string[], options: StartOptions = {}): Promise<Exit> => {
  const program = start(gantryFile, args, options);
  program.child.stdin?.end();
  return program.ended;
};

export interface Issuer {
  readonly url: string;
  /** Returns a token for a job of this issuer; omits claims that are null. */
  token(claims: Readonly<Record<string, unknown>>): Promise<string>;
  /** Returns the paths that others requested, in order. */
  asked(): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts the issuer in its own process. */
export const startIssuer = async (): Promise<Issuer> => {
  const program = start(join(import.meta.dirname, "issuer.ts"), []);
  const [url] = await program.says(/^http:\S+/m);
  return {
    url,
    token: async (claims) => (await fetch(`${url}/token`, { method: "POST", body: JSON.stringify(claims) })).text(),
    asked: async () => (await fetch(`${url}/asked`)).json() as Promise<string[]>,
    async close() {
      program.child.stdin?.end();
      await program.ended;
    },
  };
};
