// Invites whose time is over: one that has expired says so for as long again as it can have lived, and is then deleted.

import { limits } from "#base/limits.ts";
import { GroupInviteSchema } from "#contract/gen/chainguard/platform/iam/v2/group_invites_pb.js";
import { ownOrigin } from "#base/origin.ts";
import { boundOf, change, changeContext, type Kernel } from "#kernel";
import { lockExpiredInvites } from "#store";

const byItself = { operation: "", actor: undefined, bindings: () => [], origin: () => ownOrigin, requestId: "" };

/** Deletes them, a few in each transaction, and tells of each. Any number of servers may do it at once. */
export const deleteExpiredInvites = async (kernel: Pick<Kernel, "services" | "resources">): Promise<void> => {
  const { store, clock } = kernel.services;
  let deleted: number;
  do {
    deleted = await store.write(async (rows) => {
      const context = changeContext(kernel, rows, byItself);
      const expired = await lockExpiredInvites(rows, clock() - limits.inviteLifetimeMs);
      for (const uid of expired) await change(context, boundOf(context, GroupInviteSchema), { kind: "delete", uid }, "row");
      return expired.length;
    });
  } while (deleted === limits.sweepRowsMax);
};
