// Helm charts that an owner pushes, as version 1 returns them (decision 0034).

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text, texts } from "#base/json.ts";
import { chartArchive, chartConfig, chartYaml, pushArchive, pushChart } from "../charts.ts";
import type { Answer, Protocol } from "../client.ts";
import { openOwners } from "../owner.ts";
import { openRegistry, type RegistryClient } from "../registry.ts";
import { openWorld, type World } from "../world.ts";

const registry = "chainguard.platform.registry.Registry";
const protocols: readonly Protocol[] = ["grpc", "rest"];

let world: World;
let client: RegistryClient;
let host: string;
let ownerToken: () => Promise<string>;
before(async () => {
  world = await openWorld();
  ({ host } = new URL(world.url));
  const { token } = openOwners(world);
  ownerToken = () => token();
  client = openRegistry(world.url, `Bearer ${await ownerToken()}`);
});
after(() => world?.close());

const answerOf = async (rpc: string, request: JsonObject, protocol: Protocol = "grpc"): Promise<Answer> =>
  world.call(`${registry}/${rpc}`, request, { protocol, token: await ownerToken() });
const ask = async (rpc: string, request: JsonObject, protocol: Protocol = "grpc"): Promise<JsonObject> => {
  const answer = await answerOf(rpc, request, protocol);
  assert.equal(answer.code, 0, answer.message);
  return answer.reply;
};
const repoOf = async (name: string): Promise<string> => {
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name }, { token: await ownerToken() });
  const [repo] = objectList({ repos: repos ?? [] }, "repos");
  return text(repo ?? assert.fail(`no repo ${name}`), "uid");
};

const values = "image: nginx\nreplicas: 2\n";
const changelog = "# 1.2.3\n\nServes faster.\n";

test("a pushed chart is returned with its metadata, values, changelog and images", async () => {
  const images = `- name: web\n  image: ${host}/first-organization/web:1.0\n- name: cache\n  image: docker.io/library/redis\n  requirement: Optional`;
  const files = { "nginx/values.yaml": values, "nginx/CHANGELOG.md": changelog, "nginx/charts/common/Chart.yaml": "name: other", "nginx/templates/x": "{{" };
  const sample = { name: "nginx", images, files };
  const digest = await pushChart(client, "first-organization/charts/nginx", sample);
  const repoId = await repoOf("nginx");
  for (const protocol of protocols) {
    assert.deepEqual(await ask("GetChart", { repoId, digest }, protocol), {
      name: "nginx",
      version: "1.2.3",
      appVersion: "1.10",
      description: "Serves pages",
      dependencies: [{ name: "common", version: "2.x", repository: "oci://charts.example.com/common" }],
      annotations: { category: "servers", images: `${images}\n` },
      images: [
        { name: "web", image: `${host}/first-organization/web:1.0` },
        { name: "cache", image: "docker.io/library/redis", requirement: "REQUIREMENT_OPTIONAL" },
      ],
      raw: chartYaml(sample),
      values,
      changelog,
    });
    assert.deepEqual(await ask("GetHelm", { repoId, digest }, protocol), {
      chartName: "nginx",
      chartVersion: "1.2.3",
      chartRepository: `oci://${host}/${repoId}`,
      chartDigest: digest,
      values,
    });
  }
});

test("a chart without values, changelog and images has none, and an image is not a chart", async () => {
  const digest = await pushChart(client, "first-organization/bare", { name: "bare" });
  const repoId = await repoOf("bare");
  const chart = await ask("GetChart", { repoId, digest });
  assert.deepEqual([chart.name, text(chart, "values"), text(chart, "changelog"), chart.images ?? []], ["bare", "", "", []]);
  const image = await client.pushImage("first-organization/bare", "image");
  for (const absent of [image, `sha256:${"0".repeat(64)}`]) assert.equal((await answerOf("GetChart", { repoId, digest: absent })).code, codes.NOT_FOUND);
  assert.equal((await answerOf("GetHelm", { repoId, digest: image })).code, codes.NOT_FOUND, "no chart names it");
});

