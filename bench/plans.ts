// Checks the query plans of all lists on tables of a million rows: node bin/node.js bench/plans.ts [--rows N] [--only LIST,LIST]
//
// Callers of every kind (operator; owner of an organization, of a small, a large and several branches; a user in two
// organizations) make every kind of list, first and second page. Statements are captured before the store and explained as the
// server runs them: prepared, with generic plans. Faults:
// - a sequential scan of a table that grows;
// - a sort of more rows than limits.sortRowsMax;
// - a page that reads many more rows than it shows (totals read their branch and are exempt);
// - for texts without an index: more buffers than twice the organization's pages (count and page);
// - for permissions on a thousand groups: more buffers than a few index descents each, whether a neighbour's rows are below 10,
//   1,000 or 30,000 parents.
// The last column is the time of one run, without a bound.

import { parseArgs } from "node:util";
import { builtInRoleUid } from "#authz";
import { operatorUid } from "#base/operator.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { openApplication, type Application, readSettings } from "#application";
import type pg from "pg";
import { authorizationOf, databaseOf, makeGroup, makeMember, makeOrganization } from "./callers.ts";
import { filters, listAdvisories, requestOf } from "./filters.ts";
import { type Folder, type Site, withFolder } from "./processes.ts";
import { arrayText, callOf, sessionSettings, type Statement, statementsOf } from "./replay.ts";
import {
  fillAdvisories,
  fillAudit,
  fillBindings,
  fillDeletions,
  fillDeliveries,
  fillEvents,
  fillGroups,
  fillIdentities,
  fillRepos,
  fillRequests,
  fillTags,
  recountRows,
  spreadRepos,
  vacuumTables,
  withClient,
  withoutIndexes,
} from "./seed.ts";

const service = (name: string): string => `chainguard.platform.${name}`;
const repos = service("registry.v2.ReposService/ListRepos");
const tags = service("registry.v2.TagsService/ListTags");
const groups = service("iam.v2.GroupsService/ListGroups");
const identities = service("iam.v2.IdentitiesService/ListIdentities");
const bindings = service("iam.v2.RoleBindingsService/ListRoleBindings");
const roles = service("iam.v2.RolesService/ListRoles");
const subscriptions = service("events.v2.SubscriptionsService/ListSubscriptions");
const audit = "gantry.audit.v1.AuditService/ListAuditEntries";
const events = "gantry.events.v1.EventsService/ListEvents";
const deletions = "gantry.deletions.v1.DeletionsService/ListDeletions";
const requestedLibraries = service("libraries.v2beta1.RequestGroupsService/ListRequestedLibraries");
const requestedVersions = service("libraries.v2beta1.RequestGroupsService/ListRequestedLibraryVersions");
const deliveries = "gantry.events.v1.DeliveriesService/ListDeliveries";

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Subplan Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly Plan[];
}

interface Finding {
  /** Tables and indexes that it reads. */
  readonly accessPaths: string;
  /** Rows read for the page, without those of a count. */
  readonly read: number;
  readonly ms: number;
  readonly faults: readonly string[];
}

/** A page may pass over rows, but not over many more than a sortable branch has. */
const passedMax = limits.sortRowsMax * 4;

const times = (plan: Plan, key: "Actual Rows" | "Rows Removed by Filter" | "Rows Removed by Index Recheck"): number =>
  (plan[key] ?? 0) * (plan["Actual Loops"] ?? 1);

interface Bounds {
  readonly rows: number;
  readonly buffers: number;
  readonly sorted: number;
  /** All rows may be read in disk order. */
  readonly looksThrough?: boolean;
}

