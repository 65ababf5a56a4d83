// Metadata that users set for themselves: UpdateIdentityMetadata changes its caller. Other identities have none.

import { messageNamed } from "#contract/catalog.ts";
import { denied, invalid, unauthenticated } from "#base/fault.ts";
import { type Json, type JsonObject, part, text } from "#base/json.ts";
import { isRoot } from "#base/uid.ts";
import { applyMask, type Outcome, readMask, withoutOutputOnly, type WriteContext } from "#kernel";
import { lockPerson, writeIdentityMetadata } from "#iam/store";

const message = messageNamed("chainguard.platform.iam.v2.IdentityMetadata");

const arranged = (said: JsonObject): JsonObject => {
  const out: JsonObject = {};
  for (const { json } of message.fields) {
    const value = said[json];
    if (value !== undefined && value !== "" && value !== false) out[json] = value;
  }
  return out;
};

/** decisions: JSON. Booleans are always present, empty texts never. */
const shown = (whole: JsonObject): JsonObject =>
  Object.fromEntries(
    message.fields.flatMap(({ json, kind }): [string, Json][] => {
      const value = whole[json] ?? (kind === "bool" ? false : "");
      return value === "" ? [] : [[json, value]];
    }),
  );

const impliedBy = (bodyPaths: readonly string[] | undefined): string[] | undefined =>
  bodyPaths?.flatMap((path) => (path.startsWith("identityMetadata.") ? [path.slice("identityMetadata.".length)] : []));

export const updateMetadata = async ({ caller, call, request, rows, nowMs }: WriteContext): Promise<Outcome> => {
  if (!caller || !isRoot(caller.uid)) throw denied("Permission denied: only users can set their own metadata");
  const body = withoutOutputOnly(message, part(request, "identityMetadata"));
  const { mask, violations } = readMask(message, text(request, "updateMask"), impliedBy(call.bodyPaths), body);
  if (violations.length > 0) throw invalid(violations);
  const person = await lockPerson(rows, caller.uid);
  if (!person) throw unauthenticated("the identity of this token no longer exists");
  const before = arranged(person.metadata);
  const after = arranged(applyMask(message, before, body, mask));
  const unchanged = JSON.stringify(before) === JSON.stringify(after);
  const updateTime = unchanged ? person.updateTime : await writeIdentityMetadata(rows, caller.uid, after, nowMs);
  const { name, givenName, familyName, createTime } = person;
  return { reply: shown({ uid: caller.uid, name, givenName, familyName, ...after, createTime, updateTime }), unchanged };
};
