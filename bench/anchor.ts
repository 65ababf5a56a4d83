// npm run bench -- --anchor: compares the CPU time of this checkout with that of an old commit, the anchor.
//
// - The anchor never moves, so costs of a few percent at a time add up. All bounds are in anchor-bounds.ts.
// - A figure is the CPU time per request of the server and its database with all processes (cpu.ts), as a multiple of the
//   anchor's: the median of interleaved rounds. CPU time is comparable on a shared machine.
// - This process creates the load: 16 connections, each with one request at a time. Its own cost is not counted.
// - Operations younger than the anchor, and the command line, are multiples of `node -e 0`; an idle server is a percent of a
//   core.
// - A round during which other processes used much of the machine is repeated. If a figure stays disturbed after three tries, it
//   is a warning, not a failure.

import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { methodByName } from "#contract/catalog.ts";
import { messageDescriptor } from "#contract/descriptors.ts";
import { createGroup, createRepo, freshName, inParallel, remove, type Server, startServer } from "./against.ts";
import { anchorCommit, type Bound, bounds, type FigureName } from "./anchor-bounds.ts";
import { anchorCheckout, NoAnchor } from "./anchor-clone.ts";
import { type MachineTime, readMachineTime, readTreeCpuMs } from "./cpu.ts";
import { getRepo, getRepoMessage, grpcFrame, grpcHeaders } from "./get-repo.ts";
import { openHttpConnection, requestBytes } from "./http-connection.ts";
import { clients } from "./load.ts";
import { median } from "./median.ts";
import { NoPeer, type Peer, startPeer } from "./peer.ts";
import { type Process, runGantryCpu, serve, withFolder } from "./processes.ts";
import { commitOf, valueLine, variantLine } from "./report.ts";

const root = join(import.meta.dirname, "..");

export const anchorNames: readonly FigureName[] = Object.keys(bounds) as FigureName[];

export interface AnchorOptions {
  readonly json: boolean;
  readonly only: ReadonlySet<string>;
  readonly rounds: number | undefined;
  /** For CI: fewer requests and rounds, and tolerance above each bound. */
  readonly short: boolean;
}

/** The short form's few rounds are less certain, so its limits are this much higher. */
const shortTolerance = 1.25;
/** The short form repeats no rounds after the first, and starts no figure after the second. */
const shortBudgetMs = 120_000;
const shortEndMs = 150_000;
const triesMax = 3;
/** The share of the CPUs that other processes may use in a round; beyond it, caches and clock rates are affected. */
const othersMax = 0.25;
/** Percent of a core that the idle anchor takes at most on a machine where the bound of idle servers holds. */
const anchorIdleMax = 2;

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

type Load = (count: number) => Promise<void>;

const httpLoad = (url: string, authorization: string): Load => {
  const connections = Array.from({ length: clients }, () => openHttpConnection(url));
  const bytes = requestBytes(url, "GET", authorization);
  return async (count) => {
    await Promise.all(
      connections.map(async (connection, index) => {
        for (let sent = index; sent < count; sent += clients) {
          const { status } = await connection.send(bytes);
          if (status !== 200) throw new Error(`${url}: ${status}`);
        }
      }),
    );
  };
};

const callOnce = (session: ClientHttp2Session, path: string, headers: Readonly<Record<string, string>>, frame: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    let status: unknown;
    stream
      .on("response", (received) => (status = received["grpc-status"]))
      .on("trailers", (received) => (status = received["grpc-status"]))
      .on("data", () => {})
      .on("error", reject)
      .on("end", () => (status === "0" ? resolve() : reject(new Error(`${path}: grpc-status ${String(status)}`))))
      .end(frame);
  });

