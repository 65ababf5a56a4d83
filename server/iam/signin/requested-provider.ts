// Finds the requested identity provider, by UID or by a verified organization's name. If that yields none or several, the user
// chooses.
//
// Unauthenticated users can list a verified organization's providers by its name, like /orgcheck, and those of the only organization
// that has any. Otherwise there is no list: it would disclose tenants, and a provider may imitate another's name (attack 80).

import { type Fault, invalid } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { findProvider, findProvidersOfOnlyOrganization, findProvidersOfOrganization, type OfferedProvider, type Provider } from "#iam/store";
import type { Read } from "#db";
import type { SignInSettings } from "./settings.ts";

/** Lists the providers that `idp_id` names, at most one more than the limit. */
export const findNamedProviders = async (rows: Read, idpId: string): Promise<readonly OfferedProvider[]> => {
  if (idpId.includes("\0")) return [];
  if (!isUid(idpId)) return findProvidersOfOrganization(rows, idpId, limits.offeredProvidersMax + 1);
  const provider = await findProvider(rows, idpId);
  return provider ? [{ uid: provider.uid, name: provider.name, issuer: provider.oidc.issuer }] : [];
};

const idpIdFault = (description: string): Fault => invalid([{ field: "idp_id", description }]);

const unnamedProviderFault = (): Fault => idpIdFault("is required: the uid of an identity provider, or the name of a verified organization");

/** One error for everything unknown, so that it discloses no organization. */
export const unknownProviderFault = (): Fault => idpIdFault("names no identity provider and no verified organization with one");

const severalProvidersFault = (): Fault => idpIdFault("names an organization with several identity providers; give the uid of one");

/** Returns the one provider that `idp_id` names. Throws INVALID_ARGUMENT if there is none or several. */
export const findRequestedProvider = async (rows: Read, idpId: string): Promise<Provider> => {
  if (idpId === "") throw unnamedProviderFault();
  const [named, another] = await findNamedProviders(rows, idpId);
  if (another) throw severalProvidersFault();
  const provider = named && (await findProvider(rows, named.uid));
  if (!provider) throw unknownProviderFault();
  return provider;
};

/** authentication.md: 3, /orgcheck. Returns whether users can sign in with this organization's name. */
export const isOrganizationWithProvider = async (rows: Read, name: string): Promise<boolean> =>
  !name.includes("\0") && (await findProvidersOfOrganization(rows, name, 1)).length > 0;

export interface ProviderQuestion {
  /** "" for none. */
  readonly typed: string;
  readonly isUnknown: boolean;
  /** "" if none. */
  readonly problem: string;
  /** If empty, the user types a name. */
  readonly offered: readonly OfferedProvider[];
  /** The error for a program, which cannot ask. */
  readonly fault: Fault;
}

/** Returns the question again after an empty answer. */
export const unanswered = (question: ProviderQuestion): ProviderQuestion =>
  question.problem === "" ? { ...question, problem: question.offered.length > 0 ? "Choose one of these." : "Enter your organization's name." } : question;

/** Returns the open question for this `idp_id`; undefined if it names one provider. */
export const openProviderQuestion = async ({ store: { read }, kernel }: SignInSettings, idpId: string): Promise<ProviderQuestion | undefined> => {
  const named = idpId === "" ? [] : await findNamedProviders(read, idpId);
  if (named.length === 1) return undefined;
  const isUnknown = idpId !== "" && named.length === 0;
  const common = {
    typed: idpId,
    isUnknown,
    fault: idpId === "" ? unnamedProviderFault() : named.length > 0 ? severalProvidersFault() : unknownProviderFault(),
  };
  if (named.length > limits.offeredProvidersMax)
    return { ...common, problem: "This organization has too many identity providers to list here. Enter the uid of yours.", offered: [] };
  if (named.length > 0) return { ...common, problem: "", offered: named };
  const problem = isUnknown ? "No organization or identity provider found with this name." : "";
  const all = kernel.services.openOrganizations ? [] : await findProvidersOfOnlyOrganization(read, limits.offeredProvidersMax + 1);
  return { ...common, problem, offered: all.length > limits.offeredProvidersMax ? [] : all };
};

/** Lists the providers that the page would offer for this name, for programs that ask the user themselves. Empty for a UID. */
export const findOfferedProviders = async (settings: SignInSettings, name: string): Promise<readonly OfferedProvider[]> => {
  if (isUid(name)) return [];
  const named = name === "" ? [] : await findNamedProviders(settings.store.read, name);
  return named.length === 1 ? named : ((await openProviderQuestion(settings, name))?.offered ?? []);
};
