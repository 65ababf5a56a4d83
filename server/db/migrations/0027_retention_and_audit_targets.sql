-- compatible
-- How long things are kept, by settings, and where the audit log is sent to (docs/decisions/0057).

-- While the indexes are made, deliveries, imports and sealing wait, and no request does: all three are behind the writers.

-- An event that is to be sent still is not deleted: found by the event, among what is on its way alone.
create index deliveries_on_their_way_by_event on deliveries (event_id)
where state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING');

-- What sources have no longer, in the order in which it goes.
create index source_documents_gone_by_change_time on source_documents (change_time) where not told;

-- The audit log in the order in which it was sealed, in which it is sent.
create index audit_entries_by_seal_time on audit_entries (seal_time);

-- How far each of the operator's targets has the audit log. A row stays when its target is taken out of the settings.
create table audit_targets (
  name text collate "C" primary key,
  -- The last entry that arrived there; of those that were sealed at one time the last one by organization and number.
  seal_time timestamptz(3) not null default '-infinity',
  root text collate "C" not null default '',
  sequence bigint not null default 0,
  -- Entries that ever arrived.
  sent bigint not null default 0,
  -- When it may be tried again, how often it has failed in a row, since when, and why.
  next_time timestamptz(3) not null default '-infinity',
  failures integer not null default 0,
  failed_since timestamptz(3),
  problem text not null default '',
  -- The last month that was dropped before it had arrived there.
  missed_month text not null default '',
  -- When a server last had it in its settings.
  seen_time timestamptz(3) not null,
  lease_holder text,
  lease_until timestamptz(3)
);