const grpcLoad = async (url: string, method: string, authorization: string, message: Uint8Array, stopLater: (close: () => void) => void): Promise<Load> => {
  const sessions = await Promise.all(
    Array.from({ length: clients }, async () => {
      const session = connect(url);
      session.on("error", () => {});
      await once(session, "connect");
      stopLater(() => session.destroy());
      return session;
    }),
  );
  const [headers, frame] = [grpcHeaders(authorization), grpcFrame(message)];
  return async (count) => {
    await Promise.all(
      sessions.map(async (session, index) => {
        for (let sent = index; sent < count; sent += clients) await callOnce(session, `/${method}`, headers, frame);
      }),
    );
  };
};

interface Side {
  readonly server: Server;
  readonly stopLater: (close: () => void) => void;
}

/** Measures one round of one side and returns CPU milliseconds per request. */
type CpuRound = () => Promise<number>;

const roundOf = async (server: Server, count: number, work: () => Promise<unknown>): Promise<number> => {
  const before = await readTreeCpuMs(server.process.pid);
  await work();
  return ((await readTreeCpuMs(server.process.pid)) - before) / count;
};

const listRepos = "chainguard.platform.registry.v2.ReposService/ListRepos";

const listMessage = (): Uint8Array => {
  const method = methodByName(listRepos);
  if (!method) throw new Error("the contract has no ListRepos");
  const descriptor = messageDescriptor(method.input);
  return toBinary(descriptor, fromJson(descriptor, {}));
};

const repoAt = ({ repos }: Server, index: number): string => repos[index % repos.length] ?? "";

const patchRepo = (server: Server, uid: string): Buffer =>
  requestBytes(
    `${server.process.url}/registry/v2/repos/${uid}?update_mask=description`,
    "PATCH",
    server.owner,
    JSON.stringify({ description: freshName("change") }),
  );

/** The same for the peer: its processes, and the database it shares with an idle server. */
const roundOfPeer = async ({ peer, server }: PeerSide, count: number, work: () => Promise<unknown>): Promise<number> => {
  const used = async (): Promise<number> => (await readTreeCpuMs(peer.process.pid)) + (await readTreeCpuMs(server.process.pid));
  const before = await used();
  await work();
  return ((await used()) - before) / count;
};

const sendEach = async (side: Side, url: string, count: number, requestOf: (index: number) => Buffer): Promise<void> => {
  const connections = Array.from({ length: clients }, () => openHttpConnection(url));
  for (const connection of connections) side.stopLater(() => connection.close());
  await Promise.all(
    connections.map(async (connection, index) => {
      for (let sent = index; sent < count; sent += clients) {
        const { status } = await connection.send(requestOf(sent));
        if (status !== 200) throw new Error(`${url}: ${status}`);
      }
    }),
  );
};

interface PeerSide extends Side {
  readonly peer: Peer;
}

interface Comparison {
  /** Requests per round, in the long and the short form. */
  readonly counts: readonly [long: number, short: number];
  prepare(side: Side, count: number): Promise<CpuRound>;
}

const ofLoad = (counts: Comparison["counts"], load: (side: Side) => Promise<Load> | Load): Comparison => ({
  counts,
  async prepare(side, count) {
    const send = await load(side);
    return () => roundOf(side.server, count, () => send(count));
  },
});

export const comparisons: Readonly<Partial<Record<FigureName, Comparison>>> = {
  get: ofLoad([4000, 1200], ({ server: { process, repos, viewer } }) => httpLoad(`${process.url}/registry/v2/repos/${repos[49]}`, viewer)),
  "list-50": ofLoad([2000, 600], ({ server: { process, viewer } }) => httpLoad(`${process.url}/registry/v2/repos`, viewer)),
  "grpc-get": ofLoad([4000, 1200], ({ server: { process, repos, viewer }, stopLater }) =>
    grpcLoad(process.url, getRepo, viewer, getRepoMessage(repos[49] ?? ""), stopLater),
  ),
  "grpc-list": ofLoad([2000, 600], ({ server: { process, viewer }, stopLater }) => grpcLoad(process.url, listRepos, viewer, listMessage(), stopLater)),
  create: {
    counts: [1000, 300],
    async prepare({ server }, count) {
      const group = await createGroup(server, server.organization);
      return () => roundOf(server, count, () => inParallel(count, () => createRepo(server, group)));
    },
  },
  update: {
    counts: [1000, 300],
    async prepare(side, count) {
      const { server } = side;
      return () => roundOf(server, count, () => sendEach(side, server.process.url, count, (index) => patchRepo(server, repoAt(server, index))));
    },
  },
  delete: {
    counts: [600, 200],
    async prepare({ server }, count) {
      const group = await createGroup(server, server.organization);
      return async () => {
        const uids = await inParallel(count, () => createRepo(server, group));
        return roundOf(server, count, () => inParallel(count, (index) => remove(server, `/registry/v2/repos/${uids[index]}`)));
      };
    },
  },
};

