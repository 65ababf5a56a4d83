// Identity providers: as signing in needs them, and the state of their SCIM tokens, whose etag is a number that grows.

import { type Binding, type Column, columns, expression, flag, nullableText, nullableTimeMs, type Read, text, textList, type Values, type Write } from "#db";

/**
 * What a provider's client secret is sealed for, and to whom: it belongs to one client of one issuer, and nobody who edits the
 * provider sends it to an issuer of theirs (attack 64).
 */
export const clientSecretPurpose = "client secret";
export const clientSecretBinding = (uid: string, { issuer, clientId }: { readonly issuer: string; readonly clientId: string }): Binding => [
  uid,
  issuer,
  clientId,
];

export interface Provider {
  readonly uid: string;
  /** The group that it belongs to. */
  readonly parent: string;
  readonly name: string;
  /** Uid of the role that a person gets on the first sign-in. */
  readonly defaultRole: string;
  readonly oidc: {
    readonly issuer: string;
    readonly clientId: string;
    /** Besides `openid`. */
    readonly additionalScopes: readonly string[];
    /** Empty: no groups are read. */
    readonly groupsClaim: string;
    readonly correlationRule: string;
    readonly pkceEnabled: boolean;
  };
  /** Sealed by the vault for clientSecretPurpose, bound as clientSecretBinding says; undefined where PKCE does without one. */
  readonly clientSecretSealed: string | undefined;
}

const provider = columns<Omit<Provider, "oidc"> & Provider["oidc"]>({
  uid: text,
  parent: expression("left(uid, -17)", text),
  name: text,
  defaultRole: text,
  clientSecretSealed: { read: (value) => value || undefined },
  issuer: expression("oidc ->> 'issuer'", text),
  clientId: expression("oidc ->> 'clientId'", text),
  groupsClaim: expression("oidc ->> 'groupsClaim'", text),
  correlationRule: expression("oidc ->> 'correlationRule'", text),
  pkceEnabled: expression("(oidc ->> 'pkceEnabled')::boolean", flag),
  additionalScopes: expression("array_to_json(array(select jsonb_array_elements_text(oidc -> 'additionalScopes')))", textList),
});

const readProvider = async (rows: Read, statement: string, uid: string): Promise<Provider | undefined> => {
  const found = await provider.findOne(rows, statement, [uid]);
  if (!found) return undefined;
  const { parent, name, defaultRole, clientSecretSealed, ...oidc } = found;
  return { uid, parent, name, defaultRole, clientSecretSealed, oidc };
};

export const findProvider = (rows: Read, uid: string): Promise<Provider | undefined> =>
  readProvider(rows, `select ${provider.list} from identity_providers where uid = $1`, uid);

/** The same, and it is not deleted until the transaction ends. */
export const holdProviderRow = (rows: Write, uid: string): Promise<Provider | undefined> =>
  readProvider(rows, `select ${provider.list} from identity_providers where uid = $1 for key share`, uid);

/** As much of a provider as a person chooses it by. */
export interface OfferedProvider {
  readonly uid: string;
  readonly name: string;
  readonly issuer: string;
}

const offered = columns<OfferedProvider>({
  uid: expression("provider.uid", text),
  name: expression("provider.name", text),
  issuer: expression("provider.oidc ->> 'issuer'", text),
});

/** The identity providers of the verified organization of this name, the first `count`. */
export const findProvidersOfOrganization = (rows: Read, name: string, count: number): Promise<OfferedProvider[]> =>
  offered.find(
    rows,
    `select ${offered.list} from groups as organization join identity_providers as provider on left(provider.uid, -17) = organization.uid
     where organization.verified and length(organization.uid) = 40 and organization.name = $1 order by provider.name, provider.uid limit $2`,
    [name, count],
  );

/** The first `count` identity providers, where all are of one organization; else none. */
export const findProvidersOfOnlyOrganization = (rows: Read, count: number): Promise<OfferedProvider[]> =>
  offered.find(
    rows,
    `select ${offered.list} from identity_providers as provider
     where (select left(min(uid), 40) = left(max(uid), 40) from identity_providers) order by provider.name, provider.uid limit $1`,
    [count],
  );

export interface ProviderIssuer {
  readonly issuer: string;
  /** The organization of one of its providers. */
  readonly organization: string;
}

const providerIssuer = columns<ProviderIssuer>({ issuer: expression("oidc ->> 'issuer'", text), organization: expression("min(left(uid, 40))", text) });

/** The issuers of all identity providers, each once; the first `count`. */
export const listProviderIssuers = (rows: Read, count: number): Promise<ProviderIssuer[]> =>
  providerIssuer.find(rows, `select ${providerIssuer.list} from identity_providers group by 1 order by 1 limit $1`, [count]);

const client = columns({ clientId: expression("oidc ->> 'clientId'", nullableText) });

