// Permission checks and the text of their errors. The text depends on the caller's rights and the request's resource path, never on
// what exists (decisions: Access).

import { missingCapability, type Rights, type ShortRight, shortestRight, visiblePaths } from "#authz";
import { denied, type Fault, internal } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { EVERYWHERE, rootOf } from "#base/uid.ts";
import type { MethodFact } from "#contract/facts.ts";
import type { Read } from "#db";
import type { Call } from "./call.ts";
import type { Context, Delegation } from "./context.ts";
import type { Kernel } from "./kernel.ts";
import { namedGroupsOf } from "./validate.ts";

/** Names the missing capability, and the resource path only if the caller may list groups there. */
const permissionDenied = (rights: Rights, capability: string, path: string): Fault => {
  if (path === EVERYWHERE) return denied(`Permission denied: this operation requires the operator (${capability})`);
  if (rights.suspended?.includes(rootOf(path))) return denied(suspendedText);
  if (missingCapability(rights, ["groups.list"], path) !== undefined) return denied("Permission denied");
  return denied(`Permission denied: ${capability} is required at ${path}`);
};

const suspendedText = "Permission denied: the organization is suspended";

/** Throws PERMISSION_DENIED if the caller's own organization is suspended. */
export const requireNotSuspended = (isClosed: boolean | undefined): void => {
  if (isClosed) throw denied(suspendedText);
};

export const requireAt = (rights: Rights, capabilities: Iterable<string>, path: string): void => {
  const missing = missingCapability(rights, capabilities, path);
  if (missing !== undefined) throw permissionDenied(rights, missing, path);
};

const daysOf = (ms: number): number => ms / (24 * 60 * 60 * 1000);

/** Names the permission that expires too early and how to grant it permanently; its path only if the caller may list groups there. */
const tooShort = (rights: Rights, { capability, path, endMs }: ShortRight, why: string): Fault => {
  const right = missingCapability(rights, ["groups.list"], path) === undefined ? `${capability} at ${path}` : capability;
  const source =
    endMs === undefined ? `comes from the groups of your sign-in ${why}` : `expires at ${timestamp(endMs)}, and permissions that you grant must not outlast it`;
  return denied(`Permission denied: ${right} ${source}. A caller with ${right} from a role binding without expiry can grant it permanently`);
};

/**
 * A grant never outlives its grantor (docs/decisions/0003-permission-cache-delegation-and-expiry.md). Throws PERMISSION_DENIED unless the caller
 * holds the permissions and the operation's capabilities until the grant expires. Permissions from sign-in groups can be granted
 * only as the contract allows (delegates): not at all, or to others with a near expiry.
 * @param place path of the operation's own capabilities
 */
export const requireCanDelegate = (rights: Rights, method: MethodFact, place: string | undefined, delegation: Delegation, nowMs: number): void => {
  const { delegates, capabilities } = method;
  if (!delegates) throw internal(new Error(`${method.name} hands on rights, and the contract does not say so (delegates)`));
  for (const right of delegation.rights) requireAt(rights, right.capabilities, right.path);
  const given = [...(place === undefined ? [] : [{ capabilities, path: place }]), ...delegation.rights];
  const toOneself = delegation.receiver === rights.uid;
  const inTime = delegation.untilMs <= nowMs + limits.sessionDelegationMs;
  const short = shortestRight(rights, given, delegation.untilMs, delegates.fromSessions && !toOneself && inTime);
  if (!short) return;
  if (!delegates.fromSessions) throw tooShort(rights, short, "and cannot be given by this operation");
  throw tooShort(
    rights,
    short,
    toOneself ? "and cannot be given to yourself" : `and is given with an expireTime within ${daysOf(limits.sessionDelegationMs)} days only`,
  );
};

/**
 * Authorizes a scoped call, or a filter that names groups. Also allows a Get of a root-level row that `alsoVisible` returns (the
 * caller itself, users with bindings below).
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

/** Throws PERMISSION_DENIED unless the caller has the operation's capabilities at some group, for resources outside of groups. */
export const requireAnywhere = ({ method, rights, visiblePaths: paths }: Context<Read>): void => {
  if (paths.length > 0) return;
  const missing = method.capabilities.filter((capability) => visiblePaths(rights, [capability]).length === 0);
  throw denied(`Permission denied: ${(missing.length > 0 ? missing : method.capabilities).join(" and ")} is required at some group`);
};
