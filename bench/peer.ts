// The peer of the anchor's figures: bench/peers/gateway, a Go service on the same database. Built once per source, if Go and its
// modules are available.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "./anchor-clone.ts";
import { databaseOf } from "./callers.ts";
import { type Folder, type Process, type Site, startProgram } from "./processes.ts";

const run = promisify(execFile);
const source = join(import.meta.dirname, "peers", "gateway");

/** The peer cannot be built; no figure was missed. */
export class NoPeer extends Error {}

const buildPeer = async (progress: (line: string) => void): Promise<string> => {
  const sum = createHash("sha256");
  for (const name of ["main.go", "go.mod", "go.sum", "repos.proto"]) sum.update(await readFile(join(source, name)));
  const program = join(cacheFolder(), `peer-${sum.digest("hex").slice(0, 16)}`);
  if (
    await access(program).then(
      () => true,
      () => false,
    )
  )
    return program;
  progress("peer: building bench/peers/gateway");
  await mkdir(cacheFolder(), { recursive: true, mode: 0o755 });
  await run("go", ["build", "-o", program, "."], { cwd: source }).catch((thrown: unknown) => {
    const { code, stderr } = thrown as { code?: unknown; stderr?: unknown };
    if (code === "ENOENT") throw new NoPeer("Go is not installed");
    throw new NoPeer(`the peer cannot be built: ${String(stderr).trim().split("\n").at(-1) ?? ""}`);
  });
  return program;
};

export interface Peer {
  readonly process: Process;
  readonly grpcUrl: string;
}

/** Starts the peer on the database of `site`, with a copy of its repositories. */
export const startPeer = async (folder: Folder, site: Site, progress: (line: string) => void): Promise<Peer> => {
  const program = await buildPeer(progress);
  const { host, port, user, database } = await databaseOf(site);
  const [rest, grpc] = [await folder.site("peer"), await folder.site("peer-grpc")];
  const process = await startProgram(program, [], `${rest.url}/readyz`, {
    PEER_DATABASE: `host=${host} port=${port} user=${user} dbname=${database} pool_max_conns=16`,
    PEER_LISTEN: `127.0.0.1:${rest.port}`,
    PEER_GRPC_LISTEN: `127.0.0.1:${grpc.port}`,
  });
  return { process, grpcUrl: grpc.url };
};
