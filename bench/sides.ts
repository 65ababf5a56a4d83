// The sides that figures compare. A side is prepared once and then measured in turn with its rivals; each run gives
// one number. Two sides that should answer the same are first asked whether they do.

import { execFile } from "node:child_process";
import { access, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual, promisify } from "node:util";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import type { JsonObject } from "#base/json.ts";
import { methodByName } from "#contract/catalog.ts";
import { pageStatement } from "#store";
import { auditSides } from "./audit.ts";
import { deliverySides } from "./deliveries.ts";
import { type Ask, filters, isList, listAdvisories, requestOf, unfiltered } from "./filters.ts";
import { type Folder, type Process, runGantry, serve, startPeer } from "./ground.ts";
import { clients, fetchJson, h2load, pgbench, pgbenchRuns, requests, wrk } from "./load.ts";
import { arrayText, callOf, sessionSettings, type Statement, statementsOf, writeScript } from "./replay.ts";
import { withClient } from "./seed.ts";
import type { Organization, Prepared, Stand } from "./stand.ts";

const listRepos = "chainguard.platform.registry.v2.ReposService/ListRepos";
const getRepo = "chainguard.platform.registry.v2.ReposService/GetRepo";

export interface Ground {
  readonly folder: Folder;
  /** The data directory that everything is measured on; its server runs, except for the figures of a start. */
  readonly prepared: Prepared;
  /** Its running server. */
  readonly stand: () => Stand;
  /** The server with a neighbour of a million rows. */
  readonly crowded: () => Promise<Stand>;
  /** A server with an organization of nothing, to import into. */
  readonly blank: () => Promise<Stand>;
  /** The server with a million advisories in one organization. */
  readonly advisories: () => Promise<Stand>;
  /** A server of its own that may send events to sinks on this machine. */
  readonly delivering: () => Promise<Stand>;
  /** The server with an audit log of so many entries. */
  readonly audited: (entries: number) => Promise<Stand>;
  /** How many entries a large audit log has. */
  readonly manyEntries: number;
  /** Remembers a peer to be stopped when its group is done. */
  readonly keep: (peer: Process) => Process;
}

/** One run of so many seconds, to one number. */
export type Measure = (seconds: number) => Promise<number>;

export interface Side {
  readonly label: string;
  readonly unit: "1/s" | "s" | "ms" | "MB";
  prepare(ground: Ground): Promise<Measure>;
}

const reposUrl = (url: string, query = ""): string => `${url}/registry/v2/repos${query}`;
const byName = "?order_by=name";

/** A uid of the middle of the organization's repos. */
const someRepo = async (stand: Stand): Promise<string> => {
  const { reply } = await fetchJson(reposUrl(stand.process.url, "?skip=49&page_size=1"), stand.of(100).authorization);
  const [repo] = reply.repos as JsonObject[];
  return String(repo?.uid);
};

const gantryList = (label: string, standOf: (ground: Ground) => Promise<Stand>, repos: number, query: string): Side => ({
  label,
  unit: "1/s",
  async prepare(ground) {
    const stand = await standOf(ground);
    const { authorization } = stand.of(repos);
    const url = reposUrl(stand.process.url, query);
    const { reply } = await fetchJson(url, authorization);
    if ((reply.repos as JsonObject[]).length !== 50) throw new Error(`${url} answers no whole page`);
    return (seconds) => wrk(url, { authorization }, seconds);
  },
});

const own = async ({ stand }: Ground): Promise<Stand> => stand();

/** `tuned`: under the settings of the server's own sessions, which are part of what it does to be quick. */
const pgbenchSide = (label: string, statementsFor: (stand: Stand) => Promise<Statement[]>, tuned = false): Side => ({
  label,
  unit: "1/s",
  async prepare({ folder, stand: running }) {
    const stand = running();
    const script = await writeScript(join(folder.path, `${label.replace(/\W+/g, "-")}.sql`), await statementsFor(stand));
    const settings = tuned ? await sessionSettings(stand.open) : [];
    return (seconds) => pgbench(stand.place, { ...script, settings }, seconds);
  },
});