const judge = (plan: Plan, ms: number, max: Bounds, isCount: boolean): Finding => {
  const accessPaths = new Set<string>();
  const faults = new Set<string>();
  const found = { page: 0, count: 0 };
  const passed = { page: 0, count: 0 };
  const visit = (node: Plan, counting: boolean): void => {
    const type = node["Node Type"];
    const inner = node.Plans ?? [];
    const counts = counting || (type === "Aggregate" && (node["Subplan Name"] ?? "").startsWith("InitPlan"));
    const whose = counts ? "count" : "page";
    const [relation, index] = [node["Relation Name"], node["Index Name"]];
    if (relation !== undefined) {
      const kept = times(node, "Actual Rows");
      const removed = times(node, "Rows Removed by Filter") + times(node, "Rows Removed by Index Recheck");
      found[whose] += kept;
      passed[whose] += removed;
      // A count of all rows reads all rows.
      if (!max.looksThrough && type === "Seq Scan" && kept + removed > limits.sortRowsMax && (!counts || removed > kept)) faults.add(`Seq Scan of ${relation}`);
      accessPaths.add(`${counts ? "count " : ""}${index ?? `${type} ${relation}`}`);
    } else if (index !== undefined) accessPaths.add(index);
    if (type === "Sort" || type === "Incremental Sort") {
      const sorted = Math.max(...inner.map((each) => each["Actual Rows"] ?? 0));
      if (sorted > max.sorted) faults.add(`sorts ${Math.round(sorted)} rows`);
    }
    for (const each of inner) visit(each, counts);
  };
  visit(plan, isCount);
  if (passed.page + found.page > max.rows) faults.add(`reads ${Math.round(passed.page + found.page)} rows`);
  const buffers = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
  if (buffers > max.buffers) faults.add(`reads ${buffers} buffers`);
  return { accessPaths: [...accessPaths].join(", "), read: Math.round(found.page + passed.page), ms, faults: [...faults] };
};

const literal = (value: Statement["values"][number]): string => {
  if (value === null) return "null";
  return `'${(typeof value === "object" ? arrayText(value) : String(value)).replaceAll("'", "''")}'`;
};

