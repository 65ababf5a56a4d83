// The files of deploy/, checked by third-party programs and against the server's settings, ports, paths and version. image.test.ts runs the
// Dockerfile; systemd.test.ts runs the unit's command.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parseAllDocuments, parse } from "yaml";
import { readDatabaseSettings, readSettings, settingNames } from "#application";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { gantry } from "../story/processes.ts";
import { openWorld, type World } from "../world.ts";
import { checkKubernetes, composeLoader, hadolint, kubeconform, systemdAnalyze } from "./judges.ts";
import { readDockerfile } from "./dockerfile.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const { version } = JSON.parse(read("package.json")) as { version: string };

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const part = (value: Json | undefined, ...path: readonly string[]): JsonObject => {
  const found = path.reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), value);
  return isObject(found) ? found : {};
};

const judge = (program: string, args: readonly string[]): void => {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, `${stdout}${stderr}`);
};

const composeFiles = globSync("deploy/compose/*.yaml", { cwd: root }).sort();
const compose = composeFiles.map((path) => ({ path, content: parse(read(path)) as JsonObject }));
const manifests = parseAllDocuments(read("deploy/kubernetes/gantry.yaml"), { version: "1.1" }).map((document) => document.toJS() as JsonObject);
const ofKind = (kind: string): JsonObject[] => manifests.filter((manifest) => manifest.kind === kind);
const [deployment = {}] = ofKind("Deployment");
const pod = part(deployment, "spec", "template", "spec");
const containers = [...objects(pod.initContainers), ...objects(pod.containers)];
const [server = {}] = objects(pod.containers);
const image = readDockerfile(read("deploy/Dockerfile")).at(-1) ?? assert.fail("the Dockerfile has no stage");
const imageEnvironment = Object.fromEntries(
  image.steps.flatMap(({ does, of }) => (does === "ENV" ? of : [])).map((each) => each.split("=", 2) as [string, string]),
);

let world: World;
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-deploy-"));
  world = await openWorld();
});
after(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("hadolint finds nothing in the Dockerfile", { skip: hadolint.missing }, () => judge(hadolint.program, ["deploy/Dockerfile"]));

test("the Kubernetes manifests have all required fields and no unknown ones", { skip: kubeconform.missing }, () => {
  const source = read("deploy/kubernetes/gantry.yaml");
  const { status, output } = checkKubernetes(source);
  assert.equal(status, 0, output);
  for (const [what, planted] of [
    ["an unknown field", source.replace("containerPort:", "containerPrt:")],
    ["a wrong type", source.replace(/replicas: \d+/, "replicas: many")],
    ["an unknown kind", source.replace("kind: Deployment", "kind: Deploymet")],
  ] as const)
    assert.notEqual(checkKubernetes(planted).status, 0, what);
});

test("Docker Compose's loader accepts both compose files", { skip: composeLoader.missing }, () => {
  assert.ok(composeFiles.length >= 2);
  for (const path of composeFiles) judge(composeLoader.program, ["-no-interpolation", path]);
});

test("systemd accepts the unit and rates its exposure as low", { skip: systemdAnalyze.missing }, () => {
  // systemd checks that the program to start exists.
  const unit = join(folder, "gantry.service");
  writeFileSync(unit, read("deploy/systemd/gantry.service").replaceAll("/opt/gantry/bin/gantry", process.execPath));
  const { status, stderr } = spawnSync(systemdAnalyze.program, ["verify", "--man=no", unit], { encoding: "utf8" });
  // Warnings count too, since systemd ignores a value it does not know.
  assert.deepEqual([status, stderr.split("\n").filter((line) => line.includes("gantry"))], [0, []]);
  // Exposure is at most 10; above the threshold the status is 1. The threshold is in tenths, times ten.
  judge(systemdAnalyze.program, ["security", "--offline=true", "--threshold=20", unit]);
});

test("each place for a version has the current one: lock file, changelog, and every image name", () => {
  const lock = JSON.parse(read("package-lock.json")) as { version: string; packages: Record<string, { version: string }> };
  assert.deepEqual([lock.version, lock.packages[""]?.version], [version, version]);
  assert.equal(/^## \[(\d[^\]]*)\]/m.exec(read("CHANGELOG.md"))?.[1], version);
  let named = 0;
  for (const path of [...globSync("deploy/**/*", { cwd: root, withFileTypes: true })]
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name)))
    for (const [, tag] of readFileSync(path, "utf8").matchAll(/\bgantry:(\d[\w.-]*)/g)) {
      named++;
      assert.equal(tag, version, path);
    }
  assert.ok(named >= 5);
  for (const [, named] of read("docs/operate/install.md").matchAll(/\bgantry[:-](\d+\.\d+\.\d+)/g)) assert.equal(named, version);
});

