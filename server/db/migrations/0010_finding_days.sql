-- compatible
-- Findings by group and day. The previous version writes no days.

create table finding_days (
  owner text collate "C" not null,
  day date not null,
  -- By rank of severity: 0 for unknown to 5 for critical.
  count_0 integer not null,
  count_1 integer not null,
  count_2 integer not null,
  count_3 integer not null,
  count_4 integer not null,
  count_5 integer not null,
  primary key (owner, day)
);
create index finding_days_by_day on finding_days (day);
