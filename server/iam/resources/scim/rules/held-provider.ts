// How every write of SCIM begins: the identity provider stays as it is until the transaction ends, and its token still opens it.

import { text } from "#base/json.ts";
import { requireNotSuspended, type WriteContext } from "#kernel";
import { findScimAccess, holdProviderRow, type Provider } from "#iam/store";
import { noResource } from "../documents/faults.ts";

/**
 * The provider. Its token was looked up before the body had come, and may have been taken back since (attack 202): whoever takes it
 * back waits for this lock, or is waited for. Throws UNAUTHENTICATED, and PERMISSION_DENIED where the organization is suspended.
 */
export const holdProvider = async ({ rows, request, services, caller }: WriteContext): Promise<Provider> => {
  const uid = text(request, "identityProviderUid");
  // Sent together; the second sees what the first has waited for.
  const [provider, access] = await Promise.all([holdProviderRow(rows, uid), findScimAccess(rows, uid)]);
  requireNotSuspended(services.authn.confirmScim(caller, access).isClosed);
  if (!provider) throw noResource("IdentityProvider", uid);
  return provider;
};