/** Substitutes variables as Compose does, with a value for each required one. */
const interpolated = (value: string): string =>
  value.replaceAll(/\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}/g, (_, name: string, otherwise?: string) => otherwise ?? name.toLowerCase());

/** Settings of third-party software: Amazon's client. */
const namesOfOthers = new Set(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);

/** Asserts that the server starts in this environment. */
const assertSettings = (environment: Readonly<Record<string, string>>, readThem: (given: Readonly<Record<string, string>>) => unknown = readSettings): void => {
  const names: readonly string[] = settingNames;
  for (const name of Object.keys(environment)) assert.ok(names.includes(name) || namesOfOthers.has(name), `${name} is no setting`);
  readThem(environment);
};

test("compose files, manifests, image and unit contain only valid settings of the server", () => {
  for (const { path, content } of compose) {
    const { environment } = part(content, "services", "gantry");
    assert.ok(isObject(environment), path);
    assertSettings({ ...imageEnvironment, ...Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolated(String(value))])) });
  }
  const shared = Object.fromEntries(ofKind("ConfigMap").flatMap(({ data }) => (isObject(data) ? Object.entries(data) : []))) as Record<string, string>;
  const secret = (name: string): string => (name.endsWith("_URL") ? "postgresql://gantry:secret@db.example.com/gantry" : "secret");
  for (const container of containers) {
    const own = Object.fromEntries(objects(container.env).map(({ name }) => [String(name), secret(String(name))]));
    assertSettings({ ...imageEnvironment, ...shared, ...own }, container.name === "migrate" ? readDatabaseSettings : readSettings);
  }
  const unit = Object.fromEntries(
    [...read("deploy/systemd/gantry.service").matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
  assertSettings(unit);
  assert.equal(`/var/lib/${/^StateDirectory=(.*)$/m.exec(read("deploy/systemd/gantry.service"))?.[1]}`, unit.GANTRY_DATA);
});

test("each probe uses a path and port that a running server answers on, and the image's health check succeeds", async () => {
  const port = Number(imageEnvironment.GANTRY_LISTEN?.split(":")[1]);
  assert.deepEqual(
    image.steps.flatMap(({ does, of }) => (does === "EXPOSE" ? of : [])),
    [String(port)],
  );
  const ports = objects(server.ports);
  assert.equal(ports.find(({ name }) => name === "http")?.containerPort, port);
  const probes = ["startupProbe", "livenessProbe", "readinessProbe"].map((name) => part(server, name, "httpGet"));
  assert.deepEqual(
    probes.map(({ path }) => path),
    ["/healthz", "/healthz", "/readyz"],
  );
  for (const { path, port: named } of probes) {
    assert.equal(named, "http");
    const { status } = await fetch(`${world.url}${String(path)}`);
    assert.equal(status, 200, String(path));
  }
  const metrics = /:(\d+)$/.exec(text(part(ofKind("ConfigMap")[0], "data"), "GANTRY_METRICS_LISTEN"))?.[1];
  assert.equal(ports.find(({ name }) => name === "metrics")?.containerPort, Number(metrics));
  for (const { path, content } of compose)
    for (const published of part(content, "services").gantry ? (part(content, "services", "gantry").ports as string[]) : [])
      assert.match(published, new RegExp(`:${port}$`), path);
  const [program, ...args] = image.steps.findLast(({ does }) => does === "HEALTHCHECK")?.of ?? [];
  assert.equal(program, "gantry");
  const { code, stdout } = await gantry(args, { env: { GANTRY_LISTEN: new URL(world.url).host } });
  assert.deepEqual([code, stdout], [0, "ready\n"]);
});

