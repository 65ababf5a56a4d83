// By what two callers are the same person, as far as the server can tell (docs/decisions/0092).

import { hash } from "node:crypto";
import type { ChangeContext } from "#kernel";
import { findSessionUser } from "#iam/store";
import { authorOf } from "./authoring.ts";

/** Returns the uid of the user of the caller's upstream token; the identity itself for a token of this server. */
const upstreamUid = ({ caller, services }: Pick<ChangeContext, "caller" | "services">): string => {
  const { iss = "", sub = "" } = caller?.act ?? {};
  if (iss === "" || sub === "") return "";
  return iss === caller?.issuer ? sub : services.authn.personUid(iss, sub);
};

/**
 * Returns the uids and hashed email addresses of a caller: its own uid, the users of its session and of its upstream token, and their
 * verified addresses. Two callers with a common one are the same person. Throws PERMISSION_DENIED without a caller.
 */
export const personMarks = async (context: Pick<ChangeContext, "caller" | "rows" | "services">): Promise<string[]> => {
  const { caller, rows } = context;
  const uid = authorOf(context);
  const user = caller?.grant === undefined ? "" : ((await findSessionUser(rows, caller.grant)) ?? "");
  const emails = [caller?.email ?? "", caller?.act?.email ?? ""].filter((email) => email !== "").map((email) => hash("sha256", email.toLowerCase(), "hex"));
  return [...new Set([uid, user, upstreamUid(context), ...emails])].filter((mark) => mark !== "");
};
