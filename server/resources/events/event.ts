// An event: what happened, in the order of everything that happened. The rows are the outbox's own.

import { EventSchema, EventsService } from "#contract/gen/gantry/events/v1/events_pb.js";
import { resource } from "#kernel";

export const event = resource({ service: EventsService, message: EventSchema, table: "outbox" });
