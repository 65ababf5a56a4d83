// `npm run lock`, after every `npm install`: adds optional packages of other systems to package-lock.json if this machine's
// registry lacks them. npm omits them, and `npm ci` then refuses the lock file. Their content is unknown, so they have no
// checksum; test/tidy.test.ts allows that only for development tools.

import { readFileSync, writeFileSync } from "node:fs";

interface Entry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

// Package names contain the platform: @biomejs/cli-linux-arm64-musl.
const systems = new Set(["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"]);
const processors: Readonly<Record<string, string>> = {
  aarch64: "arm64",
  arm: "arm",
  arm64: "arm64",
  armv7: "arm",
  ia32: "ia32",
  loong64: "loong64",
  mips64el: "mips64el",
  ppc64: "ppc64",
  riscv64: "riscv64",
  s390x: "s390x",
  x64: "x64",
};

const entryOf = (name: string, version: string, dev: boolean): Entry => {
  const words = name.split(/[-/]/);
  const os = words.filter((word) => systems.has(word)).slice(0, 1);
  const cpu = words.flatMap((word) => processors[word] ?? []).slice(0, 1);
  if (os.length === 0) throw new Error(`${name} does not say which system it is for: add it to package-lock.json by hand`);
  const musl = words.some((word) => word.includes("musl"));
  const gnu = words.some((word) => word.startsWith("gnu"));
  return {
    version: version.replace(/^[\^~]/, ""),
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(dev ? { dev } : {}),
    ...(musl || gnu ? { libc: [musl ? "musl" : "glibc"] } : {}),
    optional: true,
    os,
  };
};

const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, Entry> };
const { "": project = {}, ...packages } = lock.packages;
const added: string[] = [];
for (const { optionalDependencies = {}, dev = false } of [project, ...Object.values(packages)]) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (Object.keys(packages).some((path) => path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`))) continue;
    packages[`node_modules/${name}`] = entryOf(name, version, dev);
    added.push(name);
  }
}
const sorted = Object.entries(packages).sort(([one], [other]) => one.localeCompare(other, "en"));
if (added.length > 0) writeFileSync("package-lock.json", `${JSON.stringify({ ...lock, packages: { "": project, ...Object.fromEntries(sorted) } }, null, 2)}\n`);
console.log(added.length > 0 ? `Named in package-lock.json: ${added.join(", ")}` : "package-lock.json names every optional package.");
