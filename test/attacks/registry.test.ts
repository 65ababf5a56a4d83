// Attacks 99 to 106, 117 and 118, with a registry client.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { text } from "#base/json.ts";
import { findLastGroupEvent } from "#db";
import { digestOf } from "../distribution.ts";
import { configType, descriptor, errorsIn, imageManifest, imageType, indexType, openRegistry, type RegistryClient } from "../registry.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let [ours, theirs] = ["", ""];
/** A client that can push in our organization, and one in theirs. */
let us: RegistryClient | undefined;
let them: (RegistryClient & { readonly token: string }) | undefined;
/** The token of our client. */
let ourToken = "";
let uid = "";

const secret = "a layer that others must not read";

const bound = async (place: string, role: string): Promise<RegistryClient & { readonly binding: string; readonly token: string }> => {
  const identity = { name: "robot", claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const robot = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: place, identity }), "uid");
  const roleBinding = { identityUid: robot, roleUid: builtInRoleUid(role) };
  const binding = text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding }), "uid");
  const token = await world.token(robot);
  return { ...openRegistry(world.url, `Bearer ${token}`), binding, token };
};

before(async () => {
  world = await openWorld();
  const organization = async (name: string): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  [ours, theirs] = [await organization("ours"), await organization("theirs")];
  const first = await bound(ours, "registry.push");
  [us, them, ourToken] = [first, await bound(theirs, "registry.push"), first.token];
  await us.pushImage("ours/secret", "latest", { layer: secret });
  const { repos } = await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: ours } });
  uid = (repos as { uid: string }[])[0]?.uid ?? "";
});
after(() => world?.close());

const client = <Client extends RegistryClient>(found: Client | undefined): Client => found ?? assert.fail("not begun");

/** Returns all rows except audit entries of refusals, which an attempt may leave. */
const rowsOf = async (): Promise<string> => {
  const tables = ["repos", "tags", "groups", "blobs", "repo_blobs", "repo_manifests", "manifest_blobs", "uploads"];
  const sums = [];
  for (const table of tables) {
    const [row] = await world.server.application.services.store.read.query(
      `select count(*), md5(string_agg(t::text, '|' order by t::text)) from ${table} as t`,
    );
    sums.push(`${table} ${row?.join(" ")}`);
  }
  return sums.join("\n");
};

test("attack 99: a known digest neither opens nor reveals content through another repo", async () => {
  await client(them).pushManifest("theirs/app", "latest", { schemaVersion: 2, mediaType: indexType, manifests: [] });
  const image = (await client(us).send("HEAD", "ours/secret/manifests/latest")).headers.get("docker-content-digest") ?? "";
  for (const name of ["theirs/app", "ours/secret", uid, "theirs/not-there"]) {
    for (const [digest, kind] of [
      [digestOf(secret), "blobs"],
      [digestOf(secret, "sha512"), "blobs"],
      [digestOf("nobody has it"), "blobs"],
      [image, "manifests"],
    ] as const) {
      for (const verb of ["HEAD", "GET"]) assert.equal((await client(them).send(verb, `${name}/${kind}/${digest}`)).status, 404, `${verb} ${name} ${kind}`);
      const same = await (await client(them).send("GET", `${name}/${kind}/${digest}`)).text();
      const other = await (await client(them).send("GET", `${name}/${kind}/${digestOf("made up")}`)).text();
      assert.equal(same, other);
    }
  }
  const refused = await client(them).send("PUT", "theirs/app/manifests/stolen", {
    body: JSON.stringify(imageManifest("{}", secret)),
    headers: { "content-type": imageType },
  });
  assert.equal(refused.status, 400);
  assert.deepEqual(await errorsIn(refused), ["MANIFEST_BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN"], "nor is it made readable by a manifest that names it");
});

