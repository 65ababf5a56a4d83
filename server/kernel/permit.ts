// The decision whether the caller may, and how a refusal reads. Its text depends on the caller's rights and the resource
// path of the request, never on what exists (decisions: Access).

import { missingCapability, rightsLasting, visiblePaths, type Rights } from "#authz";
import { denied, type Fault } from "#base/fault.ts";
import { EVERYWHERE, rootOf } from "#base/uid.ts";
import type { Read } from "#store";
import type { Call } from "./call.ts";
import type { Context } from "./context.ts";
import type { Kernel } from "./kernel.ts";
import { namedGroupsOf } from "./validate.ts";

/** Names the missing capability, and the resource path only to whoever may see groups there. */
const permissionDenied = (rights: Rights, capability: string, path: string): Fault => {
  if (path === EVERYWHERE) return denied(`Permission denied: only the operator may do this (${capability})`);
  if (rights.suspended?.includes(rootOf(path))) return denied(suspendedText);
  if (missingCapability(rights, ["groups.list"], path) !== undefined) return denied("Permission denied");
  return denied(`Permission denied: ${capability} is needed at ${path}`);
};

const suspendedText = "Permission denied: the organization is suspended";

/** Throws PERMISSION_DENIED where the caller's own organization is suspended: then it may do nothing at all. */
export const requireNotSuspended = ({ closed }: Rights): void => {
  if (closed) throw denied(suspendedText);
};

/** Throws PERMISSION_DENIED unless all of these are held at `path`, and until then. */
export const requireAt = (rights: Rights, capabilities: Iterable<string>, path: string, untilMs = 0): void => {
  const wanted = [...capabilities];
  const missing = missingCapability(rights, wanted, path);
  if (missing !== undefined) throw permissionDenied(rights, missing, path);
  const ending = missingCapability(rightsLasting(rights, untilMs), wanted, path);
  if (ending !== undefined) throw denied(`Permission denied: ${ending} is yours for a time, and cannot be given for longer than that`);
};

/**
 * Decides a scoped call, and one whose filter names groups. A Get of a root-level row that the resource shows besides the caller's branches (oneself,
 * people bound below) is allowed too.
 */
export const authorize = async (kernel: Kernel, call: Call, rights: Rights, path: string | undefined, rows: Read): Promise<void> => {
  const { method } = call;
  for (const group of namedGroupsOf(call)) requireAt(rights, method.capabilities, group);
  if (path === undefined) return;
  const missing = missingCapability(rights, method.capabilities, path);
  if (missing === undefined) return;
  const resource = kernel.resources.get(method.output.name);
  if (resource?.alsoVisible && method.rpc === `Get${resource.fact.short}`) {
    const visible = await resource.alsoVisible({ rights, rows, visiblePaths: visiblePaths(rights, method.capabilities), only: path });
    if (visible.includes(path)) return;
  }
  throw permissionDenied(rights, missing, path);
};

/**
 * Throws PERMISSION_DENIED unless all capabilities of an unscoped operation are held at one group, whichever it is: for
 * what lies in no group.
 */
export const requireAnywhere = ({ method, rights, visiblePaths: paths }: Context<Read>): void => {
  if (paths.length > 0) return;
  const missing = method.capabilities.filter((capability) => visiblePaths(rights, [capability]).length === 0);
  throw denied(`Permission denied: ${(missing.length > 0 ? missing : method.capabilities).join(" and ")} is needed at some group`);
};
