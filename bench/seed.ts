// Rows by the hundred thousand, made inside PostgreSQL. What is measured of them is the same for both sides: they
// are vacuumed and analyzed, and the write-ahead log is written out, before anybody looks.

import pg from "pg";
import type { Place } from "./load.ts";

const images = [
  "adminer", "alpine", "apisix", "argocd", "aspnet-runtime", "aws-cli", "bash", "bazel", "busybox", "caddy", "calico-node", "cassandra",
  "cert-manager-controller", "cilium-agent", "clickhouse", "cluster-autoscaler", "consul", "coredns", "crane", "curl", "dex", "dotnet-sdk",
  "elasticsearch", "envoy", "etcd", "external-dns", "fluent-bit", "flux-source-controller", "gitlab-runner", "go", "grafana", "haproxy",
  "helm", "influxdb", "istio-proxy", "jdk", "jenkins", "jre", "k3s", "kafka", "keycloak", "kube-state-metrics", "kubectl", "kyverno", "loki",
  "mariadb", "memcached", "metrics-server", "minio", "mongodb", "mysql", "nats", "nginx", "node", "opensearch", "opentelemetry-collector",
  "php", "postgres", "prometheus", "python", "rabbitmq", "redis", "ruby", "rust", "spire-server", "squid-proxy", "tekton-pipelines", "tempo",
  "terraform", "thanos", "tomcat", "traefik", "trivy", "valkey", "vault", "velero", "wolfi-base", "zot",
];

/** A connection whose statements may take as long as they take; the server's own may not. */
export const withClient = async <T>(place: Place, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ ...place, ssl: false });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** The last segment of a row's uid: random to look at, the same in every run. */
const segment = (salt: string): string => `substr(md5('${salt}' || n), 1, 16)`;

const named = `(array[${images.map((name) => `'${name}'`).join(", ")}])[1 + ((n::bigint * 7919) % ${images.length})::int]
  || (array['', '-fips', '-dev', '-slim', '-iamguarded'])[1 + (n * 31) % 5]`;

/** When row `n` of them was made: spread over a year and in no order of uids. */
const made = "timestamptz '2025-11-20 00:00:00Z' + ((n::bigint * 2654435761) % 31536000000) * interval '1 millisecond'";

/** Loads rows first and makes the indexes afterwards: a million rows in a tenth of the time. */
export const withoutIndexes = async (client: pg.Client, table: string, load: () => Promise<void>): Promise<void> => {
  const { rows } = await client.query<{ drop: string; make: string }>(
    `select case when con.oid is null then 'drop index ' || index.indexrelid::regclass
         else 'alter table ' || index.indrelid::regclass || ' drop constraint ' || con.conname end as drop,
       case when con.oid is null then pg_get_indexdef(index.indexrelid)
         else 'alter table ' || index.indrelid::regclass || ' add constraint ' || con.conname || ' ' || pg_get_constraintdef(con.oid) end as make
     from pg_index as index left join pg_constraint as con on con.conindid = index.indexrelid and con.contype = 'p'
     where index.indrelid = $1::regclass`,
    [table],
  );
  for (const { drop } of rows) await client.query(drop);
  await load();
  await client.query("set maintenance_work_mem = '256MB'");
  for (const { make } of rows) await client.query(make);
};

export const fillRepos = async (client: pg.Client, parent: string, count: number, salt = parent): Promise<void> => {
  await client.query(
    `insert into repos (uid, name, description, catalog_tier, bundles, active_tags, create_time, update_time)
     select $1::text || '/' || ${segment(salt)},
       ${named} || '-' || n,
       case when n % 3 = 0 then '' else 'Minimal image of ' || (${named}) || ', rebuilt every night and signed' end,
       (array['CATALOG_TIER_APPLICATION', 'CATALOG_TIER_BASE', 'CATALOG_TIER_FIPS', null])[1 + n % 4],
       case when n % 2 = 0 then '["base","featured"]'::jsonb else '["application"]'::jsonb end,
       '["latest","latest-dev"]'::jsonb,
       ${made}, ${made} + (n % 90) * interval '1 day'
     from generate_series(1, $2::int) as n`,
    [parent, count],
  );
};

export const fillTags = async (client: pg.Client, repo: string, count: number): Promise<void> => {
  await client.query(
    `insert into tags (uid, name, digest, bundles, create_time, update_time)
     select $1::text || '/' || ${segment(repo)},
       case n % 10 when 0 then 'sha256-' || md5('referrer' || n) || '.sig' when 1 then '1.' || n || '-2026' || lpad((n % 1231)::text, 4, '0')
         when 2 then '1.' || n || '-r' || n % 7 else '1.' || n end,
       'sha256:' || encode(sha256(($1::text || n / 3)::bytea), 'hex'), '[]'::jsonb, ${made}, ${made}
     from generate_series(1, $2::int) as n`,
    [repo, count],
  );
};

export const fillGroups = async (client: pg.Client, parent: string, count: number): Promise<void> => {
  await client.query(
    `insert into groups (uid, name, create_time, update_time)
     select $1::text || '/' || ${segment("group")}, 'team ' || n, ${made}, ${made} from generate_series(1, $2::int) as n`,
    [parent, count],
  );
};

export const fillIdentities = async (client: pg.Client, parent: string, count: number): Promise<void> => {
  await client.query(
    `insert into identities (uid, name, relationship_type, claim_match, issuer, subject, create_time, update_time)
     select $1::text || '/' || ${segment("identity")}, 'workload ' || n, 'RELATIONSHIP_TYPE_CLAIM_MATCH',
       jsonb_build_object('issuer', 'https://issuer.example.com', 'subject', 'workload-' || n), 'https://issuer.example.com', 'workload-' || n, ${made}, ${made}
     from generate_series(1, $2::int) as n`,
    [parent, count],
  );
};

/** A binding at the organization for each of its own identities, and for some of them another below. */
export const fillBindings = async (client: pg.Client, organization: string, role: string, count: number): Promise<void> => {
  await client.query(
    `insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time)
     select $1::text || '/' || ${segment("binding")}, $1::text || '/' || ${segment("identity")}, $2, ${made}, ${made} from generate_series(1, $3::int) as n`,
    [organization, role, count],
  );
};

/** Planner's figures, visibility map and a quiet disk. */
export const settleRows = async (client: pg.Client, ...tables: string[]): Promise<void> => {
  for (const table of tables) await client.query(`vacuum (analyze, freeze) ${table}`);
  await client.query("checkpoint");
};
