// Creates rows in bulk inside PostgreSQL. They are vacuumed, analyzed and checkpointed before the measurement.

import pg from "pg";
import type { DatabaseAddress } from "./load.ts";

const images = `
  adminer alpine apisix argocd aspnet-runtime aws-cli bash bazel busybox caddy calico-node cassandra cert-manager-controller cilium-agent clickhouse
  cluster-autoscaler consul coredns crane curl dex dotnet-sdk elasticsearch envoy etcd external-dns fluent-bit flux-source-controller gitlab-runner
  go grafana haproxy helm influxdb istio-proxy jdk jenkins jre k3s kafka keycloak kube-state-metrics kubectl kyverno loki mariadb memcached
  metrics-server minio mongodb mysql nats nginx node opensearch opentelemetry-collector php postgres prometheus python rabbitmq redis ruby rust
  spire-server squid-proxy tekton-pipelines tempo terraform thanos tomcat traefik trivy valkey vault velero wolfi-base zot
`
  .trim()
  .split(/\s+/);

/** Opens a connection without a statement timeout. */
export const withClient = async <T>(database: DatabaseAddress, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ ...database, ssl: false });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** The last segment of a row's uid: pseudorandom, and the same in every run. */
const segment = (salt: string): string => `substr(md5('${salt}' || n), 1, 16)`;

const imageName = `(array[${images.map((name) => `'${name}'`).join(", ")}])[1 + ((n::bigint * 7919) % ${images.length})::int]
  || (array['', '-fips', '-dev', '-slim', '-iamguarded'])[1 + (n * 31) % 5]`;

/** Creation time of row `n`: spread over a year, independent of the uid order. */
const madeTime = "timestamptz '2025-11-20 00:00:00Z' + ((n::bigint * 2654435761) % 31536000000) * interval '1 millisecond'";

/** Loads rows without indexes and recreates them afterwards: a million rows in a tenth of the time. */
export const withoutIndexes = async (client: pg.Client, table: string, load: () => Promise<void>): Promise<void> => {
  const { rows } = await client.query<{ drop: string; make: string }>(
    `select case when con.oid is null then 'drop index ' || index.indexrelid::regclass
         else 'alter table ' || index.indrelid::regclass || ' drop constraint ' || con.conname end as drop,
       case when con.oid is null then pg_get_indexdef(index.indexrelid)
         else 'alter table ' || index.indrelid::regclass || ' add constraint ' || con.conname || ' ' || pg_get_constraintdef(con.oid) end as make
     from pg_index as index left join pg_constraint as con on con.conindid = index.indexrelid and con.contype in ('p', 'u')
     where index.indrelid = $1::regclass`,
    [table],
  );
  for (const { drop } of rows) await client.query(drop);
  await load();
  await client.query("set maintenance_work_mem = '256MB'");
  // PostgreSQL defines the index of a partitioned table without those of its partitions.
  for (const { make } of rows) await client.query(make.replace(" ON ONLY ", " ON "));
};

/** Creates `count` copies of a subscription, each with its own secret. `sealFor` seals one for a uid. */
export const fillSubscriptions = async (client: pg.Client, subscription: string, count: number, sealFor: (uid: string) => string): Promise<void> => {
  const uids = Array.from({ length: count }, (_, index) => `${subscription.slice(0, -16)}${(index + 1).toString(16).padStart(16, "0")}`);
  await client.query(
    `insert into subscriptions (uid, sink, creator, secret_sealed, create_time, update_time)
     select copy.uid, sink, creator, copy.sealed, create_time, update_time
     from subscriptions as one, unnest($2::text[], $3::text[]) as copy(uid, sealed) where one.uid = $1`,
    [subscription, uids, uids.map(sealFor)],
  );
};

