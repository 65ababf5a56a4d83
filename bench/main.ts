// The benchmark:
//   npm run bench -- [--json] [--only NAME,NAME] [--rounds N] [--seconds N] [--large] [--profile FOLDER]
//   npm run bench -- --against FOLDER [--only NAME,NAME] [--rounds N] [--seconds N]
//   npm run bench -- --anchor [--short] [--json] [--only NAME,NAME] [--rounds N]
//
// --against compares with another checkout instead of the baselines (against.ts). --anchor compares the CPU time of requests with
// an old commit (anchor.ts).
//
// Method:
// - One server process (`gantry serve`) with embedded PostgreSQL, on a temporary data directory. Rows are created by SQL,
//   vacuumed and analyzed.
// - 16 clients. The load comes from wrk (HTTP), h2load (gRPC) and pgbench (PostgreSQL), the same for both variants. One failed
//   request invalidates a run.
// - The caller is an identity with one role binding, to view its organization. Every request is authorized as usual; the server
//   does not know that it is measured.
// - pgbench runs the server's own statements with parameters and permission checks, captured between kernel and store
//   (replay.ts), prepared (-M prepared), on the same database, 16 connections, while the server is idle. Its sessions use
//   PostgreSQL's defaults; for the list also the server's settings, which show what the server could reach.
// - Variants are measured in turn (A B, B A, A B, …) after a warm-up; a figure is the median of the rounds' ratios. Absolute
//   speeds depend on the machine.
// - Pages of a million advisories are loaded for a number of runs that fits the time, by 16 clients, counts of more than 20,000
//   rows by 2. The figure of a filter is its worst query (filters.ts).
// - An import is timed from process start to end; COPY reads files next to the database.
// - Events go to a separate process that responds 204 (baselines/sink.ts). The bench itself makes the changes at predefined
//   times, because the tools cannot vary requests. Both variants write the same; a repository with a hundred subscriptions
//   changes once a second at random times, to measure the write and not its deliveries.
// - Latency ratios (page-depth, neighbour-size, count) are ratios of rates at 16 clients, which is the same on a busy machine.
//
// Figures and bounds: figures.ts. Baselines: baselines/. Plans at a million rows: plans.ts. Exit status: 0 if all bounds hold; 1
// if one is missed (named) or the bench fails.

import { parseArgs } from "node:util";
import { againstNames, compareWith } from "./against.ts";
import { anchorNames, compareWithAnchor } from "./anchor.ts";
import type { Environment, Measure } from "./environment.ts";
import { type Group, groups } from "./figures.ts";
import { type Fixture, type PreparedFixture, prepareFixture, startFixture, stopFixture } from "./fixture.ts";
import { wolfiFolder } from "./imports.ts";
import { findTools } from "./load.ts";
import { type Folder, type Process, type Serving, withFolder } from "./processes.ts";
import { busyLine, jsonLine, machine, type Result, resultLine, resultOf, variantLine } from "./report.ts";
import { fillAdvisories, fillAudit, vacuumTables, withClient } from "./seed.ts";
import { variantOf } from "./variants.ts";
import { listedRepos } from "./version-1.ts";

interface Options {
  readonly json: boolean;
  readonly only: ReadonlySet<string>;
  readonly rounds: number;
  /** The value of --rounds, if given. */
  readonly askedRounds: number | undefined;
  readonly seconds: number;
  /** An audit log of ten million entries instead of one million. */
  readonly large: boolean;
  readonly profile: string | undefined;
  readonly against: string | undefined;
  readonly anchor: boolean;
  readonly short: boolean;
}

const defaultRounds = 7;
const defaultSeconds = 4;
const warmUpSeconds = 3;

const usage = `npm run bench -- [--json] [--only NAME,NAME] [--rounds N] [--seconds N] [--large] [--profile FOLDER]
npm run bench -- --against FOLDER [--json] [--only NAME,NAME] [--rounds N] [--seconds N]
npm run bench -- --anchor [--short] [--json] [--only NAME,NAME] [--rounds N]`;

