// A port of 127.0.0.1 for a test that must know it before something listens there, or that nobody is to listen on.

import { randomInt } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Below what a system gives to those who name no port (32768 on Linux, 49152 elsewhere): a connection of another test took such a port
// between the choice and the listening once, and what is stopped must find its port free again. Above those that fetch refuses to ask.
const [firstPort, portCount] = [10_240, 22_528];

const mayListen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer().once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });

/** Whether this run of the tests gives the port to nobody else: each is a file that is made once. */
const claimPort = async (port: number): Promise<boolean> => {
  const folder = join(tmpdir(), "gantry-ports");
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(join(folder, String(port)), "", { flag: "wx" });
    return true;
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST") return false;
    throw thrown;
  }
};

/** A port that nobody listens on, and that no other test of this run is told. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < 100; tries++) {
    const port = firstPort + randomInt(portCount);
    if ((await mayListen(port)) && (await claimPort(port))) return port;
  }
  throw new Error(`no port of 127.0.0.1 from ${firstPort} on is free, of 100 that were tried`);
};
