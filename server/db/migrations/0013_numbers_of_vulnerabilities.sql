-- compatible

-- Under which CVE numbers a record's vulnerability is known, its own and its aliases: facts (known_exploits,
-- exploit_predictions) are told by these, and hold for every record that has one. What the version before writes beside is
-- found by its facts when it next changes.
create table vulnerability_cves (
  owner text collate "C" not null,
  cve text collate "C" not null,
  id text collate "C" not null,
  primary key (owner, cve, id),
  foreign key (id, owner) references vulnerabilities (id, owner) on delete cascade
);
create index vulnerability_cves_by_id on vulnerability_cves (owner, id);

insert into vulnerability_cves (owner, cve, id)
select owner, id, id from vulnerabilities where starts_with(id, 'CVE-')
union
select owner, alias, id from vulnerabilities cross join lateral jsonb_array_elements_text(aliases) as alias where starts_with(alias, 'CVE-');
