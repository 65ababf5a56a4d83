import { test } from "node:test";
import { openWorld } from "./world.ts";
import { importFeed } from "#feeds";
import { settleRecords } from "#store";
import type { JsonObject } from "#base/json.ts";
import { resolve } from "node:path";

test("perf", { timeout: 500_000 }, async () => {
  const world = await openWorld();
  const { house } = world.server.open;
  let t = performance.now();
  const options = { kind: "advisories", group: world.organization, public: true, sources: [resolve("../shared/data/advisories/wolfi")], progress: () => {} } as never;
  console.log(JSON.stringify(await importFeed(house, options)).slice(0, 400), "import", Math.round(performance.now() - t));
  t = performance.now();
  console.log(JSON.stringify(await importFeed(house, options)).slice(0, 400), "again", Math.round(performance.now() - t));
  t = performance.now();
  const cols = (await house.store.read.query("select column_name from information_schema.columns where table_name='advisories' order by ordinal_position")).map(([c]) => c ?? "");
  for (let n = 1; n <= 9; n++) {
    const special: Record<string, string> = { uid: `left(uid, 41) || substr(md5(uid || '${n}'), 1, 16)`, advisory_id: `advisory_id || '${n}'`, artifact_name: `artifact_name || '-${n}'`, update_time: `update_time + interval '${n} s'` };
    await house.store.write((w) => w.query(`insert into advisories (${cols.join(",")}) select ${cols.map((c) => special[c] ?? c).join(",")} from advisories where advisory_id !~ '[0-9]$' or length(advisory_id) = 18 and update_time <= (select min(update_time) + interval '60 s' from advisories) limit 14179`)).catch((e) => console.log(String(e.cause ?? e)));
  }
  console.log("clone", Math.round(performance.now() - t), await house.store.read.query("select count(*) from advisories"), await house.store.read.query("select count(*) from advisory_facets"));
  await house.store.write((w) => settleRecords(w));
  const pg = await import("pg"); const { DATABASE_URL } = process.env; void DATABASE_URL;
  const list = "vulnerabilities.AdvisoriesService/ListAdvisories";
  const time = async (request: JsonObject): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 9; i++) { const s = performance.now(); const a = await world.call(list, request); times.push(performance.now() - s); if (a.code) console.log(a.message); }
    return times.sort((a, b) => a - b)[4] ?? 0;
  };
  const filters: Record<string, JsonObject> = {
    none: {}, place: { uidp: { descendantsOf: world.organization } }, children: { uidp: { childrenOf: world.organization } },
    artifactNames: { artifactNames: ["go", "grafana-3", "argo-cd-5"] }, types: { artifactTypes: ["apk"] }, componentNames: { componentNames: ["stdlib"] },
    componentTypes: { componentTypes: ["go-module"] }, locations: { componentLocations: ["/usr/bin/helm"] }, aliases: { aliases: ["CVE-2023-45288"] }, aliasRare: { aliases: ["CVE-2023-31147"] },
    ghsa: { aliases: ["GHSA-4v7x-pqxf-cx7m"] }, states: { eventReviewStates: ["REVIEW_STATE_APPROVED"] }, authors: { eventAuthors: ["Wolfi"] }, exclude: { excludeEventAuthors: ["x"] },
    reviewers: { eventReviewers: ["x"] }, eventFixed: { eventTypes: ["EVENT_TYPE_FILTER_FIXED"] }, eventTP: { eventTypes: ["EVENT_TYPE_FILTER_TRUE_POSITIVE_DETERMINATION"] },
    latest: { latestEventType: "EVENT_TYPE_FILTER_FIXED" }, latestPending: { latestEventType: "EVENT_TYPE_FILTER_PENDING_UPSTREAM_FIX" }, origin: { origin: "grafana" },
    queryRare: { query: "zookeeper" }, queryCommon: { query: "go" }, query: { query: "openssl" }, since: { updatedSince: "2020-01-01T00:00:00Z" }, sinceByTime: { updatedSince: "2020-01-01T00:00:00Z", orderBy: "update_time" },
    byName: { orderBy: "artifact_name" }, byTime: { orderBy: "update_time desc" }, fixedByTime: { orderBy: "create_time desc", latestEventType: "EVENT_TYPE_FILTER_FIXED" },
  };
  let base = 0;
  for (const [name, filter] of Object.entries(filters)) {
    const first = await world.ok(list, filter);
    const firstMs = await time(filter);
    const second = first.nextPageToken ? await time({ ...filter, pageToken: String(first.nextPageToken) }) : 0;
    base ||= second;
    console.log(name.padEnd(16), String(first.totalCount).padStart(8), "first", firstMs.toFixed(1).padStart(7), "second", second.toFixed(1).padStart(7), (second / base).toFixed(2));
  }
  await world.close();
});
