// The face of the room: what shall be told.

export { newEventId, type Occurrence, record } from "./record.ts";
