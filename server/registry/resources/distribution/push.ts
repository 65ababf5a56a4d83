// What a push answers, and its event says (events: 9).

import { type JsonObject, text } from "#base/json.ts";
import type { CallHeaders } from "#contract/call.ts";
import type { KnownRepo } from "./repo.ts";

/** Civil time without a zone, as the registry's events have it. */
export const civilTime = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, -1);

/**
 * Returns what an event of the registry says of its request.
 * @param uid of the repo
 * @param call its path names the repository as the client did: by names or by uid
 */
export const requestFacts = (uid: string, nowMs: number, call: Pick<CallHeaders, "origin" | "requestInUrl">): JsonObject => {
  const { address, userAgent } = call.origin();
  return {
    repository: text(call.requestInUrl(), "repo"),
    repo_id: uid,
    when: civilTime(nowMs),
    location: "",
    remote_address: address,
    user_agent: userAgent,
  };
};

/** Returns what the event of a push says of its request. */
export const pushFacts = ({ uid, name }: KnownRepo, nowMs: number, call: Pick<CallHeaders, "origin" | "requestInUrl">): JsonObject => ({
  ...requestFacts(uid, nowMs, call),
  display_name: name,
});