const readOptions = (): Options | undefined => {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string", default: String(defaultSeconds) },
      large: { type: "boolean", default: false },
      profile: { type: "string" },
      against: { type: "string" },
      anchor: { type: "boolean", default: false },
      short: { type: "boolean", default: false },
    },
  });
  const names = groups.flatMap(({ figures }) => figures.map(({ name }) => name));
  if (values.help) {
    process.stdout.write(
      `${usage}\n\nFigures: ${names.join(", ")}\nFigures with --against: ${againstNames.join(", ")}\nFigures with --anchor: ${anchorNames.join(", ")}\n`,
    );
    return undefined;
  }
  const known: readonly string[] = values.anchor ? anchorNames : values.against === undefined ? names : againstNames;
  const only = new Set(values.only === undefined ? known : values.only.split(","));
  const unknown = [...only].find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no figure ${JSON.stringify(unknown)}; there are ${known.join(", ")}`);
  return {
    json: values.json,
    only,
    rounds: Number(values.rounds ?? defaultRounds),
    askedRounds: values.rounds === undefined ? undefined : Number(values.rounds),
    seconds: Number(values.seconds),
    large: values.large,
    profile: values.profile,
    against: values.against,
    anchor: values.anchor,
    short: values.short,
  };
};

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

const measure = async (environment: Environment, { running, figures, most }: Group, options: Options): Promise<{ lines: string[]; results: Result[] }> => {
  const rounds = Math.min(options.rounds, most?.rounds ?? options.rounds);
  const seconds = Math.min(options.seconds, most?.seconds ?? options.seconds);
  const names = [...new Set(figures.flatMap(({ variants, beside = [] }) => [...variants, ...beside]))];
  progress(`${figures.map(({ name }) => name).join(", ")}: ${rounds} rounds`);
  const measures = new Map<string, Measure>();
  for (const name of names) {
    const run = await variantOf(name).prepare(environment);
    measures.set(name, run);
    if (running) await run(Math.min(warmUpSeconds, seconds));
  }
  const measured: Map<string, number>[] = [];
  for (let round = 0; round < rounds; round++) {
    const values = new Map<string, number>();
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const run = measures.get(name);
      if (run) values.set(name, await run(seconds));
    }
    measured.push(values);
  }
  const of =
    (values: ReadonlyMap<string, number>) =>
    (name: string): number =>
      values.get(name) ?? Number.NaN;
  return {
    lines: names.map((name) =>
      variantLine(
        variantOf(name).label,
        variantOf(name).unit,
        measured.map((values) => of(values)(name)),
      ),
    ),
    results: figures.map((figure) =>
      resultOf(
        figure,
        measured.map((values) => figure.value(of(values))),
      ),
    ),
  };
};

const onceForEach = <T>(make: (count: number) => Promise<T>): ((count: number) => Promise<T>) => {
  const made = new Map<number, Promise<T>>();
  return (count) => {
    const known = made.get(count) ?? make(count);
    made.set(count, known);
    return known;
  };
};

const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
};

const measureAll = async (folder: Folder, options: Options): Promise<{ lines: string[]; results: Result[]; database: string }> => {
  const lines: string[] = [];
  const results: Result[] = [];
  const baselines: Process[] = [];
  let fixture: Fixture | undefined;
  const others: Fixture[] = [];
  const openFixture = async (prepared: Promise<PreparedFixture>, serving: Serving = {}): Promise<Fixture> => {
    const other = await startFixture(await prepared, serving);
    others.push(other);
    return other;
  };

  progress("Making an organization of 100 repos and one of 100,000");
  const prepared: PreparedFixture = await prepareFixture(folder, "data", [100, listedRepos, 100_000]);
  const environment: Environment = {
    folder,
    prepared,
    fixture: () => {
      if (!fixture) throw new Error("the server does not run yet");
      return fixture;
    },
    crowded: once(() => {
      progress("Making an organization of 100 repos beside one of 1,000,000");
      return openFixture(prepareFixture(folder, "crowded", [100, 1_000_000]));
    }),
    blank: once(() => openFixture(prepareFixture(folder, "blank", [0]))),
    advisories: once(async () => {
      progress("Making an organization of 1,000,000 advisories");
      const made = await openFixture(prepareFixture(folder, "advisories", [0]));
      await withClient(made.database, async (client) => {
        await fillAdvisories(client, made.of(0).uid, 1_000_000);
        await vacuumTables(client, "advisories", "advisory_facets", "vulnerabilities", "package_origins");
      });
      return made;
    }),
    manyEntries: options.large ? 10_000_000 : 1_000_000,
    audited: onceForEach(async (entries) => {
      progress(`Making an audit log of ${entries} entries`);
      const made = await openFixture(prepareFixture(folder, `audit-${entries}`, [0]));
      await withClient(made.database, async (client) => {
        await fillAudit(client, made.of(0).uid, entries);
        await vacuumTables(client, "audit_entries");
      });
      return made;
    }),
    delivering: once(() =>
      openFixture(prepareFixture(folder, "delivering", []), {
        profile: options.profile,
        settings: { GANTRY_EGRESS_ALLOW: "sink=127.0.0.0/8,issuer=127.0.0.0/8" },
      }),
    ),
    stopLater: (baseline) => {
      baselines.push(baseline);
      return baseline;
    },
  };
  try {
    let database = "";
    for (const group of groups) {
      const figures = group.figures.filter(({ name }) => options.only.has(name));
      if (figures.length === 0) continue;
      if (group.running) fixture ??= await startFixture(prepared, { profile: options.profile });
      const measured = await measure(environment, { ...group, figures }, options);
      lines.push(...measured.lines);
      results.push(...measured.results);
      for (const result of measured.results) progress(resultLine(result));
      await Promise.all(baselines.splice(0).map((baseline) => baseline.stop()));
    }
    fixture ??= await startFixture(prepared, { profile: options.profile });
    const { rows } = await withClient(fixture.database, (client) => client.query<{ server_version: string }>("show server_version"));
    database = `PostgreSQL ${rows[0]?.server_version ?? "unknown"} (embedded)`;
    return { lines, results, database };
  } finally {
    await Promise.all(baselines.map((baseline) => baseline.stop()));
    if (fixture) await stopFixture(fixture);
    for (const other of others) await stopFixture(other);
  }
};

const runBench = async (): Promise<number> => {
  const options = readOptions();
  if (!options) return 0;
  if (options.anchor) return compareWithAnchor({ ...options, rounds: options.askedRounds });
  if (options.against !== undefined) {
    await findTools(["wrk", "h2load"]);
    return compareWith(options.against, options);
  }
  const began = performance.now();
  const busy = busyLine();
  const tools = await findTools(["wrk", "h2load", "pgbench"]);
  // Checked before any measurement, like the tools.
  if (options.only.has("import-wolfi") || options.only.has("import-memory")) await wolfiFolder();
  return withFolder(async (folder) => {
    const { lines, results, database } = await measureAll(folder, options);
    const report = [
      "",
      ...machine(tools, database),
      `method     16 clients, ${options.rounds} interleaved rounds of ${options.seconds} s for each variant (imports 5, advisories 5 of 0.3 s);`,
      "           medians (least … most)",
      ...(busy ? [busy] : []),
      "",
      ...lines,
      "",
      ...results.map(resultLine),
      "",
      `${Math.round((performance.now() - began) / 1000)} s`,
    ];
    if (options.json) for (const result of results) process.stdout.write(`${jsonLine(result)}\n`);
    else process.stdout.write(`${report.join("\n")}\n`);
    const missed = results.filter(({ passed }) => !passed).map(({ figure }) => figure.name);
    if (missed.length > 0) progress(`missed: ${missed.join(", ")}`);
    return missed.length > 0 ? 1 : 0;
  });
};

try {
  process.exitCode = await runBench();
} catch (thrown) {
  progress(`bench: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  process.exitCode = 1;
}
