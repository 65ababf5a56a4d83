// The load: external programs, the same for both variants of a figure. Each run returns a rate per second; one failed request
// invalidates it, because errors are fast.

import { execFile } from "node:child_process";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import type { JsonObject } from "#base/json.ts";

const runProgram = promisify(execFile);

/** Concurrent connections, as in published measurements. */
export const clients = 16;

/** The address of a PostgreSQL: socket folder and credentials. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

const versions: Readonly<Record<string, readonly string[]>> = {
  wrk: ["--version"],
  h2load: ["--version"],
  pgbench: ["--version"],
};

const installs = "apt-get install wrk nghttp2-client postgresql-contrib (or: brew install wrk nghttp2 postgresql)";

/** Returns the tools' versions. Throws one line that names all missing ones. */
export const findTools = async (names: readonly string[]): Promise<string[]> => {
  const missing: string[] = [];
  const found: string[] = [];
  for (const name of names) {
    try {
      const { stdout } = await runProgram(name, [...(versions[name] ?? [])]);
      found.push(
        stdout
          .split("\n")[0]
          ?.replace(/ Copyright.*/, "")
          .trim() ?? name,
      );
    } catch (error) {
      // wrk prints its version and exits with 1.
      const output = (error as { stdout?: string }).stdout ?? "";
      if (output.startsWith(name))
        found.push(
          output
            .split("\n")[0]
            ?.replace(/ Copyright.*/, "")
            .trim() ?? name,
        );
      else missing.push(name);
    }
  }
  if (missing.length > 0) throw new Error(`missing: ${missing.join(", ")}. Install with ${installs}`);
  return found;
};

const rateIn = (text: string, pattern: RegExp, tool: string): number => {
  const value = Number(pattern.exec(text)?.[1]);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${tool} printed no rate:\n${text}`);
  return value;
};

const headerArgs = (headers: Readonly<Record<string, string>>): string[] => Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);

/** Requests per second over HTTP/1.1 keep-alive. */
export const wrk = async (url: string, headers: Readonly<Record<string, string>>, seconds: number, clientCount = clients): Promise<number> => {
  const { stdout } = await runProgram("wrk", ["-t1", `-c${clientCount}`, `-d${seconds}s`, "--timeout", "20s", ...headerArgs(headers), url]);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk ${url} was refused:\n${stdout}`);
  return rateIn(stdout, /Requests\/sec:\s+([\d.]+)/, "wrk");
};

/**
 * HEAD requests per second over HTTP/1.1 keep-alive. Sent from here, because wrk and h2load wait for a body after the headers of a
 * response to HEAD.
 */
export const heads = async (url: string, headers: Readonly<Record<string, string>>, seconds: number): Promise<number> => {
  const { hostname, port, host, pathname } = new URL(url);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`HEAD ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n`);
  let count = 0;
  const beganMs = performance.now();
  const untilMs = beganMs + seconds * 1000;
  const client = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(head));
      socket.setNoDelay(true);
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk.toString("latin1");
        if (!answer.endsWith("\r\n\r\n")) return;
        if (!answer.startsWith("HTTP/1.1 200 ")) return socket.destroy(new Error(`HEAD ${url}: ${answer}`));
        answer = "";
        count++;
        if (performance.now() < untilMs) socket.write(head);
        else socket.end();
      });
      socket.on("error", reject).on("close", () => resolve());
    });
  await Promise.all(Array.from({ length: clients }, client));
  return (count * 1000) / (performance.now() - beganMs);
};

/** gRPC calls per second over cleartext HTTP/2, one at a time per connection. */
export const h2load = async (url: string, headers: Readonly<Record<string, string>>, bodyFile: string, seconds: number): Promise<number> => {
  const { stdout } = await runProgram("h2load", ["-t1", `-c${clients}`, "-m1", "-D", String(seconds), "-d", bodyFile, ...headerArgs(headers), url]);
  const [failed, errored, timeouts] = /(\d+) failed, (\d+) errored, (\d+) timeout/.exec(stdout)?.slice(1) ?? ["?"];
  // Requests in flight at the end are not counted.
  if (failed !== "0" || errored !== "0" || timeouts !== "0" || !/status codes: [1-9]\d* 2xx, 0 3xx, 0 4xx, 0 5xx/.test(stdout)) {
    throw new Error(`h2load ${url} was refused:\n${stdout}`);
  }
  return rateIn(stdout, /finished in [\d.]+m?s, ([\d.]+) req\/s/, "h2load");
};

