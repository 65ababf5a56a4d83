// A server that reads all due images and prints "ended", for a test that kills it in the middle.

import { silent } from "#base/log.ts";
import { readSettings, startServer } from "#application";

const settings = readSettings({ ...process.env });
const server = await startServer(settings, { log: silent, clock: Date.now, deliversByHand: true });
process.stdout.write("started\n");
await server.contents.turn();
process.stdout.write("ended\n");
await server.close();
