// Helm charts as an attack on the server (attack 329) and on other organizations' repos (attack 330).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { codes } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { objectList, text } from "#base/json.ts";
import { chartArchive, chartConfig, chartYaml, pushArchive, pushChart } from "../charts.ts";
import { everyCapabilityBut, folder, neighbour, openStage, protocols } from "../conformance/stage.ts";
import { openRegistry } from "../registry.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const registry = "chainguard.platform.registry.Registry";
const place = await folder(stage);
const other = await neighbour(stage);
const owner = await stage.holder(everyCapabilityBut(""), world.organization);
const { host } = new URL(world.url);

type Header = Parameters<typeof packTar>[0][number]["header"];
const entry = (name: string, body = "", header: Partial<Header> = {}) => ({
  header: { name, size: Buffer.byteLength(body), type: "file" as const, ...header },
  body,
});
const chart = entry("evil/Chart.yaml", chartYaml({ name: "evil" }));
const packed = async (...entries: Parameters<typeof packTar>[0][number][]): Promise<Buffer> => gzipSync(await packTar(entries));

/** Returns a chart archive with one entry that claims an endless size. */
const endless = async (): Promise<Buffer> => {
  const archive = await packTar([entry("evil/Chart.yaml", "name: evil")]);
  archive.set(Buffer.from("77777777777\0"), 124);
  archive.set(Buffer.from("        "), 148);
  const sum = archive.subarray(0, 512).reduce((all, byte) => all + byte, 0);
  archive.set(Buffer.from(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return gzipSync(archive);
};

const hostile: Readonly<Record<string, () => Promise<Buffer>>> = {
  "that unpacks to more than it may": async () => gzipSync(Buffer.alloc(limits.sbomBytesMax + 1)),
  "with a values file that is too large": () => packed(chart, entry("evil/values.yaml", "x".repeat(limits.chartFileBytesMax + 1))),
  "with too many entries": () => packed(chart, ...Array.from({ length: limits.chartEntriesMax }, (_, index) => entry(`evil/${index}`))),
  "with a symbolic link": () => packed(chart, entry("evil/values.yaml", "", { type: "symlink", linkname: "/etc/passwd" })),
  "with a hard link": () => packed(chart, entry("evil/values.yaml", "", { type: "link", linkname: "../../secret.key" })),
  "with a path above it": () => packed(entry("../evil/Chart.yaml", "name: evil"), chart),
  "with an absolute path": () => packed(entry("/etc/Chart.yaml", "name: evil"), chart),
  "with one file twice": () => packed(chart, entry("evil/Chart.yaml", "name: good")),
  "without Chart.yaml at its place": () => packed(entry("evil/charts/Chart.yaml", "name: evil")),
  "with aliases that multiply": () => packed(entry("evil/Chart.yaml", `name: evil\nannotations: &a {x: y}\nkeywords: [${"*a,".repeat(101)}]`)),
  "that is nested deeply": () => packed(entry("evil/Chart.yaml", `name: ${"[".repeat(50_000)}`)),
  "that is not UTF-8": async () => gzipSync(await packTar([{ header: { name: "evil/Chart.yaml", size: 2, type: "file" }, body: Buffer.from([0xc3, 0x28]) }])),
  "that says to be endless": endless,
  "that is cut off": async () => (await chartArchive({ name: "evil", files: { "evil/x": "x".repeat(10_000) } })).subarray(0, 150),
  "that is no archive": async () => Buffer.from("Chart.yaml"),
};

const pushed = async (name: string, archive: Uint8Array): Promise<{ readonly repoId: string; readonly digest: string }> => {
  const { uid = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name } });
  const client = openRegistry(world.url, `Bearer ${await world.token(owner.uid)}`);
  return { repoId: String(uid), digest: await pushArchive(client, String(uid), "1", chartConfig({ name: "evil" }), archive) };
};

for (const [index, [what, make]] of Object.entries(hostile).entries()) {
  test(`attack 329: a chart ${what} is refused, and the server keeps serving other requests`, async () => {
    const { repoId, digest } = await pushed(`hostile-${index}`, await make());
    const asked = world.call(`${registry}/GetChart`, { repoId, digest }, { token: await world.token(owner.uid) });
    assert.equal((await world.call("ping.PingService/Ping", {})).code, 0);
    const answer = await asked;
    assert.equal(answer.code, codes.FAILED_PRECONDITION, answer.message);
    assert.doesNotMatch(answer.message, /secret\.key|passwd/);
  });
}

test("attack 329: no other file of a chart is read, whatever its name", async () => {
  const archive = await packed(chart, entry("evil/templates/values.yaml", "secret"), entry("evil/values.yaml.bak", "secret"), entry("values.yaml", "secret"));
  const { repoId, digest } = await pushed("harmless", archive);
  const answer = await world.ok(`${registry}/GetChart`, { repoId, digest }, { token: await world.token(owner.uid) });
  assert.deepEqual([answer.name, text(answer, "values")], ["evil", ""]);
});

for (const protocol of protocols) {
  test(`attack 330: another organization's chart is neither shown nor listed, and its digest is found only in its own repo, over ${protocol}`, async () => {
    const theirs = openRegistry(world.url, `Bearer ${await world.token(other.owner.uid)}`);
    const { uid: image = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `image-${protocol}` } });
    const mine = openRegistry(world.url, `Bearer ${await world.token(owner.uid)}`);
    const imageDigest = await mine.pushImage(String(image), "latest");
    const { uid: hidden = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: other.organization, repo: { name: `chart-${protocol}` } });
    const digest = await pushChart(theirs, String(hidden), { name: "theirs", images: `- {name: x, image: "${host}/${image}:latest"}` });
    const token = await world.token(owner.uid);
    for (const rpc of ["GetChart", "GetHelm"]) {
      assert.equal((await world.call(`${registry}/${rpc}`, { repoId: hidden, digest }, { token, protocol })).code, codes.PERMISSION_DENIED, rpc);
      assert.equal((await world.call(`${registry}/${rpc}`, { repoId: image, digest }, { token, protocol })).code, codes.NOT_FOUND, rpc);
    }
    assert.equal((await world.call(`${registry}/ListChartsByImageRepo`, { repoId: hidden }, { token, protocol })).code, codes.PERMISSION_DENIED);
    const bindings = async (from: string) =>
      objectList(
        { chartImageBindings: [], ...(await world.ok(`${registry}/ListChartsByImageRepo`, { repoId: image }, { token: from, protocol })) },
        "chartImageBindings",
      );
    assert.deepEqual(await bindings(token), []);
    assert.equal((await world.call(`${registry}/GetHelm`, { repoId: image, digest: imageDigest }, { token, protocol })).code, codes.NOT_FOUND);
    // In the caller's own organization, but not visible to the caller.
    const { uid: apart = "" } = await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: `apart-${protocol}` } });
    const { uid: unseen = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: apart, repo: { name: "chart" } });
    await pushChart(mine, String(unseen), { name: "unseen", images: `- {name: x, image: "${host}/${image}:latest"}` });
    const narrow = await stage.holder(["repo.list", "tag.list", "manifest.list"], place);
    assert.deepEqual(await bindings(narrow.token), []);
    assert.deepEqual(await bindings(token), [{ chartRepo: unseen }]);
    assert.equal((await world.call(`${registry}/GetHelm`, { repoId: image, digest: imageDigest }, { token: narrow.token, protocol })).code, codes.NOT_FOUND);
  });
}
