// Database privileges of the server's role: only what the store's statements need (docs/decisions/0005). test/privileges.test.ts checks them.

import type pg from "pg";

export type Privilege = "select" | "insert" | "update" | "delete";

export const everythingWithRows: readonly Privilege[] = ["delete", "insert", "select", "update"];

const rowsCome: readonly Privilege[] = ["insert", "select"];
const rowsComeAndGo: readonly Privilege[] = ["delete", "insert", "select"];
const rowsComeAndChange: readonly Privilege[] = ["insert", "select", "update"];

/** Other tables allow everything. Locking a row counts as updating it. */
export const narrowPrivileges: Readonly<Record<string, readonly Privilege[]>> = {
  access_versions: rowsComeAndChange,
  advisory_documents: rowsComeAndChange,
  advisory_facets: rowsCome,
  advisory_numbers: rowsComeAndChange,
  audit_chains: rowsComeAndChange,
  // The server cannot change or delete audit entries.
  audit_entries: rowsCome,
  audit_progress: rowsComeAndChange,
  audit_retention: ["select"],
  audit_targets: rowsComeAndChange,
  aws_requests: rowsComeAndGo,
  blob_places: rowsComeAndChange,
  blob_removals: rowsComeAndGo,
  changed_vulnerabilities: rowsComeAndGo,
  changes_to_match: rowsComeAndGo,
  csaf_documents: rowsComeAndChange,
  deleted_rows: rowsComeAndGo,
  document_signing_keys: rowsCome,
  feed_reversals: rowsComeAndGo,
  feed_schedules: rowsComeAndChange,
  feeds: rowsComeAndChange,
  headless_sessions: rowsComeAndGo,
  // Deleted with their images.
  image_layers: rowsComeAndChange,
  layer_contents: rowsComeAndChange,
  library_artifacts: rowsComeAndChange,
  library_versions: rowsComeAndChange,
  manifest_blobs: rowsComeAndGo,
  manifest_children: rowsComeAndGo,
  manifests: rowsComeAndGo,
  membership_declines: rowsComeAndGo,
  memberships: rowsComeAndGo,
  package_labels: rowsComeAndGo,
  package_origins: rowsComeAndChange,
  provider_arrivals: rowsComeAndGo,
  record_successors: rowsComeAndGo,
  quotas: ["select"],
  restores: ["select"],
  revoked_grants: rowsComeAndGo,
  schema_migrations: ["select"],
  scim_members: rowsComeAndGo,
  sessions: rowsComeAndGo,
  terms_acceptances: rowsComeAndGo,
  unread_images: rowsComeAndGo,
  unread_images_changes: rowsComeAndGo,
  vex_statements: rowsComeAndGo,
  vex_verifications: rowsCome,
  vulnerability_cves: rowsComeAndGo,
};

/** SECURITY DEFINER functions of the baseline. */
export const ownerFunctions: readonly string[] = ["create_audit_month(text)", "drop_audit_month(text)", "refresh_import_statistics(text)"];

// Partitions are never accessed by name.
const wantedStatement = `
  select pg_class.oid, relname as name, relacl, case
    when relispartition then '{}'
    else coalesce((select array_agg(each) from jsonb_array_elements_text($1::jsonb -> relname) as each), $2::text[])
  end as wanted
  from pg_class
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and (relispartition or relname = any($3::text[]))`;

const wantedValues = (tables: readonly string[]) => [JSON.stringify(narrowPrivileges), everythingWithRows, tables];

const grantStatements = async (client: pg.Client, role: string, tables: readonly string[]): Promise<string[]> => {
  const { rows: other } = await client.query<{ name: string; wanted: string[] }>(
    `select oid::regclass::text as name, wanted from (${wantedStatement}) as each
     where array(
       select lower(privilege_type) from aclexplode(relacl) where grantee = (select oid from pg_roles where rolname = $4) order by 1
     ) <> array(select unnest(wanted) order by 1)`,
    [...wantedValues(tables), role],
  );
  const { rows } = await client.query<{ grantee: string; schema: string; uses: boolean; creates: boolean; lacked: string[] }>(
    `select quote_ident($1) as grantee, quote_ident(current_schema()) as schema,
       has_schema_privilege($1, current_schema(), 'usage') as uses, has_schema_privilege($1, current_schema(), 'create') as creates,
       array(select name from unnest($2::text[]) as name where not has_function_privilege($1, name, 'execute')) as lacked`,
    [role, ownerFunctions],
  );
  return rows.flatMap(({ grantee, schema, uses, creates, lacked }) => [
    ...(uses ? [] : [`grant usage on schema ${schema} to ${grantee}`]),
    // Databases created before PostgreSQL 15 let everyone create tables.
    ...(creates ? [`revoke create on schema ${schema} from public, ${grantee}`] : []),
    ...other.map(({ name }) => `revoke all on ${name} from ${grantee}`),
    ...other.filter(({ wanted }) => wanted.length > 0).map(({ name, wanted }) => `grant ${wanted.join(", ")} on ${name} to ${grantee}`),
    ...lacked.map((name) => `grant execute on function ${name} to ${grantee}`),
  ]);
};

/** Grants the role what it needs and revokes the rest. If nothing has to change, `lock` is not called. */
export const grantPrivileges = async (client: pg.Client, role: string, tables: readonly string[], lock: () => Promise<void>): Promise<void> => {
  if ((await grantStatements(client, role, tables)).length === 0) return;
  await lock();
  const statements = await grantStatements(client, role, tables);
  if (statements.length > 0) await client.query(`begin; ${statements.join("; ")}; commit`);
};

/** Returns what the connection's role lacks, as text: "insert on audit_entries". */
export const findLackingPrivileges = async (client: pg.Client, tables: readonly string[]): Promise<string[]> => {
  const { rows } = await client.query<{ lacked: string }>(
    `select privilege || ' on ' || name as lacked from (${wantedStatement}) as each, unnest(wanted) as privilege
     where not has_table_privilege(oid, privilege)
     union all
     select 'execute on ' || name from unnest($4::text[]) as name where not has_function_privilege(name, 'execute')
     order by 1`,
    [...wantedValues(tables), ownerFunctions],
  );
  return rows.map(({ lacked }) => lacked);
};
