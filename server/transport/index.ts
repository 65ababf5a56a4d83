// The face of the room: opening the doors, and what they are given.

export type { Config, House } from "./door.ts";
export type { IssuerDoor } from "./issuer.ts";
export { type Doors, openDoors } from "./listen.ts";
export { httpStatusOf } from "./render.ts";