interface PeerComparison {
  /** The figure to compare with. */
  readonly of: FigureName;
  prepare(side: PeerSide, count: number): Promise<CpuRound>;
}

const ofPeerLoad = (of: FigureName, load: (side: PeerSide) => Promise<Load> | Load): PeerComparison => ({
  of,
  async prepare(side, count) {
    const send = await load(side);
    return () => roundOfPeer(side, count, () => send(count));
  },
});

const ofPeerRequests = (of: FigureName, requestOf: (side: PeerSide, index: number) => Buffer): PeerComparison => ({
  of,
  prepare: async (side, count) => () => roundOfPeer(side, count, () => sendEach(side, side.peer.process.url, count, (index) => requestOf(side, index))),
});

const peerService = "gantry.bench.peer.v1.Repos";

/** Encodes a message with one text field, the peer's GetRepoRequest. */
const textMessage = (text: string): Uint8Array => Buffer.concat([Buffer.from([0x0a, Buffer.byteLength(text)]), Buffer.from(text)]);

const peerComparisons: Readonly<Partial<Record<FigureName, PeerComparison>>> = {
  "get-peer": ofPeerLoad("get", ({ peer, server }) => httpLoad(`${peer.process.url}/repos/${repoAt(server, 49)}`, server.viewer)),
  "list-50-peer": ofPeerLoad("list-50", ({ peer, server }) => httpLoad(`${peer.process.url}/repos`, server.viewer)),
  "create-peer": ofPeerRequests("create", ({ peer, server }) =>
    requestBytes(`${peer.process.url}/repos/${server.organization}`, "POST", server.owner, JSON.stringify({ name: freshName("repo") })),
  ),
  "update-peer": ofPeerRequests("update", ({ peer, server }, index) =>
    requestBytes(`${peer.process.url}/repos/${repoAt(server, index)}`, "PATCH", server.owner, JSON.stringify({ description: freshName("change") })),
  ),
  "grpc-get-peer": ofPeerLoad("grpc-get", ({ peer, server, stopLater }) =>
    grpcLoad(peer.grpcUrl, `${peerService}/GetRepo`, server.viewer, textMessage(repoAt(server, 49)), stopLater),
  ),
  "grpc-list-peer": ofPeerLoad("grpc-list", ({ peer, server, stopLater }) =>
    grpcLoad(peer.grpcUrl, `${peerService}/ListRepos`, server.viewer, new Uint8Array(), stopLater),
  ),
};

interface Measured {
  readonly name: FigureName;
  readonly value: number;
  readonly spread: readonly [number, number];
  /** Measured values for the report. */
  readonly lines: readonly string[];
  /** Other processes used too much of the machine, even in repeated rounds. */
  readonly disturbed: boolean;
}

/** Returns the CPU share of other processes between two moments. */
const othersShare = (from: MachineTime, to: MachineTime, ownMs: number): number =>
  Math.max(0, (to.busyMs - from.busyMs - ownMs) / Math.max(1, to.allMs - from.allMs));

interface Quiet<T> {
  readonly result: T;
  readonly disturbed: boolean;
}

type OwnTime = () => Promise<number>;

