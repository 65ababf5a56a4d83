// Builds registry clients that the machine lacks, with Go. Without Go, none.
//
//   node test/foreign/install-clients.ts           those that take under two minutes together
//   node test/foreign/install-clients.ts --long    all, as the long form of registry-clients.test.ts does

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** Where clients are built. */
export const clientsFolder = join(import.meta.dirname, "..", "..", "node_modules", ".cache", "clients", "bin");

interface Client {
  readonly module: string;
  readonly version: string;
  /** Of its program in the module. */
  readonly path: string;
  /** Takes minutes. */
  readonly isLarge?: true;
}

const clients: Readonly<Record<string, Client>> = {
  crane: { module: "github.com/google/go-containerregistry", version: "v0.22.1", path: "cmd/crane" },
  oras: { module: "oras.land/oras", version: "v1.3.6", path: "cmd/oras" },
  regctl: { module: "github.com/regclient/regclient", version: "v0.11.7", path: "cmd/regctl" },
  buildctl: { module: "github.com/moby/buildkit", version: "v0.25.1", path: "cmd/buildctl" },
  buildkitd: { module: "github.com/moby/buildkit", version: "v0.25.1", path: "cmd/buildkitd" },
  notation: { module: "github.com/notaryproject/notation", version: "v1.3.2", path: "cmd/notation" },
  helm: { module: "helm.sh/helm/v3", version: "v3.22.0", path: "cmd/helm", isLarge: true },
  cosign: { module: "github.com/sigstore/cosign/v2", version: "v2.6.5", path: "cmd/cosign", isLarge: true },
  syft: { module: "github.com/anchore/syft", version: "v1.18.1", path: "cmd/syft", isLarge: true },
};

const buildMaxMs = 600_000;

/** Returns whether a directory of PATH, or the one for built clients, has the program. */
export const isInstalled = (program: string): boolean =>
  [...(process.env.PATH ?? "").split(delimiter), clientsFolder].some((directory) => existsSync(join(directory, program)));

const buildClient = (program: string, { module, version, path }: Client): void => {
  // A separate module: `go install` also requests the list of versions, which some proxies refuse.
  const folder = mkdtempSync(join(tmpdir(), "gantry-client-"));
  try {
    writeFileSync(join(folder, "go.mod"), `module clients\n\ngo 1.24\n\nrequire ${module} ${version}\n`);
    const args = ["build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", join(clientsFolder, program), `${module}/${path}`];
    const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false" };
    const { status } = spawnSync("go", args, { cwd: folder, env, stdio: "ignore", timeout: buildMaxMs });
    process.stdout.write(`${program} ${version}: ${status === 0 ? "built" : "cannot be built"}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Builds missing clients; those that cannot be built stay missing. */
export const installClients = ({ long, programs = Object.keys(clients) }: { readonly long: boolean; readonly programs?: readonly string[] }): void => {
  if (spawnSync("go", ["version"]).status !== 0) return;
  mkdirSync(clientsFolder, { recursive: true });
  for (const [program, client] of Object.entries(clients))
    if (programs.includes(program) && (long || !client.isLarge) && !isInstalled(program)) buildClient(program, client);
};

if (process.argv[1] === import.meta.filename) installClients({ long: process.argv.includes("--long") });
