-- Subscriptions, and each event's way to each of them.

create table subscriptions (
  uid text collate "C" primary key,
  sink text not null,
  -- Null: all types.
  event_types jsonb,
  -- Who made it, and whose right to do so is asked again before each delivery.
  creator text collate "C" not null default '',
  -- Sealed with the secret key: they sign, so they must be read again.
  secret_sealed text not null default '',
  previous_secret_sealed text,
  previous_secret_expire_time timestamptz(3),
  enabled boolean not null default true,
  failing_since timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index subscriptions_by_create_time on subscriptions (left(uid, 40), create_time, uid);
create index subscriptions_by_update_time on subscriptions (left(uid, 40), update_time, uid);
create index subscriptions_by_parent on subscriptions (left(uid, -17), uid);
create index subscriptions_in_root on subscriptions (uid) where length(uid) = 40;

-- uid: the subscription's and the event's position. Of the events of one subject only the first is PENDING, the
-- others wait behind it, so that they arrive in their order.
create table deliveries (
  uid text collate "C" primary key,
  subscription_uid text collate "C" not null,
  event_id uuid not null,
  type text collate "C" not null,
  subject text collate "C" not null,
  state text not null,
  attempts integer not null default 0,
  status_class text,
  latency_ms integer,
  -- While an attempt runs: when it counts as lost.
  next_attempt_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index deliveries_pending on deliveries (subscription_uid, next_attempt_time) where state = 'DELIVERY_STATE_PENDING';
create index deliveries_by_subject on deliveries (subscription_uid, subject, uid) where state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING');
create index deliveries_by_create_time on deliveries (left(uid, 40), create_time, uid);
create index deliveries_by_update_time on deliveries (left(uid, 40), update_time, uid);
create index deliveries_by_parent on deliveries (left(uid, -17), uid);
create index deliveries_in_root on deliveries (uid) where length(uid) = 40;
create index deliveries_done on deliveries (update_time) where state in ('DELIVERY_STATE_DELIVERED', 'DELIVERY_STATE_DROPPED');
create index deliveries_dead on deliveries (update_time) where state = 'DELIVERY_STATE_DEAD';
