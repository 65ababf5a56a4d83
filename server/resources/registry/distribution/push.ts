// What a push answers, and its event says (events: 9).

import type { JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import type { KnownRepo } from "./repo.ts";

/** Civil time without a zone, as the registry's events have it. */
export const civilTime = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, -1);

/** What an event of the registry says of its request. */
export const requestFacts = ({ uid, name }: KnownRepo, nowMs: number, { address, userAgent }: Origin): JsonObject => ({
  repository: name,
  repo_id: uid,
  when: civilTime(nowMs),
  location: "",
  remote_address: address,
  user_agent: userAgent,
});
