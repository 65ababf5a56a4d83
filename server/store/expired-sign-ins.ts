// Sign-ins, sessions, refresh tokens and requests of AWS identities whose time is over.

import { timestamp } from "#base/time.ts";
import type { Retention } from "./retention.ts";

const retentionOf = (table: string): Retention => ({
  table,
  async deleteExpired(store, nowMs) {
    await store.write((rows) => rows.query(`delete from ${table} where expire_time < $1`, [timestamp(nowMs)]));
  },
});

export const signInRetentions: readonly Retention[] = ["aws_requests", "sign_ins", "sessions", "refresh_tokens"].map(retentionOf);
