// Writes the built-in roles and the operator to the store at start. Idempotent, and safe for concurrent starts.

import { createHash } from "node:crypto";
import { operatorUid } from "#base/operator.ts";
import { capabilityByName, sortCapabilities } from "#contract/capabilities.ts";
import { insertAccessVersion, type Write } from "#db";
import { writeBuiltInRole, writeOperator } from "#iam/store";
import { builtInRoles } from "./roles.ts";

const derivedUid = (kind: string, name: string): string => createHash("sha256").update(`gantry ${kind} ${name}`).digest("hex").slice(0, 40);

/** Returns the uid of a built-in role. `viewer` keeps the uid shown in the public platform's tutorial. */
export const builtInRoleUid = (name: string): string => (name === "viewer" ? "63921b2c44617e3f2603851537be0123af4a57d7" : derivedUid("role", name));

const titleCase = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** The uids of all built-in roles, which every caller sees. */
export const builtInRoleUids: readonly string[] = Object.keys(builtInRoles).map(builtInRoleUid);

export const writeBuiltIns = async (rows: Write, now: string): Promise<void> => {
  for (const [name, names] of Object.entries(builtInRoles)) {
    const symbols = names.map((each) => {
      const fact = capabilityByName(each);
      if (!fact) throw new Error(`the built-in role ${name} names a capability that the contract does not know: ${each}`);
      return fact.symbol;
    });
    const uid = builtInRoleUid(name);
    await writeBuiltInRole(rows, { uid, name, description: `${titleCase(name)} Role (built-in)`, capabilities: sortCapabilities(symbols) }, now);
    await insertAccessVersion(rows, uid);
  }
  await writeOperator(rows, operatorUid, now);
};
