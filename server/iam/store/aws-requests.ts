// Used AWS requests, to refuse a replay on every server.

import { timestamp } from "#base/time.ts";
import { deleteRows, type Read, type Retention, type Write } from "#db";

/** `digest` is the SHA-256 of the request's signature. */
export const hasAwsRequest = async (rows: Read, digest: string): Promise<boolean> =>
  (await rows.query("select 1 from aws_requests where digest = $1", [digest])).length > 0;

/** Returns false for a replay. After `expireTimeMs` the request's age alone rejects it. */
export const insertAwsRequest = async (rows: Write, digest: string, expireTimeMs: number): Promise<boolean> => {
  const inserted = await rows.query("insert into aws_requests (digest, expire_time) values ($1, $2) on conflict do nothing returning 1", [
    digest,
    timestamp(expireTimeMs),
  ]);
  return inserted.length > 0;
};

export const awsRequestsRetention: Retention = {
  table: "aws_requests",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "aws_requests", where: "expire_time < $1", order: "expire_time" }, [timestamp(nowMs)]),
};