/** Runs a round, and repeats it if the machine was busy, at most three times and while time remains. */
const inQuiet = async <T>(ownTime: OwnTime, untilMs: number, round: () => Promise<T>): Promise<Quiet<T>> => {
  for (let attempt = 1; ; attempt++) {
    const [machine, own] = [await readMachineTime(), await ownTime()];
    const result = await round();
    const disturbed = othersShare(machine, await readMachineTime(), (await ownTime()) - own) > othersMax;
    if (!disturbed || attempt === triesMax || performance.now() > untilMs) return { result, disturbed };
    await sleep(500);
  }
};

const ownCpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Returns the ratio per round; the figure is disturbed if more than half of the rounds are. */
const ratioFigure = (name: FigureName, before: readonly number[], now: readonly number[], disturbedRounds: number, other = "anchor"): Measured => {
  const ratios = now.map((value, round) => value / (before[round] ?? Number.NaN));
  return {
    name,
    value: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    lines: [variantLine(`${name}, ${other}`, "ms CPU", before), variantLine(`${name}, now`, "ms CPU", now)],
    disturbed: 2 * disturbedRounds > now.length,
  };
};

/** Measures both sides in turn. The first round is warm-up and not counted. */
const inTurn = async (
  rounds: number,
  measures: readonly [CpuRound, CpuRound],
  quietly: <T>(round: () => Promise<T>) => Promise<Quiet<T>>,
): Promise<{ readonly values: readonly [number[], number[]]; readonly disturbed: number }> => {
  const values: [number[], number[]] = [[], []];
  let disturbedRounds = 0;
  for (const measure of measures) await measure();
  for (let round = 0; round < rounds; round++) {
    const { result, disturbed } = await quietly(async () => {
      const pair: [number, number] = [0, 0];
      for (const side of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) pair[side] = await measures[side]();
      return pair;
    });
    values[0].push(result[0]);
    values[1].push(result[1]);
    if (disturbed) disturbedRounds++;
  }
  return { values, disturbed: disturbedRounds };
};

const commands: Readonly<Partial<Record<FigureName, readonly string[]>>> = {
  help: ["--help"],
  command: ["iam", "groups", "list"],
  token: ["token"],
};

/** The system counts the CPU time of a process in steps of 10 ms, a third of that of `node -e 0`. */
const commandRuns = 6;

const averageOf = async (measure: () => Promise<number>): Promise<number> => {
  let sum = 0;
  for (let run = 0; run < commandRuns; run++) sum += await measure();
  return sum / commandRuns;
};

const anchorBoundOf = (name: FigureName): Bound => bounds[name];

const limitOf = (name: FigureName): number => {
  const { most, today } = anchorBoundOf(name);
  return Math.max(most, today ?? most);
};

const boundText = (name: FigureName): string => {
  const { most, today } = anchorBoundOf(name);
  return `at most ${most}${today === undefined ? "" : `, today ${today}`}`;
};

const isMissed = ({ name, value }: Measured, tolerance: number): boolean => !(value <= limitOf(name) * tolerance);

/** A `today` this far above the measured value is out of date. */
const staleToday = 0.85;

const verdictLine = (measured: Measured, tolerance: number): string => {
  const { name, value, spread, disturbed } = measured;
  const mark = isMissed(measured, tolerance) ? (disturbed ? "WARN" : "FAIL") : value > anchorBoundOf(name).most * tolerance ? "DEBT" : "PASS";
  return valueLine(mark, name, value.toFixed(2), boundText(name), spread);
};

