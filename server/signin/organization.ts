// Which identity provider somebody means who wants to sign in: by its uid, or by the name of a verified organization.

import { Fault, invalid } from "#base/fault.ts";
import { isUid } from "#base/uid.ts";
import { findProvider, type Provider, type Read } from "#store";

/** The identity providers of the verified organization of this name, two at most. */
const providersOf = async (rows: Read, name: string): Promise<string[]> => {
  const found = await rows.query(
    `select provider.uid from groups as organization join identity_providers as provider on left(provider.uid, -17) = organization.uid
     where organization.verified and length(organization.uid) = 40 and organization.name = $1 limit 2`,
    [name],
  );
  return found.flatMap(([uid]) => uid ?? []);
};

/** The provider that `idp_id` names. One answer for whatever is not there: who is no member learns of no organization. */
export const providerNamed = async (rows: Read, named: string): Promise<Provider> => {
  if (named === "") throw invalid([{ field: "idp_id", description: "is required: the uid of an identity provider, or the name of a verified organization" }]);
  const uids = isUid(named) ? [named] : named.includes("\0") ? [] : await providersOf(rows, named);
  if (uids.length > 1) throw invalid([{ field: "idp_id", description: "names an organization with several identity providers; give the uid of one" }]);
  const provider = uids[0] === undefined ? undefined : await findProvider(rows, uids[0]);
  if (!provider) throw invalid([{ field: "idp_id", description: "names no identity provider and no verified organization with one" }]);
  return provider;
};

/** authentication.md: 3, /orgcheck. Whether people of this organization can sign in with its name. */
export const canSignIn = async (rows: Read, name: string): Promise<boolean> => !name.includes("\0") && (await providersOf(rows, name)).length > 0;

/** Whether a sign-in can begin with this name. */
export const isProvider = async (rows: Read, named: string): Promise<boolean> => {
  try {
    return (await providerNamed(rows, named)) !== undefined;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT") return false;
    throw thrown;
  }
};