/** A first page and its count as two plain statements: `select count(*)` of the same rows, and the page. */
const countAndPage = async (stand: Stand): Promise<Statement[]> => {
  const { uid } = stand.of(100_000);
  const table = stand.open.kernel.resources.get("chainguard.platform.registry.v2.Repo")?.shape.table;
  if (!table) throw new Error("repos have no table");
  const branch = { low: uid, high: `${uid}0` };
  const page = pageStatement(
    table,
    { branches: [branch], conditions: [], order: { column: "uid", descending: false }, after: undefined, skip: 0, limit: 51, count: false, size: undefined },
    uid,
  );
  return [{ text: "select count(*) from repos where uid >= $1 and uid < $2", values: [branch.low, branch.high] }, page];
};

/** The address of page `number` of a list, its total carried in the token. */
const pageUrl = async (stand: Stand, number: number): Promise<string> => {
  const { process } = stand;
  const { authorization } = stand.of(100_000);
  let url = reposUrl(process.url, byName);
  for (let page = 1; page < number; page++) {
    const { reply } = await fetchJson(url, authorization);
    url = reposUrl(process.url, `${byName}&page_token=${encodeURIComponent(String(reply.nextPageToken))}`);
  }
  return url;
};

const deepPage = (label: string, number: number): Side => ({
  label,
  unit: "1/s",
  async prepare(ground) {
    const stand = ground.stand();
    const url = await pageUrl(stand, number);
    const { authorization } = stand.of(100_000);
    const { reply } = await fetchJson(url, authorization);
    if (reply.totalCount !== "100000" || (reply.repos as JsonObject[]).length !== 50) throw new Error(`page ${number} is not what it should be`);
    return (seconds) => wrk(url, { authorization }, seconds);
  },
});

const naiveList: Side = {
  label: "fastify + pg, list of 50 of 100",
  unit: "1/s",
  async prepare({ stand: running, keep }) {
    const stand = running();
    const { authorization } = stand.of(100);
    const peer = keep(await startPeer("naive", stand.site, { PEER_ISSUER: stand.process.url, PEER_DATABASE_HOST: stand.place.host }));
    const { nextPageToken: _ours, ...expected } = (await fetchJson(reposUrl(stand.process.url), authorization)).reply;
    const { nextPageToken: _theirs, ...actual } = (await fetchJson(reposUrl(peer.url), authorization)).reply;
    if (!isDeepStrictEqual(actual, expected)) throw new Error("the naive service answers something else");
    return (seconds) => wrk(reposUrl(peer.url), { authorization }, seconds);
  },
};

const restGet: Side = {
  label: "gantry, REST get",
  unit: "1/s",
  async prepare(ground) {
    const stand = ground.stand();
    const url = `${reposUrl(stand.process.url)}/${await someRepo(stand)}`;
    const { authorization } = stand.of(100);
    return (seconds) => wrk(url, { authorization }, seconds);
  },
};

const sameBytes: Side = {
  label: "node:http, the same bytes from memory",
  unit: "1/s",
  async prepare({ stand: running, keep }) {
    const stand = running();
    const { authorization } = stand.of(100);
    const path = `/registry/v2/repos/${await someRepo(stand)}`;
    const { response, body } = await fetchJson(`${stand.process.url}${path}`, authorization);
    // node:http writes these itself, on both sides.
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !["date", "connection", "keep-alive"].includes(name)));
    const peer = keep(await startPeer("bytes", stand.site, { PEER_HEADERS: JSON.stringify(headers), PEER_BODY: body }));
    return (seconds) => wrk(`${peer.url}${path}`, { authorization }, seconds);
  },
};

const grpcHeaders = (authorization: string): Record<string, string> => ({ authorization, te: "trailers", "content-type": "application/grpc" });

const message = async (stand: Stand): Promise<Uint8Array> => {
  const descriptor = methodByName(getRepo)?.input.descriptor;
  if (!descriptor) throw new Error("the contract has no GetRepo");
  return toBinary(descriptor, fromJson(descriptor, { uid: await someRepo(stand) }));
};