/** A fixed number of requests over HTTP/1.1 keep-alive, for requests too slow for a rate per second. */
export const requests = async (url: string, headers: Readonly<Record<string, string>>, count: number, clientCount: number): Promise<number> => {
  const { stdout } = await runProgram("h2load", ["--h1", "-t1", `-c${clientCount}`, "-n", String(count), ...headerArgs(headers), url]);
  if (!new RegExp(`status codes: ${count} 2xx, 0 3xx, 0 4xx, 0 5xx`).test(stdout)) throw new Error(`h2load ${url} was refused:\n${stdout}`);
  return rateIn(stdout, /finished in [\d.]+m?s, ([\d.]+) req\/s/, "h2load");
};

/** A pgbench script: `variables` appear as ":name"; `settings` apply to its sessions. */
export interface Script {
  readonly file: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly settings: readonly string[];
}

/** PGOPTIONS splits at spaces. */
const pgOption = (setting: string): string => `-c ${setting.replace(/[\\ ]/g, "\\$&")}`;

const pgbenchFor = async (database: DatabaseAddress, { file, variables, settings }: Script, clientCount: number, until: readonly string[]): Promise<number> => {
  const { stdout } = await runProgram(
    "pgbench",
    [
      "-n",
      "-M",
      "prepared",
      "-c",
      String(clientCount),
      "-j",
      String(Math.min(2, availableParallelism())),
      ...until,
      "-f",
      file,
      ...Object.entries(variables).flatMap(([name, value]) => ["-D", `${name}=${value}`]),
      "-h",
      database.host,
      "-p",
      String(database.port),
      "-U",
      database.user,
      database.database,
    ],
    { env: { PATH: process.env.PATH, PGOPTIONS: settings.map(pgOption).join(" ") } },
  );
  if (!/number of failed transactions: 0 /.test(stdout)) throw new Error(`pgbench failed:\n${stdout}`);
  return rateIn(stdout, /tps = ([\d.]+) \(without initial connection time\)/, "pgbench");
};

/** Runs per second, with prepared statements. */
export const pgbench = (database: DatabaseAddress, script: Script, seconds: number): Promise<number> =>
  pgbenchFor(database, script, clients, ["-T", String(seconds)]);

export const pgbenchRuns = (database: DatabaseAddress, script: Script, count: number, clientCount: number): Promise<number> =>
  pgbenchFor(database, script, clientCount, ["-t", String(Math.ceil(count / clientCount))]);

/** Sends one request, to check what is measured. Throws unless it succeeds. */
export const fetchJson = async (url: string, authorization: string): Promise<{ reply: JsonObject; response: Response; body: string }> => {
  const response = await fetch(url, { headers: { authorization } });
  const body = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${body}`);
  return { reply: JSON.parse(body) as JsonObject, response, body };
};

const agent = new Agent({ keepAlive: true, maxSockets: clients });

/** Sends one request with a JSON body over shared connections. Rejects unless the status is 200; an empty body is {}. */
export const sendJson = (method: string, url: string, authorization: string, body: JsonObject = {}): Promise<JsonObject> =>
  new Promise((resolve, reject) => {
    const content = JSON.stringify(body);
    const request = httpRequest(
      url,
      { method, agent, headers: { authorization, "content-type": "application/json", "content-length": Buffer.byteLength(content) } },
      (response) => {
        let answer = "";
        response
          .setEncoding("utf8")
          .on("data", (chunk: string) => (answer += chunk))
          .on("end", () => {
            try {
              if (response.statusCode !== 200) throw new Error(`${method} ${url}: ${response.statusCode} ${answer}`);
              resolve(answer === "" ? {} : (JSON.parse(answer) as JsonObject));
            } catch (thrown) {
              reject(thrown);
            }
          });
      },
    );
    request.on("error", reject).end(content);
  });
