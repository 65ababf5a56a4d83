-- compatible
-- Decisions about findings. The previous version keeps the decisions of findings that it does not match again.

create table finding_decisions (
  uid text collate "C" primary key,
  vulnerability text collate "C" not null,
  package_name text not null default '',
  repo_uid text collate "C" not null default '',
  digest text not null default '',
  tag_pattern text not null default '',
  state text,
  justification text,
  reason text not null default '',
  expire_time timestamptz(3),
  author text not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- Fingerprints of the advisories on the vulnerability when the decision was made, by uid.
  basis jsonb
);
create index finding_decisions_by_vulnerability on finding_decisions (left(uid, 40), vulnerability, uid);
create index finding_decisions_by_create_time on finding_decisions (left(uid, 40), create_time, uid);
create index finding_decisions_by_update_time on finding_decisions (left(uid, 40), update_time, uid);
create index finding_decisions_by_parent on finding_decisions (left(uid, -17), uid);
create index finding_decisions_in_root on finding_decisions (uid) where length(uid) = 40;
create index finding_decisions_by_repo on finding_decisions (repo_uid, uid);

alter table affected_images
  -- The decision that counts: the message CountingDecision.
  add column decision jsonb,
  -- The state without the decision.
  add column undecided_state text,
  -- When the decision stops counting.
  add column decided_until timestamptz(3),
  add column decision_state text collate "C" generated always as (decision ->> 'state') stored;
create index affected_images_by_decision_state on affected_images (left(uid, 40), decision_state, uid);
create index affected_images_decided_until on affected_images (decided_until) where decided_until is not null;

-- A decision is matched with the packages of its advisories.
create function decisions_to_match() returns trigger language plpgsql as $$
declare
  changed finding_decisions;
begin
  changed := case when tg_op = 'DELETE' then old else new end;
  insert into changes_to_match (root, name, of_tag) select distinct left(changed.uid, 40), artifact_name, true from advisories
  where uid in (select jsonb_object_keys(changed.basis));
  return null;
end $$;
create trigger finding_decisions_to_match after insert or update or delete on finding_decisions
for each row execute function decisions_to_match();
