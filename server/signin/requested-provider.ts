// The identity provider that a sign-in asks for: by its uid, or by the name of a verified organization.

import { Fault, invalid } from "#base/fault.ts";
import { isUid } from "#base/uid.ts";
import { findProvider, findProvidersOfOrganization, type Provider, type Read } from "#store";

/** The provider that the parameter `idp_id` names. One answer for whatever is not there: who is no member learns of no organization. */
export const findRequestedProvider = async (rows: Read, idpId: string): Promise<Provider> => {
  if (idpId === "") throw invalid([{ field: "idp_id", description: "is required: the uid of an identity provider, or the name of a verified organization" }]);
  const uids = isUid(idpId) ? [idpId] : idpId.includes("\0") ? [] : await findProvidersOfOrganization(rows, idpId);
  if (uids.length > 1) throw invalid([{ field: "idp_id", description: "names an organization with several identity providers; give the uid of one" }]);
  const provider = uids[0] === undefined ? undefined : await findProvider(rows, uids[0]);
  if (!provider) throw invalid([{ field: "idp_id", description: "names no identity provider and no verified organization with one" }]);
  return provider;
};

/** authentication.md: 3, /orgcheck. Whether people of this organization can sign in with its name. */
export const isOrganizationWithProvider = async (rows: Read, name: string): Promise<boolean> =>
  !name.includes("\0") && (await findProvidersOfOrganization(rows, name)).length > 0;

/** Whether a sign-in can begin with this `idp_id`. */
export const isKnownProvider = async (rows: Read, idpId: string): Promise<boolean> => {
  try {
    return (await findRequestedProvider(rows, idpId)) !== undefined;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT") return false;
    throw thrown;
  }
};