test("the latest chart of each repo is listed for the images that it names, with its values", async () => {
  const image = await client.pushImage("first-organization/shop/cart", "1.0");
  const cart = await repoOf("cart");
  const reference = `${host}/first-organization/shop/cart`;
  assert.deepEqual(await ask("ListChartsByImageRepo", { repoId: cart }), {}, "none yet");
  await pushChart(client, "first-organization/helm/all", { name: "all", images: `- {name: cart, image: "${reference}:1.0", requirement: required}` });
  await pushChart(client, "first-organization/helm/some", { name: "some", images: `- {name: cart, image: "${host}/${cart}@${image}", requirement: optional}` });
  const elsewhere = ["cart:1.0", "first-organization/shop/cart:1.0", "other.example.com/first-organization/shop/cart:1.0", `${host}/first-organization/cart`];
  await pushChart(client, "first-organization/helm/none", { name: "none", images: elsewhere.map((each) => `- {name: x, image: "${each}"}`).join("\n") });
  const [all, some] = [await repoOf("all"), await repoOf("some")];
  const wanted = [
    { chartRepo: all, requirement: "REQUIREMENT_REQUIRED" },
    { chartRepo: some, requirement: "REQUIREMENT_OPTIONAL" },
  ].sort((one, other) => (one.chartRepo < other.chartRepo ? -1 : 1));
  for (const protocol of protocols) assert.deepEqual(objectList(await ask("ListChartsByImageRepo", { repoId: cart }, protocol), "chartImageBindings"), wanted);
  assert.equal((await ask("GetHelm", { repoId: cart, digest: image })).chartName, "some", "the chart that names the digest comes first");
  assert.equal((await answerOf("GetHelm", { repoId: cart, digest: image, arch: "s390x" })).code, codes.NOT_FOUND);

  world.clock.now += 1000;
  await pushChart(client, "first-organization/helm/some", { name: "some", version: "2.0.0", images: "[]" });
  assert.deepEqual(objectList(await ask("ListChartsByImageRepo", { repoId: cart }), "chartImageBindings"), [
    { chartRepo: all, requirement: "REQUIREMENT_REQUIRED" },
  ]);
  assert.equal((await ask("GetHelm", { repoId: cart, digest: image })).chartName, "all", "then the one that names a tag which has it");
});

test("a repo with an unreadable latest chart is listed separately, because it may use the images", async () => {
  const image = await client.pushImage("first-organization/dim/app", "1.0");
  const [repoId, before] = [await repoOf("app"), await ask("ListChartsByImageRepo", { repoId: await repoOf("app") })];
  assert.deepEqual([before.unreadChartRepos, text(before, "digest"), image.length], [undefined, "", 71]);
  const archive = await chartArchive({ name: "dim" });
  for (const [name, config] of Object.entries({
    "no-list": chartConfig({ name: "dim", images: "everything" }),
    "no-json": "{",
    "too-long": chartConfig({ name: "dim", images: `# ${"x".repeat(65_536)}` }),
    aliases: chartConfig({ name: "dim", images: `- &a {name: a, image: b}\n${"- *a\n".repeat(101)}` }),
  })) {
    await pushArchive(client, `first-organization/unread/${name}`, "1", config, archive);
    const unread = texts(await ask("ListChartsByImageRepo", { repoId }), "unreadChartRepos");
    assert.ok(unread.includes(await repoOf(name)), name);
  }
});

const execute = promisify(execFile);
const helm = await execute("helm", ["version", "--short"]).then(
  ({ stdout }) => /^v?[34]/.test(stdout),
  () => false,
);

test("a chart that Helm packs and pushes has Helm's own metadata", { skip: helm ? false : "helm is not on this machine" }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-helm-"));
  try {
    const env = { ...process.env, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
    const run = async (...parts: string[]): Promise<string> => (await execute("helm", parts, { cwd: folder, env })).stdout;
    await run("create", "podinfo");
    await writeFile(join(folder, "podinfo", "CHANGELOG.md"), changelog);
    await run("package", "podinfo");
    await run("registry", "login", host, "--plain-http", "-u", "_token", "-p", await ownerToken());
    await run("push", "podinfo-0.1.0.tgz", `oci://${host}/first-organization/by-helm`, "--plain-http");
    const repoId = await repoOf("podinfo");
    const { tags } = await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repoId } }, { token: await ownerToken() });
    const [tag] = objectList({ tags: tags ?? [] }, "tags");
    const chart = await ask("GetChart", { repoId, digest: text(tag ?? {}, "digest") });
    assert.deepEqual([chart.name, chart.version, chart.changelog], ["podinfo", "0.1.0", changelog]);
    assert.equal(chart.values, await readFile(join(folder, "podinfo", "values.yaml"), "utf8"));
    const { chartRepository } = await ask("GetHelm", { repoId, digest: text(tag ?? {}, "digest") });
    const shown = await run("show", "values", String(chartRepository), "--version", "0.1.0", "--plain-http");
    assert.equal(shown.trimEnd(), String(chart.values).trimEnd(), "the address of the chart's repository is one that Helm reads");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
