// Requests about identity providers.

import type { IdentityProvider, IdentityProviderInput, ListIdentityProvidersResponse } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { shellWord } from "../format.ts";
import type { Scope } from "../places.tsx";
import { pageFrom } from "../questions.ts";

export const providersAt = (scope: Scope, skip: number): Question<ListIdentityProvidersResponse> => {
  const request = { uidp: scope, orderBy: "name", ...pageFrom(skip) };
  return { name: "iam.identity-providers.list", request, send: (gantry, signal) => gantry.iam.identityProviders.list(request, { signal }).page() };
};

/** Lists have no state of SCIM. */
export const providerAt = (uid: string): Question<IdentityProvider> => ({
  name: "iam.identity-providers.get",
  request: { uid },
  send: (gantry, signal) => gantry.iam.identityProviders.get({ uid }, { signal }),
});

/** Has the client secret: never show this question. */
export const createProvider = (parent: string, identityProvider: IdentityProviderInput): Question<IdentityProvider> => ({
  name: "iam.identity-providers.create",
  request: { parent, identityProvider },
  send: (gantry, signal) => gantry.iam.identityProviders.create({ parent, identityProvider }, { signal }),
});

const commandOf = (parent: string, { name, defaultRole, oidc }: IdentityProviderInput): string =>
  [
    `gantry iam identity-providers create --parent ${parent} --name ${shellWord(name)} --default-role ${shellWord(defaultRole)}`,
    `--oidc-issuer ${shellWord(oidc.issuer)} --oidc-client-id ${shellWord(oidc.clientId)}`,
    ...(oidc.clientSecret === undefined ? [] : ["--oidc-client-secret @secret.txt"]),
    ...(oidc.additionalScopes === undefined ? [] : [`--oidc-additional-scopes ${shellWord(oidc.additionalScopes.join(","))}`]),
    ...(oidc.pkceEnabled ? ["--oidc-pkce-enabled"] : []),
  ].join(" ");

/** The same request with a placeholder for the client secret. */
export const createProviderShown = (parent: string, provider: IdentityProviderInput): Question<IdentityProvider> => {
  const { clientSecret, ...rest } = provider.oidc;
  const oidc = clientSecret === undefined ? rest : { ...rest, clientSecret: "CLIENT_SECRET" };
  return { ...createProvider(parent, { ...provider, oidc }), command: commandOf(parent, { ...provider, oidc }) };
};

export const deleteProvider = (uid: string): Question<void> => ({
  name: "iam.identity-providers.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.identityProviders.delete({ uid }, { signal }),
});
