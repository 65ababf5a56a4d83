// Deletes expired invites. An invite stays for its maximum lifetime after expiry, to report the expiry when used.

import { limits } from "#base/limits.ts";
import { ownOrigin } from "#base/origin.ts";
import { openPauses, workInPieces } from "#base/pieces.ts";
import { boundOf, change, changeContext, type Kernel } from "#kernel";
import { findExpiredInvites, lockExpiredInvites } from "#iam/store";
import { limitPiece } from "#db";

const byItself = { operation: "", actor: undefined, bindings: () => [], origin: () => ownOrigin, requestId: "" };

/** Invites that cannot be deleted must not block others. */
const pauses = openPauses(limits.maintenanceMs, limits.maintenancePauseMaxMs);

/** Deletes some expired invites; returns true if there may be more. Safe to run concurrently. */
export const deleteExpiredInvites = async (kernel: Pick<Kernel, "services" | "resources">): Promise<boolean> => {
  const { store, clock, log } = kernel.services;
  const nowMs = clock();
  const endMs = nowMs - limits.inviteLifetimeMs;
  const found = await findExpiredInvites(store.read, endMs, pauses.paused(nowMs));
  await workInPieces(
    found,
    (piece) =>
      store.write(async (rows) => {
        if (piece.length > 1) await limitPiece(rows);
        const context = changeContext(kernel, rows, byItself);
        for (const uid of await lockExpiredInvites(rows, piece, endMs))
          await change(context, boundOf(context, "chainguard.platform.iam.v2.GroupInvite"), { kind: "delete", uid }, "row");
      }),
    (uid, cause) => log("maintenance.failed", { part: "group_invites", invite: uid, failures: pauses.fail(uid, nowMs), cause }),
  );
  return found.length === limits.sweepRowsMax;
};