/** Calls once with somebody else's client, so that h2load, which reads no trailers, loads only what works. */
const callOnce = (url: string, bytes: Uint8Array, authorization: string): Promise<Buffer> => {
  const client = new grpc.Client(new URL(url).host, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set("authorization", authorization);
  const whole = (value: Buffer): Buffer => value;
  return new Promise<Buffer>((resolve, reject) => {
    client.makeUnaryRequest(`/${getRepo}`, whole, whole, Buffer.from(bytes), metadata, (error, value) => {
      if (error || !value) reject(error ?? new Error("no answer"));
      else resolve(value);
    });
  }).finally(() => client.close());
};

const grpcSide = (label: string, urlOf: (ground: Ground) => Promise<string>): Side => ({
  label,
  unit: "1/s",
  async prepare(ground) {
    const stand = ground.stand();
    const { authorization } = stand.of(100);
    const url = await urlOf(ground);
    const bytes = await message(stand);
    const [expected, actual] = [await callOnce(stand.process.url, bytes, authorization), await callOnce(url, bytes, authorization)];
    if (!expected.equals(actual)) throw new Error(`${label} answers something else`);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    const file = await ground.folder.write("get.grpc", Buffer.concat([Buffer.of(0), length, bytes]));
    return (seconds) => h2load(`${url}/${getRepo}`, grpcHeaders(authorization), file, seconds);
  },
});

const startSide: Side = {
  label: "gantry serve, to the first 200 of /readyz",
  unit: "s",
  prepare:
    async ({ prepared: { site } }) =>
    async () => {
      const before = performance.now();
      const process = await serve(site);
      const seconds = (performance.now() - before) / 1000;
      await process.stop();
      return seconds;
    },
};

/** Resident memory in megabytes of a million bytes. */
const residentMb = async (pid: number): Promise<number> => {
  if (process.platform === "linux") {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return (Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024) / 1e6;
  }
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return (Number(stdout) * 1024) / 1e6;
};

const idleSeconds = 2;

const memorySide: Side = {
  label: "gantry serve, resident after a handful of requests",
  unit: "MB",
  prepare:
    async ({ prepared }) =>
    async () => {
      const process = await serve(prepared.site);
      const { authorization } = prepared.of(100);
      for (const query of ["", byName, "?page_size=3&order_by=created_at desc"]) await fetchJson(reposUrl(process.url, query), authorization);
      await sleep(idleSeconds * 1000);
      const mb = await residentMb(process.pid);
      await process.stop();
      return mb;
    },
};

/** Resident memory of a process that ends, at its highest: looked at until then. */
const highestMb = async (pid: number, ended: Promise<unknown>): Promise<number> => {
  let running = true;
  void ended.then(
    () => (running = false),
    () => (running = false),
  );
  let highest = 0;
  while (running) {
    // It may have ended since.
    highest = Math.max(highest, (await residentMb(pid).catch(() => 0)) || 0);
    await sleep(10);
  }
  return highest;
};

// ---- imports ----------------------------------------------------------------------------------------------------

const wolfi = join(import.meta.dirname, "../../shared/data/advisories/wolfi");

/** What an import of advisories writes. */
const importedTables = ["advisories", "advisory_facets", "feeds", "feed_files"];

const emptyTables = (stand: Stand): Promise<unknown> => withClient(stand.place, (client) => client.query(`truncate ${importedTables.join(", ")}`));

const importInto = async ({ site, of }: Stand, source: string): Promise<{ seconds: number; mb: number }> => {
  const began = performance.now();
  const { pid, ended } = runGantry(site, ["import", "advisories", source, "--group", of(0).uid]);
  const mb = await highestMb(pid, ended);
  await ended;
  return { seconds: (performance.now() - began) / 1000, mb };
};

const countImported = (stand: Stand): Promise<number> =>
  withClient(stand.place, async (client) => {
    const { rows } = await client.query<{ count: string }>(`select ${importedTables.map((table) => `(select count(*) from ${table})`).join(" + ")} as count`);
    return Number(rows[0]?.count);
  });

/** Throws where the documents are not here: they are no part of the project. */
export const wolfiFolder = async (): Promise<string> => {
  await access(wolfi).catch(() => {
    throw new Error(`missing: the Wolfi advisories at ${wolfi}; name other figures with --only`);
  });
  return wolfi;
};

interface Imported {
  readonly rate: number;
  readonly mb: number;
}

const importWolfi = async (stand: Stand, folder: string): Promise<Imported> => {
  await emptyTables(stand);
  const { seconds, mb } = await importInto(stand, folder);
  const rows = await countImported(stand);
  if (rows === 0) throw new Error("the import wrote nothing");
  return { rate: rows / seconds, mb };
};

let unread: { readonly by: keyof Imported; readonly run: Imported } | undefined;

/** One run gives both numbers: whoever asks second in a round is given what the first has seen. */
const importSide = (label: string, unit: Side["unit"], by: keyof Imported): Side => ({
  label,
  unit,
  async prepare({ blank }) {
    const [stand, folder] = [await blank(), await wolfiFolder()];
    return async () => {
      const seen = unread && unread.by !== by ? unread.run : undefined;
      const run = seen ?? (await importWolfi(stand, folder));
      unread = seen ? undefined : { by, run };
      return run[by];
    };
  },
});

/** The rows of the last import by COPY from files beside the database: no client, no network. */
const copySide: Side = {
  label: "PostgreSQL, COPY of the same rows",
  unit: "1/s",
  async prepare({ blank }) {
    const stand = await blank();
    return () =>
      withClient(stand.place, async (client) => {
        const {
          rows: [place],
        } = await client.query<{ data_directory: string }>("show data_directory");
        const fileOf = (table: string): string => `'${join(place?.data_directory ?? "", `bench-${table}`)}'`;
        const rows = await countImported(stand);
        for (const table of importedTables) await client.query(`copy ${table} to ${fileOf(table)}`);
        await emptyTables(stand);
        const began = performance.now();
        for (const table of importedTables) await client.query(`copy ${table} from ${fileOf(table)}`);
        return rows / ((performance.now() - began) / 1000);
      });
  },
};

const idleImport: Side = {
  label: "gantry import advisories, the same of an empty folder",
  unit: "MB",
  async prepare({ blank, folder }) {
    const [stand, nothing] = [await blank(), join(folder.path, "nothing")];
    await mkdir(nothing, { recursive: true });
    return async () => (await importInto(stand, nothing)).mb;
  },
};

// ---- a million advisories ---------------------------------------------------------------------------------------

/** A count that takes long is asked for by few at once: 16 of them would wait longer than a round takes. */
const countingClients = (total: number): number => (total > 20_000 ? 2 : clients);

/** Runs by number, of as many as fit the time. */
const counted = async (run: (count: number) => Promise<number>, least: number): Promise<Measure> => {
  let rate = await run(least);
  return async (seconds) => (rate = await run(Math.max(least, Math.round((rate * seconds) / least) * least)));
};

const valuesOf = async (stand: Stand, { values }: Ask): Promise<readonly string[]> => {
  if (!("found" in values)) return values;
  const { rows } = await withClient(stand.place, (client) => client.query<{ value: string }>(values.found));
  return rows.map(({ value }) => value);
};

interface Asked {
  readonly organization: Organization;
  readonly values: readonly string[];
  readonly total: number;
  /** Of the second page. */
  readonly request: JsonObject;
  /** The first page, and the second with its total carried in the token. */
  readonly first: string;
  readonly second: string;
}

const askOf = async (stand: Stand, ask: Ask): Promise<Asked> => {
  const organization = stand.of(0);
  const values = await valuesOf(stand, ask);
  const query = new URLSearchParams(values.map((value): [string, string] => [ask.field, value]));
  const first = `${stand.process.url}/vulnerabilities/v2/advisories?${query}`;
  const { reply } = await fetchJson(first, organization.authorization);
  query.set("page_token", String(reply.nextPageToken));
  const second = `${stand.process.url}/vulnerabilities/v2/advisories?${query}`;
  const next = await fetchJson(second, organization.authorization);
  if ((next.reply.advisories as JsonObject[]).length < 50) throw new Error(`${ask.label}: ${String(reply.totalCount)} advisories have no whole second page`);
  return {
    organization,
    values,
    total: Number(reply.totalCount),
    first,
    second,
    request: { ...requestOf(ask, values), pageToken: String(reply.nextPageToken) },
  };
};

const secondPage = (ask: Ask): Side => ({
  label: `page 2: ${ask.label}`,
  unit: "1/s",
  async prepare({ advisories }) {
    const { second, organization } = await askOf(await advisories(), ask);
    const { authorization } = organization;
    return counted((count) => requests(second, { authorization }, count, clients), clients);
  },
});

const firstPage = (ask: Ask): Side => ({
  label: `first page: ${ask.label}`,
  unit: "1/s",
  async prepare({ advisories }) {
    const { first, total, organization } = await askOf(await advisories(), ask);
    const { authorization } = organization;
    const at = countingClients(total);
    return counted((count) => requests(first, { authorization }, count, at), at);
  },
});

/** The rows of an ask counted as anybody would, and a page of them as the server reads it when it counts no more. */
const countedPlainly = (ask: Ask): Side => ({
  label: `pgbench, count and page: ${ask.label}`,
  unit: "1/s",
  async prepare({ folder, advisories }) {
    const stand = await advisories();
    const { organization, values, total, request } = await askOf(stand, ask);
    const { uid, authorization } = organization;
    const count: Statement = {
      text: `select count(*) from advisories where uid >= $1 and uid < $2 and ${ask.condition}`,
      values: [uid, `${uid}0`, isList(ask) || ask.field === "" ? arrayText(values) : (values[0] ?? "")],
    };
    await withClient(stand.place, async (client) => {
      const {
        rows: [row],
      } = await client.query<{ count: string }>(count.text, [...count.values]);
      if (row?.count !== String(total)) throw new Error(`${ask.label}: ${total} advisories, counted plainly ${String(row?.count)}`);
    });
    const page = await statementsOf(stand.open, callOf(listAdvisories, request, authorization));
    const at = countingClients(total);
    const script = { ...(await writeScript(join(folder.path, `${ask.label.replace(/\W+/g, "-")}.sql`), [count, ...page])), settings: [] };
    return counted((runs) => pgbenchRuns(stand.place, script, runs, at), at);
  },
});

const everyAsk: readonly Ask[] = [unfiltered, ...filters.flatMap(({ asks }) => asks)];

/** Names of the sides that an ask has. */
export const sidesOf = ({ label }: Ask): { readonly second: string; readonly first: string; readonly plain: string } => ({
  second: `second: ${label}`,
  first: `first: ${label}`,
  plain: `plain: ${label}`,
});

const askedSides: Readonly<Record<string, Side>> = Object.fromEntries(
  everyAsk.flatMap((ask) => {
    const { second, first, plain } = sidesOf(ask);
    return [
      [second, secondPage(ask)],
      [first, firstPage(ask)],
      [plain, countedPlainly(ask)],
    ];
  }),
);

const listStatements = (stand: Stand): Promise<Statement[]> => statementsOf(stand.open, callOf(listRepos, {}, stand.of(100).authorization));

const sides: Readonly<Record<string, Side>> = {
  ...askedSides,
  ...deliverySides,
  ...auditSides,
  start: startSide,
  memory: memorySide,
  list: gantryList("gantry, REST list of 50 of 100", own, 100, ""),
  listPgbench: pgbenchSide("pgbench, the list's statements", listStatements),
  listTuned: pgbenchSide("pgbench, the same under the server's settings", listStatements, true),
  listNaive: naiveList,
  get: restGet,
  getPgbench: pgbenchSide("pgbench, the get's statements", async (stand) =>
    statementsOf(stand.open, callOf(getRepo, { uid: await someRepo(stand) }, stand.of(100).authorization)),
  ),
  getHttp: sameBytes,
  grpc: grpcSide("gantry, gRPC get", async ({ stand }) => stand().process.url),
  grpcJs: grpcSide("grpc-js, the same call of the kernel", async ({ stand, keep }) => keep(await startPeer("grpc", stand().site)).url),
  page2: deepPage("gantry, page 2 of 2,000 by name", 2),
  page1000: deepPage("gantry, page 1,000 of 2,000 by name", 1000),
  alone: gantryList("gantry, list of 50 of 100 by name, alone", own, 100, byName),
  beside: gantryList("gantry, the same beside 1,000,000 rows", ({ crowded }) => crowded(), 100, byName),
  counted: gantryList("gantry, first page of 100,000 with total", own, 100_000, ""),
  countPgbench: pgbenchSide("pgbench, select count(*) and the page", countAndPage),
  imported: importSide("gantry import advisories, rows written", "1/s", "rate"),
  importing: importSide("gantry import advisories, resident at its highest", "MB", "mb"),
  importIdle: idleImport,
  copied: copySide,
};

export const sideOf = (name: string): Side => {
  const side = sides[name];
  if (!side) throw new Error(`there is no side ${name}`);
  return side;
};
