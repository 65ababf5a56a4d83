// The cost of lists of a million repositories: node bin/node.js bench/lists.ts [--rows N] [--organizations N] [--runs N]
//
// One organization has the rows: a third in a large group, 10,000 in 2,000 groups of five, the rest directly in the organization.
// --organizations adds others with a thousand repositories each. Callers are the owner and a viewer with grants on a thousand
// groups. For each scope and order it measures
// - the first page with its total, and the second page: CPU time of server and database;
// - pages that skip a quarter and nine tenths: the database's CPU time per skipped row.
// Lists are called in this process, without a network. Each value is the minimum of several interleaved runs. Bounds: a first
// page takes at most five times its second page, a skipped row at most 300 ns. Exit status: 0 if all bounds hold, otherwise 1.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Application, openApplication, readSettings } from "#application";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { authorizationOf, databaseOf, makeGroup, makeMember, makeOrganization } from "./callers.ts";
import { readTreeCpuMs } from "./cpu.ts";
import { type Folder, withFolder } from "./processes.ts";
import { callOf } from "./replay.ts";
import { fillRepos, recountRows, spreadRepos, vacuumTables, withClient, withoutIndexes } from "./seed.ts";

const listRepos = "chainguard.platform.registry.v2.ReposService/ListRepos";
const places = 1_000;
const firstPageMax = 5;
const skippedRowMaxNs = 300;

interface Scope {
  readonly name: string;
  readonly authorization: string;
  readonly request: JsonObject;
}

const fill = async (application: Application, site: { readonly data: string }, rows: number, organizations: number): Promise<readonly Scope[]> => {
  const organization = await makeOrganization(application, "large");
  const branch = await makeGroup(application, organization, "large group");
  const owner = await makeMember(application, organization, [organization], "owner");
  const viewer = await makeMember(application, organization, [], "viewer");
  await withClient(await databaseOf({ ...site, url: "", port: 0 }), async (client) => {
    await client.query("set session_replication_role = replica");
    await client.query(
      `insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time)
       select $1::text || '/' || lpad(to_hex(2 * n), 16, '0') || '/00000000000000aa', $2, $3, now(), now() from generate_series(1, $4::int) as n`,
      [organization, viewer, builtInRoleUid("viewer"), places],
    );
    const third = Math.floor(rows / 3);
    await withoutIndexes(client, "repos", async () => {
      await fillRepos(client, branch, third);
      await spreadRepos(client, organization, 2 * places, 5);
      await fillRepos(client, organization, rows - third - 10 * places);
      await client.query(
        `insert into repos (uid, name, create_time, update_time)
         select left(md5('organization' || o), 32) || '00000000/' || left(md5(o || 'repo' || n), 16), 'repo-' || n, now() - n * interval '1 s', now()
         from generate_series(1, $1::int) as o, generate_series(1, 1000) as n`,
        [organizations],
      );
    });
    await recountRows(client);
    await vacuumTables(client, "repos", "role_bindings", "place_counts", "resource_counts");
  });
  const authorization = await authorizationOf(application, owner);
  return [
    { name: "whole organization", authorization, request: {} },
    { name: "descendants of the organization", authorization, request: { uidp: { descendantsOf: organization } } },
    { name: "descendants of a group", authorization, request: { uidp: { descendantsOf: branch } } },
    { name: "children of the organization", authorization, request: { uidp: { childrenOf: organization } } },
    { name: "children of a group", authorization, request: { uidp: { childrenOf: branch } } },
    { name: "a thousand grants", authorization: await authorizationOf(application, viewer), request: {} },
  ];
};

interface Cost {
  readonly serverMs: number;
  readonly databaseMs: number;
  readonly reply: JsonObject;
}

const measurePages = async (application: Application, postmaster: number, scopes: readonly Scope[], runs: number): Promise<number> => {
  const measure = async (authorization: string, request: JsonObject): Promise<Cost> => {
    const call = callOf(listRepos, request, authorization);
    // Reading the database's time uses time of this process.
    const database = await readTreeCpuMs(postmaster);
    const before = process.cpuUsage();
    const { message } = await application.serve(call);
    const used = process.cpuUsage(before);
    return { serverMs: (used.user + used.system) / 1000, databaseMs: (await readTreeCpuMs(postmaster)) - database, reply: message };
  };
  let missed = 0;
  process.stdout.write(`${"".padEnd(52)}   first ms  second ms   ratio  skip 1/4 ns  skip 9/10 ns\n`);
  for (const { name, authorization, request } of scopes)
    for (const orderBy of ["uid", "name", "name desc", "create_time", "update_time desc"]) {
      const asked: JsonObject = { ...request, orderBy };
      const first = await measure(authorization, asked);
      const total = Number(text(first.reply, "totalCount"));
      const pageToken = text(first.reply, "nextPageToken");
      const least = { first: Number.POSITIVE_INFINITY, second: Number.POSITIVE_INFINITY, near: Number.POSITIVE_INFINITY, far: Number.POSITIVE_INFINITY };
      const sum = ({ serverMs, databaseMs }: Cost): number => serverMs + databaseMs;
      const skipNs = async (skip: number): Promise<number> => {
        const skipped = await measure(authorization, { ...asked, skip });
        if (text(skipped.reply, "totalCount") !== String(total)) throw new Error(`${name}: another total behind a skip of ${skip}`);
        return (skipped.databaseMs * 1e6) / skip;
      };
      for (let run = 0; run < runs; run++) {
        least.first = Math.min(least.first, sum(await measure(authorization, asked)));
        least.second = Math.min(least.second, sum(await measure(authorization, { ...asked, pageToken })));
        // In small lists, the page itself would dominate.
        if (total < 100_000) continue;
        least.near = Math.min(least.near, await skipNs(Math.floor(total / 4)));
        least.far = Math.min(least.far, await skipNs(Math.floor(total * 0.9)));
      }
      const ratio = least.first / least.second;
      const worst = total < 100_000 ? 0 : Math.max(least.near, least.far);
      const isMissed = ratio > firstPageMax || worst > skippedRowMaxNs;
      if (isMissed) missed++;
      const skips = total < 100_000 ? "" : `${least.near.toFixed(0).padStart(13)} ${least.far.toFixed(0).padStart(13)}`;
      const cells = [least.first.toFixed(2).padStart(10), least.second.toFixed(2).padStart(10), ratio.toFixed(1).padStart(7)].join(" ");
      process.stdout.write(`${isMissed ? "FAIL" : "ok  "} ${`${name}, ${orderBy}`.padEnd(47)} ${cells} ${skips}\n`);
    }
  process.stdout.write(missed > 0 ? `${missed} bounds were missed\n` : "every bound held\n");
  return missed > 0 ? 1 : 0;
};

const measureLists = async (folder: Folder): Promise<number> => {
  const { values } = parseArgs({
    options: { rows: { type: "string", default: "1000000" }, organizations: { type: "string", default: "0" }, runs: { type: "string", default: "5" } },
  });
  const site = await folder.site("data");
  const application = await openApplication({ settings: readSettings({ GANTRY_DATA: site.data }), log: silent });
  try {
    const scopes = await fill(application, site, Number(values.rows), Number(values.organizations));
    const postmaster = Number.parseInt(await readFile(join(site.data, "postgres", "postmaster.pid"), "utf8"), 10);
    return await measurePages(application, postmaster, scopes, Number(values.runs));
  } finally {
    await application.close();
  }
};

process.exitCode = await withFolder(measureLists);
