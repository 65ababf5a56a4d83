// Third-party registry clients with scoped registry tokens: first pushes, pulls, copies across repos, deletes, anonymous pulls, and the token
// of a CI job. Clients that are not installed are skipped; install-clients.ts builds some of them.
//
// Not tried, because a sandbox does not run it: a Kubernetes node. podman and containerd, the usual engine of a node, pull in its place,
// podman with the file of a pull secret.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { basic, openRegistry } from "../registry.ts";
import { shortOrLong } from "../length.ts";
import { openRequestLog } from "../request-log.ts";
import { type Issuer, startIssuer } from "../story/processes.ts";
import { openWorld, type World } from "../world.ts";
import { clientsFolder, installClients, isInstalled } from "./install-clients.ts";

if (shortOrLong(false, true)) installClients({ long: true });

const missing = (program: string): string | false => (isInstalled(program) ? false : `${program} is not installed`);

const requests = openRequestLog();
const folder = await mkdtemp(join(tmpdir(), "gantry-clients-"));
let world: World;
let issuer: Issuer;
let host = "";
let owner = "";
/** A CI job: its identity, and a token of its issuer. */
const job = { uid: "", token: "" };
/** A pull token of the organization. */
const puller = { uid: "", password: "" };

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const runIn = (cwd: string, program: string, args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const env = {
      ...process.env,
      PATH: `${process.env.PATH ?? ""}${delimiter}${clientsFolder}`,
      HOME: cwd,
      XDG_RUNTIME_DIR: cwd,
      DOCKER_CONFIG: cwd,
      HELM_REGISTRY_CONFIG: join(cwd, "config.json"),
      BUILDAH_ISOLATION: "chroot",
      COSIGN_PASSWORD: "",
    };
    execFile(program, args, { cwd, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    );
  });

/** Opens a client in its own directory. */
const openClient = async (
  program: string,
): Promise<{ readonly home: string; done(...args: string[]): Promise<string>; failed(...args: string[]): Promise<string> }> => {
  const home = await mkdtemp(join(folder, `${program}-`));
  await writeFile(join(home, "config.json"), "{}");
  return {
    home,
    done: async (...args) => {
      const { code, out, err } = await runIn(home, program, args);
      assert.equal(code, 0, `${program} ${args.join(" ")}\n${out}${err}`);
      return out;
    },
    failed: async (...args) => {
      const { code, out, err } = await runIn(home, program, args);
      assert.notEqual(code, 0, `${program} ${args.join(" ")}\n${out}${err}`);
      return err;
    },
  };
};

const digestOf = (bytes: string | Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** Writes an OCI layout of one image for clients to push. */
const writeLayout = async (path: string, content: Uint8Array = randomBytes(200_000)): Promise<string> => {
  await mkdir(join(path, "blobs", "sha256"), { recursive: true });
  const put = async (mediaType: string, content: string | Uint8Array) => {
    await writeFile(join(path, "blobs", "sha256", digestOf(content).slice(7)), content);
    return { mediaType, digest: digestOf(content), size: Buffer.byteLength(content) };
  };
  const layer = await put("application/vnd.oci.image.layer.v1.tar", content);
  const config = { os: "linux", architecture: "amd64", config: {}, rootfs: { type: "layers", diff_ids: [layer.digest] } };
  const image = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: await put("application/vnd.oci.image.config.v1+json", JSON.stringify(config)),
    layers: [layer],
  };
  const manifest = { ...(await put(image.mediaType, JSON.stringify(image))), annotations: { "org.opencontainers.image.ref.name": "one" } };
  await writeFile(join(path, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(join(path, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }));
  return manifest.digest;
};

const openToEverybody = async (name: string): Promise<void> => {
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name });
  for (const { uid } of repos as { uid: string }[])
    await world.ok("registry.ReposService/UpdateRepo", { repo: { uid, anonymousPull: true }, updateMask: "anonymous_pull" });
};

/** Returns how many mounts the registry completed since `from`, by status. */
const uploadsSince = (from: number): unknown[] =>
  requests
    .lines()
    .slice(from)
    .filter(({ operation }) => String(operation).endsWith("/StartUpload"))
    .map(({ httpStatus, status }) => httpStatus ?? status);

