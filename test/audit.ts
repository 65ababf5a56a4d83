// The audit log in tests: sealed, read through the API, and verified as by `gantry audit verify`.

import { isObject, type JsonObject, text } from "#base/json.ts";
import { type AuditReport, reportAudit } from "../cli/audit-report.ts";
import { asOwner } from "./database.ts";
import type { World } from "./world.ts";

export const sealAudit = ({ server }: World): Promise<void> => server.application.services.audit.finish();

/** Returns the items of all pages of a list. */
export const everyPage = async (world: World, operation: string, field: string, request: JsonObject, token?: string): Promise<JsonObject[]> => {
  const found: JsonObject[] = [];
  let pageToken = "";
  do {
    const reply = await world.ok(operation, { pageSize: 200, ...request, pageToken }, token === undefined ? {} : { token });
    const page = reply[field];
    if (Array.isArray(page)) found.push(...page.filter(isObject));
    pageToken = text(reply, "nextPageToken");
  } while (pageToken !== "");
  return found;
};

/** Returns the entries by sequence, as seen by the operator or the token's identity. */
export const entriesOf = async (world: World, request: JsonObject = {}, token?: string): Promise<JsonObject[]> => {
  await sealAudit(world);
  return everyPage(world, "gantry.audit.v1.AuditService/ListAuditEntries", "auditEntries", { orderBy: "sequence", ...request }, token);
};

export interface Verified {
  readonly whole: boolean;
  readonly lines: readonly string[];
}

export const verifyLogs = async ({ server }: World, asked: Partial<Pick<AuditReport, "group" | "known" | "json" | "resume">> = {}): Promise<Verified> => {
  const lines: string[] = [];
  const whole = await reportAudit(server.application, {
    group: undefined,
    known: undefined,
    json: false,
    ...asked,
    write: (line) => void lines.push(line),
    progress: () => {},
  });
  return { whole, lines };
};

/** Verifies a group's log by the API, in steps of `maxEntries`. Returns the last response and the number of requests. */
export const verifyInSteps = async (
  world: World,
  uid: string,
  { token, maxEntries }: { readonly token: string; readonly maxEntries: number },
): Promise<{ readonly reply: JsonObject; readonly requests: number }> => {
  let continueToken = "";
  for (let requests = 1; ; requests++) {
    const reply = await world.ok("gantry.audit.v1.AuditService/VerifyAuditEntries", { uid, continueToken, maxEntries }, { token });
    continueToken = text(reply, "continueToken");
    if (continueToken === "") return { reply, requests };
  }
};

/** Runs one statement in the database: an attacker with database access but without the secret key. */
export const tamper = ({ databaseUrl }: World, statement: string, values: readonly (string | number | null)[] = []) => asOwner(databaseUrl, statement, values);
