// How the answers of AccessService read at a terminal: one line for each capability and each binding.

import { isObject, type JsonObject, text } from "#base/json.ts";

const itemsOf = (value: JsonObject, key: string): JsonObject[] => {
  const list = value[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
};

/** Rows as a table: columns as wide as their widest cell. */
const table = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
};

const effects: Readonly<Record<string, string>> = {
  EFFECT_GIVES: "gives it",
  EFFECT_EXPIRED: "has ended",
  EFFECT_ROLE_LACKS_CAPABILITY: "its role lacks it",
  EFFECT_ELSEWHERE: "gives it elsewhere",
  EFFECT_OUTSIDE_IDENTITY_GROUP: "lies outside the identity's group",
  EFFECT_SUSPENDED: "lies in a suspended organization",
  EFFECT_NO_IDENTITY: "nobody has signed in as it",
};

const cells = (grant: JsonObject): string[] => {
  const place = text(grant, "groupUid");
  const where = grant.hidden === true ? "above, out of sight" : place === "" ? "everywhere" : `${text(grant, "groupName")} ${place}`.trim();
  return [text(grant, "roleName") || "-", where, text(grant, "expireTime") || "never", text(grant, "bindingUid") || "-"];
};

/** Why an identity may, or may not. */
export const explained = (reply: JsonObject): string => {
  const lines = itemsOf(reply, "capabilities").map((reason) => {
    const grants = itemsOf(reason, "grants");
    const rows = grants.map((grant) => [`  ${effects[text(grant, "effect")] ?? ""}`, ...cells(grant)]);
    const head = `${text(reason, "capability")}: ${reason.held === true ? "held" : grants.length > 0 ? "not held; what comes near:" : "not held; no role binding comes near"}`;
    return rows.length > 0 ? `${head}\n${table([["  BINDING", "ROLE", "GROUP", "ENDS", "UID"], ...rows])}` : head;
  });
  return `${reply.allowed === true ? "allowed" : "denied"}\n${lines.join("\n")}\n`;
};

/** Who can: a line for each binding of each identity. */
export const whoCanLines = (holders: readonly JsonObject[]): string =>
  `${table([["IDENTITY", "NAME", "ROLE", "GROUP", "ENDS", "BINDING"], ...holders.flatMap((holder) => itemsOf(holder, "grants").map((grant) => [text(holder, "identityUid"), text(holder, "email") || text(holder, "name") || "-", ...cells(grant)]))])}\n`;
