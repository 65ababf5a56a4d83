// Identity providers as signing in needs them, and what they give.

import type { Read } from "./handle.ts";

/** What a provider's client secret is sealed for. */
export const clientSecretPurpose = "client secret";

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
  /** Sealed by the vault for clientSecretPurpose; undefined where PKCE does without one. */
  readonly clientSecretSealed: string | undefined;
}

const statement = `
  select uid, left(uid, -17), name, default_role, client_secret_sealed, oidc ->> 'issuer', oidc ->> 'clientId',
    coalesce(oidc ->> 'groupsClaim', ''), coalesce(oidc ->> 'correlationRule', ''), coalesce((oidc ->> 'pkceEnabled')::boolean, false),
    array_to_json(array(select jsonb_array_elements_text(oidc -> 'additionalScopes')))
  from identity_providers where uid = $1`;

/** The provider of this uid. */
export const findProvider = async (rows: Read, uid: string): Promise<Provider | undefined> => {
  const [row] = await rows.query(statement, [uid]);
  if (!row) return undefined;
  const [, parent, name, defaultRole, sealed, issuer, clientId, groupsClaim, correlationRule, pkce, scopes] = row.map((value) => value ?? "");
  const listed: unknown = JSON.parse(scopes || "[]");
  return {
    uid,
    parent: parent ?? "",
    name: name ?? "",
    defaultRole: defaultRole ?? "",
    oidc: {
      issuer: issuer ?? "",
      clientId: clientId ?? "",
      groupsClaim: groupsClaim ?? "",
      correlationRule: correlationRule ?? "",
      pkceEnabled: pkce === "t",
      additionalScopes: Array.isArray(listed) ? listed.map(String) : [],
    },
    clientSecretSealed: sealed || undefined,
  };
};

/** The roles that this provider's groups are mapped to, each once in each scope. */
export const findMappedRoles = async (rows: Read, provider: string): Promise<{ readonly role: string; readonly scope: string }[]> => {
  const found = await rows.query("select distinct role_uid, scope from external_group_role_mappings where identity_provider_uid = $1", [provider]);
  return found.map(([role, scope]) => ({ role: role ?? "", scope: scope ?? "" }));
};
