// How workers (GANTRY_WORKERS) use the machine's cores: `get` with one and two workers, on the database of the main server, which
// is idle meanwhile.
//
// Only CPU time counts, as with --anchor, so that neither the load generator nor other processes matter. A server handles at most
//
//   cores / CPU time of a request in all its processes and in the database
//
// requests per second, and at most
//
//   workers / CPU time of a request in a worker's main thread.
//
// The result is the lower one. Time that a worker spends waiting for another is not measured.

import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { silent } from "#base/log.ts";
import { databaseUrlOf, startEmbedded } from "#postgres";
import { findChildren, readTreeCpuMs } from "./cpu.ts";
import type { Environment, Variant } from "./environment.ts";
import { requests, wrk } from "./load.ts";
import { serve } from "./processes.ts";

/** Enough that each of two workers can batch as many requests as a single one; batches are cheaper. */
const clientCount = 64;

const warmUpRequestsEach = 30_000;

const readMainThreadMs = async (pid: number): Promise<number> => Number((await readFile(`/proc/${pid}/task/${pid}/schedstat`, "latin1")).split(" ")[0]) / 1e6;

const settingsBeside = async ({ fixture }: Environment): Promise<Record<string, string>> => {
  const { site } = fixture();
  const { address, ownerAddress } = await startEmbedded({ dataDirectory: site.data, log: silent, progress: () => {}, join: true });
  return {
    DATABASE_URL: databaseUrlOf(address),
    GANTRY_MIGRATE_URL: databaseUrlOf(ownerAddress),
    GANTRY_SECRET_KEY_FILE: `${site.data}/secret.key`,
    GANTRY_PUBLIC_URL: site.url,
  };
};

/**
 * Measures GET through workers.
 *
 * @param request the path, and the Authorization header of a viewer
 */
export const getThroughWorkers = (
  workers: number,
  request: (environment: Environment) => Promise<readonly [path: string, authorization: string]>,
): Variant => ({
  label: `gantry, REST get by CPU time, workers: ${workers}`,
  unit: "1/s",
  async prepare(environment) {
    const { fixture, folder, stopLater } = environment;
    const [path, authorization] = await request(environment);
    const settings = { ...(await settingsBeside(environment)), GANTRY_WORKERS: String(workers) };
    const server = stopLater(await serve(await folder.site(`workers-${workers}`), { settings }));
    // A single worker is the process itself.
    const pids = workers === 1 ? [server.pid] : await findChildren(server.pid);
    if (pids.length !== workers) throw new Error(`${pids.length} workers, not ${workers}`);
    // By number of requests, because two workers split them and V8 compiles frequent code.
    await requests(`${server.url}${path}`, { authorization }, warmUpRequestsEach * workers, clientCount);
    const readAll = async (): Promise<number> => (await readTreeCpuMs(server.pid)) + (await readTreeCpuMs(fixture().process.pid));
    const readLoops = async (): Promise<number> => (await Promise.all(pids.map(readMainThreadMs))).reduce((sum, ms) => sum + ms, 0);
    return async (seconds) => {
      const before = [await readAll(), await readLoops()] as const;
      const fromMs = performance.now();
      const rate = await wrk(`${server.url}${path}`, { authorization }, seconds, clientCount);
      const answered = (rate * (performance.now() - fromMs)) / 1000;
      const [allMs, loopsMs] = [(await readAll()) - before[0], (await readLoops()) - before[1]];
      return 1000 * answered * Math.min(availableParallelism() / allMs, workers / loopsMs);
    };
  },
});
