-- compatible
-- What events have said about the layers of an image. The previous version keeps it, and records no events.

alter table image_contents
  -- LOSING: all layers were read before, and not any longer, without an event yet. LOST: with an event. REGAINED: read again, without an
  -- event yet.
  add column coverage text collate "C" not null default '';
create index image_contents_coverage_changed on image_contents (uid) where coverage in ('LOSING', 'REGAINED');
