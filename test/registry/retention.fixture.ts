// A server that runs due retention rules at once and prints "ended", for a test that kills it in the middle.

import { silent } from "#base/log.ts";
import { readSettings, startServer } from "#application";
import { runTagRetention } from "../../server/application/tag-retention.ts";

const settings = readSettings({ ...process.env });
const server = await startServer(settings, { log: silent, clock: Date.now, deliversByHand: true });
process.stdout.write("started\n");
await runTagRetention(server.application.kernel);
process.stdout.write("ended\n");
await server.close();
