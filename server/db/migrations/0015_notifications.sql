-- compatible
-- Which events about findings a subscription receives. The previous version sends all of them.

alter table subscriptions
  add column min_finding_severity text,
  add column exploited_findings boolean not null default false;
