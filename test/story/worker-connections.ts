// Opens connections to known workers of one server (GANTRY_WORKERS): Linux reports the process at the other end of a socket.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import type { Socket } from "node:net";
import type { JsonObject } from "#base/json.ts";
import type { Program } from "./processes.ts";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

export interface Asked {
  readonly token?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WorkerConnection {
  readonly socket: Socket;
  /** The process that serves it. */
  readonly pid: number;
  /** Sends a request; throws if that requires another connection. */
  ask(verb: string, path: string, asked?: Asked): Promise<Reply>;
  close(): void;
}

const childrenOf = (pid: number): number[] => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
};

/** Returns whether a process has exited; a zombie counts as exited. */
export const hasEnded = (pid: number): boolean => {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
};

export const workersOf = ({ child: { pid = 0 } }: Program): number[] => childrenOf(pid).filter((each) => commandOf(each).includes("worker."));

/** Returns the PID at the server's end of a connection; undefined until a worker accepts it. */
const holderOf = (socket: Socket, pids: readonly number[]): number | undefined => {
  const port = (socket.localPort ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const serverPort = (socket.remotePort ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const line = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((each) => each.trim().split(/\s+/))
    .find(([, local = "", remote = ""]) => local.endsWith(`:${serverPort}`) && remote.endsWith(`:${port}`));
  const wanted = `socket:[${line?.[9]}]`;
  const has = (pid: number, descriptor: string): boolean => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`) === wanted;
    } catch {
      return false;
    }
  };
  return pids.find((pid) => readdirSync(`/proc/${pid}/fd`).some((descriptor) => has(pid, descriptor)));
};

/** Opens a connection with a first request, which needs no token. */
const connectOne = async (url: string, program: Program): Promise<WorkerConnection> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let socket: Socket | undefined;
  const ask: WorkerConnection["ask"] = (verb, path, { token, body, headers = {} } = {}) =>
    new Promise((resolve, reject) => {
      const sent = request(`${url}${path}`, {
        agent,
        method: verb,
        headers: {
          ...headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
      });
      sent.once("error", reject);
      sent.once("socket", (used) => {
        if (socket !== undefined && used !== socket) sent.destroy(new Error("the connection is gone"));
        socket = used;
      });
      sent.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.once("error", reject);
        response.once("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: (text.startsWith("{") ? JSON.parse(text) : {}) as JsonObject }),
        );
      });
      sent.end(body);
    });
  await ask("GET", "/healthz");
  if (socket === undefined) throw new Error("no connection");
  const pid = holderOf(socket, workersOf(program));
  if (pid === undefined) throw new Error("no worker has the connection");
  return { socket, pid, ask, close: () => agent.destroy() };
};

export const connectToEach = async (url: string, program: Program, count: number): Promise<readonly WorkerConnection[]> => {
  const found = new Map<number, WorkerConnection>();
  const others: WorkerConnection[] = [];
  // New connections reach the worker with the fewest, so a few tries suffice while others are open.
  while (found.size < count && others.length < 100) {
    const connection = await connectOne(url, program);
    if (found.has(connection.pid)) others.push(connection);
    else found.set(connection.pid, connection);
  }
  for (const other of others) other.close();
  if (found.size < count) throw new Error(`only ${found.size} workers take connections`);
  return [...found.values()];
};
