// The facts of a push in its response and event (events: 9).

import { type JsonObject, text } from "#base/json.ts";
import type { CallHeaders } from "#contract/call.ts";
import type { KnownRepo } from "./repo.ts";

/** Local time without a zone, as in the registry's events. */
export const civilTime = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, -1);

/**
 * Returns the facts of a request in the registry's events.
 * @param uid of the repo
 * @param call has the repository name as the client wrote it: a path or a uid
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

export const pushFacts = ({ uid, name }: KnownRepo, nowMs: number, call: Pick<CallHeaders, "origin" | "requestInUrl">): JsonObject => ({
  ...requestFacts(uid, nowMs, call),
  display_name: name,
});
