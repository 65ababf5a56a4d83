// A world with a database that other processes share: the command line's environment, and helpers for the main job and access stories.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import { signedInType } from "#outbox";
import { asOwner, freshDatabase } from "../database.ts";
import { openWorld, type World } from "../world.ts";
import { column, http } from "./protocols.ts";

export interface Installation {
  readonly world: World;
  /** Environment variables for a gantry command on the server's machine. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Starts a server with a database that the command line can reach too. */
export const openInstallation = async (settings: Readonly<Record<string, string>> = {}, log?: Log): Promise<Installation> => {
  const database = await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), "gantry-place-"));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const shared = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key, ...settings };
  const world = await openWorld(shared, log);
  return {
    world,
    environment: { ...shared, GANTRY_PUBLIC_URL: world.url, GANTRY_LISTEN: new URL(world.url).host, GANTRY_DATA: folder },
    async close() {
      await world.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** Returns the UID of a built-in role, found by listing roles. */
export const findRole = async (world: World, name: string): Promise<string> => {
  const { body } = await http(world.url, "GET", "/iam/v2/roles?page_size=200", { token: await world.token() });
  const at = column(body, "roles", "name").indexOf(name);
  return column(body, "roles", "uid")[at] ?? "";
};

/** Creates an identity in `group` that tokens of this issuer and subject may act as. */
export const createIdentity = async (world: World, group: string, name: string, claimMatch: JsonObject): Promise<string> => {
  const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", { parent: group, identity: { name, claimMatch } });
  return String(uid);
};

/** Binds an identity to a built-in role in `group`; returns the binding's UID. */
export const bind = async (world: World, group: string, identityUid: string, role: string): Promise<string> => {
  const roleUid = await findRole(world, role);
  const { uid } = await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid, roleUid } });
  return String(uid);
};

/** Returns counts and digests of all rows: equal only if nothing was written, except sign-in entries of the audit log. */
export const databaseContents = async ({ databaseUrl }: World, tables?: readonly string[]): Promise<Record<string, string>> => {
  const names =
    tables ??
    (await asOwner(databaseUrl, "select tablename from pg_tables where schemaname = current_schema() and tablename <> 'told_rows' order by 1")).map(
      ([name]) => name ?? "",
    );
  const statements = names.map((name) => {
    const condition = name === "outbox" ? `where type <> '${signedInType}'` : "";
    return `select '${name}', count(*), md5(coalesce(string_agg(t::text, e'\\n' order by t::text), '')) from ${name} as t ${condition}`;
  });
  const found = await asOwner(databaseUrl, statements.join(" union all "));
  return Object.fromEntries(found.map(([name, ...sums]) => [name ?? "", sums.join(" ")]));
};
