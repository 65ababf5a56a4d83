// Texts of subscriptions and deliveries.

import { counted, list } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  subscriptions: "Subscriptions",
  subscriptionCount: (number: number): string => counted(number, "subscription", "subscriptions"),
  noSubscriptionsTitle: "No subscriptions",
  noSubscriptionsText: "A subscription sends the events of a group and everything below it to an HTTPS address, the sink.",
  eventsGuide: "Set up a webhook",
  sink: "Sink",
  eventTypes: "Events",
  allTypes: "All types",
  typeCount: (number: number): string => counted(number, "type", "types"),
  minSeverities: {
    FINDING_SEVERITY_UNKNOWN: "findings of any severity",
    FINDING_SEVERITY_NEGLIGIBLE: "findings: negligible or higher",
    FINDING_SEVERITY_LOW: "findings: low or higher",
    FINDING_SEVERITY_MEDIUM: "findings: medium or higher",
    FINDING_SEVERITY_HIGH: "findings: high or higher",
    FINDING_SEVERITY_CRITICAL: "findings: critical",
  },
  exploitedFindings: "findings: exploited",
  orExploited: "or exploited",
  sending: "Sends",
  off: "Off",
  failingSince: "Failing",
  deliveries: "Deliveries",
  deliveryCount: (number: number): string => counted(number, "delivery", "deliveries"),
  noDeliveriesTitle: "No deliveries",
  noDeliveriesText: "No delivery has this state.",
  eventType: "Event",
  attempts: "Attempts",
  lastAnswer: "Last answer",
  sendAgain: "Send again",
  sendNeeds: (capabilities: readonly string[]): string => `To send a delivery again, you need ${list.format(capabilities)}.`,
  sendAgainOf: (type: string): string => `Send ${type} again`,
  sendAgainText: "The event is sent to the sink once more, with the same event ID.",
  sentAgain: "The event is sent again",
  states: "State of the deliveries",
  anyState: "All",
  deliveryStates: {
    DELIVERY_STATE_UNSPECIFIED: "Unknown",
    DELIVERY_STATE_PENDING: "Pending",
    DELIVERY_STATE_WAITING: "Waiting",
    DELIVERY_STATE_DELIVERED: "Delivered",
    DELIVERY_STATE_DEAD: "Failed",
    DELIVERY_STATE_DROPPED: "Not permitted",
  },
} as const;
