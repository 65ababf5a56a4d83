// Registry content: images pushed in each way of the protocol are pulled unchanged (OCI Distribution 1.1; oci: 2).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { limits } from "#base/limits.ts";
import { type JsonObject, text } from "#base/json.ts";
import { builtInRoleUid } from "#authz";
import { removeLeftContents } from "#registry/collection";
import { isWritten, keepUpload } from "../../server/registry/resources/distribution/known-uploads.ts";
import { digestOf } from "../distribution.ts";
import { configType, descriptor, emptyType, errorsIn, imageType, indexType, layerType, openRegistry } from "../registry.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());
const registry = openRegistry(world.url, `Bearer ${await world.token()}`);
const repo = "first-organization/team/app";
const { send } = registry;

const start = async (query = ""): Promise<string> => {
  const begun = await send("POST", `${repo}/blobs/uploads/${query}`);
  assert.equal(begun.status, 202);
  assert.equal(begun.headers.get("range"), "0-0");
  assert.equal(begun.headers.get("content-length"), "0");
  return begun.headers.get("location") ?? assert.fail("no location");
};

const assertBlob = async (name: string, digest: string, bytes: string): Promise<void> => {
  for (const verb of ["HEAD", "GET"]) {
    const answer = await send(verb, `${name}/blobs/${digest}`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-length"), String(Buffer.byteLength(bytes)));
    assert.equal(answer.headers.get("docker-content-digest"), digest);
    assert.equal(answer.headers.get("accept-ranges"), "bytes");
    assert.equal(answer.headers.get("docker-distribution-api-version"), "registry/2.0");
    assert.equal(await answer.text(), verb === "HEAD" ? "" : bytes);
  }
};

/** Asserts that the blob storage equals the rows after garbage collection. */
const assertNothingLeft = async (): Promise<void> => {
  const { services } = world.server.application;
  const { store, blobs } = services;
  const keys = async (table: string): Promise<string[]> => (await store.read.query(`select key from ${table}`)).map(([key]) => key ?? "");
  while ((await keys("blob_removals")).length > 0) await removeLeftContents(services);
  const named = new Set([...(await keys("blobs")), ...(await keys("uploads"))]);
  for await (const { key } of blobs.list()) assert.ok(named.has(key), `${key} is nobody's`);
};

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const each of texts) yield Buffer.from(each);
}

test("a blob pushed in one request, in two, streamed, in chunks or empty is returned unchanged", async () => {
  for (const algorithm of ["sha256", "sha512"] as const) {
    const whole = `one request, ${algorithm}`;
    const posted = await send("POST", `${repo}/blobs/uploads/?digest=${digestOf(whole, algorithm)}`, { body: whole });
    assert.equal(posted.status, 201);
    assert.equal(posted.headers.get("docker-content-digest"), digestOf(whole, algorithm));
    assert.equal(posted.headers.get("location"), `/v2/${repo}/blobs/${digestOf(whole, algorithm)}`);
    await assertBlob(repo, digestOf(whole, algorithm), whole);

    await assertBlob(repo, await registry.pushBlob(repo, `two requests, ${algorithm}`, algorithm), `two requests, ${algorithm}`);

    const streamed = await start(`?digest-algorithm=${algorithm}`);
    const patched = await send("PATCH", streamed, { body: ReadableStream.from(pieces("streamed, ", "without a length, ", algorithm)) });
    assert.equal(patched.status, 202);
    const text = `streamed, without a length, ${algorithm}`;
    assert.equal(patched.headers.get("range"), `0-${text.length - 1}`);
    assert.equal((await send("PUT", `${patched.headers.get("location")}?digest=${digestOf(text, algorithm)}`)).status, 201);
    await assertBlob(repo, digestOf(text, algorithm), text);

    const chunked = await start();
    assert.equal((await send("PATCH", chunked, { body: "first ", headers: { "content-range": "0-5" } })).status, 202);
    const status = await send("GET", chunked);
    assert.deepEqual([status.status, status.headers.get("range"), status.headers.get("location")], [204, "0-5", chunked]);
    const last = `last, ${algorithm}`;
    const range = `6-${5 + last.length}`;
    assert.equal(
      (await send("PUT", `${chunked}?digest=${digestOf(`first ${last}`, algorithm)}`, { body: last, headers: { "content-range": range } })).status,
      201,
    );
    await assertBlob(repo, digestOf(`first ${last}`, algorithm), `first ${last}`);

    await assertBlob(repo, await registry.pushBlob(repo, "", algorithm), "");
  }
  assert.equal((await send("POST", `${repo}/blobs/uploads/?digest=${digestOf("sent later")}`)).status, 202, "a digest without its bytes begins an upload");
});

