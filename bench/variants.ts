// Variants for whole servers and single requests; imports, advisories, deliveries and the audit log have their own files. Two
// variants with the same result are first compared.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import * as grpc from "@grpc/grpc-js";
import type { JsonObject } from "#base/json.ts";
import { pageStatement } from "#db";
import { advisoryVariants } from "./advisories.ts";
import { anonymousVariants } from "./anonymous.ts";
import { archiveVariants } from "./archive.ts";
import { auditVariants } from "./audit.ts";
import { neighbourVariants } from "./neighbours.ts";
import { registryVariants } from "./registry.ts";
import { signInVariants } from "./sign-ins.ts";
import { scimVariants } from "./scim.ts";
import { textVariants } from "./texts.ts";
import { deliveryVariants } from "./deliveries.ts";
import type { Environment, Variant } from "./environment.ts";
import type { Fixture } from "./fixture.ts";
import { getRepo, getRepoMessage, grpcFrame, grpcHeaders } from "./get-repo.ts";
import { importVariants } from "./imports.ts";
import { fetchJson, h2load, pgbench, wrk } from "./load.ts";
import { residentMb } from "./memory.ts";
import { serve, startBaseline } from "./processes.ts";
import { callOf, sessionSettings, type Statement, statementsOf, writeScript } from "./replay.ts";
import { version1Variants } from "./version-1.ts";
import { getThroughWorkers } from "./workers.ts";

const listRepos = "chainguard.platform.registry.v2.ReposService/ListRepos";

const reposUrl = (url: string, query = ""): string => `${url}/registry/v2/repos${query}`;
const byName = "?order_by=name";

const someRepo = async (fixture: Fixture): Promise<string> => {
  const { reply } = await fetchJson(reposUrl(fixture.process.url, "?skip=49&page_size=1"), fixture.of(100).authorization);
  const [repo] = reply.repos as JsonObject[];
  return String(repo?.uid);
};

const gantryList = (label: string, fixtureOf: (environment: Environment) => Promise<Fixture>, repos: number, query: string): Variant => ({
  label,
  unit: "1/s",
  async prepare(environment) {
    const fixture = await fixtureOf(environment);
    const { authorization } = fixture.of(repos);
    const url = reposUrl(fixture.process.url, query);
    const { reply } = await fetchJson(url, authorization);
    if ((reply.repos as JsonObject[]).length !== 50) throw new Error(`${url} does not answer a full page`);
    return (seconds) => wrk(url, { authorization }, seconds);
  },
});

const mainFixture = async ({ fixture }: Environment): Promise<Fixture> => fixture();

/** `tuned`: with the session settings of the server. */
const pgbenchVariant = (label: string, statementsFor: (fixture: Fixture) => Promise<Statement[]>, tuned = false): Variant => ({
  label,
  unit: "1/s",
  async prepare({ folder, fixture: running }) {
    const fixture = running();
    const script = await writeScript(join(folder.path, `${label.replace(/\W+/g, "-")}.sql`), await statementsFor(fixture));
    const settings = tuned ? await sessionSettings(fixture.application) : [];
    return (seconds) => pgbench(fixture.database, { ...script, settings }, seconds);
  },
});

const countAndPage = async (fixture: Fixture): Promise<Statement[]> => {
  const { uid } = fixture.of(100_000);
  const table = fixture.application.kernel.resources.get("chainguard.platform.registry.v2.Repo")?.shape.table;
  if (!table) throw new Error("repos have no table");
  const branch = { low: uid, high: `${uid}0` };
  const page = pageStatement(
    table,
    { branches: [branch], conditions: [], order: { column: "uid", descending: false }, after: undefined, skip: 0, limit: 51, count: false, size: undefined },
    uid,
  );
  return [{ text: "select count(*) from repos where uid >= $1 and uid < $2", values: [branch.low, branch.high] }, page];
};

const pageUrl = async (fixture: Fixture, number: number): Promise<string> => {
  const { process } = fixture;
  const { authorization } = fixture.of(100_000);
  let url = reposUrl(process.url, byName);
  for (let page = 1; page < number; page++) {
    const { reply } = await fetchJson(url, authorization);
    url = reposUrl(process.url, `${byName}&page_token=${encodeURIComponent(String(reply.nextPageToken))}`);
  }
  return url;
};

const deepPage = (label: string, number: number): Variant => ({
  label,
  unit: "1/s",
  async prepare(environment) {
    const fixture = environment.fixture();
    const url = await pageUrl(fixture, number);
    const { authorization } = fixture.of(100_000);
    const { reply } = await fetchJson(url, authorization);
    if (reply.totalCount !== "100000" || (reply.repos as JsonObject[]).length !== 50) throw new Error(`page ${number} is not what it should be`);
    return (seconds) => wrk(url, { authorization }, seconds);
  },
});

const naiveList: Variant = {
  label: "fastify + pg, list of 50 of 100",
  unit: "1/s",
  async prepare({ fixture: running, stopLater }) {
    const fixture = running();
    const { authorization } = fixture.of(100);
    const baseline = stopLater(
      await startBaseline("naive", fixture.site, { BASELINE_ISSUER: fixture.process.url, BASELINE_DATABASE_HOST: fixture.database.host }),
    );
    const { nextPageToken: _ours, ...expected } = (await fetchJson(reposUrl(fixture.process.url), authorization)).reply;
    const { nextPageToken: _theirs, ...actual } = (await fetchJson(reposUrl(baseline.url), authorization)).reply;
    if (!isDeepStrictEqual(actual, expected)) throw new Error("the naive service answers something else");
    return (seconds) => wrk(reposUrl(baseline.url), { authorization }, seconds);
  },
};

