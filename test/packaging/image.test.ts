// The container image without a container engine. Each step of deploy/Dockerfile runs in its own root, an overlay on this machine's in place
// of the base images (Debian's, and Debian with Node). The result starts as the image declares, as its user, in its own namespaces, on a
// read-only root. Long form only, since two npm ci take time.

import assert from "node:assert/strict";
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, matchesGlob, relative } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { copyDeployFiles } from "../../tools/deploy-files.ts";
import { shortOrLong } from "../length.ts";
import { freePort } from "../free-port.ts";
import { type DockerStage, readDockerfile } from "./dockerfile.ts";

const root = join(import.meta.dirname, "..", "..");
const stages = readDockerfile(readFileSync(join(root, "deploy", "Dockerfile"), "utf8"));

/** Returns the build context; .dockerignore excludes everything that it does not name. */
const contextEntries = (): string[] => {
  const lines = readFileSync(join(root, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  assert.equal(lines[0], "*");
  return lines.slice(1).map((line) => {
    assert.match(line, /^![\w.*/-]+$/);
    return line.slice(1);
  });
};

test("the build context has everything the build needs and no history, tests, data or packages", () => {
  const entries = contextEntries();
  assert.deepEqual(
    entries.filter((entry) => globSync(entry, { cwd: root }).length === 0),
    [],
  );
  assert.deepEqual(
    entries.filter((entry) => /^(?:\.git|test|bench|node_modules|gantry-data|dist|release)$/.test(entry)),
    [],
  );
  // Everything that is compiled, and inputs of the compiler and the release.
  const modules = Object.keys((JSON.parse(readFileSync(join(root, "modules.json"), "utf8")) as { modules: object }).modules);
  for (const name of modules) assert.ok(entries.includes(name.split("/")[0] ?? ""), name);
  assert.equal(stages.length, 2);
});

test("base images have fixed versions, and packages come from the snapshot of the same day", () => {
  for (const { base } of stages) assert.match(base, /^(?:node:\d+\.\d+\.\d+-bookworm-slim|debian:bookworm-\d{8}-slim)$/);
  const [snapshot = ""] = stages.at(-1)?.steps.flatMap(({ does, of }) => (does === "ARG" && of[0]?.startsWith("DEBIAN_SNAPSHOT=") ? of : [])) ?? [];
  assert.equal(`debian:bookworm-${snapshot.slice("DEBIAN_SNAPSHOT=".length, -"T000000Z".length)}-slim`, stages.at(-1)?.base);
});

const folder = mkdtempSync(join(tmpdir(), "gantry-image-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("attack 200: an operator's secrets next to the compose files are in no build, release or commit", () => {
  const secrets = ["deploy/compose/.env", "deploy/compose/secrets/secret.key", "deploy/compose/secrets/postgres-password"];
  const head = readFileSync(join(root, "deploy/compose/postgres-s3.yaml"), "utf8").split(/^name:/m)[0] ?? "";
  for (const path of secrets) assert.ok(head.includes(path.slice("deploy/compose/".length)), path);
  const own = globSync("deploy/**/*", { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !secrets.includes(path))
    .sort();

  const isBuilt = (path: string): boolean => contextEntries().some((entry) => matchesGlob(path, entry) || path.startsWith(`${entry}/`));
  assert.deepEqual([...own, ...secrets].filter(isBuilt), own);

  const beside = join(folder, "checkout");
  for (const path of own) cpSync(join(root, path), join(beside, path));
  for (const path of secrets) {
    mkdirSync(dirname(join(beside, path)), { recursive: true });
    writeFileSync(join(beside, path), "secret");
  }
  copyDeployFiles(join(beside, "deploy"), join(folder, "given", "deploy"));
  const given = globSync("**/{*,.*}", { cwd: join(folder, "given"), withFileTypes: true }).filter((entry) => entry.isFile());
  assert.deepEqual(given.map((entry) => relative(join(folder, "given"), join(entry.parentPath, entry.name))).sort(), own);

  execFileSync("git", ["init", "--quiet", beside]);
  copyFileSync(join(root, ".gitignore"), join(beside, ".gitignore"));
  const kept = execFileSync("git", ["ls-files", "--others", "--exclude-standard", "deploy"], { cwd: beside, encoding: "utf8" });
  assert.deepEqual(kept.trim().split("\n").sort(), own);
});

const overlaid = (upper: string): string => `
  mount --make-rprivate /
  mount -t tmpfs tmpfs '${folder}/mount'
  mkdir '${folder}/mount/root'
  mount -t overlay overlay -o 'lowerdir=/,upperdir=${folder}/${upper}/upper,workdir=${folder}/${upper}/work' '${folder}/mount/root'
  cd '${folder}/mount/root'
  mount -t proc proc proc
  mount --rbind /dev dev`;

/** Reports whether this machine permits an engine's operations. */
const canOverlay = (): boolean => {
  for (const each of ["mount", "try/upper", "try/work"]) mkdirSync(join(folder, each), { recursive: true });
  return process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "--fork", "--pid", "sh", "-ec", `${overlaid("try")}\nchroot . true`]).status === 0;
};

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface Built {
  readonly upper: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
}

const settings = (built: Built, more: Readonly<Record<string, string>> = {}): string =>
  Object.entries({ PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", ...built.environment, ...more })
    .map(([name, value]) => quote(`${name}=${value}`))
    .join(" ");

/** npm's registry settings on this machine, passed like build arguments. */
const reaching = Object.fromEntries(
  ["NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
);

const runStep = (built: Built, command: string): void => {
  const [uid, gid] = built.user.split(":");
  const inside = `cd ${quote(built.workdir)} && exec setpriv --reuid ${uid} --regid ${gid} --clear-groups sh -c ${quote(command)}`;
  const script = `${overlaid(built.upper)}\nexec env -i ${settings(built, reaching)} chroot . sh -ec ${quote(inside)}`;
  execFileSync("unshare", ["--mount", "--fork", "--pid", "sh", "-ec", script], { stdio: ["ignore", "ignore", "inherit"], maxBuffer: 1e8 });
};

/** Runs the stage's steps in order; COPY works on the stage's own layer, which has everything copied. */
const build = (stage: DockerStage, index: number, earlier: ReadonlyMap<string, Built>): Built => {
  const upper = `stage-${index}`;
  const layer = join(folder, upper, "upper");
  for (const each of ["upper", "work"]) mkdirSync(join(folder, upper, each), { recursive: true });
  let built: Built = { upper, environment: {}, user: "0:0", workdir: "/" };
  // In place of the base image's Node.
  if (stage.base.startsWith("node:")) {
    mkdirSync(join(layer, "usr/local/bin"), { recursive: true });
    copyFileSync(process.execPath, join(layer, "usr/local/bin/node"));
  }
  for (const { does, of } of stage.steps) {
    if (does === "WORKDIR") {
      built = { ...built, workdir: of[0] ?? "/" };
      mkdirSync(join(layer, built.workdir), { recursive: true });
    } else if (does === "ARG") {
      const [name = "", value = ""] = (of[0] ?? "").split("=", 2);
      // Packages come from the mirror that this machine is set up for.
      built = { ...built, environment: { ...built.environment, [name]: name === "DEBIAN_SNAPSHOT" ? "" : value } };
    } else if (does === "ENV") built = { ...built, environment: { ...built.environment, ...Object.fromEntries(of.map((each) => each.split("=", 2))) } };
    else if (does === "USER") built = { ...built, user: of[0] ?? "" };
    else if (does === "RUN") runStep(built, of[0] ?? "");
    else if (does === "COPY") {
      const from = of[0]?.startsWith("--from=") ? earlier.get(of[0].slice("--from=".length)) : undefined;
      const paths = of[0]?.startsWith("--") ? of.slice(1) : of;
      const target = join(layer, (paths.at(-1) ?? "").startsWith("/") ? "" : built.workdir, paths.at(-1) ?? "");
      for (const source of paths.slice(0, -1)) {
        if (from) cpSync(join(folder, from.upper, "upper", source), target, { recursive: true, verbatimSymlinks: true });
        else
          for (const entry of source === "." ? contextEntries() : [source])
            for (const path of globSync(entry, { cwd: root })) cpSync(join(root, path), join(target, path), { recursive: true, verbatimSymlinks: true });
      }
    }
  }
  return built;
};

const longTest = (): void => {
  test("the image's steps produce a server that starts as the image's user on a read-only root", {
    skip: !canOverlay() && "NOT TESTED: this machine lets nobody mount a root over its own",
  }, async () => {
    const made = new Map<string, Built>();
    for (const [index, stage] of stages.entries()) made.set(stage.name ?? "image", build(stage, index, made));
    const image = made.get("image") ?? assert.fail("no image");
    const steps = stages.at(-1)?.steps ?? [];
    const words = (does: string): readonly string[] => steps.findLast((step) => step.does === does)?.of ?? [];
    assert.notEqual(image.user.split(":")[0], "0");
    // The result contains no build tools.
    assert.deepEqual(readdirSync(join(folder, image.upper, "upper", "opt")), ["gantry"]);
    assert.ok(!existsSync(join(folder, image.upper, "upper", "src")));

    const tree = join(folder, image.upper, "upper", "opt", "gantry");
    const bom = JSON.parse(readFileSync(globSync(join(tree, "gantry-*.cdx.json"))[0] ?? assert.fail("no SBOM"), "utf8")) as Record<string, unknown>;
    assert.equal(bom.bomFormat, "CycloneDX");
    const debian = JSON.parse(readFileSync(join(tree, "debian.cdx.json"), "utf8")) as { readonly components: readonly { readonly purl: string }[] };
    assert.ok(debian.components.some(({ purl }) => /^pkg:deb\/debian\/tini@[^?]+\?arch=\w+$/.test(purl)));
    // Debian's own layer has 28 MB, of the 120 MB that the image may have.
    const packed = Number(execFileSync("sh", ["-c", `tar -C ${quote(tree)} -cf - . | gzip -6 | wc -c`], { encoding: "utf8" }));
    assert.ok(packed > 40e6 && packed < 90e6, `${packed}`);

    const port = await freePort();
    const [uid, gid] = image.user.split(":");
    const [volume = ""] = words("VOLUME");
    const pidFile = join(folder, "pid");
    const container = join(folder, "container.sh");
    const powerless = `setpriv --reuid ${uid} --regid ${gid} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all --`;
    const given = settings(image, { HOME: volume, GANTRY_LISTEN: `127.0.0.1:${port}` });
    const command = [...words("ENTRYPOINT"), ...words("CMD")].map(quote).join(" ");
    writeFileSync(
      container,
      `${overlaid(image.upper)}
      # What docker run --read-only --tmpfs /tmp --volume gantry:/data does.
      mkdir '${folder}/mount/data'
      cp -a .${volume}/. '${folder}/mount/data/'
      chown --reference=.${volume} '${folder}/mount/data'
      chmod 700 '${folder}/mount/data'
      mount --bind '${folder}/mount/data' .${volume}
      mount -t tmpfs tmpfs tmp
      mount -o remount,ro,bind .
      exec env -i ${given} chroot . sh -ec ${quote(`cd ${image.workdir}; exec ${powerless} ${command}`)}`,
    );
    chmodSync(container, 0o755);
    const child = spawn("unshare", ["--mount", "--pid", "--fork", "sh", "-e", container], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const ended = once(child, "exit") as Promise<[number | null]>;
    try {
      while (!said.includes("gantry token") && child.exitCode === null) await Promise.race([once(child.stderr, "data"), ended]);
      assert.equal(child.exitCode, null, said);
      assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
      const first = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
      writeFileSync(pidFile, first);
      const inside = (command: readonly string[]): Promise<{ stdout: string }> =>
        promisify(execFile)("nsenter", [
          "--target",
          first,
          "--mount",
          "--pid",
          "--root",
          "--wd",
          "setpriv",
          "--reuid",
          uid ?? "",
          "--regid",
          gid ?? "",
          "--clear-groups",
          "env",
          "-i",
          "PATH=/usr/local/bin:/usr/bin:/bin",
          `GANTRY_LISTEN=127.0.0.1:${port}`,
          "GANTRY_DATA=/data",
          ...command,
        ]);
      assert.equal((await inside(words("HEALTHCHECK"))).stdout, "ready\n");
      assert.match((await inside(["gantry", "token"])).stdout, /^ey/);
      // Node and packages are its own; only data and temporary files are writable.
      await assert.rejects(inside(["sh", "-c", "echo x > /opt/gantry/x"]), /Read-only file system/);
      await assert.rejects(inside(["sh", "-c", "echo x > /etc/x"]), /Read-only file system/);
      assert.equal(readFileSync(`/proc/${first}/comm`, "utf8"), "tini\n");
      // A killed PostgreSQL is restarted by the server, with nothing left over.
      const killed = (await inside(["sh", "-c", "head -1 /data/postgres/postmaster.pid"])).stdout.trim();
      await inside(["kill", "-9", killed]);
      while (!said.includes("store.postgres.revived")) await once(child.stderr, "data");
      const left = spawnSync("ps", ["-o", "stat=", "--ppid", first], { encoding: "utf8" }).stdout;
      assert.doesNotMatch(left, /^Z/m);
      process.kill(Number(first), "SIGTERM");
      assert.deepEqual((await ended)[0], 0, said);
    } finally {
      if (child.exitCode === null) {
        if (existsSync(pidFile)) process.kill(Number(readFileSync(pidFile, "utf8")), "SIGKILL");
        child.kill("SIGKILL");
      }
    }
  });
};
if (shortOrLong(false, true)) longTest();