test("attack 100: a blob cannot be mounted from an unreadable repo, by name, uid or without a source", async () => {
  const digest = digestOf(secret);
  const before = await rowsOf();
  const answers: string[] = [];
  for (const [mount, from] of [
    [digest, "ours/secret"],
    [digest, uid],
    [digest, ""],
    [digestOf("nobody has it"), "ours/secret"],
    [digestOf("nobody has it"), ""],
  ] as const) {
    const answer = await client(them).send("POST", `theirs/app/blobs/uploads/?mount=${mount}${from === "" ? "" : `&from=${encodeURIComponent(from)}`}`);
    assert.equal(answer.status, 202);
    const names = [...answer.headers.keys()].sort().join();
    answers.push(names);
    await client(them).send("DELETE", answer.headers.get("location") ?? "");
  }
  assert.equal(new Set(answers).size, 1, "whether it exists makes no difference");
  assert.equal((await client(them).send("HEAD", `theirs/app/blobs/${digest}`)).status, 404);
  assert.equal(await rowsOf(), before);
});

test("attack 101: probing others' names and uids always returns the response for missing ones", async () => {
  const outsider = await bound(theirs, "apk.pull");
  const insider = await bound(ours, "apk.pull");
  // Of the same organization, and of another group of it.
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: ours, group: { name: "beside" } }), "uid");
  const beside = await bound(group, "registry.pull");
  for (const probe of [client(them), outsider, insider, beside]) {
    const answersTo = async (name: string): Promise<string> => {
      const found = [];
      for (const [verb, path] of [
        ["GET", "manifests/latest"],
        ["GET", "tags/list"],
        ["POST", "blobs/uploads/"],
        ["PUT", "manifests/latest"],
        ["DELETE", "manifests/latest"],
        ["GET", `referrers/${digestOf(secret)}`],
      ] as const) {
        const answer = await probe.send(verb, `${name}/${path}`, verb === "PUT" ? { body: "{}" } : {});
        found.push(`${answer.status} ${await answer.text()}`);
      }
      return found.join("\n");
    };
    const nothing = await answersTo("ours/not-there");
    for (const name of ["ours/secret", "ours/team/new", "ours", "nobodys/app", uid, `${ours}/${"0".repeat(16)}`])
      assert.equal(await answersTo(name), nothing, name);
  }
});

test("attack 102: a live token loses access once its binding is revoked, even during a push", async () => {
  const robot = await bound(ours, "registry.push");
  const scopes = "scope=repository:ours/half:pull,push&scope=repository:ours/secret:pull,push";
  const answer = await fetch(`${world.url}/v2/token?${scopes}`, { headers: { authorization: `Basic ${btoa(`_token:${robot.token}`)}` } });
  const { token } = (await answer.json()) as { token: string };
  const pusher = openRegistry(world.url, `Bearer ${token}`);
  const upload = (await pusher.send("POST", "ours/half/blobs/uploads/")).headers.get("location") ?? "";
  assert.equal((await pusher.send("PATCH", upload, { body: "half" })).status, 202);
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: robot.binding });
  const before = await rowsOf();
  for (const [verb, path] of [
    ["PATCH", upload],
    ["PUT", `${upload}?digest=${digestOf("half")}`],
    ["GET", upload],
    ["DELETE", upload],
    ["GET", "ours/secret/manifests/latest"],
    ["GET", `ours/secret/blobs/${digestOf(secret)}`],
    ["PUT", "ours/half/manifests/latest"],
  ] as const)
    assert.equal((await pusher.send(verb, path, verb === "PATCH" ? { body: "more" } : {})).status, path.includes("half") ? 404 : 401, `${verb} ${path}`);
  assert.equal(await rowsOf(), before);
});

