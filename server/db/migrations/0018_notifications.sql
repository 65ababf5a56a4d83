-- compatible
-- Which events about findings a subscription receives. The previous version sends all of them.

alter table subscriptions
  add column min_finding_severity text,
  add column exploited_findings boolean not null default false;

-- What events have said about the coverage of an ecosystem: JUDGED or LOST; empty if it was never judged. The previous version
-- records no events.
alter table advisory_coverage
  add column reported text not null default '',
  -- Since when no source judges it, without an event yet.
  add column unjudged_since timestamptz(3);
