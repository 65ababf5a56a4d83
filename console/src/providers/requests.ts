// Requests about identity providers, their SCIM tokens and their group mappings.

import type {
  BatchDeleteExternalGroupRoleMappingsResponse,
  ExternalGroupRoleMapping,
  ExternalGroupRoleMappingInput,
  GenerateScimTokenRequest,
  GenerateScimTokenResponse,
  IdentityProvider,
  IdentityProviderInput,
  IdentityProviderUpdate,
  ListExternalGroupRoleMappingsResponse,
  ListIdentityProvidersResponse,
  RegenerateScimTokenRequest,
  RegenerateScimTokenResponse,
  RevokeScimTokenResponse,
  SetScimEnabledResponse,
} from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { shellWord } from "../format.ts";
import type { Scope } from "../places.tsx";
import { pageFrom } from "../questions.ts";
import type { Version } from "../conflict.tsx";

export const providersAt = (scope: Scope, skip: number): Question<ListIdentityProvidersResponse> => {
  const request = { uidp: scope, orderBy: "name", ...pageFrom(skip) };
  return { name: "iam.identity-providers.list", request, send: (gantry, signal) => gantry.iam.identityProviders.list(request, { signal }).page() };
};

/** Lists have no state of SCIM. */
export const providerAt = (uid: string): Question<Version<IdentityProvider>> => ({
  name: "iam.identity-providers.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.iam.identityProviders.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

/** Has the client secret: never show this question. */
export const createProvider = (parent: string, identityProvider: IdentityProviderInput): Question<IdentityProvider> => ({
  name: "iam.identity-providers.create",
  request: { parent, identityProvider },
  send: (gantry, signal) => gantry.iam.identityProviders.create({ parent, identityProvider }, { signal }),
});

/** The fields of the form. */
type ChangedProvider = IdentityProviderInput & Pick<IdentityProviderUpdate, "uid">;

/** Without a client secret, the stored one is kept. If there is one, never show this question. */
export const updateProvider = (identityProvider: ChangedProvider, ifMatch: string | undefined): Question<IdentityProvider> => {
  const request = { identityProvider, updateMask: ["name", "description", "defaultRole", "oidc"] as const };
  return {
    name: "iam.identity-providers.update",
    request,
    send: (gantry, signal) => gantry.iam.identityProviders.update(request, { signal, ifMatch }),
  };
};

const ruleWord = (rule: string): string => rule.toLowerCase().replaceAll("_", "-").replace("correlation-rule-", "");

const flagsOf = ({ name, description, defaultRole, oidc }: IdentityProviderInput): string[] => [
  `--name ${shellWord(name)}`,
  ...(description === undefined ? [] : [`--description ${shellWord(description)}`]),
  `--default-role ${shellWord(defaultRole)}`,
  `--oidc-issuer ${shellWord(oidc.issuer)} --oidc-client-id ${shellWord(oidc.clientId)}`,
  ...(oidc.clientSecret === undefined ? [] : ["--oidc-client-secret @secret.txt"]),
  ...(oidc.additionalScopes === undefined ? [] : [`--oidc-additional-scopes ${shellWord(oidc.additionalScopes.join(","))}`]),
  ...(oidc.groupsClaim === undefined ? [] : [`--oidc-groups-claim ${shellWord(oidc.groupsClaim)}`]),
  ...(oidc.correlationRule === undefined ? [] : [`--oidc-correlation-rule ${ruleWord(oidc.correlationRule)}`]),
  ...(oidc.pkceEnabled === undefined ? [] : [oidc.pkceEnabled ? "--oidc-pkce-enabled" : "--no-oidc-pkce-enabled"]),
];

const withPlaceholder = <Provider extends IdentityProviderInput>(provider: Provider): Provider =>
  provider.oidc.clientSecret === undefined ? provider : { ...provider, oidc: { ...provider.oidc, clientSecret: "CLIENT_SECRET" } };

/** The same request with a placeholder for the client secret. */
export const createProviderShown = (parent: string, provider: IdentityProviderInput): Question<IdentityProvider> => ({
  ...createProvider(parent, withPlaceholder(provider)),
  command: ["gantry iam identity-providers create", `--parent ${parent}`, ...flagsOf(provider)].join(" "),
});

/** The same request with a placeholder for the client secret. */
export const updateProviderShown = (provider: ChangedProvider): Question<IdentityProvider> => ({
  ...updateProvider(withPlaceholder(provider), undefined),
  command: ["gantry iam identity-providers update", provider.uid, ...flagsOf(provider)].join(" "),
});

export const deleteProvider = (uid: string): Question<void> => ({
  name: "iam.identity-providers.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.identityProviders.delete({ uid }, { signal }),
});

/** `etag`: of the SCIM settings, as they were read. */
export const setScimEnabled = (identityProviderUid: string, enabled: boolean, etag: string): Question<SetScimEnabledResponse> => {
  const request = { identityProviderUid, enabled, etag };
  return {
    name: "iam.identity-providers.set-scim-enabled",
    request,
    send: (gantry, signal) => gantry.iam.identityProviders.setScimEnabled(request, { signal }),
  };
};

export const generateScimToken = (request: GenerateScimTokenRequest): Question<GenerateScimTokenResponse> => ({
  name: "iam.identity-providers.generate-scim-token",
  request: { ...request },
  send: (gantry, signal) => gantry.iam.identityProviders.generateScimToken(request, { signal }),
});

export const regenerateScimToken = (request: RegenerateScimTokenRequest): Question<RegenerateScimTokenResponse> => ({
  name: "iam.identity-providers.regenerate-scim-token",
  request: { ...request },
  send: (gantry, signal) => gantry.iam.identityProviders.regenerateScimToken(request, { signal }),
});

export const revokeScimToken = (identityProviderUid: string): Question<RevokeScimTokenResponse> => ({
  name: "iam.identity-providers.revoke-scim-token",
  request: { identityProviderUid },
  send: (gantry, signal) => gantry.iam.identityProviders.revokeScimToken({ identityProviderUid }, { signal }),
});

export const mappingsOf = (identityProviderUid: string, skip: number): Question<ListExternalGroupRoleMappingsResponse> => {
  const request = { identityProviderUid, orderBy: "create_time", ...pageFrom(skip) };
  return {
    name: "iam.external-group-role-mappings.list",
    request,
    send: (gantry, signal) => gantry.iam.externalGroupRoleMappings.list(request, { signal }).page(),
  };
};

export const createMapping = (parent: string, externalGroupRoleMapping: ExternalGroupRoleMappingInput): Question<ExternalGroupRoleMapping> => ({
  name: "iam.external-group-role-mappings.create",
  request: { parent, externalGroupRoleMapping },
  send: (gantry, signal) => gantry.iam.externalGroupRoleMappings.create({ parent, externalGroupRoleMapping }, { signal }),
});

export const deleteMapping = (uid: string): Question<void> => ({
  name: "iam.external-group-role-mappings.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.externalGroupRoleMappings.delete({ uid }, { signal }),
});

export const deleteMappings = (parent: string, names: readonly string[]): Question<BatchDeleteExternalGroupRoleMappingsResponse> => ({
  name: "iam.external-group-role-mappings.batch-delete",
  request: { parent, names },
  send: (gantry, signal) => gantry.iam.externalGroupRoleMappings.batchDelete({ parent, names }, { signal }),
});
