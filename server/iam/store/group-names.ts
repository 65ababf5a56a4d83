// Table group_names: taken and reserved names (docs/decisions/0002). Triggers write it with the group's row, so that a unique index
// decides between servers.

import { columns, expression, flag, number, type Read, type RowOf, text, textList, time, type Write } from "#db";

export type NameClaim = RowOf<typeof claim>;

const claim = columns({ groupUid: text, name: text, held: flag });

// The same condition as in claim_group_name.
const isTaken = `(held or used or exists (
    select from deletions where left(uid, 40) = left(claim.group_uid, 40) and resource_uid = claim.group_uid
  ))`;

/**
 * Returns the claim that keeps a group below `parent` ("" for an organization) from using a name or one that looks the same; undefined if
 * it is free or the group's own.
 */
export const findNameClaim = (rows: Read, parent: string, name: string, uid: string): Promise<NameClaim | undefined> =>
  claim.findOne(
    rows,
    `select ${claim.list} from group_names as claim where parent = $1 and skeleton = group_name_skeleton($2) and group_uid <> $3 and ${isTaken}`,
    [parent, name, uid],
  );

/** Returns other unverified organizations with exactly this name. They are older than the rule of unique names. */
export const findUnverifiedHolders = async (rows: Read, name: string, uid: string): Promise<string[]> =>
  (await rows.query("select uid from groups where length(uid) = 40 and name = $1 and uid <> $2 and not verified order by uid", [name, uid])).flatMap(
    ([found]) => found ?? [],
  );

export const isNameShared = async (rows: Read, name: string, uid: string): Promise<boolean> => {
  const [row] = await rows.query("select exists (select from groups where length(uid) = 40 and name = $1 and uid <> $2)", [name, uid]);
  return row?.[0] === "t";
};

export const countReservedNames = async (rows: Read, uid: string): Promise<number> => {
  const [row] = await rows.query("select count(*) from group_names where parent = '' and group_uid = $1 and not held", [uid]);
  return Number(row?.[0] ?? 0);
};

export type ReservedName = RowOf<typeof reserved>;

const reserved = columns({ name: text, organization: expression("group_uid", text), used: flag, reserveTime: time("reserve_time") });

export const listReservedNames = (rows: Read): Promise<ReservedName[]> =>
  reserved.find(rows, `select ${reserved.list} from group_names where not held order by name`);

/**
 * Releases a reserved name and returns its group; undefined if it is not reserved. An organization that shares the name from before names
 * were unique gets it, if it is the only one.
 */
export const releaseReservedName = async (rows: Write, name: string): Promise<string | undefined> => {
  const [gone] = await rows.query("delete from group_names where parent = '' and not held and name = $1 returning group_uid", [name]);
  if (!gone) return undefined;
  await rows.query(
    `insert into group_names (parent, skeleton, name, group_uid, held, used)
     select '', group_name_skeleton(name), name, uid, true, true from groups where length(uid) = 40 and name = $1
       and not exists (select from groups as other where length(other.uid) = 40 and other.name = $1 and other.uid <> groups.uid)
     on conflict do nothing`,
    [name],
  );
  return gone[0] ?? "";
};

/** An ambiguous or misleading name. */
export type NameProblem = RowOf<typeof problem>;

const problem = columns({
  /** same, similar: several groups have it. reserved: it is reserved for another organization. */
  kind: text,
  /** "" for organizations. */
  parent: text,
  names: textList,
  uids: textList,
  verified: number,
});

/** Returns the problems of names from before names were unique, the first `count` of each kind. */
export const findNameProblems = async (rows: Read, count: number): Promise<NameProblem[]> => {
  const parent = "case when length(uid) = 40 then '' else left(uid, -17) end";
  const shared = await problem.find(
    rows,
    `select case when count(distinct name) = 1 then 'same' else 'similar' end as kind, ${parent} as parent,
       jsonb_agg(name order by name, uid) as names, jsonb_agg(uid order by name, uid) as uids, count(*) filter (where verified) as verified
     from groups group by 2, group_name_skeleton(name) having count(*) > 1 order by 2, 3 limit $1`,
    [count],
  );
  const kept = await problem.find(
    rows,
    `select 'reserved' as kind, '' as parent, jsonb_build_array(groups.name) as names, jsonb_build_array(groups.uid, group_names.group_uid) as uids,
       0 as verified
     from group_names join groups on length(groups.uid) = 40 and groups.name = group_names.name
     where group_names.parent = '' and not group_names.held and group_names.group_uid <> groups.uid order by group_names.name limit $1`,
    [count],
  );
  return [...shared, ...kept];
};