/** Deletes all other subscriptions of the organization, and their deliveries. */
export const clearSubscriptions = async (client: pg.Client, subscription: string): Promise<void> => {
  const root = subscription.slice(0, 40);
  await client.query("delete from subscriptions where left(uid, 40) = $1 and uid <> $2", [root, subscription]);
  await client.query("delete from fan_outs where left(uid, 40) = $1", [root]);
  await client.query("delete from deliveries where left(uid, 40) = $1", [root]);
};

export const fillRepos = async (client: pg.Client, parent: string, count: number, salt = parent): Promise<void> => {
  await client.query(
    `insert into repos (uid, name, description, catalog_tier, bundles, active_tags, create_time, update_time)
     select $1::text || '/' || ${segment(salt)},
       ${imageName} || '-' || n,
       case when n % 3 = 0 then '' else 'Minimal image of ' || (${imageName}) || ', rebuilt every night and signed' end,
       (array['CATALOG_TIER_APPLICATION', 'CATALOG_TIER_BASE', 'CATALOG_TIER_FIPS', null])[1 + n % 4],
       case when n % 2 = 0 then '["base","featured"]'::jsonb else '["application"]'::jsonb end,
       '["latest","latest-dev"]'::jsonb,
       ${madeTime}, ${madeTime} + (n % 90) * interval '1 day'
     from generate_series(1, $2::int) as n`,
    [parent, count],
  );
};

/** Creates `each` repositories in each of `parents` groups; the groups themselves are not created. */
export const spreadRepos = async (client: pg.Client, root: string, parents: number, each: number): Promise<void> => {
  await client.query(
    `insert into repos (uid, name, create_time, update_time)
     select $1::text || '/' || lpad(to_hex(parent), 16, '0') || '/' || lpad(to_hex(n), 16, '0'), 'repo-' || n, ${madeTime}, ${madeTime}
     from generate_series(1, $2::int) as parent, generate_series(1, $3::int) as n`,
    [root, parents, each],
  );
};

export const fillTags = async (client: pg.Client, repo: string, count: number): Promise<void> => {
  await client.query(
    `insert into tags (uid, name, digest, bundles, create_time, update_time)
     select $1::text || '/' || ${segment(repo)},
       case n % 10 when 0 then 'sha256-' || md5('referrer' || n) || '.sig' when 1 then '1.' || n || '-2026' || lpad((n % 1231)::text, 4, '0')
         when 2 then '1.' || n || '-r' || n % 7 else '1.' || n end,
       'sha256:' || encode(sha256(($1::text || n / 3)::bytea), 'hex'), '[]'::jsonb, ${madeTime}, ${madeTime}
     from generate_series(1, $2::int) as n`,
    [repo, count],
  );
};

export const fillGroups = async (client: pg.Client, parent: string, count: number): Promise<void> => {
  await client.query(
    `insert into groups (uid, name, create_time, update_time)
     select $1::text || '/' || ${segment("group")}, 'team ' || n, ${madeTime}, ${madeTime} from generate_series(1, $2::int) as n`,
    [parent, count],
  );
};

export const fillIdentities = async (client: pg.Client, parent: string, count: number): Promise<void> => {
  await client.query(
    `insert into identities (uid, name, relationship_type, claim_match, issuer, subject, create_time, update_time)
     select $1::text || '/' || ${segment("identity")}, 'workload ' || n, 'RELATIONSHIP_TYPE_CLAIM_MATCH',
       jsonb_build_object('issuer', 'https://issuer.example.com', 'subject', 'workload-' || n), 'https://issuer.example.com', 'workload-' || n,
       ${madeTime}, ${madeTime}
     from generate_series(1, $2::int) as n`,
    [parent, count],
  );
};

/** Binds each identity at the organization, and some of them again below. */
export const fillBindings = async (client: pg.Client, organization: string, role: string, count: number): Promise<void> => {
  await client.query(
    `insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time)
     select $1::text || '/' || ${segment("binding")}, $1::text || '/' || ${segment("identity")}, $2, ${madeTime}, ${madeTime}
     from generate_series(1, $3::int) as n`,
    [organization, role, count],
  );
};

