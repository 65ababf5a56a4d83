// Renders responses of AccessService for a terminal: one line per capability and role binding.

import { isObject, type JsonObject, text } from "#base/json.ts";
import { formatTable } from "./table.ts";

const objectsAt = (value: JsonObject, key: string): JsonObject[] => {
  const list = value[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
};

const effects: Readonly<Record<string, string>> = {
  EFFECT_GIVES: "grants it",
  EFFECT_PENDING: "pending until the user accepts membership",
  EFFECT_EXPIRED: "expired",
  EFFECT_ROLE_LACKS_CAPABILITY: "its role does not include it",
  EFFECT_ELSEWHERE: "grants it in another group",
  EFFECT_OUTSIDE_IDENTITY_GROUP: "is outside the identity's group",
  EFFECT_SUSPENDED: "is in a suspended organization",
  EFFECT_NO_IDENTITY: "the identity never signed in, or expired",
};

const grantCells = (grant: JsonObject): string[] => {
  const groupUid = text(grant, "groupUid");
  const group = grant.hidden === true ? "above, not visible to you" : groupUid === "" ? "everywhere" : `${text(grant, "groupName")} ${groupUid}`.trim();
  return [text(grant, "roleName") || "-", group, text(grant, "expireTime") || "never", text(grant, "bindingUid") || "-"];
};

const capabilityText = (reason: JsonObject): string => {
  const grants = objectsAt(reason, "grants");
  const verdict = reason.held === true ? "granted" : grants.length > 0 ? "not granted. Similar role bindings:" : "not granted. No similar role bindings";
  const heading = `${text(reason, "capability")}: ${verdict}`;
  if (grants.length === 0) return heading;
  const rows = grants.map((grant) => [`  ${effects[text(grant, "effect")] ?? ""}`, ...grantCells(grant)]);
  return `${heading}\n${formatTable([["  BINDING", "ROLE", "GROUP", "EXPIRES", "UID"], ...rows])}`;
};

/** Renders the response of Explain. */
export const explainText = (reply: JsonObject): string =>
  `${reply.allowed === true ? "allowed" : "denied"}\n${objectsAt(reply, "capabilities").map(capabilityText).join("\n")}\n`;

/** Renders a page of WhoCan: one line per role binding of an identity. */
export const holdersText = (holders: readonly JsonObject[]): string => {
  const nameOf = (holder: JsonObject, grant: JsonObject): string =>
    grant.effect === "EFFECT_PENDING" ? "(pending)" : text(holder, "email") || text(holder, "name") || "-";
  const rows = holders.flatMap((holder) =>
    objectsAt(holder, "grants").map((grant) => [text(holder, "identityUid"), nameOf(holder, grant), ...grantCells(grant)]),
  );
  return `${formatTable([["IDENTITY", "NAME", "ROLE", "GROUP", "EXPIRES", "BINDING"], ...rows])}\n`;
};
