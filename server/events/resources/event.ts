// An event: what happened, in the order of everything that happened. The rows are the outbox's own.

import { resource } from "#kernel";

export const event = resource({ service: "gantry.events.v1.EventsService", message: "gantry.events.v1.Event", table: "outbox" });