const restGet: Variant = {
  label: "gantry, REST get",
  unit: "1/s",
  async prepare(environment) {
    const fixture = environment.fixture();
    const url = `${reposUrl(fixture.process.url)}/${await someRepo(fixture)}`;
    const { authorization } = fixture.of(100);
    return (seconds) => wrk(url, { authorization }, seconds);
  },
};

/** The same through this many workers, by CPU time (workers.ts). */
const workersGet = (workers: number): Variant =>
  getThroughWorkers(workers, async ({ fixture }) => [`${reposUrl("")}/${await someRepo(fixture())}`, fixture().of(100).authorization]);

const sameBytes: Variant = {
  label: "node:http, the same bytes from memory",
  unit: "1/s",
  async prepare({ fixture: running, stopLater }) {
    const fixture = running();
    const { authorization } = fixture.of(100);
    const path = `/registry/v2/repos/${await someRepo(fixture)}`;
    const { response, body } = await fetchJson(`${fixture.process.url}${path}`, authorization);
    // node:http writes these itself, in both variants.
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !["date", "connection", "keep-alive"].includes(name)));
    const baseline = stopLater(await startBaseline("bytes", fixture.site, { BASELINE_HEADERS: JSON.stringify(headers), BASELINE_BODY: body }));
    return (seconds) => wrk(`${baseline.url}${path}`, { authorization }, seconds);
  },
};

/** Calls once with another client, because h2load cannot read trailers and would load failing calls. */
const callOnce = (url: string, bytes: Uint8Array, authorization: string): Promise<Buffer> => {
  const client = new grpc.Client(new URL(url).host, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set("authorization", authorization);
  const unchanged = (value: Buffer): Buffer => value;
  return new Promise<Buffer>((resolve, reject) => {
    client.makeUnaryRequest(`/${getRepo}`, unchanged, unchanged, Buffer.from(bytes), metadata, (error, value) => {
      if (error || !value) reject(error ?? new Error("no answer"));
      else resolve(value);
    });
  }).finally(() => client.close());
};

const grpcVariant = (label: string, urlOf: (environment: Environment) => Promise<string>): Variant => ({
  label,
  unit: "1/s",
  async prepare(environment) {
    const fixture = environment.fixture();
    const { authorization } = fixture.of(100);
    const url = await urlOf(environment);
    const bytes = getRepoMessage(await someRepo(fixture));
    const [expected, actual] = [await callOnce(fixture.process.url, bytes, authorization), await callOnce(url, bytes, authorization)];
    if (!expected.equals(actual)) throw new Error(`${label} answers something else`);
    const file = await environment.folder.write("get.grpc", grpcFrame(bytes));
    return (seconds) => h2load(`${url}/${getRepo}`, grpcHeaders(authorization), file, seconds);
  },
});

const startVariant: Variant = {
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

const idleSeconds = 2;

const memoryVariant: Variant = {
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

const listStatements = (fixture: Fixture): Promise<Statement[]> => statementsOf(fixture.application, callOf(listRepos, {}, fixture.of(100).authorization));

const variants: Readonly<Record<string, Variant>> = {
  ...advisoryVariants,
  ...deliveryVariants,
  ...auditVariants,
  ...neighbourVariants,
  ...anonymousVariants,
  ...registryVariants,
  ...scimVariants,
  ...signInVariants,
  ...textVariants,
  ...importVariants,
  ...archiveVariants,
  ...version1Variants,
  start: startVariant,
  memory: memoryVariant,
  list: gantryList("gantry, REST list of 50 of 100", mainFixture, 100, ""),
  listPgbench: pgbenchVariant("pgbench, the list's statements", listStatements),
  listTuned: pgbenchVariant("pgbench, the same under the server's settings", listStatements, true),
  listNaive: naiveList,
  get: restGet,
  getOneWorker: workersGet(1),
  getTwoWorkers: workersGet(2),
  getPgbench: pgbenchVariant("pgbench, the get's statements", async (fixture) =>
    statementsOf(fixture.application, callOf(getRepo, { uid: await someRepo(fixture) }, fixture.of(100).authorization)),
  ),
  getHttp: sameBytes,
  grpc: grpcVariant("gantry, gRPC get", async ({ fixture }) => fixture().process.url),
  grpcJs: grpcVariant("grpc-js, the same call of the kernel", async ({ fixture, stopLater }) => stopLater(await startBaseline("grpc", fixture().site)).url),
  page1: deepPage("gantry, page 1 of 2,000 by name, with total", 1),
  page2: deepPage("gantry, page 2 of 2,000 by name", 2),
  page1000: deepPage("gantry, page 1,000 of 2,000 by name", 1000),
  alone: gantryList("gantry, list of 50 of 100 by name, alone", mainFixture, 100, byName),
  beside: gantryList("gantry, the same beside 1,000,000 rows", ({ crowded }) => crowded(), 100, byName),
  counted: gantryList("gantry, first page of 100,000 with total", mainFixture, 100_000, ""),
  skipped: gantryList("gantry, page behind 90,000 rows by name", mainFixture, 100_000, `${byName}&skip=90000`),
  countPgbench: pgbenchVariant("pgbench, select count(*) and the page", countAndPage),
};

export const variantOf = (name: string): Variant => {
  const variant = variants[name];
  if (!variant) throw new Error(`there is no variant ${name}`);
  return variant;
};
