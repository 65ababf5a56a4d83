// What workers (GANTRY_WORKERS) make of the machine's cores: `get` through servers of one and of two workers, on the database of the
// server that is measured otherwise, which rests meanwhile.
//
// The load's own processor time is taken out by counting CPU time alone, as with --anchor, so that neither the generator nor what else
// the machine does is part of it. A server answers as many requests a second as its cores have time for,
//
//     cores / CPU time of a request in all its processes and in the database,
//
// and no more than its event loops have,
//
//     workers / CPU time of a request in a worker's main thread.
//
// The lesser of the two is what the variants give. It supposes that whoever has time gets it: a worker that waits for another is not seen.

import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { silent } from "#base/log.ts";
import { databaseUrlOf, startEmbedded } from "#postgres";
import { findChildren, readTreeCpuMs } from "./cpu.ts";
import type { Environment, Variant } from "./environment.ts";
import { requests, wrk } from "./load.ts";
import { serve } from "./processes.ts";

/** Enough that each of two workers has as many requests to answer together as one has: what is answered together is cheaper. */
const clientCount = 64;

const warmUpRequestsEach = 30_000;

const readMainThreadMs = async (pid: number): Promise<number> => Number((await readFile(`/proc/${pid}/task/${pid}/schedstat`, "latin1")).split(" ")[0]) / 1e6;

/** The settings of another server on the same database, for tokens of the same issuer. */
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

/** @param request the path, and the Authorization header of who may read it */
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
    // One worker is the process itself.
    const pids = workers === 1 ? [server.pid] : await findChildren(server.pid);
    if (pids.length !== workers) throw new Error(`${pids.length} workers, not ${workers}`);
    // By requests, not by time: of two workers each has half of them, and V8 compiles what was called often.
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
