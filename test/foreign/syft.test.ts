// The packages that Gantry finds in images, compared with the lists of the package managers that installed them, and with syft. Long runs
// only: packages come from the registries that the package managers are configured for, and those of rpm are built here. Alpine's package
// manager is not to be had: its database is made by hand.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { isObject, type Json, type JsonObject, objectList, text } from "#base/json.ts";
import { digestOf } from "../distribution.ts";
import { files } from "../image-layers.ts";
import { shortOrLong } from "../length.ts";
import { openOwners, type Owners } from "../owner.ts";
import { descriptorOf, ociManifest, openPusher, type Pusher } from "../pusher.ts";
import { configType } from "../registry.ts";
import { openWorld, type World } from "../world.ts";
import { clientsFolder, installClients, isInstalled } from "./install-clients.ts";

const goPrograms = ["crane", "oras", "regctl"];
const isLong = shortOrLong(false, true);
if (isLong) installClients({ long: true, programs: ["syft", ...goPrograms] });

const auditable = ["install", "--quiet", "--locked", "--root", join(clientsFolder, ".."), "--version", "0.6.6", "cargo-auditable"];
if (isLong && isInstalled("cargo") && !isInstalled("cargo-auditable")) spawnSync("cargo", auditable, { stdio: "ignore", timeout: 600_000 });

const runFile = promisify(execFile);

let world: World;
let folder: string;
let owners: Owners;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-syft-"));
  if (!isLong) return;
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

const run = async (program: string, args: readonly string[], cwd = folder, env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const { stdout } = await runFile(program, args, { cwd, env: { ...process.env, ...env }, encoding: "utf8", maxBuffer: 256 * 1024 * 1024, timeout: 600_000 });
  return stdout;
};

const linesOf = (output: string): string[] => output.split("\n").filter((line) => line !== "");
const parsed = (output: string): JsonObject[] => {
  const value = JSON.parse(output) as Json;
  return Array.isArray(value) ? value.filter(isObject) : [];
};

/**
 * Returns the package URL without qualifiers: "pkg:deb/debian/jq@1.6". Dots in names of PyPI are dashes: its names are compared so (PEP 503),
 * and the specification of package URLs keeps them. syft writes the major version in a Go module's path as the subpath.
 */
