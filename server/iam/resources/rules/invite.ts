// Writes invites with their code, which is shown once.

import type { Rights } from "#authz";
import type { JsonObject } from "#base/json.ts";
import { covers, newRoot } from "#base/uid.ts";
import { type BoundResource, change, type ReportedBy, type WriteContext } from "#kernel";
import { inviteCodeHash, makeInviteCode } from "#iam/signin";

/** Returns the mappings that give the creator's permissions here; they are checked again on acceptance. */
const mappingsAt = ({ grants }: Rights, place: string): string[] =>
  grants.flatMap(({ isFromSession, path, binding }) => (isFromSession && binding !== undefined && covers(path, place) ? [binding] : []));

/** Writes an invite to `parent`; returns it with its code. */
export const writeInvite = async (
  context: WriteContext,
  found: BoundResource,
  parent: string,
  wanted: JsonObject,
  reportedBy: ReportedBy,
): Promise<JsonObject> => {
  const keyId = newRoot();
  const code = makeInviteCode(parent, keyId);
  const columns = { code_hash: inviteCodeHash(code), invited_by: context.caller?.uid ?? "", by_mappings: JSON.stringify(mappingsAt(context.rights, parent)) };
  const { record } = await change(context, found, { kind: "create", parent, body: { ...wanted, keyId }, columns }, reportedBy);
  return { ...record, code };
};
