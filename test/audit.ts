// The audit log as tests look at it: brought up to date, read through the API, and checked as `gantry audit verify` does.

import { isObject, type JsonObject, text } from "#base/json.ts";
import { type AuditReport, reportAudit } from "../cli/audit-report.ts";
import { asOwner } from "./database.ts";
import type { World } from "./world.ts";

/** Writes and seals all that has happened. */
export const sealAudit = ({ server }: World): Promise<void> => server.application.services.audit.finish();

/** What a list answers, over every page. */
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

/** Entries in the order of their numbers, as the operator sees them unless there is a token. */
export const entriesOf = async (world: World, request: JsonObject = {}, token?: string): Promise<JsonObject[]> => {
  await sealAudit(world);
  return everyPage(world, "gantry.audit.v1.AuditService/ListAuditEntries", "auditEntries", { orderBy: "sequence", ...request }, token);
};

export interface Verified {
  readonly whole: boolean;
  readonly lines: readonly string[];
}

/** Checks every log, or what is asked for. */
export const verifyLogs = async ({ server }: World, asked: Partial<Pick<AuditReport, "group" | "known" | "json">> = {}): Promise<Verified> => {
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

/** One statement, straight to the database: what somebody can do who has it, and not the secret key. */
export const tamper = ({ databaseUrl }: World, statement: string, values: readonly (string | number | null)[] = []) => asOwner(databaseUrl, statement, values);