test("attack 103: an upload belongs to its repo: its ID works nowhere else and cannot be guessed", async () => {
  const upload = (await client(us).send("POST", "ours/secret/blobs/uploads/")).headers.get("location") ?? "";
  assert.equal((await client(us).send("PATCH", upload, { body: "ours" })).status, 202);
  const id = upload.split("/").at(-1) ?? "";
  const before = await rowsOf();
  for (const name of ["theirs/app", "ours/secret", uid]) {
    for (const verb of ["GET", "PATCH", "PUT", "DELETE"]) {
      const path = `${name}/blobs/uploads/${id}${verb === "PUT" ? `?digest=${digestOf("ours")}` : ""}`;
      assert.equal((await client(them).send(verb, path, verb === "PATCH" ? { body: "theirs" } : {})).status, 404, `${verb} ${name}`);
    }
  }
  for (const wrong of ["0".repeat(32), "../secret", "x", id.toUpperCase(), `${id}0`, "%00"]) {
    const answer = await client(us).send("GET", `ours/secret/blobs/uploads/${wrong.replaceAll("/", "%2F")}`);
    assert.deepEqual(await errorsIn(answer), ["BLOB_UPLOAD_UNKNOWN"], wrong);
  }
  await client(us).pushManifest("ours/beside", "latest", { schemaVersion: 2, mediaType: indexType, manifests: [] });
  assert.equal((await client(us).send("GET", `ours/beside/blobs/uploads/${id}`)).status, 404, "nor in another repo of the same organization");
  assert.equal((await client(us).send("GET", upload)).headers.get("range"), "0-3");
  assert.notEqual(before, "");
});

const raw = (head: string, body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(world.url);
    const socket = connect(Number(port), hostname, () => socket.end(`${head}\r\n\r\n${body}`));
    let answer = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      answer += chunk;
    });
    socket.on("close", () => resolve(answer)).on("error", reject);
  });

test("attack 104: a wrong length or range leaves an upload unchanged, and a truncated body is no chunk", async () => {
  const upload = (await client(us).send("POST", "ours/secret/blobs/uploads/")).headers.get("location") ?? "";
  assert.equal((await client(us).send("PATCH", upload, { body: "0123" })).status, 202);
  const head = (verb: string, lines: readonly string[]): string =>
    [`${verb} ${upload}${verb === "PUT" ? `?digest=${digestOf("0123abc")}` : ""} HTTP/1.1`, "host: x", `authorization: Bearer ${ourToken}`, ...lines].join(
      "\r\n",
    );
  // The connection closes before the announced number of bytes arrives.
  for (const verb of ["PATCH", "PUT"]) assert.doesNotMatch(await raw(head(verb, ["content-length: 10"]), "abc"), /^HTTP\/1\.1 20/);
  assert.doesNotMatch(await raw(head("PATCH", ["transfer-encoding: chunked"]), "3\r\nabc\r\n"), /^HTTP\/1\.1 20/);
  for (const range of ["5-7", "3-5", "0-2", "4-3", "4-", "-4", "bytes 4-6/7", "4-6/7", "x", "4-99999999999999999999"]) {
    let answer: Response;
    // The interrupted request may hold the lock for a moment.
    do answer = await client(us).send("PATCH", upload, { body: "abc", headers: { "content-range": range } });
    while (answer.status === 409);
    assert.ok([400, 416].includes(answer.status), `${range}: ${answer.status}`);
  }
  assert.equal((await client(us).send("GET", upload)).headers.get("range"), "0-3");
  assert.equal((await client(us).send("PUT", `${upload}?digest=${digestOf("0123abc")}`, { body: "abc" })).status, 201);
  assert.equal(await (await client(us).send("GET", `ours/secret/blobs/${digestOf("0123abc")}`)).text(), "0123abc");
});