const countedTables = ["groups", "identities", "repos", "role_bindings", "subscriptions"];

/** Recounts rows inserted without triggers. */
export const recountRows = async (client: pg.Client): Promise<void> => {
  const rows = countedTables.map((table) => `select '${table}' as resource, uid from ${table} where length(uid) > 40`).join(" union all ");
  await client.query("delete from resource_counts where resource = any($1)", [countedTables]);
  await client.query("delete from place_counts where resource = any($1)", [countedTables]);
  await client.query(
    `insert into resource_counts (organization, resource, slot, row_count) select left(uid, 40), resource, 0, count(*) from (${rows}) as planted group by 1, 2`,
  );
  // Counts as the triggers of place_counts do.
  await client.query(
    `insert into place_counts (place, resource, slot, children, below)
     select left(uid, size), resource, 0, count(*) filter (where size = length(uid) - 17), count(*) filter (where size > 40)
     from (${rows}) as planted, generate_series(case length(uid) when 57 then 40 else 57 end, length(uid) - 17, 17) as size group by 1, 2`,
  );
};

/** Updates planner statistics and the visibility map, and flushes to disk. */
export const vacuumTables = async (client: pg.Client, ...tables: string[]): Promise<void> => {
  for (const table of tables) await client.query(`vacuum (analyze, freeze) ${table}`);
  await client.query("checkpoint");
};

/** Returns a pseudorandom number from 0 to 1 for row `n`; factors give independent ones. */
const spread = (factor: number): string => `(((n::bigint * ${factor}) % 1000003)::float8 / 1000003)`;

/** Returns a skewed index: low ones are far more frequent, as with real packages and vulnerabilities. */
const skewed = (factor: number, of: number): string => `floor(${of} * power(${spread(factor)}, 3))::int`;

/** Creates facets of 300 kinds; `k` is the kind, common ones first. */
const fillFacets = (client: pg.Client): Promise<unknown> =>
  client.query(
    `insert into advisory_facets (digest, artifact_type, artifact_architecture, component_type, latest_event_type,
       event_types, event_review_states, event_authors, event_reviewers)
     select 'bench ' || k,
       case when k % 10 = 9 then 'image' else 'apk' end,
       (array['', 'x86_64', 'aarch64'])[1 + k % 3],
       (array['go-module', 'npm', 'python', 'apk', 'java-archive', ''])[1 + k % 6],
       latest,
       case when k % 4 = 3 then array[latest] else array['EVENT_TYPE_FILTER_DETECTION', latest] end,
       case when k % 12 = 11 then array['REVIEW_STATE_APPROVED', 'REVIEW_STATE_PENDING'] else array['REVIEW_STATE_APPROVED'] end,
       array['feed'] || case when k = 299 then array['visitor@example.com'] when k % 5 = 0 then array['analyst@example.com'] else array[]::text[] end,
       case when k % 8 = 5 then array['lead@example.com'] else array[]::text[] end
     from generate_series(0, 299) as k, lateral (select (array['EVENT_TYPE_FILTER_FIXED', 'EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION',
       'EVENT_TYPE_FILTER_FIXED', 'EVENT_TYPE_FILTER_PENDING_UPSTREAM_FIX', 'EVENT_TYPE_FILTER_FIXED', 'EVENT_TYPE_FILTER_FIX_NOT_PLANNED',
       'EVENT_TYPE_FILTER_TRUE_POSITIVE_DETERMINATION'])[1 + k % 7] as latest) as of_kind`,
  );

/**
 * Creates advisories of 3,000 packages, eight per origin, and about 60,000 vulnerabilities, half of them known. With `groups`,
 * every second one is in one of them.
 */
