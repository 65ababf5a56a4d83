// The face of the room: events on their way to sinks.

export { secretPurpose } from "./attempt.ts";
export { type Delivery, openDelivery } from "./loop.ts";
export { newSecret } from "./envelope.ts";
export { deleteExpired } from "./retention.ts";
export { redeliver, replay } from "./redeliver.ts";
export { disabledType } from "./complete.ts";
export { enqueueDeliveries } from "./enqueue.ts";
