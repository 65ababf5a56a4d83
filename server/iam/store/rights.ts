// Reads permissions: role bindings, and a session's grants through group mappings.

import { columns, expression, flag, nullableText, nullableTimeMs, type Read, type RowOf, text, textList, timeMs } from "#db";

export interface BindingRow {
  readonly uid: string;
  readonly roleUid: string;
  /** JSON list of symbols. */
  readonly capabilities: string;
  /** Undefined if it never expires. */
  readonly expireTimeMs: number | undefined;
  /** "" if it does not exist. */
  readonly organizationStatus: string;
  /** Grants nothing until the user accepts membership. */
  readonly isPending: boolean;
}

export interface BoundIdentity {
  /** Undefined if the root has none yet. */
  readonly version: string | undefined;
  /** False if there is none or its user has not signed in yet. */
  readonly exists: boolean;
  /** Undefined if it never expires. */
  readonly expireTimeMs: number | undefined;
  /** "" for users. */
  readonly homeStatus: string;
  readonly bindings: readonly BindingRow[];
}

const boundRow = columns({
  version: expression("access.version", nullableText),
  identityUid: expression("identity.uid", nullableText),
  identityExpireTimeMs: nullableTimeMs("identity.expire_time"),
  homeStatus: expression("home.status", text),
  uid: expression("binding.uid", text),
  roleUid: expression("binding.role_uid", text),
  capabilities: expression("role.capabilities", text),
  expireTimeMs: nullableTimeMs("binding.expire_time"),
  organizationStatus: expression("organization.status", text),
  isPending: expression("binding.is_pending", flag),
});

const boundText = (bindings: string): string => `
  select ${boundRow.list}
  from (values (1)) as always
  left join access_versions as access on access.root = $1
  left join identities as identity on identity.uid = $2
  left join (${bindings}) as binding on true
  left join roles as role on role.uid = binding.role_uid
  left join groups as organization on organization.uid = left(binding.uid, 40)
  left join groups as home on home.uid = $1`;

// For a user, one range of role_bindings_by_identity for each membership. So pending bindings are not even read (attack 263). "offset 0"
// keeps the planner from joining by identity only.
const countingBindings = `
    select binding.uid, binding.role_uid, binding.expire_time, false as is_pending from role_bindings as binding
    where binding.identity_uid = $2 and length($2::text) > 40
    union all
    select binding.uid, binding.role_uid, binding.expire_time, false
    from memberships as membership cross join lateral (
      select uid, role_uid, expire_time from role_bindings
      where identity_uid = $2 and uid > membership.organization_uid || '/' and uid < membership.organization_uid || '0' offset 0
    ) as binding
    where membership.identity_uid = $2`;

const everyBinding = `
    select binding.uid, binding.role_uid, binding.expire_time, length($2::text) = 40 and not exists (
      select from memberships where identity_uid = $2 and organization_uid = left(binding.uid, 40)) as is_pending
    from role_bindings as binding where binding.identity_uid = $2`;

const [countingText, everyText] = [boundText(countingBindings), boundText(everyBinding)];

/**
 * Returns an identity with its bindings.
 * @param withPending includes bindings that grant nothing, for explanations
 */
export const findBoundIdentity = async (rows: Read, root: string, uid: string, withPending = false): Promise<BoundIdentity> => {
  const found = await boundRow.find(rows, withPending ? everyText : countingText, [root, uid]);
  const [first] = found;
  return {
    version: first?.version,
    exists: first?.identityUid !== undefined,
    expireTimeMs: first?.identityExpireTimeMs,
    homeStatus: first?.homeStatus ?? "",
    bindings: found.filter((binding) => binding.uid !== "" && binding.roleUid !== "" && binding.capabilities !== ""),
  };
};

export interface MappingGrantRow {
  readonly mappingUid: string;
  readonly scope: string;
  readonly capabilities: string;
  readonly organizationStatus: string;
}

export type SessionGrantRow = RowOf<typeof sessionGrant>;

const mappingColumns = {
  mappingUid: expression("mapping.uid", text),
  scope: expression("mapping.scope", text),
  capabilities: expression("role.capabilities", text),
  organizationStatus: expression("organization.status", text),
};
const mappingGrant = columns<MappingGrantRow>(mappingColumns);
const sessionGrant = columns({ ...mappingColumns, expireTimeMs: timeMs("session.expire_time") });

