-- compatible, outside a transaction
-- The charts of an organization, without looking at its images (docs/decisions/0090-charts-that-were-pushed.md).
--
-- A server of the version before needs nothing of it.

drop index concurrently if exists repo_manifests_charts;
create index concurrently if not exists repo_manifests_charts on repo_manifests (left(repo_uid, 40), repo_uid, create_time desc)
  where artifact_type = 'application/vnd.cncf.helm.config.v1+json';