test("content pushed by sha512 is also known by sha256, and a manifest is found by both", async () => {
  await registry.pushBlob(repo, "both names", "sha512");
  await assertBlob(repo, digestOf("both names"), "both names");
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: [], annotations: { of: "both" } });
  const headers = { "content-type": indexType };
  const put = await send("PUT", `${repo}/manifests/${digestOf(manifest, "sha512")}?tag=both&tag=more`, { body: manifest, headers });
  assert.equal(put.status, 201);
  assert.equal(put.headers.get("docker-content-digest"), digestOf(manifest, "sha512"));
  assert.equal(put.headers.get("oci-tag"), "both, more");
  for (const reference of [digestOf(manifest), digestOf(manifest, "sha512"), "both", "more"]) {
    const got = await send("GET", `${repo}/manifests/${reference}`);
    assert.equal(got.status, 200);
    assert.equal(await got.text(), manifest);
  }
  const { tags } = await world.ok("registry.TagsService/ListTags", { name: "both" });
  assert.deepEqual(
    (tags as { digest: string }[]).map(({ digest }) => digest),
    [digestOf(manifest)],
    "a Tag carries the sha256",
  );
});

test("after a chunk out of order the upload keeps its offset, reports it, and can continue", async () => {
  const upload = await start();
  assert.equal((await send("PATCH", upload, { body: "0123456789", headers: { "content-range": "0-9" } })).status, 202);
  for (const range of ["9-11", "11-13", "0-2"]) {
    const refused = await send("PATCH", upload, { body: "abc", headers: { "content-range": range } });
    assert.deepEqual([refused.status, refused.headers.get("range"), refused.headers.get("location")], [416, "0-9", upload], range);
    assert.deepEqual(await errorsIn(refused), ["RANGE_INVALID"]);
  }
  const late = await send("PUT", `${upload}?digest=${digestOf("0123456789abc")}`, { body: "abc", headers: { "content-range": "12-14" } });
  assert.equal(late.status, 416);
  const short = await send("PATCH", upload, { body: "abc", headers: { "content-range": "10-19" } });
  assert.equal(short.status, 400);
  assert.deepEqual(await errorsIn(short), ["SIZE_INVALID"]);
  const streamed = await send("PATCH", upload, { body: ReadableStream.from(pieces("ab", "c")), headers: { "content-range": "10-19" } });
  assert.deepEqual(await errorsIn(streamed), ["SIZE_INVALID"]);
  assert.equal((await send("GET", upload)).headers.get("range"), "0-9");
  assert.equal((await send("PATCH", upload, { body: "abc" })).headers.get("range"), "0-12");
  assert.equal((await send("PUT", `${upload}?digest=${digestOf("0123456789abc")}`)).status, 201);
  await assertBlob(repo, digestOf("0123456789abc"), "0123456789abc");
});

