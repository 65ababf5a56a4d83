// Tables scim_groups and scim_members. Only listing members reads all members of a group.

import { timestamp } from "#base/time.ts";
import { columns, expression, nullableText, number, type Param, type Read, type RowOf, text, time, type Write } from "#db";
import { scimComparison, scimLists, type ScimQuery } from "./scim-lists.ts";

export type ScimGroupRow = RowOf<typeof group>;

const group = columns({
  uid: text,
  externalId: nullableText,
  document: text,
  version: number,
  createTime: time("create_time"),
  updateTime: time("update_time"),
});

export interface WrittenScimGroup extends Pick<ScimGroupRow, "uid" | "externalId" | "document"> {
  /** The name that mappings use. */
  readonly mappedAs: string;
  /** Lower case. */
  readonly displayName: string;
  readonly nowMs: number;
}

const groupValuesOf = ({ uid, externalId, mappedAs, displayName, document, nowMs }: WrittenScimGroup): Param[] => [
  uid,
  externalId ?? null,
  mappedAs,
  displayName,
  document,
  timestamp(nowMs),
];

/** Throws ALREADY_EXISTS if the external ID is taken. */
export const insertScimGroup = async (rows: Write, identityProviderUid: string, row: WrittenScimGroup): Promise<void> => {
  await rows.query(
    `insert into scim_groups (uid, external_id, mapped_as, display_name, document, create_time, update_time, identity_provider_uid)
     values ($1, $2, $3, $4, $5, $6, $6, $7)`,
    [...groupValuesOf(row), identityProviderUid],
  );
};

export const findScimGroup = (rows: Read, uid: string): Promise<ScimGroupRow | undefined> =>
  group.findOne(rows, `select ${group.list} from scim_groups where uid = $1`, [uid]);

export const lockScimGroup = (rows: Write, uid: string): Promise<ScimGroupRow | undefined> =>
  group.findOne(rows, `select ${group.list} from scim_groups where uid = $1 for update`, [uid]);

/** Throws ALREADY_EXISTS if the external ID is taken. */
export const updateScimGroup = (rows: Write, row: WrittenScimGroup): Promise<ScimGroupRow | undefined> =>
  group.findOne(
    rows,
    `update scim_groups set external_id = $2, mapped_as = $3, display_name = $4, document = $5, version = version + 1,
       update_time = greatest($6::timestamptz, update_time + interval '1 millisecond')
     where uid = $1 returning ${group.list}`,
    groupValuesOf(row),
  );

export const deleteScimGroup = async (rows: Write, uid: string): Promise<void> => {
  await rows.query("delete from scim_members where group_uid = $1", [uid]);
  await rows.query("delete from scim_groups where uid = $1", [uid]);
};

// ---- members ----------------------------------------------------------------------------------------------------

const memberOnly = columns({ userUid: text });
const userUids = (found: readonly { readonly userUid: string }[]): string[] => found.map(({ userUid }) => userUid);

/** Returns the users that were added. */
export const insertScimMembers = async (rows: Write, groupUid: string, users: readonly string[]): Promise<string[]> =>
  userUids(
    await memberOnly.find(
      rows,
      `insert into scim_members (group_uid, user_uid) select $1, uid from scim_users where uid = any($2)
       on conflict do nothing returning ${memberOnly.list}`,
      [groupUid, users],
    ),
  );

/** Returns those that were members. */
export const deleteScimMembers = async (rows: Write, groupUid: string, users: readonly string[]): Promise<string[]> =>
  userUids(await memberOnly.find(rows, `delete from scim_members where group_uid = $1 and user_uid = any($2) returning ${memberOnly.list}`, [groupUid, users]));

/** Returns those that were members. */
export const deleteOtherScimMembers = async (rows: Write, groupUid: string, users: readonly string[]): Promise<string[]> =>
  userUids(
    await memberOnly.find(rows, `delete from scim_members where group_uid = $1 and not user_uid = any($2) returning ${memberOnly.list}`, [groupUid, users]),
  );

export const lockGroupsOfScimUser = async (rows: Write, userUid: string): Promise<void> => {
  await rows.query("select 1 from scim_groups where uid in (select group_uid from scim_members where user_uid = $1) order by uid for no key update", [userUid]);
};

/** Increments the versions of the groups. */
export const deleteScimMemberships = async (rows: Write, userUid: string, nowMs: number): Promise<void> => {
  await rows.query(
    `with gone as (delete from scim_members where user_uid = $1 returning group_uid)
     update scim_groups set version = version + 1, update_time = greatest($2::timestamptz, update_time + interval '1 millisecond')
     where uid in (select group_uid from gone)`,
    [userUid, timestamp(nowMs)],
  );
};

const known = columns({ uid: text });

/** Returns those that exist and prevents their deletion. */
export const lockScimUserUids = async (rows: Write, users: readonly string[]): Promise<string[]> =>
  (await known.find(rows, `select ${known.list} from scim_users where uid = any($1) order by uid for key share`, [users])).map(({ uid }) => uid);

export type ScimMember = RowOf<typeof member>;

const member = columns({ groupUid: text, userUid: text });

export const listScimMembers = (rows: Read, groups: readonly string[], most: number): Promise<ScimMember[]> =>
  member.find(rows, `select ${member.list} from scim_members where group_uid = any($1) order by group_uid, user_uid limit $2`, [groups, most], {
    rows: most,
    wide: true,
  });

export type GroupOfScimUser = RowOf<typeof groupOfUser>;

const groupOfUser = columns({
  userUid: expression("member.user_uid", text),
  groupUid: expression("held.uid", text),
  document: expression("held.document", text),
});

export const listGroupsOfScimUsers = (rows: Read, users: readonly string[], most: number): Promise<GroupOfScimUser[]> =>
  groupOfUser.find(
    rows,
    `select ${groupOfUser.list} from scim_members as member join scim_groups as held on held.uid = member.group_uid
     where member.user_uid = any($1) order by member.user_uid, held.uid limit $2`,
    [users, most],
    { rows: most, wide: true },
  );

// ---- lists ------------------------------------------------------------------------------------------------------

export type ScimGroupAttribute = "id" | "displayName" | "externalId" | "members.value" | "meta.created" | "meta.lastModified";

type SortableGroupAttribute = Exclude<ScimGroupAttribute, "members.value">;

export type ScimGroupQuery = ScimQuery<ScimGroupAttribute, SortableGroupAttribute>;

const sorted: Readonly<Record<SortableGroupAttribute, string>> = {
  id: "uid",
  displayName: "display_name",
  externalId: "external_id",
  "meta.created": "create_time",
  "meta.lastModified": "update_time",
};

export const { list: listScimGroups, count: countScimGroups } = scimLists<ScimGroupRow, ScimGroupAttribute, SortableGroupAttribute>({
  from: "from scim_groups",
  row: group,
  sorted,
  compare({ attribute, operator, value }, add) {
    if (attribute !== "members.value") return scimComparison(sorted[attribute], operator, value, add);
    const isMember = `exists (select from scim_members as member where member.group_uid = scim_groups.uid${
      operator === "pr" ? "" : ` and member.user_uid = ${add(value)}`
    })`;
    return operator === "ne" ? `not ${isMember}` : isMember;
  },
});
