// npm run bench -- --against FOLDER: compares this checkout with another one in one run.
//
// - Each serves its own data directory and embedded PostgreSQL through its own bin/gantry.js. A folder without node_modules is
//   copied and uses those of this checkout.
// - The other checkout may be any earlier state, so only its command line (serve, token), settings and API are used. All rows are
//   created through the API, with the same calls on both sides.
// - A figure is the speed ratio of this checkout to the other: the ratio of the medians of interleaved rounds, with the range of
//   the rounds' ratios.
// - A write that records more than before (a deletion with the events of its dependents) has no bound; its cost is shown.

import { access, cp, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, text } from "#base/json.ts";
import { openSink } from "./deliveries.ts";
import type { Measure } from "./environment.ts";
import { getRepo, getRepoMessage, grpcFrame, grpcHeaders } from "./get-repo.ts";
import { clients, fetchJson, h2load, sendJson, wrk } from "./load.ts";
import { type Folder, type Process, liftRates, runGantry, serve, type Site, startBaseline, withFolder } from "./processes.ts";
import { median } from "./median.ts";
import { busyLine, commitOf, valueLine, variantLine } from "./report.ts";

const leastRatio = 0.9;
const root = join(import.meta.dirname, "..");

/** One of the two checkouts, running. */
export interface Server {
  readonly name: "before" | "now";
  readonly site: Site;
  readonly process: Process;
  /** Additional settings of its start. */
  readonly settings: Readonly<Record<string, string>>;
  readonly folder: Folder;
  /** The organization created at the start. */
  readonly organization: string;
  readonly repos: readonly string[];
  /** Authorization headers of a viewer and an owner of the organization. */
  readonly viewer: string;
  readonly owner: string;
  readonly stopLater: (process: Process) => Process;
}

interface Comparison {
  readonly name: string;
  readonly unit: "1/s" | "ratio";
  /** Records more than earlier states, so its ratio is shown without a bound. */
  readonly recordsMore?: true;
  prepare(server: Server): Promise<Measure>;
}

/** Runs `work` for each number below `count` with the usual number of clients; returns the results in order. */
export const inParallel = async <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> => {
  const results: T[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: clients }, client));
  return results;
};

let numbered = 0;
export const freshName = (kind: string): string => `${kind}-${++numbered}`;

type Api = Pick<Server, "process" | "owner">;

const post = async ({ process, owner }: Api, path: string, body: JsonObject): Promise<string> =>
  text(await sendJson("POST", `${process.url}${path}`, owner, body), "uid");
export const remove = async ({ process, owner }: Api, path: string): Promise<void> => void (await sendJson("DELETE", `${process.url}${path}`, owner));

export const createRepo = (api: Api, parent: string): Promise<string> => post(api, `/registry/v2/repos/${parent}`, { name: freshName("repo") });
const createTag = (api: Api, repo: string): Promise<string> =>
  post(api, `/registry/v2/tags/${repo}`, { name: freshName("tag"), digest: `sha256:${"ab".repeat(32)}` });
export const createGroup = (api: Api, parent: string): Promise<string> => post(api, `/iam/v2/groups/${parent}`, { name: freshName("group") });
const createIdentity = (api: Api, parent: string): Promise<string> => {
  const name = freshName("workload");
  return post(api, `/iam/v2/identities/${parent}`, { name, claimMatch: { issuer: "https://issuer.example.com", subject: name } });
};
const createBinding = (api: Api, group: string, identityUid: string, roleUid: string): Promise<string> =>
  post(api, `/iam/v2/roleBindings/${group}`, { identityUid, roleUid });

const roleNamed = async ({ process, owner }: Api, name: string): Promise<string> => {
  const { reply } = await fetchJson(`${process.url}/iam/v2/roles?name=${name}`, owner);
  const [role = {}] = reply.roles as JsonObject[];
  return text(role, "uid");
};

const subscribe = (api: Api, group: string, sink: string): Promise<string> => post(api, `/events/v2/subscriptions/${group}`, { sink });