test("content with the wrong digest is refused and hidden, and its upload can still be completed with the right one", async () => {
  const upload = await start();
  assert.equal((await send("PATCH", upload, { body: "and " })).status, 202);
  for (let times = 0; times < 2; times++) {
    const refused = await send("PUT", `${upload}?digest=${digestOf("something else")}`, { body: "this" });
    assert.deepEqual([refused.status, await errorsIn(refused)], [400, ["DIGEST_INVALID"]]);
  }
  for (const digest of [digestOf("and this"), digestOf("something else")]) assert.equal((await send("HEAD", `${repo}/blobs/${digest}`)).status, 404);
  assert.equal((await send("GET", upload)).headers.get("range"), "0-3", "a request that was refused has left it as it was");
  assert.equal((await send("PUT", `${upload}?digest=${digestOf("and this")}`, { body: "this" })).status, 201);
  await assertBlob(repo, digestOf("and this"), "and this");
  // A server that did not receive the bytes computes the digest from storage.
  const moved = await start();
  assert.equal((await send("PATCH", moved, { body: "stored " })).status, 202);
  keepUpload(moved.split("/").at(-1) ?? "", undefined);
  const late = await send("PUT", `${moved}?digest=${digestOf("something else")}`, { body: "elsewhere" });
  assert.deepEqual(await errorsIn(late), ["DIGEST_INVALID"]);
  assert.equal((await send("PUT", `${moved}?digest=${digestOf("something else")}`)).status, 400);
  assert.equal((await send("GET", moved)).headers.get("range"), "0-15", "it is complete");
  assert.equal((await send("PUT", `${moved}?digest=${digestOf("stored elsewhere")}`)).status, 201);
  await assertBlob(repo, digestOf("stored elsewhere"), "stored elsewhere");
  const posted = await send("POST", `${repo}/blobs/uploads/?digest=${digestOf("something else")}`, { body: "that" });
  assert.deepEqual(await errorsIn(posted), ["DIGEST_INVALID"]);
  await assertNothingLeft();
});

test("a canceled upload is deleted with its bytes", async () => {
  const upload = await start();
  assert.equal((await send("PATCH", upload, { body: "given up" })).status, 202);
  assert.equal((await send("DELETE", upload)).status, 204);
  for (const verb of ["GET", "DELETE"]) assert.equal((await send(verb, upload)).status, 404);
  assert.deepEqual(await errorsIn(await send("PUT", `${upload}?digest=${digestOf("given up")}`)), ["BLOB_UPLOAD_UNKNOWN"]);
  await assertNothingLeft();
});

test("an upload that lost its bytes is unknown to the client, and its row is deleted", async () => {
  const { store, blobs } = world.server.application.services;
  const bytes = "these are lost";
  for (const goOn of [
    (upload: string) => send("PATCH", upload, { body: "more" }),
    (upload: string) => send("PUT", `${upload}?digest=${digestOf(`${bytes}more`)}`, { body: "more" }),
    (upload: string) => send("PUT", `${upload}?digest=${digestOf(bytes)}`),
  ]) {
    const upload = await start();
    assert.equal((await send("PATCH", upload, { body: bytes })).status, 202);
    const id = upload.split("/").at(-1) ?? "";
    const [[key] = []] = await store.read.query("select key from uploads where id = $1", [id]);
    await blobs.remove(key ?? "", {});
    const refused = await goOn(upload);
    assert.deepEqual([refused.status, await errorsIn(refused)], [404, ["BLOB_UPLOAD_UNKNOWN"]]);
    assert.equal((await store.read.query("select 1 from uploads where id = $1", [id])).length, 0);
    assert.equal((await send("GET", upload)).status, 404);
  }
  await assertNothingLeft();
});

test("range and conditional requests return part of a blob, or 304", async () => {
  const digest = await registry.pushBlob(repo, "0123456789");
  const part = async (range: string, more: Record<string, string> = {}) => send("GET", `${repo}/blobs/${digest}`, { headers: { range, ...more } });
  for (const [range, contentRange, text] of [
    ["bytes=2-4", "bytes 2-4/10", "234"],
    ["bytes=7-", "bytes 7-9/10", "789"],
    ["bytes=-3", "bytes 7-9/10", "789"],
    ["bytes=5-99", "bytes 5-9/10", "56789"],
    ["bytes=-99", "bytes 0-9/10", "0123456789"],
  ] as const) {
    const answer = await part(range);
    assert.deepEqual(
      [answer.status, answer.headers.get("content-range"), answer.headers.get("content-length"), await answer.text()],
      [206, contentRange, String(text.length), text],
    );
  }
  const beyond = await part("bytes=10-");
  assert.deepEqual([beyond.status, beyond.headers.get("content-range")], [416, "bytes */10"]);
  for (const range of ["bytes=0-1,3-4", "lines=1-2", "bytes=4-2", "bytes=x"]) assert.equal((await part(range)).status, 200, range);
  assert.equal((await part("bytes=0-1", { "if-range": `"${digest}"` })).status, 206);
  assert.equal((await part("bytes=0-1", { "if-range": '"other"' })).status, 200);
  const manifest = await registry.pushManifest(repo, "conditional", { schemaVersion: 2, mediaType: indexType, manifests: [] });
  for (const path of [`${repo}/blobs/${digest}`, `${repo}/manifests/conditional`]) {
    const etag = (await send("GET", path)).headers.get("etag") ?? "";
    assert.equal(etag, `"${path.includes("blobs") ? digest : manifest}"`);
    const held = await send("GET", path, { headers: { "if-none-match": `"x", ${etag}` } });
    assert.deepEqual([held.status, await held.text()], [304, ""]);
    assert.equal((await send("GET", path, { headers: { "if-none-match": '"x"' } })).status, 200);
  }
});

