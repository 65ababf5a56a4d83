// `npm run release [-- FOLDER]`: builds the files of a version in release/, reproducibly.
//
//   gantry-VERSION-SYSTEM.tar.gz   the archive: programs, packages, Node and PostgreSQL for this system; nothing else is needed
//   gantry-VERSION.tgz             the npm package with pinned dependencies
//   gantry-client-VERSION.tgz      the npm package @gantry/client, without dependencies
//   gantry-VERSION.cdx.json        the archive's bill of materials (CycloneDX)
//   SHA256SUMS                     checksums for sha256sum
//
// `npm run release -- --tree FOLDER` only lays out the archive's content, for the container image. Times come from
// SOURCE_DATE_EPOCH or the commit; in the latter case the work tree must be clean. Requires GNU tar.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { prepareInstalledPrograms } from "#postgres";
import { copyDeployFiles } from "./deploy-files.ts";
import { removeUnneeded } from "./unneeded-files.ts";

const root = join(import.meta.dirname, "..");
const { name, version }: { name: string; version: string } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const run = (program: string, args: readonly string[], cwd: string): string =>
  // npm's warnings concern the machine; errors are shown.
  execFileSync(program, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1e9,
    env: { ...process.env, npm_config_loglevel: "error" },
  });

/** Returns the timestamp of all files in seconds since 1970. Throws if the work tree is not clean. */
const releaseTime = (): number => {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined) return Number(given);
  const changed = run("git", ["status", "--porcelain"], root).trim();
  if (changed !== "") throw new Error(`no commit holds this, so nobody could make it again (or set SOURCE_DATE_EPOCH):\n${changed}`);
  return Number(run("git", ["log", "-1", "--format=%ct"], root));
};

/** Checks for a section "## [VERSION]". */
const requireChanges = (): void => {
  if (!readFileSync(join(root, "CHANGELOG.md"), "utf8").includes(`\n## [${version}]`)) throw new Error(`CHANGELOG.md has no section ## [${version}]`);
};

const launcher = `#!/bin/sh
# The command \`gantry\`, run by the Node that came along.
here=$(dirname "$(readlink -f "$0")")
for node in "$here"/../node_modules/node-*/bin/node; do exec "$node" "$here/gantry.js" "$@"; done
`;

/** Creates `tree` with the archive's content. `dist` is the output of `npm run build`. */
const layOutTree = async (dist: string, tree: string): Promise<void> => {
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(root, file), join(tree, file));
  run("npm", ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], tree);
  rmSync(join(tree, "package-lock.json"));
  removeUnneeded(join(tree, "node_modules"));
  cpSync(dist, tree, { recursive: true });
  copyDeployFiles(join(root, "deploy"), join(tree, "deploy"));
  await prepareInstalledPrograms(join(tree, "node_modules"));
  writeFileSync(join(tree, "bin", "gantry"), launcher);
  for (const program of ["gantry", "gantry.js", "docker-credential-gantry.js"]) chmodSync(join(tree, "bin", program), 0o755);
};

const makeBom = (tree: string, seconds: number): string => {
  const bom = JSON.parse(run("npm", ["sbom", "--sbom-format=cyclonedx", "--sbom-type=application", "--omit=dev"], tree)) as {
    serialNumber: string;
    metadata: { timestamp: string; component: { name: string } };
  };
  bom.metadata.timestamp = new Date(seconds * 1000).toISOString();
  // npm uses the folder's name.
  bom.metadata.component.name = name;
  bom.serialNumber = "";
  const digest = createHash("sha256").update(JSON.stringify(bom)).digest("hex");
  // RFC 9562 §5.8: a UUID derived from the content.
  bom.serialNumber = `urn:uuid:${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
  return `${JSON.stringify(bom, null, 2)}\n`;
};

/** Packs the folder reproducibly: sorted names, one timestamp, owner 0, fixed modes. */
const pack = (folder: string, seconds: number): Buffer => {
  const order = ["--sort=name", `--mtime=@${seconds}`, "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--format=gnu"];
  const tar = execFileSync("tar", [...order, "-cf", "-", "-C", join(folder, ".."), basename(folder)], { maxBuffer: 2e9 });
  return gzipSync(tar, { level: 9 });
};

/** Packs the folder with npm into `release`. npm keeps file modes, which depend on the umask. */
const packForNpm = (folder: string, work: string, release: string): void => {
  run("chmod", ["-R", "u=rwX,go=rX", folder], work);
  run("npm", ["pack", folder, "--pack-destination", release], work);
};

const main = async (args: readonly string[]): Promise<void> => {
  const onlyTree = args[0] === "--tree" ? resolve(args[1] ?? "") : undefined;
  const release = resolve(args[0] ?? join(root, "release"));
  requireChanges();
  const seconds = onlyTree === undefined ? releaseTime() : Number(process.env.SOURCE_DATE_EPOCH ?? 0);
  const work = mkdtempSync(join(tmpdir(), "gantry-release-"));
  try {
    const dist = join(work, "dist");
    process.stdout.write(run(process.execPath, [join(root, "tools", "build.ts"), dist], root));
    const tree = onlyTree ?? join(work, `${name}-${version}`);
    await layOutTree(dist, tree);
    const bom = `${name}-${version}.cdx.json`;
    writeFileSync(join(tree, bom), makeBom(tree, seconds));
    if (onlyTree !== undefined) return;
    rmSync(release, { recursive: true, force: true });
    mkdirSync(release, { recursive: true });
    copyFileSync(join(tree, bom), join(release, bom));
    writeFileSync(join(release, `${name}-${version}-${process.platform}-${process.arch}.tar.gz`), pack(tree, seconds));
    const client = join(work, "client");
    run(process.execPath, [join(root, "tools", "build-client.ts"), client], root);
    for (const folder of [dist, client]) packForNpm(folder, work, release);
    const sums = globSync("*", { cwd: release })
      .sort()
      .map(
        (file) =>
          `${createHash("sha256")
            .update(readFileSync(join(release, file)))
            .digest("hex")}  ${file}\n`,
      );
    writeFileSync(join(release, "SHA256SUMS"), sums.join(""));
    process.stdout.write(sums.join(""));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

await main(process.argv.slice(2));