export const fillAdvisories = async (client: pg.Client, parent: string, count: number, groups = 0): Promise<void> => {
  await fillFacets(client);
  await client.query(
    "insert into package_origins (name, origin, feed) select 'package-' || n, 'package-' || n / 8 * 8, 'bench' from generate_series(0, 2999) as n",
  );
  await client.query(
    `insert into vulnerabilities (owner, id, state, summary, details, links, severities, aliases, hidden, feed, digest, create_time, update_time)
     select '', 'CVE-2025-' || 10000 + n, 'PUBLISHED', 'a vulnerability', '', '[]',
       '[{"type":"TYPE_CVSS_V3","score":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H"}]', '[]', false, 'bench', '', now(), now()
     from generate_series(0, 59999, 2) as n`,
  );
  await withoutIndexes(client, "advisories", async () => {
    await client.query(
      `insert into advisories (uid, advisory_id, create_time, update_time, delete_time, author, artifact_name, artifact_type, artifact_architecture,
         component_name, component_location, component_type, aliases, events, legacy_advisory_id, origin, namespace, facet, search, public, feed, digest)
       select own, 'CGA-' || substr(salted, 17, 4) || '-' || substr(salted, 21, 4) || '-' || substr(salted, 25, 4), made, made + n % 90 * interval '1 day',
         case when n % 50 = 7 then timestamptz '2026-11-20 00:00:00Z' end, 'feed', artifact, type, architecture,
         component, '/usr/lib/' || component || '/' || n % 7, component_type, aliases::jsonb,
         ('[{"uid":"' || own || '/00112233445566aa","createTime":"2026-01-02T03:04:05.000Z","author":"feed","reviewState":"REVIEW_STATE_APPROVED",'
           || '"detection":{"nvdapi":{"cpeSearched":"cpe:2.3:a:*:' || artifact || ':*:*:*:*:*:*:*:*",'
           || '"cpeFound":"cpe:2.3:a:' || component || ':' || component || ':*:*:*:*:*:*:*:*"}}},{"uid":"' || own
           || '/00112233445566bb","createTime":"2026-02-03T04:05:06.000Z","author":"feed","reviewState":"REVIEW_STATE_APPROVED",'
           || '"fixed":{"fixedVersion":"1.' || n % 40 || '.2-r0"}}]')::jsonb,
         case when n % 3 = 0 then 'LEGACY-' || n else '' end, artifact, 'wolfi', facet,
         lower(artifact || E'\n' || component || E'\n' || cve || E'\nghsa-' || substr(salted, 1, 14)), false, 'bench', ''
       from (
         select n, $1::text || case when $3::int > 0 and n % 2 = 0 then '/' || lpad(to_hex(n / 2 % $3), 16, '0') else '' end
             || '/' || ${segment("advisory")} as own, md5('more' || n) as salted, ${madeTime} as made,
           'package-' || ${skewed(7919, 3000)} as artifact,
           (array['golang.org/x/', 'lib', 'openssl-', 'node-', 'python-', 'log'])[1 + n % 6] || 'component-' || ${skewed(104729, 5000)} as component,
           'CVE-2025-' || 10000 + ${skewed(15485863, 60_000)} as cve, floor(300 * power(${spread(611953)}, 2))::int as kind
         from generate_series(1, $2::int) as n offset 0) as drawn
       join (select id::text as facet, substr(digest, 7)::int as kind, artifact_type as type, artifact_architecture as architecture, component_type
         from advisory_facets where digest like 'bench %') as facets using (kind),
       lateral (select '["' || cve || '","GHSA-' || substr(salted, 1, 14) || '"]' as aliases) as named`,
      [parent, count, groups],
    );
  });
};

const auditMonths = 13;

/**
 * Creates audit entries in time order over all retained months: a third at `branch`, a thousandth at `narrow` if given, the rest
 * at the organization; 500 callers of very different activity; one in a hundred denied.
 */