before(async () => {
  [world, issuer] = await Promise.all([openWorld({ GANTRY_REQUEST_LOG: "true" }, requests.log), startIssuer()]);
  host = new URL(world.url).host;
  const acme = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "acme" } }), "uid");
  const identity = async (subject: string, role: string): Promise<string> => {
    const made = { name: subject, claimMatch: { issuer: issuer.url, subject } };
    const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: acme, identity: made }), "uid");
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: acme, roleBinding: { identityUid: uid, roleUid: builtInRoleUid(role) } });
    return uid;
  };
  owner = await world.token(await identity("owner", "owner"));
  job.uid = await identity("job", "registry.push");
  job.token = await issuer.token({ sub: "job", aud: world.url });
  const made = await gantryAnywhere(["iam", "pull-tokens", "create", "--group", acme, "--issuer", world.url], { env: { GANTRY_TOKEN: owner } });
  assert.equal(made.code, 0, made.stderr);
  puller.uid = /^User name: +(\S+)$/m.exec(made.stdout)?.[1] ?? "";
  puller.password = /^Password: +(\S+)$/m.exec(made.stdout)?.[1] ?? "";
});
after(async () => {
  await Promise.all([world?.close(), issuer?.close()]);
  await rm(folder, { recursive: true, force: true });
});

test("skopeo pushes, copies, lists, deletes and pulls anonymously", { skip: missing("skopeo") }, async () => {
  const { home, done, failed } = await openClient("skopeo");
  await writeLayout(join(home, "image"));
  const [app, copy] = [`docker://${host}/acme/skopeo/app:1`, `docker://${host}/acme/skopeo/copied/app:1`];
  const [from, to] = ["--src-tls-verify=false", "--dest-tls-verify=false"];
  await done("copy", to, "--dest-creds", `_token:${owner}`, `oci:${home}/image:one`, app);
  await done("copy", from, to, "--src-creds", `_token:${owner}`, "--dest-creds", `_token:${owner}`, app, copy);
  await done("copy", to, "--dest-creds", `${job.uid}:${job.token}`, `oci:${home}/image:one`, `docker://${host}/acme/skopeo/job:1`);
  assert.match(await done("list-tags", "--tls-verify=false", "--creds", `_token:${owner}`, copy.replace(/:1$/, "")), /"1"/);
  await failed("delete", "--tls-verify=false", copy);
  await done("delete", "--tls-verify=false", "--creds", `_token:${owner}`, copy);
  await failed("inspect", "--tls-verify=false", "--creds", `_token:${owner}`, copy);
  await failed("inspect", "--tls-verify=false", "--no-creds", app);
  await openToEverybody("app");
  await done("copy", from, "--src-no-creds", app, `oci:${home}/out:one`);
});