/** Returns the checkout, or a copy with this one's node_modules if it has none. */
const withPackages = async (checkout: string, folder: Folder, name: string): Promise<string> => {
  if (
    await access(join(checkout, "node_modules")).then(
      () => true,
      () => false,
    )
  )
    return checkout;
  const copy = join(folder.path, `checkout-${name}`);
  const leftOut = new Set([".git", "gantry-data", "node_modules"].map((each) => join(checkout, each)));
  await cp(checkout, copy, { recursive: true, filter: (source) => !leftOut.has(source) });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
};

const reposMade = 100;

export const startServer = async (folder: Folder, name: Server["name"], checkout: string, stopLater: Server["stopLater"]): Promise<Server> => {
  const site = await folder.site(name);
  const source = await withPackages(checkout, folder, name);
  // Before the server, which reads the rates at its start. Earlier states lack the command.
  await liftRates(site, source).catch(() => {});
  const settings = { GANTRY_EGRESS_ALLOW: "sink=127.0.0.0/8" };
  const process = stopLater(await serve(site, { checkout: source, settings }));
  const tokenOf = async (...args: string[]): Promise<string> => `Bearer ${(await runGantry(site, ["token", ...args], source).ended).trim()}`;
  const operator = { process, owner: await tokenOf() };
  const { reply } = await fetchJson(`${process.url}/iam/v2/groups?uidp.in_root=true`, operator.owner);
  const organization = text((reply.groups as JsonObject[])[0] ?? {}, "uid");
  const memberOf = async (role: string): Promise<string> => {
    const identity = await createIdentity(operator, organization);
    await createBinding(operator, organization, identity, await roleNamed(operator, role));
    return tokenOf("--identity", identity);
  };
  const [viewer, owner] = [await memberOf("viewer"), await memberOf("owner")];
  const repos = await inParallel(reposMade, () => createRepo(operator, organization));
  return { name, site, process, settings, folder, organization, repos, viewer, owner, stopLater };
};

/** Measures writes per second, as many as fit the time. `prepare` creates input and `clear` cleans up, both untimed. */
const writesOf = <T>(
  most: number,
  steps: {
    readonly prepare: () => Promise<T>;
    readonly work: (item: T, index: number) => Promise<unknown>;
    readonly clear?: (results: readonly unknown[]) => Promise<unknown>;
  },
): Measure => {
  let rate = clients;
  return async (seconds) => {
    const count = Math.min(most, Math.max(2 * clients, Math.round(rate * seconds)));
    const items = await inParallel(count, steps.prepare);
    const beganMs = performance.now();
    const results = await inParallel(count, async (index) => steps.work(items[index] as T, index));
    rate = (count * 1000) / (performance.now() - beganMs);
    await steps.clear?.(results);
    return rate;
  };
};

/** wrk takes whole seconds. */
const halfOf = (seconds: number): number => Math.max(1, Math.round(seconds / 2));

const nothing = async (): Promise<undefined> => undefined;
const subscriptionCount = 100;
/** A few times as long as storing a sink's state takes. */
const restMs = 150;
/** A median of fewer would be distorted by outliers. */
const subscribedWritesMin = 9;
const bindingsOfIdentity = 10;
const tagsOfRepo = 20;
/** Dependents are created before each deletion, so this many suffice. */
const cascadesMax = 64;