test("every reference in the manifests resolves, or the guide creates it: settings, accounts, secrets, volumes, labels, ports", () => {
  const guide = read("docs/operate/install.md");
  const names = (kind: string): string[] => ofKind(kind).map((manifest) => text(part(manifest, "metadata"), "name"));
  assert.deepEqual(names("ServiceAccount"), [pod.serviceAccountName]);
  const labels = part(deployment, "spec", "template", "metadata", "labels");
  for (const selector of [
    part(deployment, "spec", "selector", "matchLabels"),
    part(ofKind("PodDisruptionBudget")[0], "spec", "selector", "matchLabels"),
    part(ofKind("Service")[0], "spec", "selector"),
    part(ofKind("NetworkPolicy")[0], "spec", "podSelector", "matchLabels"),
  ])
    assert.deepEqual(selector, labels);
  for (const manifest of manifests) if (manifest.kind !== "Namespace") assert.equal(text(part(manifest, "metadata"), "namespace"), names("Namespace")[0]);
  const secrets = new Map<string, Set<string>>();
  for (const container of containers) {
    for (const { configMapRef } of objects(container.envFrom)) assert.ok(names("ConfigMap").includes(text(part(configMapRef), "name")));
    for (const { valueFrom } of objects(container.env)) {
      const { name, key } = part(valueFrom, "secretKeyRef");
      secrets.set(String(name), (secrets.get(String(name)) ?? new Set()).add(String(key)));
    }
    const volumes = objects(pod.volumes).map(({ name }) => name);
    for (const { name } of objects(container.volumeMounts)) assert.ok(volumes.includes(name ?? ""), String(name));
  }
  for (const { secret } of objects(pod.volumes)) if (isObject(secret)) secrets.set(text(secret, "secretName"), new Set(["secret.key"]));
  for (const [name, keys] of secrets)
    for (const key of keys)
      assert.match(
        guide,
        new RegExp(`create secret generic ${name} [^\\n]*(?:\\\\\\n[^\\n]*)*--from-(?:literal|file)=${key.replace(".", "\\.")}=`),
        `${name} ${key}`,
      );
  // Only the migration has the owner's connection.
  assert.doesNotMatch(JSON.stringify(objects(pod.containers)), /GANTRY_MIGRATE_URL/);
});

test("attack 195: no container can become root, write to its root file system or gain capabilities, and one of two servers may be down", () => {
  assert.deepEqual([pod.automountServiceAccountToken, part(pod, "securityContext").runAsNonRoot, part(deployment, "spec").replicas], [false, true, 2]);
  assert.equal(part(pod, "securityContext", "seccompProfile").type, "RuntimeDefault");
  assert.equal(part(ofKind("PodDisruptionBudget")[0], "spec").minAvailable, 1);
  for (const { securityContext, resources } of containers) {
    assert.deepEqual(securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } });
    assert.ok(part(resources, "limits").memory && part(resources, "requests").memory);
  }
  const user = image.steps.findLast(({ does }) => does === "USER")?.of[0]?.split(":")[0];
  assert.equal(String(part(pod, "securityContext").runAsUser), user);
  for (const { path, content } of compose) {
    const { read_only: readOnly, cap_drop: dropped, security_opt: options } = part(content, "services", "gantry");
    assert.deepEqual([path, readOnly, dropped, options], [path, true, ["ALL"], ["no-new-privileges:true"]]);
  }
});

test("an upgrade with a breaking migration waits for the servers of the previous version, and a compatible one replaces them one by one", () => {
  // The init container is refused while old pods run, and they keep serving, since none may be unavailable.
  assert.deepEqual(
    objects(pod.initContainers).map(({ name, args }) => [name, args]),
    [["migrate", ["admin", "migrate"]]],
  );
  assert.deepEqual(part(deployment, "spec", "strategy"), { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  // Compose stops the old container before it starts the new one, if there is one and no other order is set.
  for (const { path, content } of compose) assert.deepEqual([path, part(content, "services", "gantry").deploy], [path, undefined]);
  const guide = read("docs/operate/upgrade.md");
  for (const command of ["kubectl --namespace gantry scale deployment/gantry --replicas=0", "docker compose up --detach --wait", "--while-servers-run"])
    assert.ok(guide.includes(command), command);
});

test("the guide names each user file of deploy/, and each named file exists", () => {
  const guide = read("docs/operate/install.md");
  for (const path of [
    "deploy/Dockerfile",
    ...composeFiles,
    "deploy/helm/gantry",
    "deploy/kubernetes/gantry.yaml",
    "deploy/systemd/gantry.service",
    "deploy/systemd/gantry.sysusers.conf",
  ])
    assert.ok(guide.includes(path), path);
  for (const [path] of guide.matchAll(/\bdeploy\/[\w./-]+\.(?:yaml|service|conf)\b/g)) assert.ok(existsSync(join(root, path)), path);
});