export const fillAudit = async (
  client: pg.Client,
  organization: string,
  count: number,
  { branch = organization, narrow = organization } = {},
): Promise<void> => {
  for (let month = 0; month < auditMonths; month++) {
    const [from, to] = [month, month + 1].map((step) => new Date(Date.UTC(2025, 10 + step, 1)).toISOString());
    const name = `audit_entries_${from?.slice(0, 7).replace("-", "_")}`;
    await client.query(`create table if not exists ${name} partition of audit_entries for values from ('${from}') to ('${to}')`);
  }
  await withoutIndexes(client, "audit_entries", () =>
    client
      .query(
        `insert into audit_entries (uid, sequence, create_time, seal_time, caller_uid, act, operation, subject, type,
         code, count, binding_uids, remote_address, user_agent, request_id, event_id, hash)
       select group_uid || '/' || lpad(to_hex(n), 16, '0'), n, time, time, $1::text || '/' || substr(md5('caller' || ${skewed(7919, 500)}), 1, 16),
         '{"iss":"https://issuer.example.com","sub":"workload"}',
         'chainguard.platform.' || (array['registry.v2.TagsService/CreateTag', 'registry.v2.ReposService/CreateRepo',
           'registry.v2.ReposService/UpdateRepo', 'iam.v2.RoleBindingsService/CreateRoleBinding'])[1 + n % 4],
         group_uid || '/' || ${segment("subject")}, 'dev.chainguard.api.platform.registry.tag.created.v1',
         case when n % 100 = 7 then 'PERMISSION_DENIED' else 'OK' end, 1,
         jsonb_build_array($1::text || '/' || ${segment("binding")}), '203.0.113.' || n % 250, 'bench/1.0', ${segment("request")},
         gen_random_uuid()::text, encode(sha256(n::text::bytea), 'hex')
       from (
         select n, timestamptz '2025-11-01 00:00:00Z' + n * interval '1 millisecond' * (${auditMonths} * 30::bigint * 86400000 / $2::int) as time,
           case when n % 3 = 0 then $3::text when n % 1000 = 1 then $4::text else $1::text end as group_uid
         from generate_series(1, $2::int) as n) as made`,
        [organization, count, branch, narrow],
      )
      .then(() => {}),
  );
};

/**
 * Creates events with deliveries in time order over three months (beyond the retention): a third at `branch`, a thousandth at
 * `narrow`, the rest at the organization; one in ten without a delivery.
 */
export const fillEvents = async (
  client: pg.Client,
  organization: string,
  count: number,
  { branch = organization, narrow = organization } = {},
): Promise<void> => {
  await withoutIndexes(client, "outbox", () =>
    client
      .query(
        `insert into outbox (event_id, uid, position, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time)
       select gen_random_uuid(), case when n % 10 <> 9 then group_uid || '/' || lpad(to_hex(n), 16, '0') end, n,
         'dev.chainguard.api.platform.registry.' || (array['tag.created', 'tag.created', 'tag.deleted', 'repo.updated'])[1 + ${skewed(7919, 4)}::int] || '.v1',
         'https://gantry.example.com/registry/v2/tags', group_uid || '/' || ${segment("subject")}, group_uid,
         case when n % 10 <> 9 then 'customer' else 'internal' end,
         jsonb_build_object('group', group_uid), 'chainguard.platform.registry.v2.Tag', '{"body":{"name":"' || n || '"}}', ${segment("request")}, time
       from (
         select n, timestamptz '2026-08-01 00:00:00Z' + n * interval '1 millisecond' * (90 * 86400000::bigint / $2::int) as time,
           case when n % 3 = 0 then $3::text when n % 1000 = 1 then $4::text else $1::text end as group_uid
         from generate_series(1, $2::int) as n) as made`,
        [organization, count, branch, narrow],
      )
      .then(() => {}),
  );
};