test("attack 105: oversized, too deep, ambiguous or invalid manifests are refused, and nothing is stored", async () => {
  await client(us).pushBlob("ours/secret", "{}");
  const config = descriptor(configType, "{}");
  const image = { schemaVersion: 2, mediaType: imageType, config, layers: [] };
  const before = await rowsOf();
  const put = (body: string | Uint8Array, type = imageType): Promise<Response> =>
    client(us).send("PUT", "ours/secret/manifests/attack", { body, headers: type === "" ? {} : { "content-type": type } });
  const wrong: [string, string | Uint8Array, string?][] = [
    ["too large", JSON.stringify({ ...image, annotations: { x: "x".repeat(limits.manifestBytesMax) } })],
    ["too deep", `{"schemaVersion":2,"mediaType":"${imageType}","config":${JSON.stringify(config)},"layers":${"[".repeat(500_000)}${"]".repeat(500_000)}}`],
    ["nothing", ""],
    ["no JSON", "{"],
    ["no object", "[]"],
    ["no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["two of a key", JSON.stringify(image).replace('"layers":[]', '"layers":[],"layers":[]')],
    ["another type than it says", JSON.stringify(image), indexType],
    ["schema 1", JSON.stringify({ schemaVersion: 1, name: "x" }), "application/vnd.docker.distribution.manifest.v1+json"],
    ["any type", JSON.stringify({ ...image, mediaType: "text/html" }), "text/html"],
    ["an image and an index", JSON.stringify({ ...image, manifests: [] })],
    ["no config", JSON.stringify({ ...image, config: undefined })],
    ["a wrong digest", JSON.stringify({ ...image, layers: [{ ...config, digest: "sha256:x" }] })],
    ["a negative size", JSON.stringify({ ...image, layers: [{ ...config, size: -1 }] })],
    ["a size that is a text", JSON.stringify({ ...image, layers: [{ ...config, size: "1" }] })],
    ["annotations that are none", JSON.stringify({ ...image, annotations: { a: 1 } })],
    ["a key that touches a prototype", JSON.stringify(image).replace('"layers"', '"__proto__":{"layers":[]},"layer"')],
  ];
  for (const [what, body, type] of wrong) {
    const answer = await put(body, type);
    assert.ok([400, 413].includes(answer.status), `${what}: ${answer.status} ${await answer.clone().text()}`);
    assert.deepEqual(await errorsIn(answer), ["MANIFEST_INVALID"], what);
  }
  for (const reference of [digestOf("other"), "sha256:x", "md5:00", "-x", "x".repeat(129), "a+b", "%00"]) {
    const answer = await client(us).send("PUT", `ours/secret/manifests/${reference}`, { body: JSON.stringify(image), headers: { "content-type": imageType } });
    assert.equal(answer.status, 400, reference);
  }
  assert.equal(await rowsOf(), before);
});

test("attack 106: an anonymous token works nowhere else, and a job's token works for its own identity only", async () => {
  const { token } = (await (await fetch(`${world.url}/v2/token`)).json()) as { token: string };
  const nobody = openRegistry(world.url, `Bearer ${token}`);
  for (const [verb, path] of [
    ["GET", "/v2/"],
    ["GET", "ours/secret/manifests/latest"],
    ["POST", "ours/secret/blobs/uploads/"],
  ] as const)
    assert.equal((await nobody.send(verb, path)).status, 401, path);
  assert.equal((await world.call("iam.GroupsService/ListGroups", {}, { token })).code, 16);
  assert.equal((await world.call("iam.GroupsService/ListGroups", {}, { token, headers: { "gantry-identity": uid } })).code, 16);
  const [head = "", body = "", signature = ""] = token.split(".");
  const claims = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as Record<string, unknown>;
  const forged = (changed: Record<string, unknown>): string =>
    `${head}.${Buffer.from(JSON.stringify({ ...claims, ...changed })).toString("base64url")}.${signature}`;
  for (const changed of [{ sub: uid }, { exp: 9_999_999_999 }, { iss: "https://elsewhere.example.com" }])
    assert.equal((await openRegistry(world.url, `Bearer ${forged(changed)}`).send("GET", "ours/secret/manifests/latest")).status, 401);
  const robot = await bound(ours, "registry.pull");
  const as = (user: string): Promise<Response> => fetch(`${world.url}/v2/token`, { headers: { authorization: `Basic ${btoa(`${user}:${robot.token}`)}` } });
  assert.equal((await as("_token")).status, 200);
  const { repos } = await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: theirs } });
  assert.ok(Array.isArray(repos));
  for (const other of [`${theirs}/${"0".repeat(16)}`, ours, theirs]) assert.equal((await as(other)).status, 401, "a token of ours acts as its own subject");
});

