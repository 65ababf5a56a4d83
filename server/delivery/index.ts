// The face of the room: events on their way to sinks.

export { secretPurpose } from "./attempt.ts";
export { type Delivery, openDelivery } from "./loop.ts";
export { newSecret } from "./envelope.ts";
export { forget } from "./forget.ts";
export { redeliver, replay } from "./again.ts";
export { disabledType } from "./settle.ts";
export { takeUp } from "./take-up.ts";
