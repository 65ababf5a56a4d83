// What gives an identity rights: its role bindings, and what a session adds by the mappings of a provider's groups.

import { columns, expression, nullableText, nullableTimeMs, text, textList, timeMs } from "./columns.ts";
import type { Read } from "./handle.ts";

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
}

/** An identity with all of its bindings. */
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
});

const boundText = `
  select ${boundRow.list}
  from (values (1)) as always
  left join access_versions as access on access.root = $1
  left join identities as identity on identity.uid = $2
  left join role_bindings as binding on binding.identity_uid = $2
  left join roles as role on role.uid = binding.role_uid
  left join groups as organization on organization.uid = left(binding.uid, 40)
  left join groups as home on home.uid = $1`;

/** The identity of this uid, whose root is `root`, in one statement. */
export const findBoundIdentity = async (rows: Read, root: string, uid: string): Promise<BoundIdentity> => {
  const found = await boundRow.find(rows, boundText, [root, uid]);
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

const sessionGrantsText = `
  select ${sessionGrant.list}
  from sessions as session
  join external_group_role_mappings as mapping
    on mapping.identity_provider_uid = session.identity_provider_uid and mapping.external_group_id = any(session.groups)
  join roles as role on role.uid = mapping.role_uid
  left join groups as organization on organization.uid = left(mapping.scope, 40)
  where session.id = $1 and session.identity_uid = $2`;

/** What this session of the identity gives, also where it is over. */
export const findSessionGrants = (rows: Read, session: string, identity: string): Promise<SessionGrantRow[]> =>
  sessionGrant.find(rows, sessionGrantsText, [session, identity]);

/** An organization in which an identity has rights. */
export interface OrganizationRights {
  readonly root: string;
  /** The bindings and mappings that give them. */
  readonly bindings: readonly string[];
}

const organizationRights = columns<OrganizationRights>({
  root: expression("ranked.root", text),
  bindings: expression("jsonb_agg(ranked.binding order by ranked.binding)", textList),
});

const organizationRightsText = `
  select ${organizationRights.list}
  from (
    select binding, root, row_number() over (partition by root order by binding) as rank
    from (
      select uid as binding, left(uid, 40) as root from role_bindings where identity_uid = $1 and (expire_time is null or expire_time > $2)
      union all
      select mapping.uid, left(mapping.scope, 40)
      from sessions as session
      join external_group_role_mappings as mapping
        on mapping.identity_provider_uid = session.identity_provider_uid and mapping.external_group_id = any(session.groups)
      where session.id = $3 and session.identity_uid = $1
    ) as each
  ) as ranked
  where ranked.rank <= $4
  group by ranked.root order by ranked.root limit $5`;

/**
 * Where an identity has rights, and what gives them.
 * @param now RFC 3339
 * @param session that adds to them; "" for none
 */
export const findOrganizationRights = (
  rows: Read,
  identity: string,
  now: string,
  session: string,
  { bindingsMax, organizationsMax }: { readonly bindingsMax: number; readonly organizationsMax: number },
): Promise<OrganizationRights[]> => organizationRights.find(rows, organizationRightsText, [identity, now, session, bindingsMax, organizationsMax]);
