// Invites whose time is over. group_invites is a resource's table: what deletes its rows is to be recorded as an event of
// each, by the one function that changes resources.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { Write } from "./handle.ts";

/** An invite that has expired says so for as long again as it can have lived. */
export const deleteExpiredInvites = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query("delete from group_invites where expiration_time < $1", [timestamp(nowMs - limits.inviteLifetimeMs)]);
};