test("a blob is mounted from the named repo or any other that has it; otherwise an upload begins", async () => {
  const digest = await registry.pushBlob(repo, "mounted");
  for (const [query, target] of [
    [`?mount=${digest}&from=${encodeURIComponent(repo)}`, "first-organization/mounts/one"],
    [`?mount=${digest}`, "first-organization/mounts/two"],
  ] as const) {
    const mounted = await send("POST", `${target}/blobs/uploads/${query}`);
    assert.equal(mounted.status, 201);
    assert.equal(mounted.headers.get("location"), `/v2/${target}/blobs/${digest}`);
    await assertBlob(target, digest, "mounted");
  }
  for (const query of [`?mount=${digestOf("nowhere")}`, `?mount=${digest}&from=first-organization/empty`, "?mount=nonsense"]) {
    const begun = await send("POST", `first-organization/mounts/three/blobs/uploads/${query}`);
    assert.equal(begun.status, 202, query);
  }
  assert.equal((await send("HEAD", `first-organization/mounts/three/blobs/${digest}`)).status, 404, "known elsewhere is not here");
});

test("a manifest is stored byte for byte with unknown fields, and refused if it names missing blobs", async () => {
  const image = await registry.pushImage(repo, "bytes");
  const got = await send("GET", `${repo}/manifests/bytes`, { headers: { accept: "application/nothing" } });
  assert.equal(got.headers.get("content-type"), imageType);
  assert.equal(got.headers.get("docker-content-digest"), image);
  assert.equal(digestOf(await got.text()), image);
  const config = "{}";
  await registry.pushBlob(repo, config);
  const known = `"schemaVersion":2, "mediaType":"${imageType}",\n "config":${JSON.stringify(descriptor(emptyType, config))}`;
  const odd = ` {${known}, "layers":[], "artifactType":"application/x", "é":[1e2] }\n`;
  const put = await send("PUT", `${repo}/manifests/odd`, { body: odd, headers: { "content-type": `${imageType}; charset=utf-8` } });
  assert.equal(put.status, 201);
  assert.equal(await (await send("GET", `${repo}/manifests/odd`)).text(), odd);
  const missing = { schemaVersion: 2, mediaType: imageType, config: descriptor(configType, "not here"), layers: [descriptor(layerType, "nor here")] };
  const refused = await send("PUT", `${repo}/manifests/missing`, { body: JSON.stringify(missing), headers: { "content-type": imageType } });
  assert.deepEqual([refused.status, await errorsIn(refused)], [400, ["MANIFEST_BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN"]]);
  const foreign = { ...descriptor("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "elsewhere"), urls: ["https://example.com/"] };
  const windows = { schemaVersion: 2, mediaType: imageType, config: descriptor(emptyType, config), layers: [foreign] };
  await registry.pushManifest(repo, "foreign", windows);
});

test("tags are listed in byte order with pages, and the last page has no link", async () => {
  const name = "first-organization/tags";
  const manifest = { schemaVersion: 2, mediaType: indexType, manifests: [] };
  const tags = ["v1", "V2", "_x", "0", "a.b", "a-b", "latest"];
  for (const tag of tags) await registry.pushManifest(name, tag, manifest);
  const sorted = tags.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const all = await send("GET", `${name}/tags/list`);
  assert.deepEqual(await all.json(), { name, tags: sorted });
  assert.equal(all.headers.get("link"), null);
  const seen: string[] = [];
  let next: string | undefined = `/v2/${name}/tags/list?n=3`;
  while (next) {
    const page: Response = await send("GET", next);
    seen.push(...((await page.json()) as { tags: string[] }).tags);
    next = /^<(.*)>; rel="next"$/.exec(page.headers.get("link") ?? "")?.[1];
  }
  assert.deepEqual(seen, sorted);
  assert.deepEqual(await (await send("GET", `${name}/tags/list?n=0`)).json(), { name, tags: [] });
  assert.deepEqual(await (await send("GET", `${name}/tags/list?last=_zzz`)).json(), { name, tags: sorted.filter((tag) => tag > "_zzz") });
  assert.deepEqual(await errorsIn(await send("GET", `${name}/tags/list?n=-1`)), ["PAGINATION_NUMBER_INVALID"]);
});

test("referrers of images and indexes are listed with type and annotations, before or after their subject is pushed, and by type", async () => {
  const name = "first-organization/referred";
  const body = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: [], annotations: { of: "subject" } });
  const subject = { digest: digestOf(body), size: body.length };
  const [signature, list] = ["application/x.signature", "application/x.list"];
  await registry.pushBlob(name, "{}");
  const artifact = { schemaVersion: 2, mediaType: imageType, artifactType: signature, config: descriptor(emptyType, "{}"), layers: [] };
  const referring = { ...artifact, subject: { mediaType: indexType, ...subject }, annotations: { by: "somebody" } };
  const put = await send("PUT", `${name}/manifests/${digestOf(JSON.stringify(referring))}`, {
    body: JSON.stringify(referring),
    headers: { "content-type": imageType },
  });
  assert.deepEqual([put.status, put.headers.get("oci-subject")], [201, subject.digest]);
  await registry.pushManifest(name, undefined, {
    schemaVersion: 2,
    mediaType: indexType,
    artifactType: list,
    manifests: [],
    subject: { mediaType: indexType, ...subject },
  });
  await registry.pushManifest(name, "subject", JSON.parse(body));
  const listed = async (digest: string, query = "") => {
    const answer = await send("GET", `${name}/referrers/${digest}${query}`);
    assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, indexType]);
    return { filters: answer.headers.get("oci-filters-applied"), manifests: ((await answer.json()) as { manifests: Record<string, unknown>[] }).manifests };
  };
  const { manifests } = await listed(subject.digest);
  assert.deepEqual(manifests.map(({ artifactType }) => artifactType).sort(), [list, signature]);
  assert.deepEqual(
    manifests.find(({ artifactType }) => artifactType === signature),
    {
      ...descriptor(imageType, JSON.stringify(referring)),
      artifactType: signature,
      annotations: { by: "somebody" },
    },
  );
  const filtered = await listed(subject.digest, `?artifactType=${encodeURIComponent(signature)}`);
  assert.deepEqual([filtered.filters, filtered.manifests.length], ["artifactType", 1]);
  assert.equal((await listed(digestOf(body, "sha512"))).manifests.length, 2, "by the subject's other digest");
  assert.deepEqual((await listed(digestOf("nobody's"))).manifests, []);
  const fallback = `sha256-${digestOf("nobody's").slice("sha256:".length)}`;
  await registry.pushManifest(name, fallback, { schemaVersion: 2, mediaType: indexType, manifests: [descriptor(imageType, JSON.stringify(referring))] });
  assert.equal((await send("GET", `${name}/manifests/${fallback}`)).status, 200, "the fallback tag is a tag as any other");
});

