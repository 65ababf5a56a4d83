// Tables authored_advisories, authored_advisory_events, advisory_suppressions and advisory_numbers: advisories that
// organizations write (docs/decisions/0089). The kernel writes the first two. Rows of the first three are deleted with
// their group; numbers are never deleted.

import type { JsonObject } from "#base/json.ts";
import { columns, expression, flag, nullableObject, nullableText, type Read, type RowOf, text, textList, time, timeText, type Write } from "#db";

export interface AuthoredAdvisory {
  readonly uid: string;
  readonly advisoryId: string;
  readonly author: string;
  readonly authorAct: string;
  readonly artifactName: string;
  readonly artifactType: string;
  readonly artifactArchitecture: string;
  readonly componentName: string;
  readonly componentLocation: string;
  readonly componentType: string;
  readonly aliases: readonly string[];
  readonly distribution: string;
}

const authoredFields = {
  uid: text,
  advisoryId: text,
  author: text,
  authorAct: text,
  artifactName: text,
  artifactType: text,
  artifactArchitecture: text,
  componentName: text,
  componentLocation: text,
  componentType: text,
  aliases: textList,
  // Packages of apko images name none.
  distribution: expression("case when distribution = '' and artifact_type = 'apk' then 'wolfi' else distribution end", text),
};
const authored = columns<AuthoredAdvisory>(authoredFields);

/** Locks the advisory until the transaction ends, which serializes changes of its events. */
export const lockAuthoredAdvisory = (rows: Write, uid: string): Promise<AuthoredAdvisory | undefined> =>
  authored.findOne(rows, `select ${authored.list} from authored_advisories where uid = $1 for update`, [uid]);

export interface AuthoredEvent {
  readonly uid: string;
  readonly createTime: string;
  readonly findings: string;
  readonly author: string;
  readonly authorAct: string;
  readonly reviewer: string;
  readonly reviewState: string;
  readonly issue: string;
  readonly reviewTime: string | undefined;
  /** Under the JSON name of the oneof member. */
  readonly data: JsonObject;
  readonly basis: JsonObject | undefined;
}

const dataText = `jsonb_strip_nulls(jsonb_build_object('detection', detection, 'fixed', fixed,
  'falsePositiveDetermination', false_positive_determination, 'analysisNotPlanned', analysis_not_planned, 'fixNotPlanned', fix_not_planned,
  'pendingUpstreamFix', pending_upstream_fix, 'truePositiveDetermination', true_positive_determination, 'patched', patched,
  'componentLocationChanged', component_location_changed))`;

const authoredEvent = columns<Omit<AuthoredEvent, "data"> & { readonly data: JsonObject | undefined }>({
  uid: text,
  createTime: time("create_time"),
  findings: text,
  author: text,
  authorAct: text,
  reviewer: text,
  reviewState: text,
  issue: text,
  reviewTime: expression(timeText("review_time"), nullableText),
  data: expression(dataText, nullableObject),
  basis: nullableObject,
});

/** Oldest first. */
export const findAuthoredEvents = async (rows: Read, advisories: readonly string[]): Promise<AuthoredEvent[]> => {
  const found = await authoredEvent.find(
    rows,
    `select ${authoredEvent.list} from authored_advisory_events where left(uid, -17) = any($1) order by create_time, uid`,
    [advisories],
  );
  return found.map((event) => ({ ...event, data: event.data ?? {} }));
};

/** Records the upstream token behind an author. `isFirst` keeps an existing value, as for a restored row. */
export const noteAuthor = async (
  rows: Write,
  table: "authored_advisories" | "authored_advisory_events",
  uid: string,
  act: string,
  isFirst = false,
): Promise<void> => {
  await rows.query(`update ${table} set author_act = $2 where uid = $1 and (author_act = '' or not $3::boolean)`, [uid, act, isFirst]);
};

const optOut = columns({ name: text, authorApproval: flag });

export const findAuthorApproval = async (rows: Read, root: string): Promise<boolean> =>
  (await optOut.findOne(rows, `select ${optOut.list} from groups where uid = $1`, [root]))?.authorApproval ?? false;

export const findOrganizationName = async (rows: Read, root: string): Promise<string | undefined> =>
  (await optOut.findOne(rows, `select ${optOut.list} from groups where uid = $1`, [root]))?.name;

/** Records which advisories the reviewer saw. */
export const noteBasis = async (rows: Write, uid: string, basis: JsonObject): Promise<void> => {
  await rows.query("update authored_advisory_events set basis = $2 where uid = $1", [uid, JSON.stringify(basis)]);
};

/** Undefined removes the suppression. */
export const noteSuppression = async (rows: Write, uid: string, suppression: JsonObject | undefined): Promise<void> => {
  if (suppression === undefined) await rows.query("delete from advisory_suppressions where uid = $1", [uid]);
  else
    await rows.query(
      "insert into advisory_suppressions (uid, suppression) values ($1, $2) on conflict (uid) do update set suppression = excluded.suppression",
      [uid, JSON.stringify(suppression)],
    );
};

/** An approved false positive. */
export type Suppressor = RowOf<typeof suppressor>;

const suppressor = columns({ ...authoredFields, suppression: nullableObject });

export const findSuppressors = (rows: Read, root: string): Promise<Suppressor[]> =>
  suppressor.find(
    rows,
    `select ${suppressor.list} from authored_advisories
     join (select uid, suppression from advisory_suppressions where uid > $1 and uid < $1 || '0') as noted using (uid) order by uid`,
    [root],
  );

const isMade = columns({ made: flag });
const allocated = columns({ prefix: text, last: text });

/** Reserves the prefix unless the organization has one; false if another organization has it. */
export const reservePrefix = async (rows: Write, root: string, prefix: string): Promise<boolean> => {
  await rows.query("insert into advisory_numbers (root, prefix) values ($1, $2) on conflict do nothing", [root, prefix]);
  return (await isMade.findOne(rows, "select true as made from advisory_numbers where root = $1", [root])) !== undefined;
};

/** Returns undefined without a prefix. */
export const nextAdvisoryNumber = (rows: Write, root: string): Promise<{ readonly prefix: string; readonly last: string } | undefined> =>
  allocated.findOne(rows, `update advisory_numbers set last = last + 1 where root = $1 returning ${allocated.list}`, [root]);
