// Attacks 130 to 133: by strangers, through library lists and overlays.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newChild } from "#base/uid.ts";
import { readRequirements, type RequirementFormat } from "#advisories/feeds";
import { everyRow } from "../database.ts";
import { growthMax, growthOf } from "../growth.ts";
import { bind, createIdentity, databaseContents } from "../story/installation.ts";
import { violationsOf } from "../conformance/stage.ts";
import { openWorld, type World } from "../world.ts";

const requests = "chainguard.platform.libraries.v2beta1.RequestGroupsService";
const registry = "chainguard.platform.registry.v2beta1";
const [pip, poetry, uv, maven] = ["REQUIREMENTS_TXT", "POETRY_LOCK", "UV_LOCK", "MAVEN_GAV_LIST"].map((name) => `INPUT_FORMAT_${name}`) as [
  RequirementFormat,
  RequirementFormat,
  RequirementFormat,
  RequirementFormat,
];

let world: World;
let theirs: string;
let token: string;

before(async () => {
  world = await openWorld();
  theirs = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "another organization" } }), "uid");
  const owner = await createIdentity(world, world.organization, "owner", { issuer: "https://issuer.example.com", subject: "owner" });
  await bind(world, world.organization, owner, "owner");
  token = await world.token(owner);
});
after(() => world?.close());

const create = (request: JsonObject): Promise<{ code: number; message: string; reply: JsonObject }> =>
  world.call(`${requests}/CreateRequestGroup`, { parent: world.organization, ...request }, { token });

test("attack 130: an overlay of another organization, of a sibling group, and a missing one get the same error", async () => {
  const config = { contents: { packages: ["secret-package"] } };
  const folder = async (parent: string): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "folder" } }), "uid");
  const overlayIn = async (parent: string): Promise<string> =>
    text(await world.ok(`${registry}.OverlaysService/CreateOverlay`, { parent, overlay: { name: "o", config } }), "uid");
  const place = await folder(world.organization);
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: "app" } }), "uid");
  const beside = await overlayIn(await folder(world.organization));
  const foreign = await overlayIn(theirs);
  const before = await databaseContents(world);
  const answers = new Set<string>();
  for (const overlay of [foreign, newChild(theirs), beside, newChild(theirs.replace(/^./, "0"))])
    for (const protocol of ["rest", "grpc"] as const) {
      const answer = await world.call(
        `${registry}.OverlayBindingsService/CreateOverlayBinding`,
        { parent: repo, overlay, tags: ["latest"] },
        { token, protocol },
      );
      answers.add(JSON.stringify([answer.code, answer.message, violationsOf(answer)]));
    }
  assert.deepEqual([...answers].length, 1, [...answers].join("\n"));
  assert.match([...answers].join(), /must belong to the repo's group or to one above it/);
  assert.deepEqual(await databaseContents(world), before);
});

test("attack 130: others' items and libraries are neither changed nor listed, whatever they are called by", async () => {
  const make = async (parent: string, name: string): Promise<string> =>
    text(await world.ok(`${requests}/CreateRequestGroup`, { parent, items: [`${name}==1`, "shared==1"], format: pip }), "uid");
  const [ours, foreign] = [await make(world.organization, "ours"), await make(theirs, "theirs")];
  for (const uid of [ours, foreign]) await world.ok(`${requests}/SubmitRequestGroup`, { uid });
  const draft = await make(world.organization, "draft");
  const before = await databaseContents(world);
  const answers = new Set<string>();
  for (const item of [`${foreign}/0000000000000001`, `${foreign}/00000000000000ff`, `${ours}/0000000000000001`, newChild(draft)])
    for (const rpc of ["RemoveItems", "RestoreItems"]) {
      const answer = await world.call(`${requests}/${rpc}`, { uid: draft, itemUids: [`${draft}/0000000000000001`, item] }, { token });
      answers.add(JSON.stringify([answer.code, violationsOf(answer)]));
    }
  assert.deepEqual([...answers], [JSON.stringify([codes.INVALID_ARGUMENT, [{ field: "itemUids[1]", description: "is not an item of this request group" }]])]);
  assert.deepEqual(await databaseContents(world), before);
  const asked = { parent: world.organization, name: "shared", ecosystem: "ECOSYSTEM_PYTHON" };
  const libraries = await world.ok(`${requests}/ListRequestedLibraries`, { parent: world.organization }, { token });
  const versions = await world.ok(`${requests}/ListRequestedLibraryVersions`, asked, { token });
  assert.deepEqual(
    objectList(libraries, "requestedLibraries").map(({ name, contributingGroupCount }) => [name, contributingGroupCount]),
    [
      ["ours", 1],
      ["shared", 1],
    ],
  );
  assert.ok(!JSON.stringify([libraries, versions]).includes(theirs));
  for (const rpc of ["ListRequestedLibraries", "ListRequestGroups"]) {
    const filtered = await world.ok(`${requests}/${rpc}`, { parent: world.organization, uidp: { descendantsOf: theirs } }, { token });
    assert.equal(String(filtered.totalCount), "0", rpc);
    assert.equal((await world.call(`${requests}/${rpc}`, { parent: theirs }, { token })).code, codes.PERMISSION_DENIED, rpc);
  }
});

