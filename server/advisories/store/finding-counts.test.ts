// Counts kept by group equal the open findings, after any changes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { openStore, type Store } from "#db";
import { freshDatabase } from "../../../test/database.ts";
import { fc, runs } from "../../../test/property.ts";
import { countOpenFindings } from "./finding-counts.ts";
import { placeBelow, placeOnly } from "./image-coverage.ts";

const root = "a".repeat(40);
const groups = [root, `${root}/${"1".repeat(16)}`, `${root}/${"1".repeat(16)}/${"2".repeat(16)}`, "b".repeat(40)];

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase();
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await database.drop();
});

const drafts = fc.array(
  fc.record({ group: fc.nat(groups.length - 1), n: fc.nat(9), rank: fc.nat(5), fixed: fc.boolean(), exploited: fc.boolean(), resolved: fc.boolean() }),
  { minLength: 1, maxLength: 12 },
);
type Drafts = readonly { group: number; n: number; rank: number; fixed: boolean; exploited: boolean; resolved: boolean }[];
const changes = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("write" as const), drafts, abandon: fc.boolean() }) },
    fc.record({ kind: fc.constant("rank" as const), group: fc.nat(groups.length - 1), rank: fc.nat(5) }),
    fc.record({ kind: fc.constant("resolve" as const), group: fc.nat(groups.length - 1), n: fc.nat(9) }),
    fc.record({ kind: fc.constant("delete" as const), group: fc.nat(groups.length - 1), n: fc.nat(9) }),
    fc.record({ kind: fc.constant("clear" as const), group: fc.nat(groups.length - 1) }),
  ),
  { minLength: 1, maxLength: 12 },
);

const uidOf = ({ group, n }: { readonly group: number; readonly n: number }): string => `${groups[group]}/${n.toString(16).padStart(16, "0")}`;

const write = async (given: Drafts, abandon: boolean): Promise<void> => {
  const rows = [...new Map(given.map((draft) => [uidOf(draft), draft])).values()];
  const listed = <Value>(of: (draft: Drafts[number]) => Value): string => `{${rows.map(of).join(",")}}`;
  await store
    .write(async (written) => {
      await written.query(
        `insert into affected_images as held (uid, repo, repo_uid, tags, digest, architectures, package_name, installed_version, fixed_version, advisory_id,
           aliases, advisory_ids, advisory_uid, state, start_time, end_time, create_time, update_time, severity_rank, exploit_due_date)
         select uid, 'app', uid, '[]', 'sha256:1', '[]', 'zlib', '1', case when fixed then '2' else '' end, 'CVE-1', '[]', '["CVE-1"]', uid,
           case when resolved then 'AFFECTED_IMAGE_STATE_RESOLVED' else 'AFFECTED_IMAGE_STATE_AFFECTED' end, now(), case when resolved then now() end,
           now(), now(), rank, case when exploited then 'none' else '' end
         from unnest($1::text[], $2::integer[], $3::boolean[], $4::boolean[], $5::boolean[]) as given(uid, rank, fixed, exploited, resolved)
         on conflict (uid) do update set severity_rank = excluded.severity_rank, fixed_version = excluded.fixed_version, state = excluded.state,
           exploit_due_date = excluded.exploit_due_date, end_time = excluded.end_time`,
        [listed(uidOf), listed(({ rank }) => rank), listed(({ fixed }) => fixed), listed(({ exploited }) => exploited), listed(({ resolved }) => resolved)],
      );
      if (abandon) throw new Error("abandoned");
    })
    .catch((error: unknown) => assert.ok(abandon, String(error)));
};

const naive = async (low: string, high: string, rank: number, fixable: boolean, exploited: boolean): Promise<ReadonlyMap<number, number>> => {
  const found = await store.read.query(
    `select severity_rank, count(*) from affected_images where not closed and left(uid, -17) >= $1 and left(uid, -17) < $2 and severity_rank >= $3
       and (fixed_version <> '' or not $4) and (exploit_due_date <> '' or not $5) group by 1`,
    [low, high, rank, fixable, exploited],
  );
  return new Map(found.map(([each, count]) => [Number(each), Number(count)]));
};

test("counts kept by group equal the open findings for each filter, after any inserts, updates, deletions and aborted transactions", async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (given) => {
      await store.write((rows) => rows.query("delete from affected_images"));
      for (const each of given) {
        const group = "group" in each ? (groups[each.group] ?? "") : "";
        if (each.kind === "write") await write(each.drafts, each.abandon);
        else
          await store.write(async (rows) => {
            if (each.kind === "rank") await rows.query("update affected_images set severity_rank = $2 where left(uid, -17) = $1", [group, each.rank]);
            else if (each.kind === "clear") await rows.query("delete from affected_images where uid > $1 and uid < $1 || '0'", [group]);
            else if (each.kind === "delete") await rows.query("delete from affected_images where uid = $1", [uidOf(each)]);
            else await rows.query("update affected_images set state = 'AFFECTED_IMAGE_STATE_RESOLVED', end_time = now() where uid = $1", [uidOf(each)]);
          });
      }
      for (const place of [placeBelow(""), ...groups.flatMap((path) => [placeBelow(path), placeOnly(path)])])
        for (const [rank, fixable, exploited] of [
          [-1, false, false],
          [3, true, false],
          [0, false, true],
        ] as const) {
          const kept = await countOpenFindings(store.read, [place], { minSeverityRank: rank, fixable, exploited });
          assert.deepEqual(new Map([...kept].sort()), new Map([...(await naive(place.low, place.high, rank, fixable, exploited))].sort()), place.low);
        }
      const [left] = await store.read.query("select count(*) from finding_counts where row_count <= 0");
      assert.equal(left?.[0], "0");
    }),
    { numRuns: runs(40) },
  );
});
