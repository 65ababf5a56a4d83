// Device codes (RFC 8628), for terminals that wait for approval. Of concurrent updates to a row, one succeeds.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, nullableObject, nullableTimeMs, number, type Read, type Retention, text, timeMs, type Write } from "#db";

export interface DeviceCodeRow {
  /** SHA-256. */
  readonly deviceHash: string;
  readonly userCode: string;
  /** From ClientLimits.hashOf. */
  readonly addressHash: string;
  readonly client: string;
  /** JSON (signin/device.ts). */
  readonly request: JsonObject;
  readonly state: string;
  /** JSON (signin/completion.ts); undefined until approval. */
  readonly signedIn: JsonObject | undefined;
  /** The reason for a refusal; otherwise empty. */
  readonly reason: string;
  /** The minimum interval between polls, and the last poll. */
  readonly intervalMs: number;
  readonly pollTimeMs: number | undefined;
  readonly createTimeMs: number;
  readonly expireTimeMs: number;
}

const objectOrEmpty = { read: (value: string | null): JsonObject => nullableObject.read(value) ?? {} };

type PolledCode = Omit<DeviceCodeRow, "deviceHash" | "userCode" | "addressHash" | "createTimeMs">;

const polled = columns<PolledCode>({
  client: text,
  state: text,
  request: expression("wanted", objectOrEmpty),
  signedIn: nullableObject,
  reason: text,
  intervalMs: number,
  pollTimeMs: nullableTimeMs("poll_time"),
  expireTimeMs: timeMs("expire_time"),
});

type OpenCode = Pick<DeviceCodeRow, "client" | "request" | "createTimeMs">;

const opened = columns<OpenCode>({ client: text, request: expression("wanted", objectOrEmpty), createTimeMs: timeMs("create_time") });

/** Returns false if the user code is taken. */
export const insertDeviceCode = async (
  rows: Write,
  row: Pick<DeviceCodeRow, "deviceHash" | "userCode" | "addressHash" | "client" | "intervalMs" | "createTimeMs" | "expireTimeMs"> & {
    readonly requestJson: string;
  },
): Promise<boolean> => {
  const inserted = await rows.query(
    `insert into device_codes (device_hash, user_code, address_hash, client, wanted, interval_ms, create_time, expire_time)
     values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (user_code) do nothing returning 1`,
    [row.deviceHash, row.userCode, row.addressHash, row.client, row.requestJson, row.intervalMs, timestamp(row.createTimeMs), timestamp(row.expireTimeMs)],
  );
  return inserted.length > 0;
};

export const hasDeviceCode = async (rows: Read, deviceHash: string): Promise<boolean> =>
  (await rows.query("select 1 from device_codes where device_hash = $1", [deviceHash])).length > 0;

/** Locks the code until the transaction ends. */
export const lockDeviceCode = (rows: Write, deviceHash: string): Promise<PolledCode | undefined> =>
  polled.findOne(rows, `select ${polled.list} from device_codes where device_hash = $1 for update`, [deviceHash]);

export const updateDevicePoll = async (rows: Write, deviceHash: string, pollTimeMs: number, intervalMs: number): Promise<void> => {
  await rows.query("update device_codes set poll_time = $2, interval_ms = $3 where device_hash = $1", [deviceHash, timestamp(pollTimeMs), intervalMs]);
};

export const deleteDeviceCode = async (rows: Write, deviceHash: string): Promise<void> => {
  await rows.query("delete from device_codes where device_hash = $1", [deviceHash]);
};

export const findOpenDeviceCode = (rows: Read, userCode: string, nowMs: number): Promise<OpenCode | undefined> =>
  opened.findOne(rows, `select ${opened.list} from device_codes where user_code = $1 and state = 'open' and expire_time > $2`, [userCode, timestamp(nowMs)]);

const closed = columns({ client: text });

/** Returns the client's name; undefined if no longer open. */
export const approveDeviceCode = async (rows: Write, userCode: string, signedInJson: string, nowMs: number): Promise<string | undefined> => {
  const row = await closed.findOne(
    rows,
    `update device_codes set state = 'approved', signed_in = $2 where user_code = $1 and state = 'open' and expire_time > $3 returning ${closed.list}`,
    [userCode, signedInJson, timestamp(nowMs)],
  );
  return row?.client;
};

/** Returns false if no longer open. */
export const refuseDeviceCode = async (rows: Write, userCode: string, reason: string, nowMs: number): Promise<boolean> => {
  const row = await closed.findOne(
    rows,
    `update device_codes set state = 'refused', reason = $2 where user_code = $1 and state = 'open' and expire_time > $3 returning ${closed.list}`,
    [userCode, reason, timestamp(nowMs)],
  );
  return row !== undefined;
};

/** Keeps codes until their terminals know the end. */
export const deleteEndedDeviceCodes = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query("delete from device_codes where expire_time < $1", [timestamp(nowMs - limits.deviceCodeKeptMs)]);
};

export const deviceCodesRetention: Retention = {
  table: "device_codes",
  deleteExpired: (store, nowMs) =>
    deleteRows(store, { table: "device_codes", where: "expire_time < $1", order: "expire_time" }, [timestamp(nowMs - limits.deviceCodeKeptMs)]),
};