const plainPurl = (purl: string): string => {
  const [, path = "", version = ""] = /^([^?#]*)@([^?#@]*)/.exec(purl) ?? [];
  const [, major = ""] = /#(v\d+)$/.exec(purl) ?? [];
  const name = path.startsWith("pkg:pypi/") ? path.replaceAll(/[._]/g, "-") : `${path}${major === "" ? "" : `/${major}`}`;
  return `${decodeURIComponent(name)}@${decodeURIComponent(version)}`;
};

const ofType = (purls: readonly string[], type: string): Set<string> => new Set(purls.filter((purl) => purl.startsWith(`pkg:${type}/`)).map(plainPurl));

interface Tree {
  /** Of package URLs. */
  readonly type: string;
  readonly programs: readonly string[];
  /** Installs packages below `root`. Returns the package URLs that the package manager lists. */
  readonly install: (root: string) => Promise<readonly string[]>;
  /** A package that only the package manager lists. The contents of the image have a problem with this reason. */
  readonly unidentified?: { readonly purl: string; readonly reason: string };
  /** Packages that only syft finds. */
  readonly onlySyft?: readonly string[];
}

const trees: readonly Tree[] = [
  {
    type: "deb",
    programs: ["apt-get", "dpkg"],
    install: async (root) => {
      const [packages, database] = [join(root, "packages"), join(root, "var/lib/dpkg")];
      for (const each of ["info", "updates", "triggers"]) await mkdir(join(database, each), { recursive: true });
      for (const each of ["status", "available"]) await writeFile(join(database, each), "");
      await mkdir(join(root, "etc"));
      await writeFile(join(root, "etc/os-release"), 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n');
      await mkdir(packages);
      await run("apt-get", ["download", "jq", "libjq1", "libonig5", "zlib1g", "xxhash", "liblzma5"], packages);
      const archives = (await readdir(packages)).map((each) => join(packages, each));
      await run("dpkg", [`--root=${root}`, "--force-depends", "--force-not-root", "--force-script-chrootless", "--install", ...archives]);
      await rm(packages, { recursive: true });
      // A removed package with configuration files is listed, and is not installed.
      await run("dpkg", [`--root=${root}`, "--force-depends", "--force-not-root", "--force-script-chrootless", "--remove", "xxhash"]);
      const listed = await run("dpkg-query", [`--admindir=${database}`, "--show", "--showformat=${db:Status-Abbrev} ${Package} ${Version}\\n"]);
      return linesOf(listed).flatMap((line) => {
        const [status, name, version] = line.split(/\s+/);
        return status === "ii" ? [`pkg:deb/debian/${name}@${version}`] : [];
      });
    },
  },
  {
    type: "npm",
    programs: ["npm"],
    // The application itself: its package.json is its source, and no package of a registry.
    onlySyft: ["pkg:npm/compared-app@1.0.0"],
    install: async (root) => {
      const app = join(root, "app");
      await mkdir(app);
      await writeFile(join(app, "package.json"), JSON.stringify({ name: "compared-app", version: "1.0.0", private: true }));
      await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "express@4.19.2", "@babel/core@7.24.0", "rollup@4.18.0"], app);
      const listed = parsed(await run("npm", ["query", "*"], app)).filter((each) => text(each, "location") !== "");
      return listed.map((each) => `pkg:npm/${text(each, "name")}@${text(each, "version")}`);
    },
  },
  {
    type: "pypi",
    programs: ["python3"],
    install: async (root) => {
      const target = join(root, "usr/lib/python3/site-packages");
      await run("python3", ["-m", "pip", "install", "--quiet", "--target", target, "flask==3.0.3", "requests==2.32.3", "ruamel.yaml==0.18.6", "PyYAML==6.0.1"]);
      const listed = parsed(await run("python3", ["-m", "pip", "list", "--path", target, "--format", "json"]));
      return listed.map(
        (each) =>
          `pkg:pypi/${text(each, "name")
            .toLowerCase()
            .replace(/[-_.]+/g, "-")}@${text(each, "version")}`,
      );
    },
  },
  {
    type: "golang",
    programs: ["go", "crane"],
    install: async (root) => {
      const listed: string[] = [];
      for (const program of goPrograms.filter(isInstalled)) {
        await mkdir(join(root, "usr/bin"), { recursive: true });
        await cp(join(clientsFolder, program), join(root, "usr/bin", program));
        const lines = linesOf(await run("go", ["version", "-m", join(root, "usr/bin", program)])).map((line) => line.trim().split(/\s+/));
        for (const [index, [kind, name = "", version = ""]] of lines.entries()) {
          const [replaces, otherName = "", otherVersion = ""] = lines[index + 1] ?? [];
          if (kind !== "dep" && kind !== "mod") continue;
          listed.push(replaces === "=>" ? `pkg:golang/${otherName}@${otherVersion}` : `pkg:golang/${name}@${version}`);
        }
        const release = /go(\S+)/.exec(lines[0]?.at(-1) ?? "")?.[1];
        listed.push(`pkg:golang/stdlib@${release}`);
      }
      return listed;
    },
  },
  {
    type: "cargo",
    programs: ["cargo", "cargo-auditable"],
    install: async (root) => {
      const project = join(folder, "cargo-project");
      await mkdir(join(project, "src"), { recursive: true });
      const dependencies = ['itoa = "1.0.11"', 'semver = "1.0.23"', 'serde_json = "1.0.120"'];
      const manifest = ["[package]", 'name = "compared"', 'version = "0.1.0"', 'edition = "2021"', "", "[dependencies]", ...dependencies, ""];
      await writeFile(join(project, "Cargo.toml"), manifest.join("\n"));
      await writeFile(join(project, "src/main.rs"), 'fn main() { println!("{}", serde_json::json!([semver::Version::new(1, 0, 0).to_string()])); }\n');
      await run("cargo", ["auditable", "build", "--quiet", "--release"], project, { PATH: `${clientsFolder}${delimiter}${process.env.PATH ?? ""}` });
      await mkdir(join(root, "usr/bin"), { recursive: true });
      await cp(join(project, "target/release/compared"), join(root, "usr/bin/compared"));
      const listed = await run("cargo", ["tree", "--edges", "normal", "--prefix", "none", "--no-dedupe", "--format", "{p}"], project);
      return linesOf(listed).map((line) => {
        const [name, version = ""] = line.split(" ");
        return `pkg:cargo/${name}@${version.replace(/^v/, "")}`;
      });
    },
  },
  {
    type: "apk",
    programs: [],
    install: async (root) => {
      const packages = ["musl 1.2.5-r0 musl", "libcrypto3 3.3.2-r0 openssl", "libssl3 3.3.2-r0 openssl", "busybox-binsh 1.36.1-r29 busybox"];
      const entries = packages.map((each) => {
        const [name, version, origin] = each.split(" ");
        const head = [`P:${name}`, `V:${version}`, "A:x86_64", "S:1024", "I:4096", `T:${name}`, "L:MIT", `o:${origin}`];
        return [...head, `p:so:${name}=1`, "F:usr/lib", `R:${name}.so`, "a:0:0:755", "Z:Q1AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "", ""].join("\n");
      });
      await mkdir(join(root, "etc"));
      await writeFile(join(root, "etc/os-release"), 'ID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME="Alpine Linux v3.20"\n');
      await mkdir(join(root, "lib/apk/db"), { recursive: true });
      await writeFile(join(root, "lib/apk/db/installed"), entries.join(""));
      return packages.map((each) => `pkg:apk/alpine/${each.split(" ").slice(0, 2).join("@")}`);
    },
  },
  {
    type: "rpm",
    programs: ["rpm", "rpmbuild"],
    install: async (root) => {
      const top = join(folder, "rpm-project");
      await mkdir(top);
      const packages = ["lantern 1.2.3 4.fc40", "cable 0.9~rc1 1.fc40", "candle 2:3.0 7.fc40", "removed 1.0 1.fc40"];
      for (const [name, version = "", release] of packages.map((each) => each.split(" "))) {
        const [epoch, plain = ""] = version.includes(":") ? version.split(":") : ["", version];
        const head = [`Name: ${name}`, `Version: ${plain}`, `Release: ${release}`, ...(epoch === "" ? [] : [`Epoch: ${epoch}`]), "Summary: compared"];
        const spec = [...head, "License: MIT", "BuildArch: noarch", "%description", "Compared.", "%files", ""];
        await writeFile(join(top, `${name}.spec`), spec.join("\n"));
        await run("rpmbuild", ["-bb", "--quiet", "--define", `_topdir ${top}`, join(top, `${name}.spec`)]);
      }
      const archives = (await readdir(join(top, "RPMS/noarch"))).map((each) => join(top, "RPMS/noarch", each));
      await mkdir(join(root, "etc"));
      await writeFile(join(root, "etc/os-release"), 'ID=fedora\nVERSION_ID=40\nPRETTY_NAME="Fedora Linux 40"\n');
      const own = ["--root", root, "--dbpath", "/var/lib/rpm"];
      await run("rpm", [...own, "--install", "--nodeps", ...archives]);
      await run("rpm", [...own, "--erase", "removed"]);
      const listed = await run("rpm", [...own, "--query", "--all", "--queryformat", "%{NAME}@%{VERSION}-%{RELEASE}\\n"]);
      return linesOf(listed).map((each) => `pkg:rpm/fedora/${each}`);
    },
  },
  {
    type: "maven",
    programs: ["mvn"],
    // Its jar does not name the group. syft guesses one; Gantry reports that it does not know the jar.
    unidentified: { purl: "pkg:maven/org.checkerframework/checker-qual@3.42.0", reason: "JAR_UNIDENTIFIED" },
    onlySyft: ["pkg:maven/org.checkerframework.checker.qual/checker-qual@3.42.0"],
    install: async (root) => {
      const project = join(folder, "maven-project");
      await mkdir(project);
      const dependencies = [
        "org.apache.logging.log4j:log4j-core:2.17.1",
        "com.fasterxml.jackson.core:jackson-databind:2.17.2",
        "com.google.guava:guava:33.2.1-jre",
      ]
        .map((each) => each.split(":"))
        .map(
          ([group, artifact, version]) =>
            `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
        );
      const head = '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>';
      const own = "<groupId>compared</groupId><artifactId>compared</artifactId><version>1</version>";
      await writeFile(join(project, "pom.xml"), `${head}${own}<dependencies>${dependencies.join("")}</dependencies></project>`);
      const list = join(project, "list.txt");
      await run("mvn", ["-q", "-B", "dependency:copy-dependencies", `-DoutputDirectory=${join(root, "app/lib")}`], project);
      await run("mvn", ["-q", "-B", "dependency:list", `-DoutputFile=${list}`], project);
      return linesOf(await readFile(list, "utf8")).flatMap((line) => {
        const [, group, artifact, version] = /^\s+([^:\s]+):([^:]+):jar:([^:]+):/.exec(line) ?? [];
        return group === undefined ? [] : [`pkg:maven/${group}/${artifact}@${version}`];
      });
    },
  },
];

/** With a complete configuration: syft compares the layer with it. */
const push = async (registry: Pusher, layer: Buffer): Promise<void> => {
  const rootfs = { type: "layers", diff_ids: [digestOf(layer)] };
  const config = await registry.blob(JSON.stringify({ architecture: "amd64", os: "linux", rootfs }), configType);
  const pushed = await registry.blob(gzipSync(layer, { level: 1 }), files);
  await registry.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: [descriptorOf(pushed)] }, ociManifest, "1");
};

const difference = (one: ReadonlySet<string>, other: ReadonlySet<string>): string[] => [...one.difference(other)].sort();
const share = (found: ReadonlySet<string>, among: ReadonlySet<string>): string => `${((100 * found.intersection(among).size) / found.size).toFixed(1)} %`;

const compare = async (context: TestContext, { type, install, unidentified, onlySyft = [] }: Tree): Promise<void> => {
  const root = join(folder, type);
  await mkdir(root);
  const listed = ofType(await install(root), type);
  assert.ok(listed.size > 0);
  const layer = join(folder, `${type}.tar`);
  await run("tar", ["-cf", layer, "-C", root, "."]);
  const name = `compared-${type}`;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const token = await owners.token(group);
  await push(openPusher(world, `${name}/app`, token), await readFile(layer));
  await world.server.contents.turn();
  const repos = objectList(await world.ok("registry.ReposService/ListRepos", { uidp: { childrenOf: group } }, { token }), "repos");
  const found: string[] = [];
  for (let pageToken = "", isFirst = true; isFirst || pageToken !== ""; isFirst = false) {
    const request = { repoUid: text(repos[0] ?? {}, "uid"), reference: "1", pageSize: 200, pageToken };
    const page = await world.ok("gantry.images.v1.ImagePackagesService/FindImagePackages", request, { token });
    found.push(...objectList(page, "packages").map((each) => text(each, "purl")));
    pageToken = text(page, "nextPageToken");
  }
  const gantry = ofType(found, type);
  const host = new URL(world.url).host;
  const output = await run(join(clientsFolder, "syft"), ["scan", `registry:${host}/${name}/app:1`, "-o", "syft-json"], folder, {
    SYFT_REGISTRY_INSECURE_USE_HTTP: "true",
    SYFT_REGISTRY_AUTH_AUTHORITY: host,
    SYFT_REGISTRY_AUTH_USERNAME: "_token",
    SYFT_REGISTRY_AUTH_PASSWORD: token,
    SYFT_CHECK_FOR_APP_UPDATE: "false",
  });
  const report = JSON.parse(output) as Json;
  const syft = ofType(
    objectList(isObject(report) ? report : {}, "artifacts").map((each) => text(each, "purl")),
    type,
  );
  const gantryFigures = `Gantry: precision ${share(gantry, listed)}, recall ${share(listed, gantry)}`;
  const syftFigures = `syft: precision ${share(syft, listed)}, recall ${share(listed, syft)}`;
  context.diagnostic(`${type}: ${listed.size} listed; ${gantryFigures}; ${syftFigures}`);
  assert.deepEqual(difference(listed, gantry), unidentified ? [unidentified.purl] : [], "each package that the package manager lists is found");
  assert.deepEqual(difference(gantry, listed), [], "nothing else is found");
  assert.deepEqual(difference(syft, gantry), onlySyft, "each further package of syft is explained");
  const [contents = {}] = objectList(
    await world.ok("gantry.images.v1.ImageContentsService/ListImageContents", { uidp: { descendantsOf: group } }, { token }),
    "imageContents",
  );
  const reasons = objectList(contents, "problems").map((problem) => text(problem, "reason"));
  assert.deepEqual(
    [text(contents, "state"), reasons],
    unidentified ? ["IMAGE_CONTENTS_STATE_PARTIAL", [unidentified.reason]] : ["IMAGE_CONTENTS_STATE_INDEXED", []],
  );
};

for (const tree of trees) {
  const missing = [...tree.programs, "syft"].find((program) => isLong && !isInstalled(program));
  const skip = isLong ? missing !== undefined && `${missing} is not installed` : "runs with npm run test:long";
  test(`the ${tree.type} packages of an image are those that the package manager lists`, { skip, timeout: 900_000 }, (context) => compare(context, tree));
}
