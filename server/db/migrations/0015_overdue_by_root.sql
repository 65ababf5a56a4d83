-- compatible
-- Overdue findings that no event has reported are found by organization, so that one organization's do not delay another's.
-- The previous version finds the same rows.

drop index affected_images_overdue_unreported;
create index affected_images_overdue_unreported on affected_images (left(uid, 40), due_time, uid)
  where not closed and not overdue_reported and due_time < '9999-12-31T00:00:00Z';