/** The client ids with which the providers of these very groups name an issuer, in one of its spellings, one for each provider. */
export const listClientIds = async (rows: Read, spellings: readonly string[], groups: readonly string[]): Promise<(string | undefined)[]> => {
  const found = await client.find(rows, `select ${client.list} from identity_providers where oidc ->> 'issuer' = any($1) and left(uid, -17) = any($2)`, [
    spellings,
    groups,
  ]);
  return found.map(({ clientId }) => clientId);
};

export interface ScimState {
  readonly enabled: boolean;
  readonly etag: string;
  readonly tokenHash: string | undefined;
  /** A token was made, whatever has become of it. */
  readonly issued: boolean;
  readonly revoked: boolean;
  /** Milliseconds since 1970. Infinity: it never ends, or there is none. */
  readonly expireTimeMs: number;
  /** When the token before this one ends; undefined where there is none. */
  readonly previousExpireTimeMs: number | undefined;
}

const endOrNever: Column<number> = {
  ...nullableTimeMs("scim_token_expire_time"),
  read: (value) => (value === null ? Number.POSITIVE_INFINITY : Number(value)),
};

const scim = columns<ScimState>({
  enabled: expression("scim_enabled", flag),
  etag: expression("scim_version", text),
  tokenHash: expression("scim_token_hash", nullableText),
  issued: expression("scim_token_create_time is not null", flag),
  revoked: expression("scim_token_create_time is not null and scim_token_hash is null", flag),
  expireTimeMs: endOrNever,
  previousExpireTimeMs: nullableTimeMs("scim_previous_token_expire_time"),
});

/** What decides whether a SCIM token is taken. */
export interface ScimAccess {
  /** SHA-256 of the token, and when it ends. */
  readonly tokenHash: string | undefined;
  /** Milliseconds since 1970; Infinity: never. */
  readonly expireTimeMs: number;
  /** The same of the token before it. */
  readonly previousTokenHash: string | undefined;
  readonly previousExpireTimeMs: number | undefined;
  /** The organization's; "" where it has none. */
  readonly organizationStatus: string;
}

const scimAccess = columns<ScimAccess>({
  tokenHash: expression("provider.scim_token_hash", nullableText),
  expireTimeMs: { ...endOrNever, ...{ sql: nullableTimeMs("provider.scim_token_expire_time").sql ?? "" } },
  previousTokenHash: expression("provider.scim_previous_token_hash", nullableText),
  previousExpireTimeMs: nullableTimeMs("provider.scim_previous_token_expire_time"),
  organizationStatus: expression("organization.status", text),
});

/** The tokens of this provider; undefined where SCIM is off, or there is no such provider. */
export const findScimAccess = (rows: Read, uid: string): Promise<ScimAccess | undefined> =>
  scimAccess.findOne(
    rows,
    `select ${scimAccess.list} from identity_providers as provider left join groups as organization on organization.uid = left(provider.uid, 40)
     where provider.uid = $1 and provider.scim_enabled`,
    [uid],
  );

/** The state of this provider's token. */
export const findScim = (rows: Read, uid: string): Promise<ScimState | undefined> =>
  scim.findOne(rows, `select ${scim.list} from identity_providers where uid = $1`, [uid]);

/** The same, and nobody else changes it until the transaction ends. */
export const lockScim = (rows: Write, uid: string): Promise<ScimState | undefined> =>
  scim.findOne(rows, `select ${scim.list} from identity_providers where uid = $1 for update`, [uid]);

/** A token as it is kept; times are RFC 3339. */
export interface ScimToken {
  readonly hash: string;
  readonly createTime: string;
  /** Null: it never ends. */
  readonly expireTime: string | null;
  /** Until when the token that is replaced works on; null: it ends now. */
  readonly previousExpireTime: string | null;
}

// What changes in the provider's row; the kernel writes it as every change of a resource's row.

const nextVersion = ({ etag }: ScimState): Values => ({ scim_version: Number(etag) + 1 });

/** A new token in the place of the one that is there. */
export const scimTokenColumns = (state: ScimState, { hash, createTime, expireTime, previousExpireTime }: ScimToken): Values => ({
  ...nextVersion(state),
  scim_previous_token_hash: previousExpireTime === null ? null : (state.tokenHash ?? null),
  scim_previous_token_expire_time: previousExpireTime,
  scim_token_hash: hash,
  scim_token_create_time: createTime,
  scim_token_expire_time: expireTime,
});

/** The end of the token and of the one before it. */
export const scimRevokedColumns = (state: ScimState): Values => ({
  ...nextVersion(state),
  scim_token_hash: null,
  scim_token_expire_time: null,
  scim_previous_token_hash: null,
  scim_previous_token_expire_time: null,
});

export const scimEnabledColumns = (state: ScimState, enabled: boolean): Values => ({ ...nextVersion(state), scim_enabled: enabled });
