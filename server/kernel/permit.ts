// May they, and how a refusal reads. The text depends on the caller's rights and the uid asked for, never on what
// exists (decisions: Access).

import { missingCapability, rightsLasting, visiblePaths, type Rights } from "#authz";
import { denied, type Fault } from "#base/fault.ts";
import { EVERYWHERE, rootOf } from "#base/uid.ts";
import type { Read } from "#store";
import type { Call } from "./call.ts";
import type { Context } from "./context.ts";
import type { Kernel } from "./kernel.ts";

/** Names the missing capability and the place, but the place only to whoever may see groups there. */
const refusal = (rights: Rights, capability: string, place: string): Fault => {
  if (place === EVERYWHERE) return denied(`Permission denied: only the operator may do this (${capability})`);
  if (rights.suspended?.includes(rootOf(place))) return denied(suspendedText);
  if (missingCapability(rights, ["groups.list"], place) !== undefined) return denied("Permission denied");
  return denied(`Permission denied: ${capability} is needed at ${place}`);
};

const suspendedText = "Permission denied: the organization is suspended";

/** Throws PERMISSION_DENIED where the caller's own organization is suspended: then it may not even ask. */
export const requireNotSuspended = ({ closed }: Rights): void => {
  if (closed) throw denied(suspendedText);
};

/** Throws PERMISSION_DENIED unless all of these are held at `place`, and until then. */
export const requireAt = (rights: Rights, capabilities: Iterable<string>, place: string, untilMs = 0): void => {
  const wanted = [...capabilities];
  const missing = missingCapability(rights, wanted, place);
  if (missing !== undefined) throw refusal(rights, missing, place);
  const ending = missingCapability(rightsLasting(rights, untilMs), wanted, place);
  if (ending !== undefined) throw denied(`Permission denied: ${ending} is yours for a time, and cannot be given for longer than that`);
};

/**
 * Decides a scoped call. A Get of a root-level row that the resource shows besides the caller's branches (oneself,
 * humans bound below) is allowed too.
 */
export const authorize = async (kernel: Kernel, call: Call, rights: Rights, place: string | undefined, rows: Read): Promise<void> => {
  if (place === undefined) return;
  const { method } = call;
  const missing = missingCapability(rights, method.capabilities, place);
  if (missing === undefined) return;
  const resource = kernel.resources.get(method.output.name);
  if (resource?.alsoVisible && method.rpc === `Get${resource.fact.short}`) {
    const seen = await resource.alsoVisible({ rights, rows, visiblePaths: visiblePaths(rights, method.capabilities), only: place });
    if (seen.includes(place)) return;
  }
  throw refusal(rights, missing, place);
};

/**
 * Throws PERMISSION_DENIED unless all capabilities of an unscoped operation are held at one place, wherever it is: for
 * what lies in no group.
 */
export const requireAnywhere = ({ method, rights, visiblePaths: places }: Context<Read>): void => {
  if (places.length > 0) return;
  const missing = method.capabilities.filter((capability) => visiblePaths(rights, [capability]).length === 0);
  throw denied(`Permission denied: ${(missing.length > 0 ? missing : method.capabilities).join(" and ")} is needed at some group`);
};
