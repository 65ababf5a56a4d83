// Variants with a busy neighbour. neighbour-read, neighbour-write and neighbour-greedy: the time of a quiet organization's calls,
// 20 per second on their own connections, with and without another organization's 200 connections. neighbour-push: the same while
// eight layers are pushed. neighbour-consoles: the same beside 50 open pages of the console, each of which is read again every 30
// seconds. flood-memory: memory left by such loads.

import { setTimeout as sleep } from "node:timers/promises";
import { addOrganization, type Organization } from "./callers.ts";
import type { Environment, Measure, Variant } from "./environment.ts";
import type { Fixture } from "./fixture.ts";
import { type HttpConnection, openHttpConnection, requestBytes } from "./http-connection.ts";
import { type Process, startBaseline } from "./processes.ts";
import { median } from "./median.ts";
import { residentMb } from "./memory.ts";
import { fillRepos, vacuumTables, withClient } from "./seed.ts";

interface NeighbourRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization?: string;
  readonly body?: string;
}

/** Input of baselines/neighbour.ts. */
export interface NeighbourLoad {
  readonly url: string;
  /** True if it respects Retry-After. */
  readonly obeys: boolean;
  readonly connections: number;
  readonly requests: readonly NeighbourRequest[];
  /** Absent: the requests are assigned to the connections in turn. Otherwise each connection sends all of them every so often. */
  readonly everyMs?: number;
}

/** Input of baselines/pushes.ts. */
export interface PushLoad {
  readonly url: string;
  readonly repo: string;
  readonly authorization: string;
  readonly connections: number;
  readonly layerBytes: number;
}

const neighbourConnections = 200;
const pushConnections = 8;
const pushedBytes = 100 * 1024 * 1024;
const neighbourRepos = 40_000;
const openConsoles = 50;
/** A visible page of the console asks at most this often. */
const consoleMs = 30_000;
const quietRepos = 100;
const quietConnections = 4;
const quietPerSecond = 20;
const rampMs = 1_000;

interface Neighbours {
  readonly fixture: Fixture;
  readonly quiet: Organization;
  readonly quietRepo: string;
  readonly greedy: Organization;
  readonly greedyRepo: string;
}

const someRepo = (fixture: Fixture, group: string): Promise<string> =>
  withClient(fixture.database, async (client) => {
    const { rows } = await client.query<{ uid: string }>("select uid from repos where uid >= $1 and uid < $2 limit 1", [`${group}/`, `${group}0`]);
    return rows[0]?.uid ?? "";
  });

const prepareNeighbours = async (environment: Environment): Promise<Neighbours> => {
  const fixture = await environment.blank();
  const [quiet, greedy] = [await addOrganization(fixture.application, "quiet", "editor"), await addOrganization(fixture.application, "greedy", "editor")];
  await withClient(fixture.database, async (client) => {
    await fillRepos(client, quiet.uid, quietRepos, "quiet");
    await fillRepos(client, greedy.uid, neighbourRepos, "greedy");
    await vacuumTables(client, "repos");
  });
  return { fixture, quiet, quietRepo: await someRepo(fixture, quiet.uid), greedy, greedyRepo: await someRepo(fixture, greedy.uid) };
};

let prepared: Promise<Neighbours> | undefined;
const neighbours = (environment: Environment): Promise<Neighbours> => (prepared ??= prepareNeighbours(environment));

const repos = "/registry/v2/repos";

type LoadName = "gets" | "lists" | "skips" | "creates" | "patches" | "bodies";

export const loadNames: readonly LoadName[] = ["gets", "lists", "skips", "creates", "patches", "bodies"];

const requestsOf: Readonly<Record<LoadName, (of: Neighbours) => NeighbourRequest[]>> = {
  gets: ({ greedy: { authorization }, greedyRepo }) => [{ method: "GET", path: `${repos}/${greedyRepo}`, authorization }],
  lists: ({ greedy: { authorization } }) => [{ method: "GET", path: `${repos}?page_size=200`, authorization }],
  skips: ({ greedy: { authorization } }) => [{ method: "GET", path: `${repos}?page_size=200&skip=${neighbourRepos - 300}&order_by=name`, authorization }],
  creates: ({ greedy: { uid, authorization } }) => [{ method: "POST", path: `${repos}/${uid}`, authorization, body: '{"name":"repo-{n}"}' }],
  patches: ({ greedy: { authorization }, greedyRepo }) => [
    { method: "PATCH", path: `${repos}/${greedyRepo}?update_mask=description`, authorization, body: '{"description":"{n}"}' },
  ],
  bodies: ({ greedy: { uid } }) => [{ method: "POST", path: `${repos}/${uid}`, body: JSON.stringify({ name: "x", description: "y".repeat(900_000) }) }],
};

/** Returns the median time of the quiet calls in milliseconds. Throws if one fails. */
const probe = async (connections: readonly HttpConnection[], request: (number: number) => Buffer, seconds: number): Promise<number> => {
  const beganMs = performance.now();
  const taken: number[] = [];
  const count = Math.max(10, Math.round(seconds * quietPerSecond));
  const calls: Promise<void>[] = [];
  const busy = connections.map(() => Promise.resolve());
  for (let index = 0; index < count; index++) {
    const waitMs = beganMs + (index * 1000) / quietPerSecond - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const slot = index % connections.length;
    const dueMs = performance.now();
    // Measured from the due time, so that waiting for a slow predecessor counts.
    const call = (busy[slot] ?? Promise.resolve()).then(async () => {
      const { status } = (await connections[slot]?.send(request(index))) ?? { status: 0 };
      if (status !== 200) throw new Error(`the quiet organization's call was answered with ${status}`);
      taken.push(performance.now() - dueMs);
    });
    busy[slot] = call;
    calls.push(call);
  }
  await Promise.all(calls);
  return median(taken);
};

