// The identity provider that a sign-in asks for: by its uid, or by the name of a verified organization. Where that names
// none, or several, the person is asked.
//
// What a stranger may be shown: the providers of an organization that the operator has verified, to whoever types its name
// (/orgcheck answers that too); and those of the only organization that has any, which is the usual server of one
// company. With a second one there is no list: which companies share a server is nobody's business, and each may call its
// provider as it likes, also "Sign in with" and another's name (attack 80). For the same reason there is none where people
// may make organizations of their own. The provider's host stands beside each name.

import { type Fault, invalid } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { findProvider, findProvidersOfOnlyOrganization, findProvidersOfOrganization, type OfferedProvider, type Provider } from "#iam/store";
import type { Read } from "#db";
import type { SignInSettings } from "./settings.ts";

/** The providers that the parameter `idp_id` names, one more at most than are offered at a time. */
export const findNamedProviders = async (rows: Read, idpId: string): Promise<readonly OfferedProvider[]> => {
  if (idpId.includes("\0")) return [];
  if (!isUid(idpId)) return findProvidersOfOrganization(rows, idpId, limits.offeredProvidersMax + 1);
  const provider = await findProvider(rows, idpId);
  return provider ? [{ uid: provider.uid, name: provider.name, issuer: provider.oidc.issuer }] : [];
};

const idpIdFault = (description: string): Fault => invalid([{ field: "idp_id", description }]);

const unnamedProviderFault = (): Fault => idpIdFault("is required: the uid of an identity provider, or the name of a verified organization");

/** One answer for whatever is not there: who is no member learns of no organization. */
export const unknownProviderFault = (): Fault => idpIdFault("names no identity provider and no verified organization with one");

const severalProvidersFault = (): Fault => idpIdFault("names an organization with several identity providers; give the uid of one");

/** The provider that the parameter `idp_id` names. */
export const findRequestedProvider = async (rows: Read, idpId: string): Promise<Provider> => {
  if (idpId === "") throw unnamedProviderFault();
  const [named, another] = await findNamedProviders(rows, idpId);
  if (another) throw severalProvidersFault();
  const provider = named && (await findProvider(rows, named.uid));
  if (!provider) throw unknownProviderFault();
  return provider;
};

/** authentication.md: 3, /orgcheck. Whether people of this organization can sign in with its name. */
export const isOrganizationWithProvider = async (rows: Read, name: string): Promise<boolean> =>
  !name.includes("\0") && (await findProvidersOfOrganization(rows, name, 1)).length > 0;

/** What a person is asked before a sign-in can begin. */
export interface ProviderQuestion {
  /** The name that was given; "" for none. */
  readonly typed: string;
  /** The name belongs to no provider and to no organization. */
  readonly isUnknown: boolean;
  /** What is wrong with it; "" where nothing is. */
  readonly problem: string;
  /** To choose from; where there are none, the person types a name. */
  readonly offered: readonly OfferedProvider[];
  /** The same for a program, which cannot be asked. */
  readonly fault: Fault;
}

/** The question again, for whoever answered it with nothing. */
export const unanswered = (question: ProviderQuestion): ProviderQuestion =>
  question.problem === "" ? { ...question, problem: question.offered.length > 0 ? "Choose one of these." : "Enter your organization's name." } : question;

/** The question that is open with this `idp_id`; undefined where it names one provider. */
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

/**
 * The providers to choose from, for a program that asks its person itself: what the page offers to whoever gives this name, or none.
 * A uid needs no choice.
 */
export const findOfferedProviders = async (settings: SignInSettings, name: string): Promise<readonly OfferedProvider[]> => {
  if (isUid(name)) return [];
  const named = name === "" ? [] : await findNamedProviders(settings.store.read, name);
  return named.length === 1 ? named : ((await openProviderQuestion(settings, name))?.offered ?? []);
};
