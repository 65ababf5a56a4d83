-- Every change's event, written in the change's own transaction. Delivery and the list of events read from here.

create table outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null unique,
  -- Both given when the event is taken up (server/delivery): from then on it has a place in the order of all events.
  -- The uid is the group's and the position; null for what no group hears: what has none, and what is told inside.
  uid text collate "C" unique,
  position bigint unique,
  type text collate "C" not null,
  source text not null,
  subject text collate "C" not null,
  -- Whose subscriptions hear it: a group's uid, "/" above the roots, "" for none.
  group_uid text collate "C" not null,
  -- For this subscription alone; null: for all of the group and above.
  subscription_uid text collate "C",
  audience text not null,
  extensions jsonb not null,
  body_type text not null,
  -- What is sent, byte for byte: {"actor": …, "body": …}.
  data text not null,
  request_id text not null,
  create_time timestamptz(3) not null
);
create index outbox_waiting on outbox (id) where position is null;
create index outbox_by_position on outbox (left(uid, 40), position, uid);
create index outbox_by_create_time on outbox (left(uid, 40), create_time, uid);
create index outbox_by_type on outbox (left(uid, 40), type, uid);
create index outbox_by_parent on outbox (left(uid, -17), position, uid);
create index outbox_in_time on outbox (create_time);