test("deleting a tag keeps its manifest, deleting a manifest deletes its tags, and a needed blob remains", async () => {
  const name = "first-organization/deleted";
  const image = await registry.pushImage(name, "one");
  await registry.pushManifest(name, "two", JSON.parse(await (await send("GET", `${name}/manifests/one`)).text()));
  const layer = digestOf("a layer for amd64");
  const kept = await send("DELETE", `${name}/blobs/${layer}`);
  assert.deepEqual([kept.status, await errorsIn(kept)], [403, ["DENIED"]]);
  assert.equal((await send("DELETE", `${name}/manifests/one`)).status, 202);
  assert.equal((await send("GET", `${name}/manifests/one`)).status, 404);
  assert.equal((await send("GET", `${name}/manifests/${image}`)).status, 200);
  assert.equal((await send("DELETE", `${name}/manifests/${image}`)).status, 202);
  for (const reference of ["two", image]) assert.deepEqual(await errorsIn(await send("GET", `${name}/manifests/${reference}`)), ["MANIFEST_UNKNOWN"]);
  assert.deepEqual(await (await send("GET", `${name}/tags/list`)).json(), { name, tags: [] });
  assert.equal((await send("DELETE", `${name}/blobs/${layer}`)).status, 202);
  assert.deepEqual(await errorsIn(await send("GET", `${name}/blobs/${layer}`)), ["BLOB_UNKNOWN"]);
  for (const path of [`manifests/${image}`, "manifests/one", `blobs/${layer}`]) assert.equal((await send("DELETE", `${name}/${path}`)).status, 404);
});

