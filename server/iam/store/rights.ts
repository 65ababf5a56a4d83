// What gives an identity rights: its role bindings, and what a session adds by the mappings of a provider's groups.

import { columns, expression, flag, nullableText, nullableTimeMs, type Read, text, textList, timeMs } from "#db";

/** A role binding with what its role and its organization say. */
export interface BindingRow {
  readonly uid: string;
  readonly roleUid: string;
  /** The role's capabilities as its row has them: a JSON list of symbols. */
  readonly capabilities: string;
  /** Milliseconds since 1970; undefined: it never ends. */
  readonly expireTimeMs: number | undefined;
  /** "" where the organization is not there. */
  readonly organizationStatus: string;
  /** A user's who has not accepted membership in the organization: it grants nothing. */
  readonly isPending: boolean;
}

/** An identity with its bindings. */
export interface BoundIdentity {
  /** Of its root's access data; undefined: the root has none yet. */
  readonly version: string | undefined;
  /** False: there is no such identity, or nobody has signed in as it yet. */
  readonly exists: boolean;
  /** When it ends, in milliseconds since 1970; undefined: never. */
  readonly expireTimeMs: number | undefined;
  /** Of the organization that it lives in; "" for people, who live in none. */
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

// Of a user only what lies in organizations that the user has joined: a range of role_bindings_by_identity for each membership, so
// that pending bindings are not even read, however many there are (attack 263). "offset 0" keeps the planner from joining by the
// identity alone. Other identities live in the organization that binds them.
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
 * Returns the identity of this uid, whose root is `root`, in one statement.
 * @param withPending also bindings that grant nothing until the user accepts membership, for whoever asks why
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

/** What one mapping gives to whoever is in the provider's group. */
export interface MappingGrantRow {
  readonly mappingUid: string;
  /** The group where the role counts. */
  readonly scope: string;
  /** As in BindingRow. */
  readonly capabilities: string;
  readonly organizationStatus: string;
}

/** The same, by a session. */
export interface SessionGrantRow extends MappingGrantRow {
  /** When the session ends, in milliseconds since 1970. */
  readonly expireTimeMs: number;
}

const mappingColumns = {
  mappingUid: expression("mapping.uid", text),
  scope: expression("mapping.scope", text),
  capabilities: expression("role.capabilities", text),
  organizationStatus: expression("organization.status", text),
};
const mappingGrant = columns<MappingGrantRow>(mappingColumns);
const sessionGrant = columns<SessionGrantRow>({ ...mappingColumns, expireTimeMs: timeMs("session.expire_time") });

const mappingGrantsText = `
  select ${mappingGrant.list}
  from external_group_role_mappings as mapping
  join roles as role on role.uid = mapping.role_uid
  left join groups as organization on organization.uid = left(mapping.scope, 40)
  where mapping.uid = any($1)`;

/** What those of these mappings give that are there. */
export const findMappingGrants = (rows: Read, mappings: readonly string[]): Promise<MappingGrantRow[]> =>
  mappingGrant.find(rows, mappingGrantsText, [mappings]);

// A session of this id and identity with all groups that count: those of its sign-in, and those that the person is in by SCIM while that
// is on. Read once, whatever mappings the provider has.
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

/** What this session of the identity gives, also where it is over. */
export const findSessionGrants = (rows: Read, session: string, identity: string): Promise<SessionGrantRow[]> =>
  sessionGrant.find(rows, sessionGrantsText, [session, identity]);

/** An organization that a sign-in belongs to. */
export interface SignInOrganization {
  readonly root: string;
  /** True: the person has agreed to belong to it. */
  readonly isMember: boolean;
  /** The bindings and mappings that give rights there. */
  readonly bindings: readonly string[];
}

const signInOrganization = columns<SignInOrganization>({
  root: expression("told.root", text),
  isMember: expression("told.is_member", flag),
  bindings: expression("jsonb_agg(given.binding order by given.binding) filter (where given.binding is not null)", textList),
});

// Bound by what the identity has: its own bindings, memberships and sessions, by their indexes, and the identity providers
// of one issuer. Nothing of anybody else's is looked through.
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

/** What tells where a sign-in belongs. */
export interface SignInSource {
  readonly identity: string;
  /** RFC 3339. */
  readonly now: string;
  /** The session that adds to the identity's rights; "" for none. */
  readonly session: string;
  /** The organization whose identity provider was used; "" for none. */
  readonly providerRoot: string;
  /** The spellings of the presented token's issuer, and the audiences by which an identity provider of it is known. */
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
}

/**
 * The organizations that a sign-in belongs to, however many: those whose identity provider it came through or whose
 * provider's audience its token is for, and those where a person has rights and has agreed to belong. An organization that
 * has only bound the uid is none of them.
 * @param bindingsMax so many bindings are named of each
 */
export const findSignInOrganizations = (
  rows: Read,
  { identity, now, session, providerRoot, issuers, audiences }: SignInSource,
  bindingsMax: number,
): Promise<SignInOrganization[]> =>
  signInOrganization.find(rows, signInOrganizationsText, [identity, now, session, bindingsMax, providerRoot, issuers, audiences]);

const bindingUid = columns({ uid: text });

/** The bindings that give an assumable identity its rights at `now`, the first ones. */
export const findBindingUids = async (rows: Read, identity: string, now: string, bindingsMax: number): Promise<string[]> => {
  const statement = `select ${bindingUid.list} from role_bindings where identity_uid = $1 and (expire_time is null or expire_time > $2) order by uid limit $3`;
  return (await bindingUid.find(rows, statement, [identity, now, bindingsMax])).map(({ uid }) => uid);
};
