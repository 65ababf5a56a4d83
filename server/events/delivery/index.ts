// Entry point of event delivery.

export { enqueueEvents } from "./enqueue.ts";
export { newSecret } from "./envelope.ts";
export { type Delivery, openDelivery } from "./loop.ts";
export { redeliver, replay } from "./redeliver.ts";
