// An event, in global order. Its rows are the outbox.

import { history, resource, untilConditions } from "#kernel";

const message = "gantry.events.v1.Event";

export const event = resource({
  service: "gantry.events.v1.EventsService",
  message,
  table: "outbox",
  conditions: untilConditions,
  methods: { GetEventHistory: { reads: history(message, "eventCount") } },
});
