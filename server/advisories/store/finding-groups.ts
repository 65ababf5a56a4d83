// Findings grouped by vulnerability, package, image, base image or group. Every page counts all selected findings.

import { columns, expression, flag, number, type Param, type Read, type RowOf, type Selection, selectedRows, type Table, text, textList, time } from "#db";
import { type BaseScope, basedText, firstBasedText } from "./image-layers.ts";
import type { Order } from "#base/page.ts";
import { timestamp } from "#base/time.ts";

/** Keys by the contract's FindingGroupBy. */
const keys = {
  FINDING_GROUP_BY_VULNERABILITY: `coalesce(jsonb_path_query_first(advisory_ids, '$[*] ? (@ starts with "CVE-")') #>> '{}', advisory_id)`,
  FINDING_GROUP_BY_PACKAGE: "package_name",
  FINDING_GROUP_BY_IMAGE: "left(uid, -17) || ' ' || repo || '@' || digest",
  FINDING_GROUP_BY_GROUP: "left(uid, -17)",
  // Of the image, until its base image is found.
  FINDING_GROUP_BY_BASE_IMAGE: "image",
};

export type FindingGroupBy = keyof typeof keys;

export const isFindingGroupBy = (name: string): name is FindingGroupBy => Object.hasOwn(keys, name);

const sums = ["finding_count", "fixable_count", "exploited_count", "overdue_count", ...[0, 1, 2, 3, 4, 5].map((rank) => `count_${rank}`)];

const orderTypes: Readonly<Record<string, string>> = {
  severity_rank: "integer",
  finding_count: "bigint",
  image_count: "bigint",
  fixable_count: "bigint",
  exploited_count: "bigint",
  overdue_count: "bigint",
  epss_score: "double precision",
  first_create_time: "timestamptz",
};

export type FindingGroup = RowOf<typeof findingGroup>;

const findingGroup = columns({
  isFound: expression("page.key is not null", flag),
  total: expression("counted.total", number),
  key: expression("page.key", text),
  /** In the requested order. */
  position: expression("page.position::text", text),
  severityRank: expression("page.severity_rank", number),
  /** By rank. */
  severityCounts: expression("jsonb_build_array(count_0, count_1, count_2, count_3, count_4, count_5)", textList),
  findingCount: expression("page.finding_count", text),
  imageCount: expression("page.image_count", text),
  fixableCount: expression("page.fixable_count", text),
  exploitedCount: expression("page.exploited_count", text),
  overdueCount: expression("page.overdue_count", text),
  epssScore: expression("page.epss_score", number),
  firstCreateTime: time("page.first_create_time"),
  /** Of one finding of the group. */
  advisoryId: expression("held.advisory_id", text),
  aliases: expression("held.aliases", textList),
  packageName: expression("held.package_name", text),
  groupUid: expression("left(held.uid, -17)", text),
  repo: expression("held.repo", text),
  repoUid: expression("held.repo_uid", text),
  digest: expression("held.digest", text),
  tags: expression("held.tags", textList),
});

export interface FindingGroupPage {
  readonly by: FindingGroupBy;
  readonly scope: BaseScope;
  /** The time at which findings are overdue. */
  readonly nowMs: number;
  readonly order: Order;
  /** Position and key of the last group of the page before. */
  readonly after: readonly string[] | undefined;
  readonly skip: number;
  readonly limit: number;
}

/** SQL of CTEs: `keyed` has the rows of by_image with the base image as the key, "" for images without a known one. */
const keyedText = (scope: BaseScope, add: (value: Param) => string): string => `given as materialized (
       select distinct split_part(key, '@', 1) as repo_uid, split_part(key, '@', 2) as digest from by_image where key !~ '^@|@$'
     ), ${basedText(scope, add)}, named as materialized (
       select repo_uid || '@' || image_digest as image,
         case when layer_count > 0 then base_repo_uid || '@' || base_digest else claimed_name || ' ' || claimed_digest end as name
       from (${firstBasedText}) as first
     ), keyed as (select by_image.*, coalesce(named.name, '') as base from by_image left join named on named.image = by_image.key)`;