const comparisons: readonly Comparison[] = [
  {
    name: "rest-get",
    unit: "1/s",
    async prepare({ process, repos, viewer }) {
      return (seconds) => wrk(`${process.url}/registry/v2/repos/${repos[49]}`, { authorization: viewer }, seconds);
    },
  },
  {
    // As a ratio to node:http with the same bytes, measured in the same rounds.
    name: "rest-get-http",
    unit: "ratio",
    async prepare({ process, repos, viewer, site, stopLater }) {
      const path = `/registry/v2/repos/${repos[49]}`;
      const { response, body } = await fetchJson(`${process.url}${path}`, viewer);
      const headers = Object.fromEntries([...response.headers].filter(([name]) => !["date", "connection", "keep-alive"].includes(name)));
      const baseline = stopLater(await startBaseline("bytes", site, { BASELINE_HEADERS: JSON.stringify(headers), BASELINE_BODY: body }));
      const rateAt = (url: string, seconds: number): Promise<number> => wrk(`${url}${path}`, { authorization: viewer }, seconds);
      return async (seconds) => (await rateAt(process.url, halfOf(seconds))) / (await rateAt(baseline.url, halfOf(seconds)));
    },
  },
  {
    name: "rest-list-50",
    unit: "1/s",
    async prepare({ process, viewer }) {
      const url = `${process.url}/registry/v2/repos`;
      const { reply } = await fetchJson(url, viewer);
      if ((reply.repos as JsonObject[]).length !== 50) throw new Error(`${url} does not answer a full page`);
      return (seconds) => wrk(url, { authorization: viewer }, seconds);
    },
  },
  {
    name: "grpc-get",
    unit: "1/s",
    async prepare({ name, process, repos, viewer, folder }) {
      const file = await folder.write(`get-${name}.grpc`, grpcFrame(getRepoMessage(repos[49] ?? "")));
      return (seconds) => h2load(`${process.url}/${getRepo}`, grpcHeaders(viewer), file, seconds);
    },
  },
  {
    name: "create-repo",
    unit: "1/s",
    async prepare(server) {
      const group = await createGroup(server, server.organization);
      return writesOf(10_000, {
        prepare: nothing,
        work: () => createRepo(server, group),
        clear: (uids) => inParallel(uids.length, (index) => remove(server, `/registry/v2/repos/${String(uids[index])}`)),
      });
    },
  },
  {
    name: "update-repo",
    unit: "1/s",
    async prepare({ process, owner, repos }) {
      return writesOf(10_000, {
        prepare: nothing,
        work: (_, index) =>
          sendJson("PATCH", `${process.url}/registry/v2/repos/${repos[index % repos.length]}?update_mask=description`, owner, {
            description: freshName("change"),
          }),
      });
    },
  },
  {
    name: "delete-repo",
    unit: "1/s",
    async prepare(server) {
      const group = await createGroup(server, server.organization);
      return writesOf(10_000, { prepare: () => createRepo(server, group), work: (uid) => remove(server, `/registry/v2/repos/${uid}`) });
    },
  },
  {
    name: "create-role-binding",
    unit: "1/s",
    async prepare(server) {
      const group = await createGroup(server, server.organization);
      const role = await roleNamed(server, "viewer");
      return writesOf(1_000, {
        prepare: () => createIdentity(server, group),
        work: (identity) => createBinding(server, group, identity, role),
        clear: (uids) => inParallel(uids.length, (index) => remove(server, `/iam/v2/roleBindings/${String(uids[index])}`)),
      });
    },
  },
  {
    // An update of a repository with a hundred subscriptions, on an idle server: the next write starts after all deliveries are
    // stored. During deliveries a write takes up to seven times as long on any server, so the figure would measure their number.
    name: "write-subscribed",
    unit: "1/s",
    async prepare(server) {
      const { process, owner } = server;
      const sink = await openSink(server);
      const group = await createGroup(server, server.organization);
      const repo = await createRepo(server, group);
      await inParallel(subscriptionCount, (index) => subscribe(server, group, `${sink.url}/${index}`));
      // Each sink receives events of later subscriptions: thousands, which are not measured.
      await sink.calm();
      const timedWrite = async (): Promise<number> => {
        // A random pause, so that writes meet the server's periodic work at any phase.
        await sleep(restMs * (1 + Math.random()));
        const beganMs = performance.now();
        await sendJson("PATCH", `${process.url}/registry/v2/repos/${repo}?update_mask=description`, owner, { description: freshName("change") });
        const tookMs = performance.now() - beganMs;
        await sink.after(subscriptionCount);
        return tookMs;
      };
      return async (seconds) => {
        const tookMs: number[] = [];
        const untilMs = performance.now() + seconds * 1000;
        while (performance.now() < untilMs || tookMs.length < subscribedWritesMin) tookMs.push(await timedWrite());
        return 1000 / median(tookMs);
      };
    },
  },
  {
    name: "delete-repo-with-tags",
    unit: "1/s",
    recordsMore: true,
    async prepare(server) {
      const group = await createGroup(server, server.organization);
      return writesOf(cascadesMax, {
        prepare: async () => {
          const repo = await createRepo(server, group);
          for (let tag = 0; tag < tagsOfRepo; tag++) await createTag(server, repo);
          return repo;
        },
        work: (uid) => remove(server, `/registry/v2/repos/${uid}`),
      });
    },
  },
  {
    name: "delete-identity-with-bindings",
    unit: "1/s",
    recordsMore: true,
    async prepare(server) {
      const home = await createGroup(server, server.organization);
      const groups = await inParallel(bindingsOfIdentity, () => createGroup(server, home));
      const role = await roleNamed(server, "viewer");
      return writesOf(cascadesMax, {
        prepare: async () => {
          const identity = await createIdentity(server, home);
          for (const group of groups) await createBinding(server, group, identity, role);
          return identity;
        },
        work: (uid) => remove(server, `/iam/v2/identities/${uid}`),
      });
    },
  },
];

