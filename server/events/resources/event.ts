// An event, in global order. Its rows are the outbox.

import { resource } from "#kernel";

export const event = resource({ service: "gantry.events.v1.EventsService", message: "gantry.events.v1.Event", table: "outbox" });
