// Writes the built-in roles and the operator into the store at start. Idempotent, and safe when several servers
// start at once.

import { createHash } from "node:crypto";
import { capabilityByName, sortCapabilities } from "#contract/capabilities.ts";
import type { Write } from "#store";
import { builtInRoles } from "./roles.ts";

const derived = (kind: string, name: string): string => createHash("sha256").update(`gantry ${kind} ${name}`).digest("hex").slice(0, 40);

/** The uid of a built-in role. `viewer` keeps the one that the public platform's tutorial shows. */
export const builtInRoleUid = (name: string): string => (name === "viewer" ? "63921b2c44617e3f2603851537be0123af4a57d7" : derived("role", name));

/** The identity of whoever owns the machine. The same in every installation; its token is what counts. */
export const operatorUid: string = derived("identity", "operator");

const title = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** The uids of all built-in roles: everybody sees them. */
export const builtInRoleUids: readonly string[] = Object.keys(builtInRoles).map(builtInRoleUid);

export const writeBuiltIns = async (rows: Write, now: string): Promise<void> => {
  for (const [name, names] of Object.entries(builtInRoles)) {
    const symbols = names.map((each) => {
      const fact = capabilityByName(each);
      if (!fact) throw new Error(`the built-in role ${name} names a capability that the contract does not know: ${each}`);
      return fact.symbol;
    });
    await rows.query(
      `insert into roles as held (uid, name, description, capabilities, create_time, update_time)
       values ($1, $2, $3, $4::jsonb, $5, $5)
       on conflict (uid) do update set capabilities = excluded.capabilities, description = excluded.description, update_time = excluded.update_time
       where held.capabilities <> excluded.capabilities or held.description <> excluded.description`,
      [builtInRoleUid(name), name, `${title(name)} Role (built-in)`, JSON.stringify(sortCapabilities(symbols)), now],
    );
    await rows.query("insert into access_versions (root) values ($1) on conflict do nothing", [builtInRoleUid(name)]);
  }
  await rows.query(
    `insert into identities (uid, name, description, last_seen_time, create_time, update_time)
     values ($1, 'operator', 'Whoever runs this server', $2, $2, $2) on conflict do nothing`,
    [operatorUid, now],
  );
};
