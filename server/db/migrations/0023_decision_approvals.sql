-- compatible
-- Approvals of decisions about findings. The previous version creates decisions without approval, and counts pending ones.

create table decision_approval_policies (
  uid text collate "C" primary key,
  description text not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index decision_approval_policies_by_create_time on decision_approval_policies (left(uid, 40), create_time, uid);
create index decision_approval_policies_by_update_time on decision_approval_policies (left(uid, 40), update_time, uid);
create index decision_approval_policies_by_parent on decision_approval_policies (left(uid, -17), uid);
create index decision_approval_policies_in_root on decision_approval_policies (uid) where length(uid) = 40;

alter table finding_decisions
  add column approval_state text not null default 'FINDING_DECISION_APPROVAL_STATE_NOT_REQUIRED',
  add column approver text not null default '',
  add column approve_time timestamptz(3),
  -- Uids and a hash of the email address by which the author could act; null: the author only.
  add column author_marks jsonb;
create index finding_decisions_by_approval_state on finding_decisions (left(uid, 40), approval_state, uid);