test("attack 131: no address in a list is opened or fetched, and credentials in it are not stored", async (t) => {
  let reached = 0;
  const listener = createServer((_, response) => {
    reached++;
    response.end("a==1");
  });
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  t.after(() => listener.close());
  const url = `http://user:hunter2@127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const lists: readonly (readonly [RequirementFormat, string])[] = [
    [
      pip,
      [`-r ${url}/r.txt`, `-c ${url}/c.txt`, `--index-url ${url}`, `--find-links=${url}`, `-e git+${url}/x.git#egg=x`, `a @ ${url}/a.whl`, `${url}/b.whl`].join(
        "\n",
      ),
    ],
    [pip, ["-r /etc/passwd", "--requirement ../../secret.key", "./local.whl", "file:///etc/passwd", "-e ."].join("\n")],
    [poetry, `[[package]]\nname = "a"\nversion = "1"\n[package.source]\ntype = "git"\nurl = "${url}/a.git"`],
    [uv, `[[package]]\nname = "a"\nversion = "1"\nsource = { url = "${url}/a.whl" }`],
    [
      maven,
      `<project xmlns:x="${url}"><parent><groupId>g</groupId><relativePath>${url}/pom.xml</relativePath></parent>
       <repositories><repository><url>${url}</url></repository></repositories>
       <dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>\${env.HOME}</version></dependency></dependencies></project>`,
    ],
  ];
  for (const [format, content] of lists) {
    const { code, message, reply } = await create({ format, content });
    assert.equal(code, 0, `${content}: ${message}`);
    const found = objectList(await world.ok(`${requests}/ListRequestGroupItems`, { uid: text(reply, "uid") }), "requestGroupItems");
    assert.ok(found.length > 0);
    for (const item of found) assert.equal(item.availability, "AVAILABILITY_INVALID_REQUIREMENT", JSON.stringify(item));
    assert.equal((await world.call(`${requests}/SubmitRequestGroup`, { uid: text(reply, "uid") }, { token })).code, codes.FAILED_PRECONDITION);
  }
  assert.equal(reached, 0);
  assert.doesNotMatch(JSON.stringify([...(await everyRow(world.databaseUrl))]), /hunter2/);
});

test("attack 132: a list over the request limit is refused with its line, and changes nothing", async () => {
  const lines = (count: number): string => Array.from({ length: count }, (_, index) => `a${index}==1`).join("\n");
  const before = await databaseContents(world);
  for (const [content, format, wanted] of [
    [lines(limits.requestItemsMax + 1), pip, /line 2001: exceeds the maximum of 2000 requirements/],
    [`a==1\n${"b".repeat(2_000)}==1`, pip, /line 2: must have at most 1024 characters/],
    [`a==1\nb==1\u00012`, pip, /line 2: must not contain control characters/],
    [`${"[".repeat(5_000)}`, poetry, /not valid TOML/],
    [`a = ${"[".repeat(50_000)}`, uv, /not valid TOML/],
    [`${"<a>".repeat(50_000)}`, maven, /not valid XML/],
    ["x".repeat(1_100_000), pip, /content must have at most 1048576 characters/],
  ] as const) {
    const answer = await world.call(`${requests}/CreateRequestGroup`, { parent: world.organization, content, format }, { token, protocol: "grpc" });
    assert.equal(answer.code, codes.INVALID_ARGUMENT, answer.message);
    assert.match(answer.message, wanted);
  }
  assert.deepEqual(await databaseContents(world), before);
});

for (const [name, format, textOf] of [
  ["continued lines", pip, (length: number) => "\\\n".repeat(length / 2)],
  ["comments", pip, (length: number) => `a${"#".repeat(length)}`],
  ["options", pip, (length: number) => `-e ${"://#egg=&?".repeat(length / 10)}`],
  ["markers", pip, (length: number) => `a==1;${"(".repeat(Math.min(length, 1_000))}\n`.repeat(Math.max(1, length / 1_000))],
  [
    "names",
    pip,
    (length: number) =>
      "a.-_"
        .repeat(250)
        .concat("!\n")
        .repeat(Math.max(1, length / 1_000)),
  ],
  ["packages", poetry, (length: number) => '[[package]]\nname = "a"\nversion = "1"\n'.repeat(length / 37)],
  [
    "lines of artifacts",
    maven,
    (length: number) =>
      "a:"
        .repeat(100)
        .concat("\n")
        .repeat(length / 200),
  ],
  ["artifacts with blanks", maven, (length: number) => `${" ".repeat(length)}x`],
  ["properties", maven, (length: number) => `<project><properties>${"<a>${a}${a}</a>".repeat(length / 15)}</properties></project>`],
] as const)
  test(`attack 132: reading ${name} takes time proportional to their length`, async () => {
    const read = (content: string): Promise<unknown> => readRequirements(format, content, "content").catch(() => undefined);
    const { growth, longestMs } = await growthOf(read, textOf, 400_000);
    assert.ok(growth <= growthMax, `${growth.toFixed(1)} times the work for 8 times the length (${longestMs.toFixed(0)} ms)`);
  });

test("attack 133: XML with a document type or entities is refused, and changes nothing", async () => {
  const before = await databaseContents(world);
  const dependency = "<dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>&x;</version></dependency></dependencies>";
  for (const head of [
    '<!DOCTYPE project [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE project SYSTEM "http://127.0.0.1:1/evil.dtd">',
    '<!doctype project [<!ENTITY a "aa"><!ENTITY x "&a;&a;">]>',
  ]) {
    const { code, message } = await create({ format: maven, content: `<?xml version="1.0"?>\n${head}\n<project>${dependency}</project>` });
    assert.equal(code, codes.INVALID_ARGUMENT);
    assert.match(message, /line 2: must not have a document type or entities/);
  }
  assert.deepEqual(await databaseContents(world), before);
  // An undeclared entity is text, and no version.
  const { reply } = await create({ format: maven, content: `<project>${dependency}</project>` });
  const [item] = objectList(await world.ok(`${requests}/ListRequestGroupItems`, { uid: text(reply, "uid") }), "requestGroupItems");
  assert.equal(item?.version, "&x;");
});
