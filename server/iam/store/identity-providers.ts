// Table identity_providers: lookups for sign-in, and SCIM tokens. Their etag is a counter.

import {
  type Binding,
  type Column,
  columns,
  expression,
  flag,
  nullableText,
  nullableTimeMs,
  type Read,
  type RowOf,
  text,
  textList,
  type Values,
  type Write,
} from "#db";

/** The client secret is bound to one client of one issuer, so that an editor cannot send it to another issuer (attack 64). */
export const clientSecretPurpose = "client secret";
export const clientSecretBinding = (uid: string, { issuer, clientId }: { readonly issuer: string; readonly clientId: string }): Binding => [
  uid,
  issuer,
  clientId,
];

export interface Provider {
  readonly uid: string;
  readonly parent: string;
  readonly name: string;
  /** Granted on first sign-in. */
  readonly defaultRole: string;
  readonly oidc: {
    readonly issuer: string;
    readonly clientId: string;
    /** In addition to `openid`. */
    readonly additionalScopes: readonly string[];
    /** "" if groups are not read. */
    readonly groupsClaim: string;
    readonly correlationRule: string;
    readonly pkceEnabled: boolean;
  };
  /** Undefined if PKCE needs no secret. */
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

/** Returns a provider and prevents its deletion until the transaction ends. */
export const holdProviderRow = (rows: Write, uid: string): Promise<Provider | undefined> =>
  readProvider(rows, `select ${provider.list} from identity_providers where uid = $1 for key share`, uid);

export type OfferedProvider = RowOf<typeof offered>;

const offered = columns({
  uid: expression("provider.uid", text),
  name: expression("provider.name", text),
  issuer: expression("provider.oidc ->> 'issuer'", text),
});

/** Returns the providers of the verified organization with this name. */
export const findProvidersOfOrganization = (rows: Read, name: string, count: number): Promise<OfferedProvider[]> =>
  offered.find(
    rows,
    `select ${offered.list} from groups as organization join identity_providers as provider on left(provider.uid, -17) = organization.uid
     where organization.verified and length(organization.uid) = 40 and organization.name = $1 order by provider.name, provider.uid limit $2`,
    [name, count],
  );

/** Returns providers only if all belong to one organization. */
export const findProvidersOfOnlyOrganization = (rows: Read, count: number): Promise<OfferedProvider[]> =>
  offered.find(
    rows,
    `select ${offered.list} from identity_providers as provider
     where (select left(min(uid), 40) = left(max(uid), 40) from identity_providers) order by provider.name, provider.uid limit $1`,
    [count],
  );

export type ProviderIssuer = RowOf<typeof providerIssuer>;

const providerIssuer = columns({ issuer: expression("oidc ->> 'issuer'", text), organization: expression("min(left(uid, 40))", text) });

export const listProviderIssuers = (rows: Read, count: number): Promise<ProviderIssuer[]> =>
  providerIssuer.find(rows, `select ${providerIssuer.list} from identity_providers group by 1 order by 1 limit $1`, [count]);

const client = columns({ clientId: expression("oidc ->> 'clientId'", nullableText) });

/** Returns the client ID of each provider in exactly these groups with one of these spellings of the issuer. */
export const listClientIds = async (rows: Read, spellings: readonly string[], groups: readonly string[]): Promise<(string | undefined)[]> => {
  const found = await client.find(rows, `select ${client.list} from identity_providers where oidc ->> 'issuer' = any($1) and left(uid, -17) = any($2)`, [
    spellings,
    groups,
  ]);
  return found.map(({ clientId }) => clientId);
};

export type ScimState = RowOf<typeof scim>;

const endOrNever: Column<number> = {
  ...nullableTimeMs("scim_token_expire_time"),
  read: (value) => (value === null ? Number.POSITIVE_INFINITY : Number(value)),
};

const scim = columns({
  enabled: expression("scim_enabled", flag),
  etag: expression("scim_version", text),
  tokenHash: expression("scim_token_hash", nullableText),
  /** A token was created, even if it no longer exists. */
  issued: expression("scim_token_create_time is not null", flag),
  revoked: expression("scim_token_create_time is not null and scim_token_hash is null", flag),
  /** Infinity if it does not expire or there is none. */
  expireTimeMs: endOrNever,
  previousExpireTimeMs: nullableTimeMs("scim_previous_token_expire_time"),
});

export type ScimAccess = RowOf<typeof scimAccess>;

const scimAccess = columns({
  /** SHA-256. */
  tokenHash: expression("provider.scim_token_hash", nullableText),
  expireTimeMs: { ...endOrNever, ...{ sql: nullableTimeMs("provider.scim_token_expire_time").sql ?? "" } },
  previousTokenHash: expression("provider.scim_previous_token_hash", nullableText),
  previousExpireTimeMs: nullableTimeMs("provider.scim_previous_token_expire_time"),
  /** "" if it has none. */
  organizationStatus: expression("organization.status", text),
});

/** Returns undefined if SCIM is disabled or there is no such provider. */
export const findScimAccess = (rows: Read, uid: string): Promise<ScimAccess | undefined> =>
  scimAccess.findOne(
    rows,
    `select ${scimAccess.list} from identity_providers as provider left join groups as organization on organization.uid = left(provider.uid, 40)
     where provider.uid = $1 and provider.scim_enabled`,
    [uid],
  );

export const findScim = (rows: Read, uid: string): Promise<ScimState | undefined> =>
  scim.findOne(rows, `select ${scim.list} from identity_providers where uid = $1`, [uid]);

export const lockScim = (rows: Write, uid: string): Promise<ScimState | undefined> =>
  scim.findOne(rows, `select ${scim.list} from identity_providers where uid = $1 for update`, [uid]);

/** A token as stored; times are RFC 3339. */
export interface ScimToken {
  readonly hash: string;
  readonly createTime: string;
  /** Null if it does not expire. */
  readonly expireTime: string | null;
  /** When the replaced token expires; null for immediately. */
  readonly previousExpireTime: string | null;
}

// Changed columns of the provider's row; the kernel writes them.

const nextVersion = ({ etag }: ScimState): Values => ({ scim_version: Number(etag) + 1 });

export const scimTokenColumns = (state: ScimState, { hash, createTime, expireTime, previousExpireTime }: ScimToken): Values => ({
  ...nextVersion(state),
  scim_previous_token_hash: previousExpireTime === null ? null : (state.tokenHash ?? null),
  scim_previous_token_expire_time: previousExpireTime,
  scim_token_hash: hash,
  scim_token_create_time: createTime,
  scim_token_expire_time: expireTime,
});

export const scimRevokedColumns = (state: ScimState): Values => ({
  ...nextVersion(state),
  scim_token_hash: null,
  scim_token_expire_time: null,
  scim_previous_token_hash: null,
  scim_previous_token_expire_time: null,
});

export const scimEnabledColumns = (state: ScimState, enabled: boolean): Values => ({ ...nextVersion(state), scim_enabled: enabled });
