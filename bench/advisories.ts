// Variants for filtered and counted lists of a million advisories.

import { join } from "node:path";
import type { JsonObject } from "#base/json.ts";
import type { Organization } from "./callers.ts";
import type { Measure, Variant } from "./environment.ts";
import { type FilterQuery, filters, isList, listAdvisories, requestOf, unfiltered } from "./filters.ts";
import type { Fixture } from "./fixture.ts";
import { clients, fetchJson, pgbenchRuns, requests } from "./load.ts";
import { arrayText, callOf, type Statement, statementsOf, writeScript } from "./replay.ts";
import { withClient } from "./seed.ts";

/** Long counts run with few clients: 16 would wait longer than a round. */
const countingClients = (total: number): number => (total > 20_000 ? 2 : clients);

const countedRuns = async (run: (count: number) => Promise<number>, least: number): Promise<Measure> => {
  let rate = await run(least);
  return async (seconds) => (rate = await run(Math.max(least, Math.round((rate * seconds) / least) * least)));
};

const valuesOf = async (fixture: Fixture, { values }: FilterQuery): Promise<readonly string[]> => {
  if (!("found" in values)) return values;
  const { rows } = await withClient(fixture.database, (client) => client.query<{ value: string }>(values.found));
  return rows.map(({ value }) => value);
};

interface PreparedQuery {
  readonly organization: Organization;
  readonly values: readonly string[];
  readonly total: number;
  /** For the second page. */
  readonly request: JsonObject;
  /** The first page, and the second one with its total in the token. */
  readonly first: string;
  readonly second: string;
}

const prepareQuery = async (fixture: Fixture, query: FilterQuery): Promise<PreparedQuery> => {
  const organization = fixture.of(0);
  const values = await valuesOf(fixture, query);
  const parameters = new URLSearchParams(values.map((value): [string, string] => [query.field, value]));
  const first = `${fixture.process.url}/vulnerabilities/v2/advisories?${parameters}`;
  const { reply } = await fetchJson(first, organization.authorization);
  parameters.set("page_token", String(reply.nextPageToken));
  const second = `${fixture.process.url}/vulnerabilities/v2/advisories?${parameters}`;
  const next = await fetchJson(second, organization.authorization);
  if ((next.reply.advisories as JsonObject[]).length < 50) throw new Error(`${query.label}: ${String(reply.totalCount)} advisories have no full second page`);
  return {
    organization,
    values,
    total: Number(reply.totalCount),
    first,
    second,
    request: { ...requestOf(query, values), pageToken: String(reply.nextPageToken) },
  };
};

const secondPage = (query: FilterQuery): Variant => ({
  label: `page 2: ${query.label}`,
  unit: "1/s",
  async prepare({ advisories }) {
    const { second, organization } = await prepareQuery(await advisories(), query);
    const { authorization } = organization;
    return countedRuns((count) => requests(second, { authorization }, count, clients), clients);
  },
});

const firstPage = (query: FilterQuery): Variant => ({
  label: `first page: ${query.label}`,
  unit: "1/s",
  async prepare({ advisories }) {
    const { first, total, organization } = await prepareQuery(await advisories(), query);
    const { authorization } = organization;
    const at = countingClients(total);
    return countedRuns((count) => requests(first, { authorization }, count, at), at);
  },
});

const countByHand = (query: FilterQuery): Variant => ({
  label: `pgbench, count and page: ${query.label}`,
  unit: "1/s",
  async prepare({ folder, advisories }) {
    const fixture = await advisories();
    const { organization, values, total, request } = await prepareQuery(fixture, query);
    const { uid, authorization } = organization;
    const count: Statement = {
      text: `select count(*) from advisories where uid >= $1 and uid < $2 and ${query.condition}`,
      values: [uid, `${uid}0`, isList(query) || query.field === "" ? arrayText(values) : (values[0] ?? "")],
    };
    await withClient(fixture.database, async (client) => {
      const {
        rows: [row],
      } = await client.query<{ count: string }>(count.text, [...count.values]);
      if (row?.count !== String(total)) throw new Error(`${query.label}: ${total} advisories, counted by hand ${String(row?.count)}`);
    });
    const page = await statementsOf(fixture.application, callOf(listAdvisories, request, authorization));
    const at = countingClients(total);
    const script = { ...(await writeScript(join(folder.path, `${query.label.replace(/\W+/g, "-")}.sql`), [count, ...page])), settings: [] };
    return countedRuns((runs) => pgbenchRuns(fixture.database, script, runs, at), at);
  },
});

const everyQuery: readonly FilterQuery[] = [unfiltered, ...filters.flatMap(({ queries }) => queries)];

export const variantNamesOf = ({ label }: FilterQuery): { readonly second: string; readonly first: string; readonly byHand: string } => ({
  second: `second: ${label}`,
  first: `first: ${label}`,
  byHand: `by hand: ${label}`,
});

export const advisoryVariants: Readonly<Record<string, Variant>> = Object.fromEntries(
  everyQuery.flatMap((query) => {
    const { second, first, byHand } = variantNamesOf(query);
    return [
      [second, secondPage(query)],
      [first, firstPage(query)],
      [byHand, countByHand(query)],
    ];
  }),
);
