// The face of the room: what shall be told.

export { type Occurrence, record } from "./record.ts";
