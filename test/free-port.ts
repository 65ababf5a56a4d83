// Returns a port of 127.0.0.1 that a test needs to know in advance, or on which nothing must listen.

import { randomInt } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Below the ephemeral ports (32768 on Linux, 49152 elsewhere), which connections of other tests could take in between; a
// restarted server must find its port free. Above the ports that fetch blocks.
const [firstPort, portCount] = [10_240, 22_528];

const mayListen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer().once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });

/** Claims the port within this test run by creating a file exclusively. */
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

/** Returns an unused port that no other test of this run gets. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < 100; tries++) {
    const port = firstPort + randomInt(portCount);
    if ((await mayListen(port)) && (await claimPort(port))) return port;
  }
  throw new Error(`no port of 127.0.0.1 from ${firstPort} on is free, of 100 that were tried`);
};