/** Returns a page of groups, and the number of all. */
export const findFindingGroups = async (
  rows: Read,
  table: Table,
  selection: Selection,
  { by, scope, nowMs, order, after, skip, limit }: FindingGroupPage,
): Promise<{ readonly groups: readonly FindingGroup[]; readonly total: number }> => {
  const selected = selectedRows(
    table,
    selection,
    "uid, advisory_id, advisory_ids, package_name, repo, digest, image, severity_rank, fix_state, exploited, epss_score, create_time, due_time, closed",
  );
  const values: Param[] = [...selected.values];
  const add = (value: Param): string => `$${values.push(value)}`;
  const type = orderTypes[order.column];
  if (type === undefined) throw new Error(`groups of findings cannot be ordered by ${order.column}`);
  const [direction, comparison] = order.descending ? ["desc", "<"] : ["asc", ">"];
  const isByBase = by === "FINDING_GROUP_BY_BASE_IMAGE";
  const behind = after ? `where (position, key) ${comparison} (${add(after[0] ?? "")}::text::${type}, ${add(after[1] ?? "")}::text)` : "";
  const found = await findingGroup.find(
    rows,
    `with by_image as (
       select ${keys[by]} as key, left(uid, -17), repo, digest, max(severity_rank) as severity_rank, count(*) as finding_count,
         count(*) filter (where fix_state = 'FINDING_FIX_STATE_FIXABLE') as fixable_count, count(*) filter (where exploited) as exploited_count,
         count(*) filter (where due_time < ${add(timestamp(nowMs))} and not closed) as overdue_count,
         ${[0, 1, 2, 3, 4, 5].map((rank) => `count(*) filter (where severity_rank = ${rank}) as count_${rank}`).join(", ")},
         max(epss_score) as epss_score, min(create_time) as first_create_time, min(uid) as uid
       from (${selected.text}) as finding group by 1, 2, 3, 4
     )${isByBase ? `, ${keyedText(scope, add)}` : ""}, grouped as (
       select ${isByBase ? "base as key" : "key"}, max(severity_rank) as severity_rank, count(*) as image_count,
         ${sums.map((each) => `sum(${each})::bigint as ${each}`).join(", ")},
         max(epss_score) as epss_score, min(first_create_time) as first_create_time, min(uid) as uid
       from ${isByBase ? "keyed" : "by_image"} group by 1
     )
     select ${findingGroup.list} from (select count(*) as total from grouped) as counted
     left join lateral (
       select * from (select *, ${order.column} as position from grouped) as placed ${behind}
       order by position ${direction}, key ${direction} limit ${add(limit)} offset ${add(skip)}) as page on true
     left join affected_images as held on held.uid = page.uid
     order by page.position ${direction}, page.key ${direction}`,
    values,
    { rows: limit, wide: true },
  );
  return { groups: found.filter(({ isFound }) => isFound), total: found[0]?.total ?? 0 };
};

/** A package of an image with a finding. */
export type FoundPackage = RowOf<typeof foundPackage>;

const foundPackage = columns({
  uid: expression("found.uid", text),
  repoUid: expression("found.repo_uid", text),
  digest: expression("found.digest", text),
  packageName: expression("found.package_name", text),
  installedVersion: expression("found.installed_version", text),
});

/** Returns up to `count` of the selected findings, in any order. */
export const findFoundPackages = (rows: Read, table: Table, selection: Selection, count: number): Promise<FoundPackage[]> => {
  const { text: selected, values } = selectedRows(table, selection, "uid, repo_uid, digest, package_name, installed_version");
  return foundPackage.find(rows, `select ${foundPackage.list} from (${selected}) as found limit $${values.length + 1}`, [...values, count], {
    rows: count,
    wide: true,
  });
};
