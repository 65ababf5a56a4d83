// The audit log as tests look at it: brought up to date, read through the API, and checked as `gantry audit verify` does.

import type { JsonObject } from "#base/json.ts";
import { type AuditReport, reportAudit } from "../cli/audit-report.ts";
import { asOwner } from "./database.ts";
import type { World } from "./world.ts";

/** Writes and seals all that has happened. */
export const sealAudit = ({ server }: World): Promise<void> => server.application.services.audit.finish();

/** Entries in the order of their numbers, as the operator sees them unless there is a token. */
export const entriesOf = async (world: World, request: JsonObject = {}, token?: string): Promise<JsonObject[]> => {
  await sealAudit(world);
  const reply = await world.ok(
    "gantry.audit.v1.AuditService/ListAuditEntries",
    { orderBy: "sequence", pageSize: 200, ...request },
    token === undefined ? {} : { token },
  );
  return (reply.auditEntries ?? []) as JsonObject[];
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