test("two requests never append to one upload concurrently", async () => {
  const upload = await start();
  let release = (): void => {};
  const waiting = new Promise<void>((resolve) => {
    release = resolve;
  });
  let began = (): void => {};
  const begun = new Promise<void>((resolve) => {
    began = resolve;
  });
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("slow ");
    began();
    await waiting;
    yield Buffer.from("one");
  }
  const first = send("PATCH", upload, { body: ReadableStream.from(slow()) });
  await begun;
  while (!isWritten(upload.split("/").at(-1) ?? "")) await new Promise((resolve) => setImmediate(resolve));
  const second = await send("PATCH", upload, { body: "" });
  assert.equal(second.status, 409);
  assert.deepEqual(await errorsIn(second), ["BLOB_UPLOAD_INVALID"]);
  release();
  assert.equal((await first).headers.get("range"), "0-7");
  assert.equal((await send("PUT", `${upload}?digest=${digestOf("slow one")}`)).status, 201);
});

test("a manifest of 4 MiB is accepted, a larger one is refused, and nothing of it is stored", async () => {
  const least = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: [], annotations: { fill: "" } });
  const sized = (bytes: number): string => least.replace('"fill":""', `"fill":"${"x".repeat(bytes - least.length)}"`);
  const headers = { "content-type": indexType };
  assert.equal((await send("PUT", `${repo}/manifests/largest`, { body: sized(limits.manifestBytesMax), headers })).status, 201);
  const refused = await send("PUT", `${repo}/manifests/larger`, { body: sized(limits.manifestBytesMax + 1), headers });
  assert.deepEqual([refused.status, await errorsIn(refused)], [413, ["MANIFEST_INVALID"]]);
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < 5; index++) yield Buffer.alloc(1024 * 1024, 0x20);
  }
  const streamed = await send("PUT", `${repo}/manifests/larger`, { body: ReadableStream.from(endless()), headers });
  assert.equal(streamed.status, 413);
  assert.equal((await send("HEAD", `${repo}/manifests/larger`)).status, 404);
});

test("a request with content has the permissions of this moment, revoked or granted just before it, by path and by uid", async () => {
  await registry.pushImage("first-organization/team/live", "1");
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "live" });
  const uid = text((repos as JsonObject[])[0] ?? {}, "uid");
  const identity = { name: "pusher", claimMatch: { issuer: "https://issuer.example.com", subject: "pusher" } };
  const pusher = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
  const own = openRegistry(world.url, `Bearer ${await world.token(pusher)}`);
  const grant = async (): Promise<string> => {
    const roleBinding = { identityUid: pusher, roleUid: builtInRoleUid("registry.push") };
    return text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding }), "uid");
  };
  for (const [index, name] of ["first-organization/team/live", uid, "first-organization/team/live", uid].entries()) {
    const bytes = `content ${index}`;
    const path = `${name}/blobs/uploads/?digest=${digestOf(bytes)}`;
    assert.ok([401, 403, 404].includes((await own.send("POST", path, { body: bytes })).status), "refused with the permissions of before");
    const binding = await grant();
    assert.equal((await own.send("POST", path, { body: bytes })).status, 201, "read once, and with the new permissions");
    const tag = `${name}/manifests/live-${index}`;
    const image = { schemaVersion: 2, mediaType: imageType, config: descriptor(emptyType, bytes), layers: [] };
    const put = () => own.send("PUT", tag, { body: JSON.stringify(image), headers: { "content-type": imageType } });
    assert.equal((await put()).status, 201);
    await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding });
    assert.ok([401, 403, 404].includes((await put()).status), "refused after the revocation");
    assert.equal((await send("HEAD", `${name}/manifests/live-${index}`)).status, 200);
  }
});