let described = 0;

const quietCall = ({ fixture, quiet, quietRepo }: Neighbours, kind: "read" | "write"): ((number: number) => Buffer) => {
  const url = `${fixture.process.url}${repos}/${quietRepo}`;
  if (kind === "read") {
    const bytes = requestBytes(url, "GET", quiet.authorization);
    return () => bytes;
  }
  return () => requestBytes(`${url}?update_mask=description`, "PATCH", quiet.authorization, `{"description":"change ${++described}"}`);
};

const startNeighbour = async ({ folder }: Environment, of: Neighbours, load: LoadName, obeys: boolean): Promise<Process> => {
  const { url } = of.fixture.process;
  const given: NeighbourLoad = { url, obeys, connections: neighbourConnections, requests: requestsOf[load](of) };
  return startBaseline("neighbour", await folder.site("neighbour"), { LOAD: await folder.write("load.json", JSON.stringify(given)) });
};

/** Each page of a group with many repos: the tree, the user, the path, the permissions, and the page's own lists. */
const consoleRequests = ({ greedy: { uid, authorization } }: Neighbours): NeighbourRequest[] =>
  [
    "/auth/v1/validate",
    "/gantry/v1/names:resolve?path=greedy&types=Group",
    "/iam/v2/groups?uidp.in_root=true&order_by=name&page_size=200",
    `/iam/v2/groups?uidp.children_of=${uid}&order_by=name&page_size=200`,
    `/iam/v2/groups?uidp.children_of=${uid}&order_by=name&page_size=50`,
    `${repos}?uidp.children_of=${uid}&order_by=name&page_size=50`,
    `${repos}?uidp.children_of=${uid}&order_by=name&page_size=50&skip=${neighbourRepos / 2}`,
    "/registry/v2/tags?order_by=update_time%20desc&page_size=5",
  ].map((path) => ({ method: "GET", path, authorization }));

const startConsoles = async ({ folder }: Environment, of: Neighbours): Promise<Process> => {
  const { url } = of.fixture.process;
  const given: NeighbourLoad = { url, obeys: true, connections: openConsoles, requests: consoleRequests(of), everyMs: consoleMs };
  return startBaseline("neighbour", await folder.site("consoles"), { LOAD: await folder.write("consoles.json", JSON.stringify(given)) });
};

const pushers = "pushing";

const startPushes = async ({ folder }: Environment, { fixture }: Neighbours): Promise<Process> => {
  const { authorization } = await (pushing ??= addOrganization(fixture.application, pushers, "owner"));
  const given: PushLoad = { url: fixture.process.url, repo: `${pushers}/app`, authorization, connections: pushConnections, layerBytes: pushedBytes };
  return startBaseline("pushes", await folder.site("pushes"), { LOAD: await folder.write("pushes.json", JSON.stringify(given)) });
};

let pushing: Promise<Organization> | undefined;

const neighbourVariant = (kind: "read" | "write", load: LoadName | "pushes" | "consoles" | undefined, obeys: boolean): Variant => ({
  label: `quiet ${kind}, ${load === undefined ? "alone" : `beside ${obeys ? "" : "greedy "}${load}`}`,
  unit: "ms",
  async prepare(environment): Promise<Measure> {
    const of = await neighbours(environment);
    const call = quietCall(of, kind);
    const connections = Array.from({ length: quietConnections }, () => openHttpConnection(of.fixture.process.url));
    return async (seconds) => {
      if (load === undefined) return probe(connections, call, seconds);
      const neighbour = await (load === "pushes"
        ? startPushes(environment, of)
        : load === "consoles"
          ? startConsoles(environment, of)
          : startNeighbour(environment, of, load, obeys));
      try {
        await sleep(rampMs);
        return await probe(connections, call, seconds);
      } finally {
        await neighbour.stop();
        // Lets its requests in flight finish.
        await sleep(rampMs);
      }
    };
  },
});

const calmMs = 30_000;

/** Resident memory after all loads of clients that ignore Retry-After, relative to before. */
const floodMemoryVariant: Variant = {
  label: "memory after floods, over before",
  unit: "ratio",
  async prepare(environment): Promise<Measure> {
    const of = await neighbours(environment);
    const { pid } = of.fixture.process;
    return async (seconds) => {
      const before = await residentMb(pid);
      for (const load of loadNames) {
        const neighbour = await startNeighbour(environment, of, load, false);
        await sleep(seconds * 1000);
        await neighbour.stop();
      }
      await sleep(calmMs);
      return (await residentMb(pid)) / before;
    };
  },
};

export const neighbourVariants: Readonly<Record<string, Variant>> = {
  ...Object.fromEntries(
    (["read", "write"] as const).flatMap((kind) => [
      [`${kind}Alone`, neighbourVariant(kind, undefined, true)],
      ...loadNames.flatMap((load) => [
        [`${kind}Beside-${load}`, neighbourVariant(kind, load, true)],
        [`${kind}Greedy-${load}`, neighbourVariant(kind, load, false)],
      ]),
    ]),
  ),
  "readBeside-pushes": neighbourVariant("read", "pushes", true),
  "readBeside-consoles": neighbourVariant("read", "consoles", true),
  floodMemory: floodMemoryVariant,
};