const isCountStatement = ({ text }: Statement): boolean => /^select (?:count\(\*\)|coalesce\(sum\()/.test(text);

const explain = async (client: pg.Client, statement: Statement, max: Bounds): Promise<Finding> => {
  const { text, values } = statement;
  await client.query(`prepare listed as ${text}`);
  try {
    const parameters = values.length > 0 ? `(${values.map(literal).join(", ")})` : "";
    const { rows } = await client.query<{ "QUERY PLAN": { Plan: Plan; "Execution Time": number }[] }>(
      `explain (analyze, buffers, timing off, format json) execute listed${parameters}`,
    );
    const [found] = rows[0]?.["QUERY PLAN"] ?? [];
    if (!found) throw new Error("no plan");
    return judge(found.Plan, found["Execution Time"], max, isCountStatement(statement));
  } finally {
    await client.query("deallocate listed");
  }
};

interface Rows {
  readonly application: Application;
  /** Name and authorization. */
  readonly callers: readonly (readonly [string, string])[];
  readonly large: string;
  readonly small: string;
  readonly branch: string;
  readonly repo: string;
  readonly someRepo: string;
  readonly someName: string;
  readonly somebody: string;
  /** Subscriptions with many and with few deliveries. */
  readonly subscribed: { readonly busy: string; readonly seldom: string };
  /** In the audit log: the most and the least active caller, and a changed subject. */
  readonly busy: string;
  readonly seldom: string;
  readonly subject: string;
}

const valueOf = async (client: pg.Client, statement: string, values: readonly string[]): Promise<string> => {
  const { rows } = await client.query<{ value: string }>(statement, [...values]);
  return rows[0]?.value ?? "";
};

/**
 * Creates `count` rows of each kind that the `wanted` lists need, in one organization: a third in a large branch, a thousandth in
 * a small one, the rest at the root.
 */
const fill = async (application: Application, client: pg.Client, count: number, wanted: (...methods: string[]) => boolean): Promise<Rows> => {
  const progress = (line: string): void => void process.stderr.write(`${line}\n`);
  const filled: string[] = ["roles", "access_versions", "role_bindings", "groups", "identities", "subscriptions"];
  const fillTable = async (table: string, load: () => Promise<void>): Promise<void> => {
    progress(`${count} ${table}`);
    await withoutIndexes(client, table, load);
    filled.push(table);
  };
  const organization = await makeOrganization(application, "large");
  const [branch, narrow] = [await makeGroup(application, organization, "large branch"), await makeGroup(application, organization, "small branch")];
  const other = await makeOrganization(application, "small");
  const [third, thousandth] = [Math.floor(count / 3), Math.floor(count / 1000)];
  const callers: [string, string][] = [["operator", await authorizationOf(application, operatorUid)]];
  const owners: [string, string[]][] = [
    ["whole organization", [organization]],
    ["large branch", [branch]],
    ["small branch", [narrow]],
    ["two branches", [branch, narrow]],
  ];
  for (const [name, groups] of owners) callers.push([name, await authorizationOf(application, await makeMember(application, organization, groups, "owner"))]);
  callers.push(["other organization", await authorizationOf(application, await makeMember(application, other, [other], "owner"))]);

  await client.query("set session_replication_role = replica");
  if (wanted(repos, tags, groups)) {
    await fillTable("repos", async () => {
      for (const [parent, rows] of [
        [branch, third],
        [narrow, thousandth],
        [organization, count - third - thousandth],
        [other, 100],
      ] as const) {
        await fillRepos(client, parent, rows);
      }
    });
  }
  const repoOf = (parent: string, n: number): Promise<string> =>
    valueOf(client, "select uid as value from repos where left(uid, -17) = $1 order by uid offset $2::int limit 1", [parent, String(n)]);
  const [repo, someRepo] = [await repoOf(branch, 0), await repoOf(narrow, 0)];
  if (wanted(tags)) {
    const others: string[] = [];
    for (let n = 0; n < 10; n++) others.push(await repoOf(organization, n));
    await fillTable("tags", async () => {
      await fillTags(client, repo, third);
      await fillTags(client, someRepo, 100);
      for (const each of others) await fillTags(client, each, Math.floor(count / 15));
    });
  }
  if (wanted(groups)) {
    await fillTable("groups", async () => {
      await fillGroups(client, organization, count - third);
      await fillGroups(client, branch, third);
    });
  }
  if (wanted(identities, bindings)) {
    await fillTable("identities", async () => {
      await fillIdentities(client, organization, count - third);
      await fillIdentities(client, branch, third);
    });
  }
  if (wanted(bindings)) await fillTable("role_bindings", () => fillBindings(client, organization, builtInRoleUid("viewer"), count));
  if (wanted(listAdvisories)) {
    progress(`${count} advisories`);
    await fillAdvisories(client, organization, count, advisoryGroups);
    filled.push("advisories", "advisory_facets", "vulnerabilities", "package_origins");
  }
  if (wanted(audit)) {
    progress(`${count} audit entries`);
    await fillAudit(client, organization, count, { branch, narrow });
    filled.push("audit_entries");
  }
  if (wanted(events)) {
    progress(`${count} events`);
    await fillEvents(client, organization, count, { branch, narrow });
    filled.push("outbox");
  }
  const subscribed = { busy: `${branch}/00000000000000b1`, seldom: `${narrow}/00000000000000b2` };
  if (wanted(subscriptions, deliveries)) {
    for (const uid of Object.values(subscribed))
      await client.query("insert into subscriptions (uid, sink, create_time, update_time) values ($1, 'https://sink.example.com', now(), now())", [uid]);
    await fillTable("deliveries", async () => {
      await fillDeliveries(client, subscribed.busy, count - thousandth);
      await fillDeliveries(client, subscribed.seldom, thousandth);
    });
  }
  if (wanted(deletions)) {
    await fillTable("deletions", async () => {
      await fillDeletions(client, organization, count - third - thousandth);
      await fillDeletions(client, branch, third);
      await fillDeletions(client, narrow, thousandth);
    });
  }
  if (wanted(requestedLibraries, requestedVersions)) {
    progress(`${count} requested libraries`);
    await fillRequests(client, organization, count - third);
    await fillRequests(client, branch, third);
    filled.push("request_groups", "request_group_items");
  }
  // A user with permissions in both organizations.
  const person = "9".repeat(40);
  await client.query("insert into identities (uid, name, create_time, update_time) values ($1, 'person', now(), now())", [person]);
  await client.query("insert into access_versions (root) values ($1) on conflict do nothing", [person]);
  for (const group of [organization, other]) {
    await client.query(
      "insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time) values ($1 || '/00000000000000aa', $2, $3, now(), now())",
      [group, person, builtInRoleUid("owner")],
    );
  }
  await recountRows(client);
  await client.query("set session_replication_role = origin");
  callers.push(["person in two organizations", await authorizationOf(application, person)]);
  progress("vacuum");
  await vacuumTables(client, ...filled, "place_counts", "resource_counts");
  return {
    application,
    callers,
    branch,
    repo,
    someRepo,
    subscribed,
    large: organization,
    small: narrow,
    someName: await valueOf(client, "select name as value from repos where left(uid, -17) = $1 order by uid offset 7 limit 1", [organization]),
    busy: await valueOf(client, "select caller_uid as value from audit_entries group by 1 order by count(*) desc limit 1", []),
    seldom: await valueOf(client, "select caller_uid as value from audit_entries group by 1 order by count(*) limit 1", []),
    subject: await valueOf(client, "select subject as value from audit_entries limit 1", []),
    somebody: await valueOf(client, "select identity_uid as value from role_bindings where left(uid, 40) = $1 order by uid limit 1", [organization]),
  };
};

/** No index covers both a branch within a root and a time: rare rows of a branch are searched in all of it. */
const readsBranch = ({ updatedSince }: JsonObject): boolean => updatedSince !== undefined;

const lists = ({
  large,
  small,
  branch,
  repo,
  someRepo,
  someName,
  somebody,
  subscribed,
  busy,
  seldom,
  subject,
}: Rows): readonly (readonly [string, JsonObject])[] => {
  const each = (method: string, request: JsonObject, orders = ["", "name", "name desc", "create_time desc"]): (readonly [string, JsonObject])[] =>
    orders.map((orderBy) => [method, { ...request, ...(orderBy ? { orderBy } : {}) }] as const);
  const eachEntry = (request: JsonObject): (readonly [string, JsonObject])[] => each(audit, request, ["", "sequence", "uid"]);
  const eachEvent = (request: JsonObject): (readonly [string, JsonObject])[] => each(events, request, ["", "position desc", "uid", "create_time desc"]);
  const eachDelivery = (request: JsonObject): (readonly [string, JsonObject])[] => each(deliveries, request, ["", "uid", "create_time", "update_time desc"]);
  const eachDeletion = (request: JsonObject): (readonly [string, JsonObject])[] => each(deletions, request, ["", "uid", "create_time", "resource_type"]);
  const repoMessage = service("registry.v2.Repo");
  const eachAdvisory = (request: JsonObject): (readonly [string, JsonObject])[] => each(listAdvisories, request, ["", "artifact_name", "update_time desc"]);
  return [
    ...each(repos, {}),
    ...each(repos, { uidp: { childrenOf: large } }),
    ...each(repos, { uidp: { childrenOf: branch } }),
    ...each(repos, { uidp: { childrenOf: small } }),
    ...each(repos, { uidp: { descendantsOf: branch } }),
    ...each(repos, { uidp: { descendantsOf: small } }),
    ...each(repos, { name: someName }),
    [repos, { skip: 1000 }],
    [repos, { uidp: { ids: [repo, someRepo] } }],
    ...each(tags, {}),
    ...each(tags, { uidp: { childrenOf: repo } }),
    ...each(tags, { uidp: { childrenOf: someRepo } }),
    [tags, { uidp: { childrenOf: repo }, updatedSince: "2026-10-01T00:00:00.000Z" }],
    [tags, { updatedSince: "2026-10-01T00:00:00.000Z", orderBy: "update_time desc" }],
    [tags, { digest: "sha256:0" }],
    [tags, { name: "latest" }],
    ...each(groups, {}),
    [groups, { uidp: { inRoot: true } }],
    [groups, { uidp: { inRoot: true }, orderBy: "name" }],
    [groups, { uidp: { ancestorsOf: someRepo } }],
    [groups, { uidp: { childrenOf: large } }],
    [groups, { name: "large branch" }],
    ...each(identities, {}),
    [identities, { relationshipType: "RELATIONSHIP_TYPE_STATIC" }],
    [identities, { uidp: { inRoot: true } }],
    [bindings, {}],
    [bindings, { orderBy: "create_time desc" }],
    [bindings, { identity: somebody }],
    [bindings, { group: large }],
    [bindings, { role: builtInRoleUid("viewer") }],
    [bindings, { role: builtInRoleUid("viewer"), orderBy: "create_time" }],
    ...each(roles, {}),
    ...eachEntry({}),
    ...eachEntry({ uidp: { descendantsOf: branch } }),
    ...eachEntry({ uidp: { childrenOf: small } }),
    ...eachEntry({ callerUids: [busy] }),
    ...eachEntry({ callerUids: [busy, seldom] }),
    ...eachEntry({ callerUids: [seldom] }),
    ...eachEntry({ operations: [service("registry.v2.TagsService/CreateTag")] }),
    ...eachEntry({ codes: ["PERMISSION_DENIED"] }),
    ...eachEntry({ subjects: [subject] }),
    ...eachEntry({ since: "2026-10-01T00:00:00.000Z" }),
    [audit, { afterSequence: String(500_000), orderBy: "sequence" }],
    ...eachEvent({}),
    ...eachEvent({ uidp: { descendantsOf: branch } }),
    ...eachEvent({ uidp: { descendantsOf: small } }),
    ...eachEvent({ uidp: { childrenOf: small } }),
    ...eachEvent({ types: ["dev.chainguard.api.platform.registry.repo.updated.v1"] }),
    ...eachEvent({ types: ["dev.chainguard.api.platform.registry.repo.updated.v1"], uidp: { descendantsOf: branch } }),
    ...eachEvent({ afterPosition: "500000" }),
    ...eachEvent({ afterPosition: "500000", uidp: { descendantsOf: small } }),
    ...eachDelivery({}),
    ...eachDelivery({ uidp: { childrenOf: subscribed.busy } }),
    ...eachDelivery({ uidp: { childrenOf: subscribed.seldom } }),
    ...eachDelivery({ uidp: { childrenOf: subscribed.busy }, states: ["DELIVERY_STATE_DEAD"] }),
    ...eachDelivery({ uidp: { childrenOf: subscribed.seldom }, states: ["DELIVERY_STATE_DEAD"] }),
    ...eachDelivery({ states: ["DELIVERY_STATE_DEAD"] }),
    ...eachDelivery({ states: ["DELIVERY_STATE_PENDING", "DELIVERY_STATE_WAITING"] }),
    ...eachDeletion({}),
    ...eachDeletion({ uidp: { childrenOf: small } }),
    ...eachDeletion({ uidp: { descendantsOf: branch } }),
    ...eachDeletion({ resourceTypes: [repoMessage] }),
    ...eachDeletion({ resourceTypes: [repoMessage, service("iam.v2.Role")], uidp: { descendantsOf: branch } }),
    ...eachDeletion({ resourceUids: [repo, someRepo] }),
    ...each(subscriptions, {}, ["", "create_time desc"]),
    ...eachAdvisory({}),
    ...filters.flatMap(({ queries }) => queries).flatMap((query) => ("found" in query.values ? [] : eachAdvisory(requestOf(query, query.values)))),
  ];
};

const valueLengthMax = 40;

const shortText = (method: string, request: JsonObject): string => {
  const { uidp, pageToken, ...others } = request;
  const words = [
    ...(uidp ? [JSON.stringify(uidp).replaceAll(/[0-9a-f]{40}(?:\/[0-9a-f]{16})*/g, "…")] : []),
    ...Object.entries(others).map(([key, value]) => `${key}=${String(value).slice(0, valueLengthMax)}`),
  ];
  return `${/([A-Za-z]+)$/.exec(method)?.[1] ?? method} ${words.join(" ")}${pageToken ? " page 2" : ""}`;
};

const failed = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

const printFinding = (caller: string, list: string, { accessPaths, read, ms, faults }: Finding): void => {
  const verdict = faults.length > 0 ? "BAD" : "ok ";
  const cost = `${String(read).padStart(7)} rows ${ms.toFixed(1).padStart(8)} ms`;
  const line = `${verdict} ${caller.padEnd(27)} ${list.padEnd(64)} ${cost}  ${accessPaths}`;
  process.stdout.write(`${line}${faults.length > 0 ? `  <- ${faults.join("; ")}` : ""}\n`);
};

/** Runs one list page by page and shows the plans of its statements. Returns the number of faults. */
const examine = async (
  client: pg.Client,
  application: Application,
  [caller, authorization]: readonly [string, string],
  method: string,
  first: JsonObject,
  max: Bounds = {
    rows: readsBranch(first) ? Number.POSITIVE_INFINITY : passedMax,
    buffers: Number.POSITIVE_INFINITY,
    sorted: limits.sortRowsMax,
  },
): Promise<number> => {
  let bad = 0;
  let request: JsonObject | undefined = first;
  for (let page = 1; page <= 2 && request; page++) {
    const list = shortText(method, request);
    try {
      const call = callOf(method, request, authorization);
      for (const statement of await statementsOf(application, call)) {
        const finding = await explain(client, statement, max);
        if (finding.faults.length > 0) bad++;
        printFinding(caller, list, finding);
      }
      const { nextPageToken }: JsonObject = (await application.serve(call)).message;
      request = typeof nextPageToken === "string" ? { ...request, pageToken: nextPageToken } : undefined;
    } catch (thrown) {
      bad++;
      printFinding(caller, list, { accessPaths: "", read: 0, ms: 0, faults: [failed(thrown)] });
      request = undefined;
    }
  }
  return bad;
};

const neighbourParents = [10, 1_000, 30_000];
const places = 1_000;
/** Per group: a descent for the count, one for the page, and the rows found. */
const buffersPerPlaceMax = 30;

/**
 * Checks lists of a caller with permissions on a thousand groups, while a neighbour's rows are below ever more parents. Returns
 * the number of faults.
 */
const examineNeighbours = async (client: pg.Client, writer: pg.Client, application: Application, rows: number): Promise<number> => {
  const [own, neighbour] = [await makeOrganization(application, "scattered"), await makeOrganization(application, "neighbour")];
  const member = await makeMember(application, own, [own], "viewer");
  await writer.query("set session_replication_role = replica");
  await writer.query("delete from role_bindings where identity_uid = $1", [member]);
  await writer.query(
    `insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time)
     select $1::text || '/' || lpad(to_hex(2 * n), 16, '0') || '/00000000000000aa', $2, $3, now(), now() from generate_series(1, $4::int) as n`,
    [own, member, builtInRoleUid("viewer"), places],
  );
  await spreadRepos(writer, own, 2 * places, 5);
  const authorization = await authorizationOf(application, member);
  let bad = 0;
  for (const parents of neighbourParents) {
    await writer.query("delete from repos where uid > $1 || '/' and uid < $1 || '0'", [neighbour]);
    await spreadRepos(writer, neighbour, parents, Math.ceil(rows / parents));
    await recountRows(writer);
    await vacuumTables(writer, "repos", "role_bindings", "place_counts");
    for (const order of ["", "name", "name desc", "create_time desc"])
      for (const request of [{}, { name: "repo-3" }]) {
        const asked = order === "" ? request : { ...request, orderBy: order };
        bad += await examine(client, application, [`1000 places, ${parents} parents`, authorization], repos, asked, {
          rows: passedMax,
          buffers: buffersPerPlaceMax * places,
          sorted: limits.sortRowsMax,
        });
      }
  }
  return bad;
};

const advisoryGroups = 2 * places;
/** In every row, in none, in some; pattern characters; other scripts; the maximum length. */
const texts = ["-1", "%", "_", "%%%", "--", "\\", "é", "日本", "CVE-2025", "component-".repeat(25), "CVE-2025-10000"];
/** These also with every filter and order. */
const narrowedTexts = ["a", "zq", "log"];

/** Checks searches of a caller with one permission and of one with permissions on a thousand groups. Returns the number of faults. */
const examineTexts = async (client: pg.Client, writer: pg.Client, application: Application, { large }: Rows): Promise<number> => {
  const groupOf = (n: number): string => `${large}/${n.toString(16).padStart(16, "0")}`;
  const [one, scattered] = [await makeMember(application, large, [large], "viewer"), await makeMember(application, large, [], "viewer")];
  await writer.query(
    `insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time)
     select $1::text || '/' || lpad(to_hex(2 * n), 16, '0') || '/00000000000000aa', $2, $3, now(), now() from generate_series(1, $4::int) as n`,
    [large, scattered, builtInRoleUid("viewer"), places],
  );
  await vacuumTables(writer, "role_bindings");
  const pages = await valueOf(
    writer,
    "select sum(relpages) as value from pg_class where relname in ('advisories', 'advisories_pkey', 'advisories_by_search')",
    [],
  );
  // Sorts only keys, if matches are not at the start of the order.
  const all = Number.POSITIVE_INFINITY;
  const max: Bounds = { rows: all, buffers: 2 * Number(pages) + buffersPerPlaceMax * places, sorted: all, looksThrough: true };
  const callers = [
    ["one right", await authorizationOf(application, one)],
    ["1000 places", await authorizationOf(application, scattered)],
    ["operator", await authorizationOf(application, operatorUid)],
  ] as const;
  let bad = 0;
  for (const caller of callers)
    for (const request of [
      ...texts.map((query) => ({ query })),
      ...narrowedTexts.flatMap((query) =>
        [{}, { uidp: { childrenOf: large } }, { uidp: { descendantsOf: groupOf(4) } }].flatMap((narrowed) => [
          { query, ...narrowed },
          { query, ...narrowed, orderBy: "create_time desc" },
        ]),
      ),
    ])
      bad += await examine(client, application, caller, listAdvisories, request, max);
  return bad;
};

/** Checks lists over all requests, which count or sort items. Returns the number of faults. */
const examineRequests = async (client: pg.Client, application: Application, { large, branch }: Rows): Promise<number> => {
  const all = Number.POSITIVE_INFINITY;
  const size = await valueOf(client, "select sum(relpages) as value from pg_class where relname ~ '^request_group'", []);
  const caller = ["operator", await authorizationOf(application, operatorUid)] as const;
  // The items' pages once, and a descent for each request and each item of a page.
  const max: Bounds = { rows: all, buffers: Number(size) + 100_000, sorted: all };
  const library = { ecosystem: "ECOSYSTEM_PYTHON", name: "library-20" };
  let bad = 0;
  for (const parent of [large, branch]) {
    for (const orderBy of ["name", "name desc", "requested_version_count desc", "last_request_time desc", "create_time", "update_time"])
      for (const filter of [{}, { query: "ry-29" }, { buildStatus: "REQUESTED_LIBRARY_BUILD_STATUS_COMPLETE" }])
        bad += await examine(client, application, caller, requestedLibraries, { parent, orderBy, ...filter }, max);
    for (const orderBy of ["version", "update_time desc"])
      bad += await examine(client, application, caller, requestedVersions, { parent, orderBy, ...library }, max);
  }
  return bad;
};

const printIndexes = async (client: pg.Client): Promise<void> => {
  await client.query("select pg_stat_force_next_flush()");
  const { rows } = await client.query<{ line: string }>(
    `with part as (
       select coalesce(inhparent, oid) as root, oid, pg_relation_size(oid) as bytes
       from pg_class left join pg_inherits on inhrelid = oid where relkind in ('r', 'i')
     ), relation as (
       select root, sum(bytes) as bytes, sum(coalesce(idx_scan, 0)) as scans from part left join pg_stat_user_indexes on indexrelid = oid group by 1
     )
     select format('%-24s %-48s %6s MB %5s of the table %8s scans', indrelid::regclass, indexrelid::regclass, round(kept.bytes / 1e6),
       round(kept.bytes / rows.bytes, 2), kept.scans) as line
     from pg_index join relation as kept on kept.root = indexrelid join relation as rows on rows.root = indrelid
     where rows.bytes > 10000000 and kept.bytes > 0 and not exists (select from pg_inherits where inhrelid = indexrelid)
     order by indrelid::regclass::text, kept.scans desc`,
  );
  for (const { line } of rows) process.stdout.write(`${line}\n`);
};

const checkPlans = (folder: Folder): Promise<number> => {
  const { values } = parseArgs({ options: { rows: { type: "string", default: "1000000" }, only: { type: "string" } } });
  const only = values.only?.split(",");
  const wanted = (...methods: string[]): boolean => only === undefined || methods.some((method) => only.includes(method.split("/")[1] ?? ""));
  return withApplication(folder, async (site, application) =>
    withClient(await databaseOf(site), async (client) => {
      const filled = await fill(application, client, Number(values.rows), wanted);
      for (const setting of await sessionSettings(application)) await client.query("select set_config($1, $2, false)", setting.split("="));
      // The captured settings include the timeout of cheap reads.
      await client.query(`set statement_timeout = ${limits.statementTimeoutMs}`);
      let bad = 0;
      const asked = lists(filled).filter(([method]) => wanted(method));
      const asksRequests = wanted(requestedLibraries, requestedVersions);
      if (asked.length === 0 && !asksRequests) throw new Error(`no list is called ${values.only}`);
      for (const caller of filled.callers) for (const [method, request] of asked) bad += await examine(client, application, caller, method, request);
      if (asksRequests) bad += await examineRequests(client, application, filled);
      if (wanted(repos))
        bad += await withClient(await databaseOf(site), (writer) => examineNeighbours(client, writer, application, Math.ceil(Number(values.rows) / 10)));
      if (wanted(listAdvisories)) bad += await withClient(await databaseOf(site), (writer) => examineTexts(client, writer, application, filled));
      await printIndexes(client);
      process.stdout.write(bad > 0 ? `${bad} plans are wrong\n` : "every plan is right\n");
      return bad > 0 ? 1 : 0;
    }),
  );
};

const withApplication = async <T>(folder: Folder, work: (site: Site, application: Application) => Promise<T>): Promise<T> => {
  const site = await folder.site("data");
  const application = await openApplication({ settings: readSettings({ GANTRY_DATA: site.data }), log: silent });
  try {
    return await work(site, application);
  } finally {
    await application.close();
  }
};

process.exitCode = await withFolder(checkPlans);
