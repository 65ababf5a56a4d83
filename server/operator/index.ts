// The face of the room: what a person does who owns the machine.

export { type Command, commands, help } from "./commands.ts";
export { readSettings, type Settings } from "./config.ts";
export type { Application } from "./application.ts";
export type { Server } from "./serve.ts";
export { version } from "./version.ts";
export { openApplication, startServer } from "./whole.ts";
