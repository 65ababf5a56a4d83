// Texts of recorded events.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  recorded: "Recorded events",
  eventsText: "What changed in this group and below, newest first. Events are kept for 30 days, and webhooks receive the same events.",
  toWebhooks: "Subscriptions and deliveries",
  eventCount: (number: number): string => counted(number, "event", "events"),
  noEventsTitle: "No events",
  noEventsText: "Nothing has changed here in 30 days, or no event has this type.",
  eventsNeed: (capability: string): string => `To read the events of this group, you need ${capability}.`,
  what: "What",
  who: "Who",
  server: "The server",
  typeOfEvent: "Type",
  typeHint: "Such as registry.repo.created. Empty: all types.",
  typeUnknown: "Choose a type from the list, or paste a whole one.",
  type: "Type",
  subject: "On",
  eventId: "Event ID",
  requestId: "Request ID",
  source: "Source",
  position: "Position",
  json: "JSON",
  inAudit: "Show in the audit log",
  unreadable: "The data of this event is not JSON.",
} as const;