test("attack 117: a cached tag list never reaches a caller without current permission", async () => {
  const { read } = world.server.application.services.store;
  const digest = await client(us).pushImage("ours/many", "v0");
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "many" });
  const many = (repos as { uid: string }[])[0]?.uid ?? "";
  for (let number = 1; number <= limits.tagListKeptMin; number++)
    await world.ok("registry.TagsService/CreateTag", { parent: many, tag: { name: `v${number}`, digest } });
  const reader = await bound(ours, "registry.pull");
  while (await world.server.application.numberEvents(timestamp(world.clock.now)));
  assert.ok((await findLastGroupEvent(read, ours)) !== undefined, "from now on it is kept");
  for (const name of ["ours/many", many]) {
    for (let round = 0; round < 3; round++) {
      const { tags } = (await (await reader.send("GET", `${name}/tags/list`)).json()) as { tags: string[] };
      assert.equal(tags.length, limits.tagListKeptMin + 1);
    }
    const theirs = await client(them).send("GET", `${name}/tags/list`);
    const absent = await client(them).send("GET", `${name.slice(0, -1)}${name.endsWith("0") ? "1" : "0"}/tags/list`);
    assert.deepEqual([theirs.status, await theirs.text()], [absent.status, await absent.text()]);
    assert.equal(theirs.status, 404);
    assert.equal((await openRegistry(world.url, "").send("GET", `${name}/tags/list`)).status, 401);
  }
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: reader.binding });
  for (const name of ["ours/many", many]) assert.equal((await reader.send("GET", `${name}/tags/list`)).status, 404);
});

test("attack 118: a slow or aborted pull gets no byte of a concurrent pull", async () => {
  const sizeBytes = 5 * 1024 * 1024;
  // Each byte identifies its owner.
  const [own, other] = [Buffer.alloc(sizeBytes, "o"), Buffer.alloc(sizeBytes, "t")];
  const [ownDigest, otherDigest] = [await client(us).pushBlob("ours/bytes", own), await client(them).pushBlob("theirs/bytes", other)];
  const { hostname, port } = new URL(world.url);
  /** Pulls over its own socket; disconnects after this many bytes. */
  const pull = (path: string, authorization: string, leaveBytes: number): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`GET /v2/${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\nconnection: close\r\n\r\n`),
      );
      const pieces: Buffer[] = [];
      let received = 0;
      socket.on("error", reject);
      socket.on("close", () => resolve(Buffer.concat(pieces)));
      socket.on("data", (piece) => {
        pieces.push(piece);
        received += piece.byteLength;
        if (received >= leaveBytes) socket.destroy();
        else if (received % 7 === 0) {
          socket.pause();
          setImmediate(() => socket.resume());
        }
      });
    });
  const bodyOf = (answer: Buffer): Buffer => answer.subarray(answer.indexOf("\r\n\r\n") + 4);
  const theirToken = `Bearer ${client(them).token}`;
  for (let round = 0; round < 4; round++) {
    const leaving = Array.from({ length: 12 }, (_, index) => pull(`ours/bytes/blobs/${ownDigest}`, `Bearer ${ourToken}`, 1 + index * 400_000));
    const staying = Array.from({ length: 3 }, () => pull(`theirs/bytes/blobs/${otherDigest}`, theirToken, Number.POSITIVE_INFINITY));
    for (const answer of await Promise.all(leaving)) assert.ok(bodyOf(answer).every((byte) => byte === own[0]));
    for (const answer of await Promise.all(staying)) assert.ok(bodyOf(answer).equals(other));
  }
});
