// Table sign_in_sessions: a row for each interactive sign-in (docs/decisions/0066), from its first token until the last one that it
// can ever get has expired.

import type { Order, PageRequest } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, nullableText, type Param, type Read, type Retention, text, time, timeMs, type Write } from "#db";

export interface SignInSessionRow {
  /** What its access tokens name. */
  readonly id: string;
  readonly uid: string;
  readonly identityUid: string;
  readonly identityProviderUid: string;
  /** The family of its refresh token; undefined if it has none. */
  readonly refreshTokenId: string | undefined;
  /** A name of gantry.sessions.v1.Kind. */
  readonly kind: string;
  readonly program: string;
  readonly address: string;
  /** Milliseconds since 1970. */
  readonly createTimeMs: number;
  /** When its last token expires. */
  readonly expireTimeMs: number;
  /** When the last token expires that it can ever get. */
  readonly endTimeMs: number;
}

export interface StoredSession extends SignInSessionRow {
  /** RFC 3339. */
  readonly createTime: string;
  readonly lastUseTime: string;
  readonly expireTime: string;
  readonly endTime: string;
}

const stored = columns<StoredSession>({
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

/** Stores a session, or what the newest token changes of it: its last use and its expiry. */
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

/** Which sessions are meant. */
export interface SessionFilter {
  readonly id?: string;
  readonly uids?: readonly string[] | undefined;
  readonly identityUid?: string | undefined;
  readonly identityProviderUid?: string | undefined;
  /** Through the identity providers at or below each of these places. */
  readonly below?: readonly string[];
}

/** The reader of a list: a person's own list has sessions that have not expired, an organization's those that may not have ended. */
export type SessionView = "own" | "organization";

/** The condition of a filter, with its values behind those that are there. */
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

/** The columns of the orders that a list takes. */
const timesOfOrder: Readonly<Record<string, string>> = { create_time: "create_time", last_use_time: "last_use_time" };

/** The position of a session in an order. */
export const keyOfSession = (session: StoredSession, { column }: Order): readonly string[] => [
  column === "last_use_time" ? session.lastUseTime : session.createTime,
  session.uid,
];

/** A page of the sessions that a filter finds. */
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

/** The sessions that a filter finds, those that have expired too, in the order in which they are locked. */
export const findSessionsToEnd = (rows: Read, filter: SessionFilter): Promise<StoredSession[]> => {
  const values: Param[] = [];
  return stored.find(rows, `select ${stored.list} from sign_in_sessions where ${conditionOf(filter, values)} order by uid`, values);
};

/** Deletes a session; undefined if another transaction has done so. */
export const deleteSignInSession = (rows: Write, id: string): Promise<StoredSession | undefined> =>
  stored.findOne(rows, `delete from sign_in_sessions where id = $1 returning ${stored.list}`, [id]);

export const signInSessionsRetention: Retention = {
  table: "sign_in_sessions",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "sign_in_sessions", where: "end_time < $1", order: "end_time" }, [timestamp(nowMs)]),
};
