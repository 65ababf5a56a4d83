// Table record_successors: records of a source that were replaced by one with a new ID (docs/decisions/0073).

import { columns, expression, type Read, type RowOf, text, textList, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";

export type Successor = RowOf<typeof publicSuccessor>;

/** Records replacements; the first one of a record wins. */
export const writeSuccessors = async (rows: Write, feed: string, successors: readonly Successor[]): Promise<void> => {
  if (successors.length === 0) return;
  await rows.query(
    `insert into record_successors (feed_id, old_id, new_id)
     select $1::integer, old_id, new_id from unnest($2::text[], $3::text[]) as given(old_id, new_id) on conflict do nothing`,
    [feed, columnOf(successors, ({ oldId }) => oldId), columnOf(successors, ({ newId }) => newId)],
  );
};

export const deleteSuccessors = async (rows: Write, feed: string, oldIds: readonly string[]): Promise<void> => {
  if (oldIds.length === 0) return;
  await rows.query("delete from record_successors where feed_id = $1 and old_id = any($2)", [feed, oldIds]);
};

export interface GroupRecord {
  readonly group: string;
  readonly id: string;
}

const groupSuccessor = columns<GroupRecord & { readonly newId: string }>({
  group: expression("given.owner", text),
  id: expression("given.id", text),
  newId: expression("min(successor.new_id)", text),
});

/** Returns the successors in the groups' advisory sources. A reader of the group sees both records. */
export const findGroupSuccessors = (rows: Read, records: readonly GroupRecord[]): Promise<(GroupRecord & { readonly newId: string })[]> =>
  groupSuccessor.find(
    rows,
    `select ${groupSuccessor.list} from unnest($1::text[], $2::text[]) as given(owner, id)
     join record_successors as successor on successor.old_id = given.id
     join feeds on feeds.id = successor.feed_id and feeds.kind = 'advisories' and feeds.group_uid = given.owner
     group by given.owner, given.id`,
    [columnOf(records, ({ group }) => group), columnOf(records, ({ id }) => id)],
    { rows: records.length, wide: true },
  );

const publicSuccessor = columns({ oldId: expression("successor.old_id", text), newId: expression("min(successor.new_id)", text) });

/** Returns successors if the old and the new record are public, and all those of the sources in `feeds`. */
export const findPublicSuccessors = async (rows: Read, oldIds: readonly string[], feeds: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  if (oldIds.length === 0) return new Map();
  const found = await publicSuccessor.find(
    rows,
    `select ${publicSuccessor.list} from record_successors as successor join feeds on feeds.id = successor.feed_id
     where successor.old_id = any($1) and (feeds.id = any($2::integer[]) or (
       exists (select from groups where uid = feeds.group_uid)
       and (exists (select from source_documents where feed_id = feeds.id and origin_id = successor.old_id and public)
         or exists (select from advisories where advisory_id = successor.old_id and public and left(uid, -17) = feeds.group_uid and form = 'wolfi'))
       and (exists (select from source_documents where origin_id = successor.new_id and public)
         or exists (select from advisories where advisory_id = successor.new_id and public and form = 'wolfi'))))
     group by successor.old_id`,
    [oldIds, feeds],
    { rows: oldIds.length, wide: true },
  );
  return new Map(found.map(({ oldId, newId }) => [oldId, newId]));
};

/** The fields that identify its successor. */
export type DroppedRecord = RowOf<typeof droppedRecord>;

const droppedRecord = columns({
  key: text,
  id: text,
  aliases: textList,
  /** "deb/openssl"; "" if it names none. */
  artifact: text,
});

export const findDroppedAdvisories = (rows: Read, group: string, keys: readonly string[]): Promise<DroppedRecord[]> =>
  droppedRecord.find(
    rows,
    `select right(uid, 16) as key, advisory_id as id, aliases, artifact_type || '/' || artifact_name as artifact from advisories where uid = any($1)`,
    [keys.map((key) => `${group}/${key}`)],
  );

export const findDroppedVulnerabilities = (rows: Read, owners: readonly string[], keys: ReadonlyMap<string, string>): Promise<DroppedRecord[]> =>
  droppedRecord.find(
    rows,
    `select distinct on (id) given.key, id, aliases, '' as artifact from unnest($2::text[], $3::text[]) as given(key, number)
     cross join lateral (select id, owner, aliases from vulnerabilities where id = given.number and owner = any($1) offset 0) as held order by id, owner`,
    [owners, [...keys.keys()], [...keys.values()]],
  );
