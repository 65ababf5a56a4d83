// Sessions in tests: two servers on one database, the operations, and the revocation endpoint.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isObject, type JsonObject } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { freshDatabase } from "./database.ts";
import { openWorld, type World } from "./world.ts";

const service = "gantry.sessions.v1.SessionsService";
export const operations = {
  list: `${service}/ListSessions`,
  revoke: `${service}/RevokeSession`,
  revokeAll: `${service}/RevokeAllSessions`,
  listGroup: `${service}/ListGroupSessions`,
  revokeGroup: `${service}/RevokeGroupSession`,
} as const;

/** Opens two servers with the same database, key, clock and public URL. Tests sign in at the first. */
export const openServers = async (): Promise<{ readonly first: World; readonly second: World; close(): Promise<void> }> => {
  const database = await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), "gantry-sessions-"));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const shared = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key };
  const first = await openWorld(shared);
  const second = await openWorld({ ...shared, GANTRY_PUBLIC_URL: first.url }, silent, first.clock.now);
  return {
    first,
    second,
    async close() {
      await second.close();
      await first.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

export const sessionsOf = async (world: World, token: string, operation: string = operations.list, request: JsonObject = {}): Promise<JsonObject[]> => {
  const { sessions } = await world.ok(operation, request, { token });
  return Array.isArray(sessions) ? sessions.filter(isObject) : [];
};

/** RFC 7009: returns status and body of the response. */
export const revokeToken = async (world: World, token: string, more: Readonly<Record<string, string>> = {}): Promise<readonly [number, string]> => {
  const response = await fetch(`${world.url}/oauth/revoke`, { method: "POST", body: new URLSearchParams({ token, ...more }) });
  return [response.status, await response.text()];
};

/** Returns the code of a request with this token: 0, or 16 if it is refused. */
export const codeOf = async (world: World, token: string, protocol: "rest" | "grpc" = "rest"): Promise<number> =>
  (await world.call("iam.GroupsService/ListGroups", {}, { token, protocol })).code;

export const refreshCode = async (world: World, token: string): Promise<number> =>
  (await world.call("chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken", {}, { token })).code;

/** Resolves once a transaction of this database waits for another. */
export const untilOneWaits = async ({ server }: World): Promise<void> => {
  const statement = "select count(*) from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())";
  for (;;) {
    const [row] = await server.application.services.store.read.query(
      `select (${statement}) + (select count(*) from pg_locks where not granted and locktype in ('transactionid', 'tuple'))`,
    );
    if (Number(row?.[0]) > 0) return;
  }
};
