// Retention of the sign-in tables.

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { defaultPeriods } from "#base/retention-periods.ts";
import { timestamp } from "#base/time.ts";
import { freshDatabase } from "../../../test/database.ts";
import { awsRequestsRetention } from "./aws-requests.ts";
import { authorizationCodesRetention } from "./authorization-codes.ts";
import { deviceCodesRetention } from "./device-codes.ts";
import { openStore, type Retention, type Store, type Write } from "#db";
import { headlessSessionsRetention } from "./headless-sessions.ts";
import { refreshTokensRetention } from "./refresh-tokens.ts";
import { revokedGrantsRetention } from "./revoked-grants.ts";
import { sessionsRetention } from "./sessions.ts";
import { signInsRetention } from "./sign-ins.ts";
import { userCodeGuessesRetention } from "./user-code-guesses.ts";

const nowMs = Date.UTC(2026, 10, 22, 12);

interface Case {
  readonly retention: Retention;
  /** How long a row is kept after its time. */
  readonly keptMs: number;
  insert(rows: Write, key: string, time: string): Promise<unknown>;
}

const cases: readonly Case[] = [
  {
    retention: signInsRetention,
    keptMs: 0,
    insert: (rows, key, time) =>
      rows.query("insert into sign_ins (state_hash, browser_hash, identity_provider_uid, sealed, expire_time) values ($1, '', '', '', $2)", [key, time]),
  },
  {
    retention: sessionsRetention,
    keptMs: 0,
    insert: (rows, key, time) =>
      rows.query("insert into sessions (id, identity_uid, identity_provider_uid, groups, create_time, expire_time) values ($1, '', '', '{}', $2, $2)", [
        key,
        time,
      ]),
  },
  {
    retention: refreshTokensRetention,
    keptMs: 0,
    insert: (rows, key, time) =>
      rows.query(
        `insert into refresh_tokens (id, secret_hash, identity_uid, identity_provider_uid, audience, act, create_time, expire_time)
         values ($1, '', '', '', '[]', '{}', $2, $2)`,
        [key, time],
      ),
  },
  {
    retention: deviceCodesRetention,
    keptMs: limits.deviceCodeKeptMs,
    insert: (rows, key, time) =>
      rows.query(
        `insert into device_codes (device_hash, user_code, client, wanted, interval_ms, create_time, expire_time)
         values ($1, $1, '', '{}', 0, $2, $2)`,
        [key, time],
      ),
  },
  {
    retention: userCodeGuessesRetention,
    keptMs: limits.userCodesLongerMs,
    insert: (rows, _key, time) => rows.query("insert into user_code_guesses (window_time, wrong) values ($1, 1)", [time]),
  },
  {
    retention: headlessSessionsRetention,
    keptMs: 0,
    insert: (rows, key, time) =>
      rows.query("insert into headless_sessions (code_hash, ecdh_public_key, encrypted_token, expire_time) values ($1, '', '', $2)", [key, time]),
  },
  {
    retention: authorizationCodesRetention,
    keptMs: limits.accessTokenLifetimeMs,
    insert: (rows, key, time) =>
      rows.query("insert into authorization_codes (code_hash, address_hash, sealed, expire_time) values ($1, '', '', $2)", [key, time]),
  },
  {
    retention: revokedGrantsRetention,
    keptMs: 0,
    insert: (rows, key, time) => rows.query("insert into revoked_grants (grant_id, expire_time) values ($1, $2)", [key, time]),
  },
  {
    retention: awsRequestsRetention,
    keptMs: 0,
    insert: (rows, key, time) => rows.query("insert into aws_requests (digest, expire_time) values ($1, $2)", [key, time]),
  },
];

const count = async (store: Store, table: string): Promise<number> => Number((await store.read.query(`select count(*) from ${table}`))[0]?.[0]);

test("each sign-in table loses its expired rows and no others", async (t) => {
  const database = await freshDatabase({ planted: true });
  const store = await openStore({ databaseUrl: database.url, log: () => {} });
  t.after(async () => {
    await store.close();
    await database.drop();
  });
  for (const { retention, keptMs, insert } of cases) {
    const { table } = retention;
    await store.write((rows) => insert(rows, "over", timestamp(nowMs - keptMs - 1)));
    await store.write((rows) => insert(rows, "not over", timestamp(nowMs - keptMs + 1)));
    assert.equal(await count(store, table), 2, table);
    await retention.deleteExpired(store, nowMs, defaultPeriods);
    assert.equal(await count(store, table), 1, table);
    await retention.deleteExpired(store, nowMs + 2, defaultPeriods);
    assert.equal(await count(store, table), table === "user_code_guesses" ? 1 : 0, table);
  }
});
