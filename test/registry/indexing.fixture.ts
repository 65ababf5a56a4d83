// A server that reads all due images and prints "ended", for a test that kills it in the middle. Some of the processes that read layers are
// killed too: one in twenty, where the system lists them, by the seed in the first argument.

import { readFileSync } from "node:fs";
import { silent } from "#base/log.ts";
import { readSettings, startServer } from "#application";
import { randomNumbers } from "../length.ts";

const settings = readSettings({ ...process.env });
const server = await startServer(settings, { log: silent, clock: Date.now, deliversByHand: true });
const random = randomNumbers(Number(process.argv[2]));
const seen = new Set<number>();

const readers = (): number[] => {
  try {
    return readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").split(" ").map(Number).filter(Boolean);
  } catch {
    return [];
  }
};

const others = new Set(readers());
setInterval(() => {
  for (const pid of readers().filter((each) => !others.has(each) && !seen.has(each))) {
    seen.add(pid);
    const killAfterMs = random() * 150;
    if (random() < 0.05) setTimeout(() => readers().includes(pid) && process.kill(pid, "SIGKILL"), killAfterMs);
  }
}, 5).unref();
process.stdout.write("started\n");
await server.contents.turn();
process.stdout.write("ended\n");
await server.close();