const mappingGrantsText = `
  select ${mappingGrant.list}
  from external_group_role_mappings as mapping
  join roles as role on role.uid = mapping.role_uid
  left join groups as organization on organization.uid = left(mapping.scope, 40)
  where mapping.uid = any($1)`;

export const findMappingGrants = (rows: Read, mappings: readonly string[]): Promise<MappingGrantRow[]> =>
  mappingGrant.find(rows, mappingGrantsText, [mappings]);

// The groups of its sign-in and, if SCIM is enabled, of the SCIM user. Read once for any number of mappings.
const groupedSession = (session: string, identity: string): string => `
    select held.identity_provider_uid, held.expire_time, held.groups || array(
      select scim_group.mapped_as
      from scim_users as announced
      join identity_providers as provider on provider.uid = announced.identity_provider_uid and provider.scim_enabled
      join scim_members as member on member.user_uid = announced.uid
      join scim_groups as scim_group on scim_group.uid = member.group_uid
      where announced.identity_uid = held.identity_uid and announced.identity_provider_uid = held.identity_provider_uid and announced.active
    ) as groups
    from sessions as held where held.id = ${session} and held.identity_uid = ${identity}`;

const sessionGrantsText = `
  with session as materialized (${groupedSession("$1", "$2")})
  select ${sessionGrant.list}
  from session
  join external_group_role_mappings as mapping
    on mapping.identity_provider_uid = session.identity_provider_uid and mapping.external_group_id = any(session.groups)
  join roles as role on role.uid = mapping.role_uid
  left join groups as organization on organization.uid = left(mapping.scope, 40)`;

/** Returns the grants even if the session has expired. */
export const findSessionGrants = (rows: Read, session: string, identity: string): Promise<SessionGrantRow[]> =>
  sessionGrant.find(rows, sessionGrantsText, [session, identity]);

export type SignInOrganization = RowOf<typeof signInOrganization>;

const signInOrganization = columns({
  root: expression("told.root", text),
  isMember: expression("told.is_member", flag),
  bindings: expression("jsonb_agg(given.binding order by given.binding) filter (where given.binding is not null)", textList),
});

// Reads only the identity's bindings, memberships and sessions, and providers of one issuer.
const signInOrganizationsText = `
  with session as materialized (${groupedSession("$3", "$1")}),
  member as materialized (
    select organization_uid as root from memberships where identity_uid = $1
  ), given as materialized (
    select binding, root, row_number() over (partition by root order by binding) as rank
    from (
      select binding.uid as binding, member.root from member cross join lateral (
        select uid from role_bindings
        where identity_uid = $1 and uid > member.root || '/' and uid < member.root || '0' and (expire_time is null or expire_time > $2) offset 0
      ) as binding
      union all
      select mapping.uid, left(mapping.scope, 40)
      from session
      join external_group_role_mappings as mapping
        on mapping.identity_provider_uid = session.identity_provider_uid and mapping.external_group_id = any(session.groups)
    ) as each
  ), named as (
    select $5 as root where $5 <> ''
    union
    select left(uid, 40) from identity_providers where oidc ->> 'issuer' = any($6) and oidc ->> 'clientId' = any($7)
  ), told as (
    select root, true as is_member from member where root in (select root from given)
    union
    select root, root in (select root from member) from named
  )
  select ${signInOrganization.list}
  from told left join given on given.root = told.root and given.rank <= $4
  group by told.root, told.is_member order by told.root`;

export interface SignInSource {
  readonly identity: string;
  readonly now: string;
  /** "" if there is none. */
  readonly session: string;
  /** "" if there is none. */
  readonly providerRoot: string;
  /** Of the token. */
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
}

/**
 * Returns the organizations of the identity provider, those with a provider for the token's audience, and those where the user is a
 * member with permissions.
 */
export const findSignInOrganizations = (
  rows: Read,
  { identity, now, session, providerRoot, issuers, audiences }: SignInSource,
  bindingsMax: number,
): Promise<SignInOrganization[]> =>
  signInOrganization.find(rows, signInOrganizationsText, [identity, now, session, bindingsMax, providerRoot, issuers, audiences]);

const bindingUid = columns({ uid: text });

export const findBindingUids = async (rows: Read, identity: string, now: string, bindingsMax: number): Promise<string[]> => {
  const statement = `select ${bindingUid.list} from role_bindings where identity_uid = $1 and (expire_time is null or expire_time > $2) order by uid limit $3`;
  return (await bindingUid.find(rows, statement, [identity, now, bindingsMax])).map(({ uid }) => uid);
};
