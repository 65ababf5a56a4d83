// Table sign_in_sessions: interactive sign-ins (docs/decisions/0007), until the last possible token has expired.

import type { Order, PageRequest } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, nullableText, type Param, type Read, type Retention, type RowOf, text, time, timeMs, type Write } from "#db";

export interface SignInSessionRow {
  /** Named by its access tokens. */
  readonly id: string;
  readonly uid: string;
  readonly identityUid: string;
  readonly identityProviderUid: string;
  readonly refreshTokenId: string | undefined;
  /** gantry.sessions.v1.Kind. */
  readonly kind: string;
  readonly program: string;
  readonly address: string;
  readonly createTimeMs: number;
  readonly expireTimeMs: number;
  /** Expiry of the last possible token. */
  readonly endTimeMs: number;
}

export type StoredSession = RowOf<typeof stored>;

const stored = columns({
  id: text,
  uid: text,
  identityUid: text,
  identityProviderUid: text,
  refreshTokenId: nullableText,
  kind: text,
  program: text,
  address: text,
  createTimeMs: timeMs("create_time"),
  expireTimeMs: timeMs("expire_time"),
  endTimeMs: timeMs("end_time"),
  createTime: time("create_time"),
  lastUseTime: time("last_use_time"),
  expireTime: time("expire_time"),
  endTime: time("end_time"),
});

/** Updates last use and expiry if it exists. */
export const writeSignInSession = async (rows: Write, row: SignInSessionRow, nowMs: number): Promise<void> => {
  await rows.query(
    `insert into sign_in_sessions as held (
       id, uid, identity_uid, identity_provider_uid, refresh_token_id, kind, program, address, create_time, last_use_time, expire_time, end_time)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     on conflict (id) do update set last_use_time = excluded.last_use_time, expire_time = excluded.expire_time`,
    [
      row.id,
      row.uid,
      row.identityUid,
      row.identityProviderUid,
      row.refreshTokenId ?? null,
      row.kind,
      row.program,
      row.address,
      timestamp(row.createTimeMs),
      timestamp(nowMs),
      timestamp(row.expireTimeMs),
      timestamp(row.endTimeMs),
    ],
  );
};

export interface SessionFilter {
  readonly id?: string;
  readonly uids?: readonly string[] | undefined;
  readonly identityUid?: string | undefined;
  readonly identityProviderUid?: string | undefined;
  readonly below?: readonly string[];
}

/** "own": unexpired. "organization": not ended. */
export type SessionView = "own" | "organization";

/** Appends parameters to `values`. */
const conditionOf = ({ id, uids, identityUid, identityProviderUid, below = [] }: SessionFilter, values: Param[]): string => {
  const bind = (value: Param): string => `$${values.push(value)}`;
  const conditions = [
    ...(id === undefined ? [] : [`id = ${bind(id)}`]),
    ...(uids === undefined ? [] : [`uid = any(${bind(uids)})`]),
    ...(identityUid === undefined ? [] : [`identity_uid = ${bind(identityUid)}`]),
    ...(identityProviderUid === undefined ? [] : [`identity_provider_uid = ${bind(identityProviderUid)}`]),
    // "0" follows "/".
    ...below.map((place) => `uid > ${bind(`${place}/`)} and uid < ${bind(`${place}0`)}`),
  ];
  return conditions.join(" and ");
};

const openCondition = (view: SessionView, nowMs: number, values: Param[]): string =>
  `${view === "own" ? "expire_time" : "end_time"} > $${values.push(timestamp(nowMs))}`;

const timesOfOrder: Readonly<Record<string, string>> = { create_time: "create_time", last_use_time: "last_use_time" };

export const keyOfSession = (session: StoredSession, { column }: Order): readonly string[] => [
  column === "last_use_time" ? session.lastUseTime : session.createTime,
  session.uid,
];

export const findSignInSessions = (
  rows: Read,
  filter: SessionFilter,
  view: SessionView,
  nowMs: number,
  { order, after, skip, limit }: Pick<PageRequest, "order" | "after" | "skip" | "limit">,
): Promise<StoredSession[]> => {
  const values: Param[] = [];
  const [column, direction, comparison] = [timesOfOrder[order.column] ?? "create_time", ...(order.descending ? ["desc", "<"] : ["asc", ">"])];
  const condition = `${conditionOf(filter, values)} and ${openCondition(view, nowMs, values)}`;
  const [time = "", uid = ""] = after ?? [];
  const position = after === undefined ? "true" : `(${column}, uid) ${comparison} ($${values.push(time)}::timestamptz, $${values.push(uid)})`;
  const page = `order by ${column} ${direction}, uid ${direction} offset $${values.push(skip)} limit $${values.push(limit)}`;
  return stored.find(rows, `select ${stored.list} from sign_in_sessions where ${condition} and ${position} ${page}`, values, { rows: limit, wide: false });
};

export const countSignInSessions = async (rows: Read, filter: SessionFilter, view: SessionView, nowMs: number): Promise<number> => {
  const values: Param[] = [];
  const condition = `${conditionOf(filter, values)} and ${openCondition(view, nowMs, values)}`;
  const [row] = await rows.query(`select count(*) from sign_in_sessions where ${condition}`, values);
  return Number(row?.[0]);
};

/** Returns the uid of the user who signed in; undefined without such a session. */
export const findSessionUser = async (rows: Read, id: string): Promise<string | undefined> =>
  (await stored.findOne(rows, `select ${stored.list} from sign_in_sessions where id = $1`, [id]))?.identityUid;

/** Returns the sessions, including expired ones, in lock order. */
export const findSessionsToEnd = (rows: Read, filter: SessionFilter): Promise<StoredSession[]> => {
  const values: Param[] = [];
  return stored.find(rows, `select ${stored.list} from sign_in_sessions where ${conditionOf(filter, values)} order by uid`, values);
};

/** Deletes and returns a session; undefined if another transaction has deleted it. */
export const deleteSignInSession = (rows: Write, id: string): Promise<StoredSession | undefined> =>
  stored.findOne(rows, `delete from sign_in_sessions where id = $1 returning ${stored.list}`, [id]);

export const signInSessionsRetention: Retention = {
  table: "sign_in_sessions",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "sign_in_sessions", where: "end_time < $1", order: "end_time" }, [timestamp(nowMs)]),
};