export const againstNames: readonly string[] = comparisons.map(({ name }) => name);

interface Compared {
  readonly comparison: Comparison;
  readonly before: readonly number[];
  readonly now: readonly number[];
}

const ratioOf = ({ before, now }: Compared): number => median(now) / median(before);
const isSlower = (compared: Compared): boolean => compared.comparison.recordsMore === undefined && !(ratioOf(compared) >= leastRatio);

const linesOf = (compared: Compared): string[] => {
  const { comparison, before, now } = compared;
  const ratios = now.map((value, round) => value / (before[round] ?? Number.NaN));
  const mark = comparison.recordsMore ? "    " : isSlower(compared) ? "FAIL" : "PASS";
  const bound = comparison.recordsMore ? "no bound" : `at least ${leastRatio}`;
  return [
    variantLine(`${comparison.name}, before`, comparison.unit, before),
    variantLine(`${comparison.name}, now`, comparison.unit, now),
    valueLine(mark, comparison.name, ratioOf(compared).toFixed(2), bound, [Math.min(...ratios), Math.max(...ratios)]),
  ];
};

interface AgainstOptions {
  readonly json: boolean;
  readonly only: ReadonlySet<string>;
  readonly rounds: number;
  readonly seconds: number;
}

const measureBoth = async (servers: readonly [Server, Server], comparison: Comparison, { rounds, seconds }: AgainstOptions): Promise<Compared> => {
  const measures = [await comparison.prepare(servers[0]), await comparison.prepare(servers[1])] as const;
  const values: [number[], number[]] = [[], []];
  // The first round is warm-up and not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const value = await measures[side](seconds);
      if (round > 0) values[side].push(value);
    }
  }
  return { comparison, before: values[0], now: values[1] };
};

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

/** Compares this checkout with the one in `checkout` and prints the figures. Returns the exit status. */
export const compareWith = (checkout: string, options: AgainstOptions): Promise<number> =>
  withFolder(async (folder) => {
    const before = resolve(checkout);
    await access(join(before, "bin", "gantry.js")).catch(() => {
      throw new Error(`${before} is no checkout of Gantry: it has no bin/gantry.js`);
    });
    const busy = busyLine();
    const started: Process[] = [];
    const stopLater = (process: Process): Process => {
      started.push(process);
      return process;
    };
    try {
      progress(`before: ${before} (${commitOf(before)}), now: ${commitOf(root)}`);
      const servers = [await startServer(folder, "before", before, stopLater), await startServer(folder, "now", root, stopLater)] as const;
      const all: Compared[] = [];
      for (const comparison of comparisons.filter(({ name }) => options.only.has(name))) {
        progress(`${comparison.name}: ${options.rounds} rounds`);
        all.push(await measureBoth(servers, comparison, options));
      }
      const head = [
        `${options.rounds} interleaved rounds of ${options.seconds} s; ratio of medians, now to before (least … most of the rounds)`,
        ...(busy ? [busy] : []),
      ];
      if (options.json)
        for (const each of all)
          process.stdout.write(`${JSON.stringify({ name: each.comparison.name, value: Number(ratioOf(each).toPrecision(4)), unit: "ratio" })}\n`);
      else process.stdout.write(`${[...head, "", ...all.flatMap(linesOf)].join("\n")}\n`);
      const slower = all.filter(isSlower).map(({ comparison }) => comparison.name);
      if (slower.length > 0) progress(`slower than before: ${slower.join(", ")}`);
      return slower.length > 0 ? 1 : 0;
    } finally {
      for (const process of started.toReversed()) await process.stop();
    }
  });