/** Compares this checkout with the anchor and prints the figures. Returns the exit status. */
export const compareWithAnchor = async (options: AnchorOptions): Promise<number> => {
  const { short } = options;
  const beganMs = performance.now();
  const untilMs = short ? beganMs + shortBudgetMs : Number.POSITIVE_INFINITY;
  const rounds = options.rounds ?? (short ? 3 : 7);
  const tolerance = short ? shortTolerance : 1;
  // Building the peer takes minutes, so the short form omits it.
  const wanted = (name: FigureName): boolean => options.only.has(name) && !(short && anchorBoundOf(name).of === "peer");
  const warnings: string[] = [];
  const leftOut: FigureName[] = [];
  const all: Measured[] = [];
  /** Returns whether to measure a figure; the report names figures omitted for lack of time. */
  const begins = (name: FigureName): boolean => {
    if (!wanted(name)) return false;
    if (!short || performance.now() < beganMs + shortEndMs) return true;
    leftOut.push(name);
    return false;
  };
  let anchor: string | undefined;
  try {
    anchor = await anchorCheckout(anchorCommit, progress);
  } catch (thrown) {
    if (!(thrown instanceof NoAnchor) || !short) throw thrown;
    // Without history the anchor is missing; figures that do not need it are still measured.
    warnings.push(`Not compared with the anchor: ${thrown.message}`);
  }
  await withFolder(async (folder) => {
    const started: (() => Promise<void> | void)[] = [];
    const servers: Server[] = [];
    const startedProcess = (process: Process): Process => {
      started.push(() => process.stop());
      return process;
    };
    const ownTime: OwnTime = async () => {
      let sum = ownCpuMs();
      for (const { process } of servers) sum += await readTreeCpuMs(process.pid);
      return sum;
    };
    const quietly = <T>(round: () => Promise<T>): Promise<Quiet<T>> => inQuiet(ownTime, untilMs, round);
    try {
      progress(`anchor: ${anchor ?? "none"}, now: ${commitOf(root)}`);
      if (anchor !== undefined) servers.push(await startServer(folder, "before", anchor, startedProcess));
      servers.push(await startServer(folder, "now", root, startedProcess));
      const checkouts = anchor === undefined ? [root] : [anchor, root];

      // Always on the existing data directory; the other figures use the last start.
      const startOf = async (side: number): Promise<Quiet<number>> => {
        const server = servers[side];
        if (!server) throw new Error("no server");
        await server.process.stop();
        const [machine, own] = [await readMachineTime(), ownCpuMs()];
        const process = startedProcess(await serve(server.site, { checkout: checkouts[side] ?? root, settings: server.settings }));
        servers[side] = { ...server, process };
        const result = await readTreeCpuMs(process.pid);
        return { result, disturbed: othersShare(machine, await readMachineTime(), result + ownCpuMs() - own) > othersMax };
      };
      if (anchor !== undefined && begins("start")) {
        progress(`start: ${rounds} rounds`);
        const values: [number[], number[]] = [[], []];
        let disturbed = 0;
        for (let round = 0; round <= rounds; round++) {
          for (const side of [0, 1] as const) {
            const start = await startOf(side);
            if (round > 0) values[side].push(start.result);
            if (round > 0 && start.disturbed) disturbed += 0.5;
          }
        }
        all.push(ratioFigure("start", values[0], values[1], disturbed));
      }

      if (begins("idle")) {
        const seconds = short ? 12 : 30;
        progress(`idle: ${seconds} s`);
        // Work after the start is done by then.
        await sleep(short ? 4000 : 10_000);
        const [machine, own] = [await readMachineTime(), await ownTime()];
        const shares = await Promise.all(
          servers.map(async ({ process }) => {
            const [beganMs, before] = [performance.now(), await readTreeCpuMs(process.pid)];
            await sleep(seconds * 1000);
            return (100 * ((await readTreeCpuMs(process.pid)) - before)) / (performance.now() - beganMs);
          }),
        );
        const value = shares.at(-1) ?? Number.NaN;
        const lines = servers.map(({ name }, index) =>
          variantLine(`idle, ${name === "before" ? "anchor" : "now"}`, "% of a core", [shares[index] ?? Number.NaN]),
        );
        // The anchor takes .7 % on a quiet machine. Where it takes more, waking up is expensive whatever the server does.
        const isExpensive = servers.length > 1 && (shares[0] ?? 0) > anchorIdleMax;
        const disturbed = isExpensive || othersShare(machine, await readMachineTime(), (await ownTime()) - own) > othersMax;
        all.push({ name: "idle", value, spread: [value, value], lines, disturbed });
      }

      const [before, now] = servers;
      if (before && now && servers.length === 2) {
        for (const [name, comparison] of Object.entries(comparisons) as [FigureName, Comparison][]) {
          if (!begins(name)) continue;
          progress(`${name}: ${rounds} rounds`);
          const count = comparison.counts[short ? 1 : 0];
          const closers: (() => void)[] = [];
          const prepare = (server: Server): Promise<CpuRound> => comparison.prepare({ server, stopLater: (close) => closers.push(close) }, count);
          const { values, disturbed } = await inTurn(rounds, [await prepare(before), await prepare(now)], quietly);
          all.push(ratioFigure(name, values[0], values[1], disturbed));
          for (const close of closers) close();
        }
      }

      const served = servers.at(-1);
      const peerFigures = (Object.entries(peerComparisons) as [FigureName, PeerComparison][]).filter(([name]) => wanted(name));
      if (served && peerFigures.length > 0) {
        const peer = await startPeer(folder, served.site, progress).catch((thrown: unknown) => {
          if (!(thrown instanceof NoPeer)) throw thrown;
          warnings.push(`Not compared with the peer: ${thrown.message}`);
          return undefined;
        });
        if (peer) started.push(() => peer.process.stop());
        for (const [name, comparison] of peer ? peerFigures : []) {
          progress(`${name}: ${rounds} rounds`);
          const own = comparisons[comparison.of];
          if (!peer || !own) continue;
          const count = own.counts[short ? 1 : 0];
          const closers: (() => void)[] = [];
          const side = { server: served, peer, stopLater: (close: () => void) => void closers.push(close) };
          const { values, disturbed } = await inTurn(rounds, [await comparison.prepare(side, count), await own.prepare(side, count)], quietly);
          all.push(ratioFigure(name, values[0], values[1], disturbed, "peer"));
          for (const close of closers) close();
        }
      }

      if (served) {
        for (const [name, args] of Object.entries(commands) as [FigureName, readonly string[]][]) {
          if (!begins(name)) continue;
          progress(`${name}: ${rounds} rounds`);
          const node = (): Promise<number> => averageOf(() => runGantryCpu(served.site, undefined));
          const signedIn = { GANTRY_SERVER: served.process.url, GANTRY_TOKEN: served.viewer.replace("Bearer ", "") };
          const gantry = (): Promise<number> => averageOf(() => runGantryCpu(served.site, args, name === "command" ? signedIn : {}));
          const { values, disturbed } = await inTurn(rounds, [node, gantry], quietly);
          all.push(ratioFigure(name, values[0], values[1], disturbed, "node -e 0"));
        }
      }
    } finally {
      for (const stop of started.toReversed()) await stop();
    }
  });

  const head = `${rounds} interleaved rounds; CPU time of server and database, ${availableParallelism()} cores; median of the rounds' ratios (least … most)`;
  if (options.json)
    for (const { name, value } of all)
      process.stdout.write(`${JSON.stringify({ name, value: Number(value.toPrecision(4)), unit: anchorBoundOf(name).of, bound: boundText(name) })}\n`);
  else process.stdout.write(`${[head, "", ...all.flatMap((each) => [...each.lines, verdictLine(each, tolerance)])].join("\n")}\n`);
  const missed = all.filter((each) => isMissed(each, tolerance));
  for (const { name, value } of all) {
    const { today } = anchorBoundOf(name);
    if (today !== undefined && value < today * staleToday) progress(`${name}: lower its today in bench/anchor-bounds.ts, from ${today} to ${value.toFixed(2)}`);
  }
  if (leftOut.length > 0) warnings.push(`Not measured, for want of time: ${leftOut.join(", ")}`);
  for (const { name } of missed.filter(({ disturbed }) => disturbed)) warnings.push(`${name} missed its bound on a machine that stayed busy: run again`);
  const failed = missed.filter(({ disturbed }) => !disturbed).map(({ name }) => name);
  if (failed.length > 0) progress(`missed: ${failed.join(", ")}`);
  for (const warning of warnings) progress(`WARNING: ${warning}`);
  return failed.length > 0 ? 1 : 0;
};