/** Creates deletions of direct children over thirty days: mostly tags, one in a hundred a repository. */
export const fillDeletions = async (client: pg.Client, place: string, count: number): Promise<void> => {
  await client.query(
    `insert into deletions (uid, parent_uid, resource_type, resource_uid, resource_name, create_time, update_time, expire_time, row_count, tables)
     select $1::text || '/' || ${segment("deletion")}, $1::text,
       'chainguard.platform.registry.v2.' || case when n % 100 = 0 then 'Repo' else 'Tag' end, $1::text || '/' || ${segment("deleted")}, 'name-' || n,
       time, time, time + interval '30 days', 1, '[]'
     from (
       select n, timestamptz '2026-11-01 00:00:00Z' + n * interval '1 second' * (30 * 86400.0 / $2::int) as time
       from generate_series(1, $2::int) as n) as made`,
    [place, count],
  );
};

/** Creates deliveries of a subscription: most succeeded, one in a thousand is dead, a few await a retry. */
export const fillDeliveries = async (client: pg.Client, subscription: string, count: number): Promise<void> => {
  await client.query(
    `insert into deliveries (uid, subscription_uid, event_id, type, subject, state, attempts, status_class, latency_ms,
       next_attempt_time, create_time, update_time)
     select $1::text || '/' || lpad(to_hex(n), 16, '0'), $1::text, gen_random_uuid(), 'dev.chainguard.api.platform.registry.tag.created.v1',
       left($1, 40) || '/' || ${segment("subject")},
       'DELIVERY_STATE_' || became, 1, case when became = 'DELIVERED' then '2xx' else '5xx' end, 10,
       case when became = 'PENDING' then time + interval '1 hour' end, time, time + n % 7 * interval '1 minute'
     from (
       select n, timestamptz '2026-11-01 00:00:00Z' + n * interval '1 millisecond' as time,
         case when n % 1000 = 7 then 'DEAD' when n % 5000 = 1 then 'PENDING' else 'DELIVERED' end as became
       from generate_series(1, $2::int) as n) as made`,
    [subscription, count],
  );
};

const itemsOfRequest = 2_000;

/**
 * Creates `count` items of request groups at `parent`: 30,000 libraries of skewed popularity in about twenty versions each. One
 * request in ten is a draft, one item in fifty was removed.
 */
export const fillRequests = async (client: pg.Client, parent: string, count: number): Promise<void> => {
  await client.query(
    `insert into request_groups (uid, parent_id, name, status, ecosystem, source, for_cve_remediation, submit_time, create_time, update_time,
       items_update_time, created_by, submitted_by, input, availability_summary, org_upstream_enabled)
     select $1::text || '/' || ${segment("request")}, $1, 'request ' || n, 'REQUEST_GROUP_STATUS_PROCESSING', 'ECOSYSTEM_PYTHON', 'REQUEST_SOURCE_API', false,
       case when n % 10 <> 9 then ${madeTime} end, ${madeTime}, ${madeTime}, ${madeTime}, $1, $1, '{}', '{}', false
     from generate_series(1, $2::int) as n`,
    [parent, Math.ceil(count / itemsOfRequest)],
  );
  await client.query(
    `insert into request_group_items (uid, requirement, package_name, version, ecosystem, sort_key, availability, availability_reason, closest_version,
       latest_version, removed, create_time, update_time)
     select request.uid || '/' || lpad(to_hex(item), 16, '0'), 'library==1', 'library-' || ${skewed(7919, 30_000)}, '1.' || n % 7 || '.' || n % 3,
       case when n % 4 = 0 then 'ECOSYSTEM_JAVA' else 'ECOSYSTEM_PYTHON' end, '1',
       'AVAILABILITY_' || case when n % 100 = 99 then 'INVALID_REQUIREMENT' when n % 3 = 0 then 'BUILT' else 'CAN_BE_REQUESTED' end, '', '', '', n % 50 = 7,
       request.create_time, request.create_time
     from (select uid, create_time, row_number() over (order by uid) as place from request_groups where left(uid, -17) = $1) as request,
       generate_series(1, ${itemsOfRequest}) as item, lateral (select (place * ${itemsOfRequest} + item) * 31 as n) as numbered`,
    [parent],
  );
};
