// ADMISSION. Identifies the caller of a request and counts it, before its message is read. The kinds of tokens differ only here.

import type { Caller } from "#authn";
import type { Rights } from "#authz";
import { text } from "#base/json.ts";
import { networkOf, type Origin } from "#base/origin.ts";
import { isRoot, rootOf } from "#base/uid.ts";
import { describeCall } from "#calls";
import type { UnreadCall } from "./call.ts";
import { keyForCaller } from "./fairness-keys.ts";
import type { Kernel } from "./kernel.ts";

/** Returns the caller; throws UNAUTHENTICATED or RESOURCE_EXHAUSTED. `resource` is the audience (RFC 8707). */
export type Admit = (resource: string, authorization: string | undefined, origin: Origin) => Promise<Caller>;

/** For protocols that name the operation in the body. */
export const makeAdmit =
  (kernel: Kernel): Admit =>
  async (resource, authorization, origin) => {
    let caller: Caller | undefined;
    try {
      caller = await kernel.services.authn.authenticateAt(resource, authorization);
      describeCall({ caller: caller.uid });
      kernel.rates.take(keyForCaller(caller));
      return caller;
    } catch (thrown) {
      await kernel.refusalPace(caller === undefined ? networkOf(origin.address) : rootOf(caller.uid));
      throw thrown;
    }
  };

/** Returns whether the request may go without a caller. Counts it by its client's address; throws RESOURCE_EXHAUSTED. */
export const admitOpen = async ({ services: { authn }, answers }: Kernel, { method, authorization, origin }: UnreadCall): Promise<boolean> => {
  const isAnonymous = method.anonymous && (await authn.isAnonymous(authorization));
  if (!method.open && !isAnonymous) return false;
  const purpose = isAnonymous ? "open-reads" : answers.get(method.name)?.countsAs;
  if (purpose !== undefined) authn.clientLimits.take(purpose, origin().address);
  return true;
};

/** SCIM accepts only identity providers, each at its own address, and they have no other access. Registry tokens are for the registry only. */
export const authenticate = (
  { services: { authn } }: Kernel,
  { method, authorization, identity, origin, requestInUrl }: UnreadCall,
): Caller | Promise<Caller> => {
  if (method.scim) return authn.authenticateScim(text(requestInUrl(), "identityProviderUid"), authorization);
  return method.distribution
    ? authn.authenticateRegistry(authorization, identity, () => origin().address)
    : authn.authenticate(authorization, identity, () => origin().address);
};

/** For a request that `mayMissRevocation`: other tokens than those of SCIM are checked with their fresh rights. */
export const authenticateAgain = (kernel: Kernel, unread: UnreadCall, caller: Caller): Caller | Promise<Caller> =>
  caller.scim ? authenticate(kernel, unread) : caller;

/** Applies the rate limits. `makeAdmit` has already counted the request of an admitted caller. */
export const countRequest = (kernel: Kernel, unread: UnreadCall, caller: Caller, admitted: Caller | undefined): void => {
  const fairnessKey = keyForCaller(caller);
  if (!admitted) kernel.rates.take(fairnessKey);
  if (caller.scim && unread.method.writes) kernel.rates.takeScimWrite(fairnessKey);
};

/**
 * Content arrives once, so such a request needs proof of its rights before it is handled: by the look-up of its resource, or by
 * fresh rights. A SCIM token is read with each request, so its rights are fresh.
 */
export const requiresFreshRights = ({ answers }: Kernel, { content, method }: UnreadCall, { scim }: Caller): boolean =>
  scim !== undefined || (content !== undefined && answers.get(method.name)?.findPlace === undefined);

/** No rights: what SCIM may do is defined by its operations. */
const scimRights = ({ nobody }: Kernel, { isClosed }: NonNullable<Caller["scim"]>): Rights => ({ ...nobody, closed: isClosed });

/** Undefined: the identity no longer exists. */
export const rightsOf = (kernel: Kernel, caller: Caller, fresh: boolean): Promise<Rights | undefined> | Rights =>
  caller.scim ? scimRights(kernel, caller.scim) : kernel.rights.of(caller, kernel.services.clock(), fresh);

/**
 * Returns whether a revocation while the message arrived would go unnoticed (attack 202). Rights of a user that are proven later detect
 * it by their version; others do not. SCIM writes check in their transaction.
 */
export const mayMissRevocation = ({ method }: UnreadCall, { uid, grant, scim }: Caller, fresh: boolean): boolean =>
  scim ? !method.writes : grant !== undefined && (fresh || !isRoot(uid));
