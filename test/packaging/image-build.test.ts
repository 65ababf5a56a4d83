// The container image, built by buildah. Its base images come from Debian's packages and this machine's Node, so no image registry is
// needed. Long form only: debootstrap and two npm ci take minutes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { missingPrograms } from "../guides/shell.ts";
import { shortOrLong } from "../length.ts";
import { readDockerfile } from "./dockerfile.ts";

const root = join(import.meta.dirname, "..", "..");
const missing = missingPrograms(["buildah", "debootstrap", "npm"]);
const skip = (missing.length > 0 && `NOT TESTED: ${missing.join(", ")} not installed`) || (process.getuid?.() !== 0 && "NOT TESTED: debootstrap needs root");

const run = (program: string, ...words: readonly string[]): string =>
  execFileSync(program, words, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1e8 }).trim();

interface ImageConfig {
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Volumes: object;
    readonly Healthcheck: { readonly Test: readonly string[] };
  };
}

const longTest = (): void => {
  test("buildah builds deploy/Dockerfile into an image of at most 120 MB compressed, which runs as its own user", { skip }, () => {
    const folder = mkdtempSync(join(tmpdir(), "gantry-buildah-"));
    after(() => rmSync(folder, { recursive: true, force: true }));
    const policy = join(folder, "policy.json");
    writeFileSync(policy, '{"default": [{"type": "insecureAcceptAnything"}]}');
    const store = ["--root", join(folder, "storage"), "--runroot", join(folder, "run"), "--storage-driver", "vfs"];
    const buildah = (command: string, ...words: readonly string[]): string => run("buildah", ...store, command, ...words);
    const signed = ["--signature-policy", policy];

    const [node = "", debian = ""] = readDockerfile(readFileSync(join(root, "deploy", "Dockerfile"), "utf8")).map(({ base }) => base);
    const system = join(folder, "system");
    run("debootstrap", "--variant=minbase", "bookworm", system);
    rmSync(join(system, "etc/apt/sources.list"), { force: true });
    const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    const [mirror = ""] = /^URIs: (\S+)/m.exec(readFileSync("/etc/apt/sources.list.d/debian.sources", "utf8"))?.slice(1) ?? [];
    const sources = `Types: deb\nURIs: ${mirror}\nSuites: bookworm\nComponents: main\nSigned-By: ${keyring}\n`;
    writeFileSync(join(system, "etc/apt/sources.list.d/debian.sources"), sources);
    const commit = (from: string, to: string, change: (container: string) => void): void => {
      const container = buildah("from", ...(from === "scratch" ? [from] : [...signed, "--pull-never", from]));
      change(container);
      buildah("commit", "--quiet", ...signed, container, to);
      buildah("rm", container);
    };
    commit("scratch", debian, (container) => buildah("add", "--quiet", container, system, "/"));
    commit(debian, node, (container) => {
      const [bin, modules] = [join(folder, "node/usr/local/bin"), join(folder, "node/usr/local/lib/node_modules")];
      for (const each of [bin, modules]) mkdirSync(each, { recursive: true });
      run("cp", process.execPath, join(bin, "node"));
      run("cp", "-r", join(run("npm", "root", "--global"), "npm"), modules);
      run("ln", "-s", "../lib/node_modules/npm/bin/npm-cli.js", join(bin, "npm"));
      buildah("add", "--quiet", container, join(folder, "node"), "/");
      const authorities = process.env.NODE_EXTRA_CA_CERTS;
      if (authorities === undefined) return;
      buildah("copy", "--quiet", container, authorities, "/usr/local/share/ca.pem");
      buildah("config", "--env", "NODE_EXTRA_CA_CERTS=/usr/local/share/ca.pem", container);
    });

    // Packages come from the mirror that this machine is set up for.
    const building = ["--isolation", "chroot", "--network", "host", "--pull-never", "--build-arg", "DEBIAN_SNAPSHOT=", "--format", "docker"];
    buildah("build", "--quiet", ...building, ...signed, "--file", "deploy/Dockerfile", "--tag", "gantry:test", ".");
    const { config } = JSON.parse(buildah("inspect", "--type", "image", "--format", "{{.Config}}", "gantry:test")) as ImageConfig;
    assert.deepEqual([config.User, config.Entrypoint, config.Cmd], ["10001:10001", ["tini", "--", "gantry"], ["serve"]]);
    assert.deepEqual(Object.keys(config.Volumes), ["/data"]);
    assert.deepEqual(config.Healthcheck.Test, ["CMD", "gantry", "health"]);

    const layout = join(folder, "layout");
    buildah("push", "--quiet", ...signed, "gantry:test", `oci:${layout}:gantry`);
    const blob = (digest: string): string => readFileSync(join(layout, "blobs", ...digest.split(":")), "utf8");
    const { manifests } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as { readonly manifests: readonly { readonly digest: string }[] };
    const { layers } = JSON.parse(blob(manifests[0]?.digest ?? "")) as { readonly layers: readonly { readonly size: number }[] };
    // The published base image has one layer of 28 MB; the one of this test is larger.
    const own = layers.slice(1).reduce((sum, { size }) => sum + size, 0);
    assert.ok(own > 40e6 && own <= (120 - 28) * 1e6, `${own} bytes`);

    const container = buildah("from", ...signed, "--pull-never", "gantry:test");
    const inside = (...words: readonly string[]): string => buildah("run", "--isolation", "chroot", container, "--", ...words);
    assert.match(inside("gantry", "version"), /client +\d+\.\d+\.\d+/);
    assert.equal(inside("id", "-u"), "10001");
    assert.equal(inside("sh", "-c", "touch /opt/gantry/x 2>/dev/null || echo refused"), "refused");
  });
};

if (shortOrLong(false, true)) longTest();