test("buildah pushes and pulls", { skip: missing("buildah") }, async () => {
  const { home, done } = await openClient("buildah");
  const storage = ["--storage-driver", "vfs", "--root", join(home, "storage"), "--runroot", join(home, "run")];
  const policy = join(home, "policy.json");
  await writeFile(policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
  await writeFile(join(home, "file.txt"), randomBytes(1_000));
  const image = `docker://${host}/acme/buildah/app:1`;
  await done(...storage, "from", "--name", "work", "scratch");
  await done(...storage, "add", "work", "file.txt", "/file.txt");
  const id = (await done(...storage, "commit", "--signature-policy", policy, "work", "app")).trim();
  await done(...storage, "push", "--signature-policy", policy, "--tls-verify=false", "--creds", `_token:${owner}`, id, image);
  await done(...storage, "push", "--signature-policy", policy, "--tls-verify=false", "--creds", `${job.uid}:${job.token}`, id, image.replace("app:1", "job:1"));
  await done(...storage, "pull", "--signature-policy", policy, "--tls-verify=false", "--creds", `_token:${owner}`, image);
});

/** The file of a Kubernetes pull secret (type kubernetes.io/dockerconfigjson). */
const writePullSecret = async (path: string): Promise<void> => {
  const { uid: username, password } = puller;
  const auth = Buffer.from(`${username}:${password}`).toString("base64");
  await writeFile(path, JSON.stringify({ auths: { [host]: { username, password, auth } } }));
};

test("podman builds, pushes, lists tags, and pulls with a pull secret that permits no push", { skip: missing("podman") }, async (t) => {
  const { home, done, failed } = await openClient("podman");
  // podman permits 50 characters.
  const run = await mkdtemp("/tmp/podman-");
  t.after(() => rm(run, { recursive: true, force: true }));
  const storage = ["--storage-driver", "vfs", "--root", join(home, "storage"), "--runroot", run, "--cgroup-manager", "cgroupfs"];
  const [policy, secret, image] = [join(home, "policy.json"), join(home, "secret.json"), `${host}/acme/podman/app:1`];
  const signatures = ["--signature-policy", policy];
  await writeFile(policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
  await writePullSecret(secret);
  await writeFile(join(home, "file.txt"), randomBytes(1_000));
  await writeFile(join(home, "Containerfile"), "FROM scratch\nCOPY file.txt /file.txt\n");
  await done(...storage, "build", ...signatures, "--isolation", "chroot", "-t", image, "-f", "Containerfile", ".");
  const authfile = ["--authfile", join(home, "auth.json")];
  await done(...storage, "login", ...authfile, "--tls-verify=false", "-u", "_token", "-p", owner, host);
  await done(...storage, "push", ...authfile, ...signatures, "--tls-verify=false", image);
  await done(
    ...storage,
    "push",
    ...authfile,
    ...signatures,
    "--tls-verify=false",
    "--compression-format",
    "zstd",
    image,
    `docker://${image.replace(/:1$/, ":zstd")}`,
  );
  const listed = await done(...storage, "search", ...authfile, "--tls-verify=false", "--list-tags", image.replace(/:1$/, ""));
  assert.match(listed, /\b1\b[\s\S]*\bzstd\b/);
  await done(...storage, "logout", ...authfile, host);
  await failed(...storage, "pull", ...authfile, ...signatures, "--tls-verify=false", image);
  await done(...storage, "rmi", image);
  await done(...storage, "pull", "--authfile", secret, ...signatures, "--tls-verify=false", image);
  await done(...storage, "pull", "--authfile", secret, ...signatures, "--tls-verify=false", image.replace(/:1$/, ":zstd"));
  await failed(...storage, "push", "--authfile", secret, ...signatures, "--tls-verify=false", image, `docker://${image.replace(/:1$/, ":2")}`);
});

test("containerd pulls with a pull token, unpacks, and pushes", { skip: missing("containerd") }, async (t) => {
  const { home, done, failed } = await openClient("ctr");
  const image = `${host}/acme/containerd/app:one`;
  await writeFile(
    join(home, "config.toml"),
    `version = 2
root = "${home}/root"
state = "${home}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "${home}/sock"
[ttrpc]
address = "${home}/ttrpc"
`,
  );
  const daemon = spawn("containerd", ["-c", join(home, "config.toml"), "-l", "error"], { stdio: "ignore" });
  const ended = once(daemon, "exit");
  t.after(async () => {
    daemon.kill();
    await ended;
  });
  // Waits for the daemon.
  const ctr = ["-a", join(home, "sock"), "--connect-timeout", "60s"];
  const content = ["--plain-http", "--platform", "linux/amd64"];
  await runIn(home, "tar", ["-cf", "layer.tar", "config.toml"]);
  await writeLayout(join(home, "image"), await readFile(join(home, "layer.tar")));
  await runIn(home, "tar", ["-C", join(home, "image"), "-cf", join(home, "image.tar"), "."]);
  await done(...ctr, "images", "import", "--no-unpack", "--base-name", image.replace(/:one$/, ""), join(home, "image.tar"));
  await failed(...ctr, "images", "push", "--plain-http", "--user", `${puller.uid}:${puller.password}`, image);
  await done(...ctr, "images", "push", "--plain-http", "--user", `_token:${owner}`, image);
  await done(...ctr, "images", "rm", "--sync", image);
  await failed(...ctr, "images", "pull", ...content, "--snapshotter", "native", image);
  await done(...ctr, "images", "pull", ...content, "--snapshotter", "native", "--user", `${puller.uid}:${puller.password}`, image);
  assert.ok((await done(...ctr, "images", "ls")).includes(image));
});

test("docker's command line reads manifests with the credentials of its file", { skip: missing("docker") }, async () => {
  const { home, done, failed } = await openClient("docker");
  await openRegistry(world.url, basic("_token", owner)).pushImage("acme/docker/app", "1");
  await failed("manifest", "inspect", "--insecure", `${host}/acme/docker/app:1`);
  await writePullSecret(join(home, "config.json"));
  assert.match(await done("manifest", "inspect", "--insecure", `${host}/acme/docker/app:1`), /"layers"/);
});

interface Daemon {
  readonly socket: string;
  stop(): Promise<void>;
}

/**
 * Starts a daemon for clients in a directory of its own.
 *
 * @param optionsOf options for its directory and its socket
 * @param client a command that succeeds once the daemon responds
 * @returns what it said if it does not start, as in a container with few privileges
 */
const startDaemon = async (
  program: string,
  optionsOf: (run: string, socket: string) => readonly string[],
  [client = "", ...args]: readonly string[],
): Promise<Daemon | string> => {
  // A socket's path has at most 107 characters.
  const run = await mkdtemp(`/tmp/${program}-`);
  const socket = `unix://${run}/sock`;
  const path = `${process.env.PATH ?? ""}${delimiter}${clientsFolder}`;
  const daemon = spawn(program, optionsOf(run, socket), { env: { ...process.env, PATH: path }, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  daemon.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = once(daemon, "exit");
  const stop = async (): Promise<void> => {
    daemon.kill();
    await ended;
    await rm(run, { recursive: true, force: true });
  };
  while (daemon.exitCode === null) {
    if ((await runIn(folder, client, [...args.map((each) => (each === "SOCKET" ? socket : each))])).code === 0) return { socket, stop };
    await sleep(100);
  }
  await stop();
  return `${program} does not start: ${said.trim().split("\n").at(-1)}`;
};

const isRunning = (daemon: Daemon | string | boolean): daemon is Daemon => typeof daemon === "object";

const engine =
  missing("docker") ||
  missing("dockerd") ||
  (await startDaemon(
    "dockerd",
    (run, socket) => [
      ...["--data-root", join(run, "data"), "--exec-root", join(run, "exec"), "--pidfile", join(run, "pid"), "--host", socket],
      ...["--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs", "--log-level=error"],
    ],
    ["docker", "--host", "SOCKET", "version"],
  ));

test("docker's engine builds, pushes, mounts, pulls by tag and digest, and is refused without a permission", {
  skip: isRunning(engine) ? false : engine,
}, async (t) => {
  if (!isRunning(engine)) return;
  t.after(engine.stop);
  const { home, done: run, failed: fail } = await openClient("docker");
  const done = (...args: string[]) => run("--host", engine.socket, ...args);
  const failed = (...args: string[]) => fail("--host", engine.socket, ...args);
  const [app, copy] = [`${host}/acme/docker/engine:1`, `${host}/acme/docker/copied/engine:1`];
  await writeFile(join(home, "file.bin"), randomBytes(300_000));
  await writeFile(join(home, "Dockerfile"), "FROM scratch\nCOPY file.bin /file.bin\nLABEL org.opencontainers.image.title=engine\n");
  await run("--host", engine.socket, "build", "--quiet", "--tag", app, "--file", "Dockerfile", ".");
  await failed("push", app);
  await failed("login", "--username", "_token", "--password", "wrong", host);
  await done("login", "--username", "_token", "--password", owner, host);
  const [, digest = ""] = /digest: (sha256:[0-9a-f]{64})/.exec(await done("push", app)) ?? [];
  assert.notEqual(digest, "");
  assert.match(await done("push", app), /Layer already exists/);
  await done("tag", app, copy);
  assert.match(await done("push", copy), /Mounted from acme\/docker\/engine/);
  await done("rmi", app, copy);
  await done("pull", app);
  await done("pull", app.replace(/:1$/, `@${digest}`));
  await done("logout", host);
  assert.match(await failed("pull", copy), /denied|unauthorized|authentication required/i);
  await done("login", "--username", puller.uid, "--password", puller.password, host);
  await done("pull", copy);
  await done("tag", app, app.replace(/:1$/, ":2"));
  assert.match(await failed("push", app.replace(/:1$/, ":2")), /denied/);
  await done("login", "--username", job.uid, "--password", job.token, host);
  await done("push", app.replace(/:1$/, ":2"));
});

const builder =
  missing("buildctl") ||
  missing("buildkitd") ||
  missing("runc") ||
  (await startDaemon(
    "buildkitd",
    (run, socket) => ["--root", join(run, "root"), "--addr", socket, "--containerd-worker=false", "--oci-worker-snapshotter=native"],
    ["buildctl", "--addr", "SOCKET", "debug", "workers"],
  ));

test("BuildKit pushes layers in gzip, zstd and eStargz, and reuses its cache of mode max from the registry", {
  skip: isRunning(builder) ? false : builder,
}, async (t) => {
  if (!isRunning(builder)) return;
  t.after(builder.stop);
  const { home, done: run, failed: fail } = await openClient("buildctl");
  const app = `${host}/acme/buildkit/app`;
  await mkdir(join(home, "context", "node_modules", "minimist"), { recursive: true });
  await writeFile(join(home, "context", "node_modules", "minimist", "package.json"), '{"name": "minimist", "version": "1.2.5"}');
  await writeFile(join(home, "context", "file.bin"), randomBytes(300_000));
  await writeFile(join(home, "context", "Dockerfile"), "FROM scratch AS first\nCOPY . /first\nFROM scratch\nCOPY --from=first /first /app\n");
  const cache = `type=registry,ref=${app}:cache,registry.insecure=true`;
  const builds = (tag: string, compression: string): readonly string[] => [
    ...["--addr", builder.socket, "build", "--progress", "plain", "--frontend", "dockerfile.v0"],
    ...["--local", `context=${join(home, "context")}`, "--local", `dockerfile=${join(home, "context")}`],
    ...["--output", `type=image,name=${app}:${tag},push=true,registry.insecure=true,oci-mediatypes=true,compression=${compression},force-compression=true`],
  ];
  await fail(...builds("gzip", "gzip"));
  await writeFile(join(home, "config.json"), JSON.stringify({ auths: { [host]: { auth: Buffer.from(`_token:${owner}`).toString("base64") } } }));
  for (const compression of ["gzip", "zstd", "estargz"]) await run(...builds(compression, compression), "--export-cache", `${cache},mode=max`);
  await run("--addr", builder.socket, "prune", "--all");
  const { code, err } = await runIn(home, "buildctl", [...builds("again", "gzip"), "--import-cache", cache]);
  assert.equal(code, 0, err);
  assert.equal(err.match(/^#\d+ CACHED$/gm)?.length, 2, err);
  // Gantry reads the packages of each.
  await world.server.contents.turn();
  for (const compression of ["gzip", "zstd", "estargz"]) {
    const { headers } = await openRegistry(world.url, basic("_token", owner)).send("HEAD", `acme/buildkit/app/manifests/${compression}`);
    const digest = headers.get("docker-content-digest");
    const { imageContents } = await world.ok("gantry.images.v1.ImageContentsService/ListImageContents", { digest }, { token: owner });
    assert.deepEqual(
      (imageContents as JsonObject[]).map(({ state, packageCount }) => [state, packageCount]),
      [["IMAGE_CONTENTS_STATE_INDEXED", 1]],
      compression,
    );
  }
});

test("crane pushes, mounts, lists, tags, deletes and pulls anonymously", { skip: missing("crane") }, async () => {
  const { home, done, failed } = await openClient("crane");
  const digest = await writeLayout(join(home, "image"));
  await failed("ls", `${host}/acme/crane/app`);
  await done("auth", "login", host, "-u", "_token", "-p", owner);
  await done("push", join(home, "image"), `${host}/acme/crane/app:1`);
  assert.equal((await done("digest", `${host}/acme/crane/app:1`)).trim(), digest);
  const begun = requests.lines().length;
  await done("cp", `${host}/acme/crane/app:1`, `${host}/acme/crane/copied/app:1`);
  assert.ok(uploadsSince(begun).length > 0);
  await done("tag", `${host}/acme/crane/app:1`, "2");
  assert.equal(await done("ls", `${host}/acme/crane/app`), "1\n2\n");
  await done("pull", `${host}/acme/crane/copied/app:1`, join(home, "image.tar"));
  await done("delete", `${host}/acme/crane/copied/app@${digest}`);
  await failed("manifest", `${host}/acme/crane/copied/app:1`);
  assert.match(await done("catalog", host), /^acme\/crane\/app$/m);
  await done("auth", "logout", host);
  await failed("manifest", `${host}/acme/crane/app:1`);
  await openToEverybody("app");
  await done("manifest", `${host}/acme/crane/app:1`);
  await done("auth", "login", host, "-u", job.uid, "-p", job.token);
  await done("push", join(home, "image"), `${host}/acme/crane/job:1`);
});

test("oras pushes, attaches, discovers, copies, pulls and deletes", { skip: missing("oras") }, async () => {
  const { home, done } = await openClient("oras");
  const config = ["--plain-http", "--registry-config", join(home, "config.json")];
  await writeFile(join(home, "file.txt"), "content of a file");
  await done("login", ...config, "-u", "_token", "-p", owner, host);
  const [app, copy] = [`${host}/acme/oras/app:1`, `${host}/acme/oras/copied/app:1`];
  await done("push", ...config, "--artifact-type", "application/vnd.example", app, "file.txt");
  await done("attach", ...config, "--artifact-type", "application/vnd.example.note", app, "file.txt");
  assert.match(await done("discover", ...config, app), /example\.note/);
  const both = ["--from-plain-http", "--to-plain-http", "--from-registry-config", join(home, "config.json"), "--to-registry-config", join(home, "config.json")];
  await done("cp", "-r", ...both, app, copy);
  assert.match(await done("repo", "tags", ...config, copy.replace(/:1$/, "")), /^1$/m);
  await done("pull", ...config, "-o", join(home, "out"), copy);
  assert.equal(await readFile(join(home, "out", "file.txt"), "utf8"), "content of a file");
  await done("manifest", "delete", "-f", ...config, copy);
  // A WebAssembly component and a model, with their own types of configuration and layers.
  for (const [kind, type, layer] of [
    ["wasm", "application/vnd.wasm.config.v0+json", "application/wasm"],
    ["model", "application/vnd.cncf.model.config.v1+json", "application/vnd.cncf.model.weight.v1.raw"],
  ] as const) {
    await writeFile(join(home, "config-of-it.json"), "{}");
    await done("push", ...config, "--config", `config-of-it.json:${type}`, `${host}/acme/oras/${kind}:1`, `file.txt:${layer}`);
    const manifest = await done("manifest", "fetch", ...config, `${host}/acme/oras/${kind}:1`);
    assert.ok(manifest.includes(`"${type}"`) && manifest.includes(`"${layer}"`), manifest);
    await done("pull", ...config, "-o", join(home, kind), `${host}/acme/oras/${kind}:1`);
    assert.equal(await readFile(join(home, kind, "file.txt"), "utf8"), "content of a file");
  }
  await done("login", ...config, "-u", job.uid, "-p", job.token, host);
  await done("push", ...config, `${host}/acme/oras/job:1`, "file.txt");
});

test("regctl pushes, tags, copies, lists, attaches, deletes a tag and deletes an image", { skip: missing("regctl") }, async () => {
  const { home, done, failed } = await openClient("regctl");
  const digest = await writeLayout(join(home, "image"));
  const [app, copy] = [`${host}/acme/regctl/app:1`, `${host}/acme/regctl/copied/app:1`];
  await done("registry", "set", host, "--tls", "disabled", "--skip-check");
  await failed("tag", "ls", app.replace(/:1$/, ""));
  await done("registry", "login", host, "-u", "_token", "-p", owner);
  await done("image", "copy", `ocidir://${home}/image:one`, app);
  assert.equal((await done("image", "digest", app)).trim(), digest);
  await done("image", "copy", app, app.replace(/:1$/, ":2"));
  await done("image", "copy", "--referrers", app, copy);
  assert.equal(await done("tag", "ls", app.replace(/:1$/, "")), "1\n2\n");
  await writeFile(join(home, "note.txt"), "a note");
  await done("artifact", "put", "--subject", app, "--artifact-type", "application/vnd.example.note", "-f", "note.txt");
  assert.match(await done("artifact", "list", app), /example\.note/);
  assert.equal(await done("artifact", "get", "--subject", app), "a note");
  await done("tag", "delete", app.replace(/:1$/, ":2"));
  assert.equal(await done("tag", "ls", app.replace(/:1$/, "")), "1\n");
  await done("image", "export", copy, join(home, "image.tar"));
  await done("image", "delete", `${copy.replace(/:1$/, "")}@${digest}`);
  await failed("manifest", "head", copy);
  await done("registry", "login", host, "-u", job.uid, "-p", job.token);
  await done("image", "copy", `ocidir://${home}/image:one`, `${host}/acme/regctl/job:1`);
});

test("cosign signs, attests and verifies with a key", { skip: missing("cosign") }, async () => {
  const { home, done, failed } = await openClient("cosign");
  const registry = openRegistry(world.url, basic("_token", owner));
  const image = `${host}/acme/cosign/app@${await registry.pushImage("acme/cosign/app", "1")}`;
  const other = `${host}/acme/cosign/app@${await registry.pushImage("acme/cosign/app", "2", { layer: "another" })}`;
  await done("login", host, "-u", "_token", "-p", owner);
  await done("generate-key-pair");
  await writeFile(join(home, "predicate.json"), '{"builder":{"id":"test"},"buildType":"https://example.com/build"}');
  const [key, pub] = [join(home, "cosign.key"), join(home, "cosign.pub")];
  const insecure = ["--allow-http-registry", "--allow-insecure-registry"];
  await done("sign", ...insecure, "--yes", "--tlog-upload=false", "--key", key, image);
  await done("attest", ...insecure, "--yes", "--tlog-upload=false", "--key", key, "--type", "slsaprovenance", "--predicate", "predicate.json", image);
  assert.match(await done("verify", ...insecure, "--insecure-ignore-tlog", "--key", pub, image), /cosign container image signature/);
  await done("verify-attestation", ...insecure, "--insecure-ignore-tlog", "--key", pub, "--type", "slsaprovenance", image);
  await failed("verify", ...insecure, "--insecure-ignore-tlog", "--key", pub, other);
  assert.match(await done("tree", ...insecure, image), /Signatures[\s\S]*Attestations|Attestations[\s\S]*Signatures/);
});

test("notation signs and verifies with a test key", { skip: missing("notation") }, async () => {
  const { home, done, failed } = await openClient("notation");
  const registry = openRegistry(world.url, basic("_token", owner));
  const image = `${host}/acme/notation/app@${await registry.pushImage("acme/notation/app", "1")}`;
  const other = `${host}/acme/notation/app@${await registry.pushImage("acme/notation/app", "2", { layer: "another" })}`;
  const policy = {
    version: "1.0",
    trustPolicies: [
      { name: "test", registryScopes: ["*"], signatureVerification: { level: "strict" }, trustStores: ["ca:example.test"], trustedIdentities: ["*"] },
    ],
  };
  await writeFile(join(home, "trustpolicy.json"), JSON.stringify(policy));
  const login = ["-u", "_token", "-p", owner, "--insecure-registry"];
  await done("cert", "generate-test", "--default", "example.test");
  await done("policy", "import", "trustpolicy.json");
  await done("sign", ...login, image);
  assert.match(await done("list", ...login, image), /application\/vnd\.cncf\.notary\.signature/);
  assert.match(await done("verify", ...login, image), /Successfully verified/);
  await failed("verify", ...login, other);
});

test("helm pushes and pulls charts", { skip: missing("helm") }, async () => {
  const { home, done } = await openClient("helm");
  await done("create", "chart");
  await done("package", "chart");
  for (const [user, password, name] of [
    ["_token", owner, "charts"],
    [job.uid, job.token, "job-charts"],
  ] as const) {
    await done("registry", "login", "--plain-http", host, "-u", user, "-p", password);
    await done("push", "--plain-http", "chart-0.1.0.tgz", `oci://${host}/acme/${name}`);
    await done("pull", "--plain-http", `oci://${host}/acme/${name}/chart`, "--version", "0.1.0", "-d", home);
    assert.match(await done("show", "chart", "--plain-http", `oci://${host}/acme/${name}/chart`), /version: 0\.1\.0/);
    await done("registry", "logout", host);
  }
});
