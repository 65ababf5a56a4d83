// Starts every SCIM write: locks the identity provider, and checks that its token is still valid.

import { text } from "#base/json.ts";
import { requireNotSuspended, type WriteContext } from "#kernel";
import { findScimAccess, holdProviderRow, type Provider } from "#iam/store";
import { noResource } from "../documents/faults.ts";

/**
 * Returns the provider, locked. Its token was checked before the body arrived, and may be revoked since (attack 202); a revocation
 * waits for this lock or precedes it. Throws UNAUTHENTICATED, or PERMISSION_DENIED if the organization is suspended.
 */
export const holdProvider = async ({ rows, request, services, caller }: WriteContext): Promise<Provider> => {
  const uid = text(request, "identityProviderUid");
  // Sent together; the second runs after the lock.
  const [provider, access] = await Promise.all([holdProviderRow(rows, uid), findScimAccess(rows, uid)]);
  requireNotSuspended(services.authn.confirmScim(caller, access).isClosed);
  if (!provider) throw noResource("IdentityProvider", uid);
  return provider;
};
