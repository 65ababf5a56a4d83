// Attacks by untrusted feeds on the server that fetches and parses them.

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { createMessage, generateKey, sign } from "openpgp";
import { limits } from "#base/limits.ts";
import { openOutbound, type Outbound } from "#authn";
import { FeedFileReader } from "../../server/advisories/feeds/file-reader.ts";
import { openPieces } from "../../server/advisories/feeds/pieces.ts";
import { readYaml } from "../../server/advisories/feeds/parse/yaml.ts";
import { everyRow } from "../database.ts";
import { openFeedServer } from "../story/feed-server.ts";
import { runImport } from "../story/import.ts";
import { openWorld, type World } from "../world.ts";

const serve = async (t: TestContext, listener: RequestListener): Promise<{ readonly url: string; readonly port: number }> => {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port };
};

const open = (t: TestContext, allow: string): Outbound => {
  const outbound = openOutbound({ allow });
  t.after(() => outbound.close());
  return outbound;
};

test("attack 83: a redirect cannot reach an address that the first request could not", async (t) => {
  let reached = 0;
  const hidden = await serve(t, (_, response) => {
    reached++;
    response.end("secret");
  });
  let location = "";
  const feed = await serve(t, (_, response) => response.writeHead(302, { location }).end());
  const outbound = open(t, `feed=127.0.0.1/32:${feed.port}, issuer=127.0.0.1/32`);
  const targets = [
    `${hidden.url}/`,
    `http://localhost:${hidden.port}/`,
    `http://[::ffff:127.0.0.1]:${hidden.port}/`,
    `//127.0.0.1:${hidden.port}/`,
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "file:///etc/passwd",
    "data:text/plain,x",
    `http://name:password@127.0.0.1:${feed.port}/`,
    "http://[",
  ];
  for (location of targets) {
    const fetched = outbound.fetch("feed", feed.url, { tenant: "operator", redirectsMax: 3 });
    await assert.rejects(fetched, { message: `${feed.url} cannot be reached` }, location);
  }
  assert.equal(reached, 0);
});

test("attack 83: redirects are limited and opt-in, and secrets are sent only to their own host", async (t) => {
  const asked: (readonly [path: string | undefined, key: string | undefined, etag: string | undefined])[] = [];
  const note: RequestListener = ({ url, headers }) => asked.push([url, headers["x-api-key"]?.toString(), headers["if-none-match"]]);
  const other = await serve(t, (request, response) => {
    note(request, response as never);
    response.end("found");
  });
  const feed = await serve(t, (request, response) => {
    note(request, response as never);
    const location = request.url === "/away" ? `${other.url}/there` : request.url === "/near" ? "/away" : "/round";
    response.writeHead(302, { location }).end();
  });
  const outbound = open(t, "127.0.0.0/8");
  const headers = { "X-Api-Key": "secret", "If-None-Match": '"one"' };
  const found = await outbound.fetch("feed", `${feed.url}/near`, { tenant: "operator", headers, redirectsMax: 3 });
  assert.deepEqual([found.status, Buffer.from(found.body).toString(), found.url], [200, "found", `${other.url}/there`]);
  assert.deepEqual(asked.splice(0), [
    ["/near", "secret", '"one"'],
    ["/away", "secret", '"one"'],
    ["/there", undefined, '"one"'],
  ]);
  assert.equal((await outbound.fetch("feed", `${feed.url}/round`, { tenant: "operator", redirectsMax: 3 })).status, 302);
  assert.equal(asked.splice(0).length, 4);
  assert.equal((await outbound.fetch("feed", `${feed.url}/away`, { tenant: "operator" })).status, 302);
  assert.equal(asked.length, 1);
});

test("attack 83: an endless response is cut at its limit in every store", async (t) => {
  const feed = await serve(t, (_, response) => {
    const send = (): void => {
      while (!response.destroyed && response.write("x".repeat(64 * 1024)));
    };
    response.on("drain", send);
    send();
  });
  let received = 0;
  const receive = async (piece: Uint8Array): Promise<void> => {
    received += piece.byteLength;
  };
  await assert.rejects(open(t, "127.0.0.0/8").fetch("feed", feed.url, { tenant: "operator", bytesMax: 1_000_000, receive }), /cannot be reached/);
  assert.ok(received <= 1_000_000, `${received} bytes were kept`);
});

const countPieces = async (bytes: () => AsyncGenerator<Uint8Array>): Promise<number> => {
  const reader = await FeedFileReader.open({ name: "", label: "file", isOfMany: false, bytes });
  const start = await reader.head((head) => head.length >= limits.feedHeadLength);
  const next = await openPieces(reader, start.toString("utf8"), false);
  assert.ok(next);
  let count = 0;
  while ((await next()) !== undefined) count++;
  return count;
};

test("attack 84: a list with an endless element is read to the element limit and refused", async () => {
  for (const [start, element] of [
    ['"', "x"],
    ["", "["],
    ["", '{"a":'],
    ['"', '\\"'],
  ] as const) {
    const piece = Buffer.from(element.repeat(Math.ceil((256 * 1024) / element.length)));
    let read = 0;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`[${start}`);
      for (;;) {
        read += piece.length;
        yield piece;
      }
    };
    await assert.rejects(countPieces(endless), /contains a value of more than 33554432 bytes/, element);
    assert.ok(read < limits.feedDocumentBytesMax + 1024 * 1024, `${element}: ${read} bytes`);
  }
});

test("attack 84: exponential merge keys are refused like exponential aliases", async () => {
  const laughs = [
    "a0: &a0 {k0: v}",
    ...Array.from({ length: 60 }, (_, index) => `a${index + 1}: &a${index + 1} {<<: [*a${index}, *a${index}], k${index + 1}: v}`),
  ];
  await assert.rejects(readYaml(`${laughs.join("\n")}\n`), /contains more than 100 aliases/);
  // Copies count as values.
  const wide = Array.from({ length: 6_000 }, (_, index) => `  k${index}: v`).join("\n");
  const copies = Array.from({ length: 90 }, (_, index) => `c${index}: {<<: *wide}`).join("\n");
  await assert.rejects(readYaml(`wide: &wide\n${wide}\n${copies}\n`), /contains more than 500000 values/);
  const circle = "a: &a\n  <<: *a\n";
  await assert.rejects(readYaml(circle), /contains more than 100 aliases|nested deeper|not valid YAML|Unresolved/);
  const prototype = await readYaml("b: &b {__proto__: {isAdmin: x}}\nc: {<<: *b}\n");
  assert.equal(JSON.stringify(prototype), '{"b":{"__proto__":{"isAdmin":"x"}},"c":{"__proto__":{"isAdmin":"x"}}}');
  assert.equal(({} as { isAdmin?: unknown }).isAdmin, undefined);
});

let world: World;
let scratch: string;
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-attack-"));
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

test("attack 85: a list of documents cannot reach local files, internal addresses or paths outside its directory", async () => {
  const feed = await openFeedServer();
  const hidden = await openFeedServer();
  hidden.answers.set("/secret.json", { body: "{}" });
  world = await openWorld({ GANTRY_EGRESS_ALLOW: `feed=127.0.0.1/32:${new URL(feed.url).port}` });
  try {
    const targets = [`${hidden.url}/secret.json`, "http://169.254.169.254/latest", "file:///etc/passwd", "https://name:password@127.0.0.1/"];
    for (const target of targets) {
      feed.answers.set("/rolie.json", { body: JSON.stringify({ feed: { entry: [{ content: { src: target } }] } }) });
      const done = await runImport(world, "advisories", [`${feed.url}/rolie.json`]);
      assert.deepEqual([done.new, done.refusals], [0, 1], target);
      assert.match(done.refused[0] ?? "", /cannot be reached|must be an address/);
    }
    const metadata = { canonical_url: "x", metadata_version: "2.0", publisher: {}, distributions: [{ directory_url: `${feed.url}/csaf/` }] };
    feed.answers.set("/provider-metadata.json", { body: JSON.stringify(metadata) });
    for (const path of ["../rolie.json", "/rolie.json", `${hidden.url}/secret.json`, "//127.0.0.1/x", "2026/../../x.json", "%2e%2e/x.json"]) {
      feed.answers.set("/csaf/changes.csv", { body: `"${path}","2026-01-01T00:00:00Z"\n` });
      const done = await runImport(world, "advisories", [`${feed.url}/provider-metadata.json`]);
      assert.deepEqual([done.new, done.refusals], [0, 1], path);
      assert.match(done.refused[0] ?? "", /which is outside /, path);
    }
    // A provider that lists itself, or an endlessly repeating page, ends.
    feed.answers.set("/provider-metadata.json", {
      body: JSON.stringify({ ...metadata, distributions: [{ rolie: { feeds: [{ url: `${feed.url}/provider-metadata.json` }] } }] }),
    });
    const earlier = feed.asked.length;
    await runImport(world, "advisories", [`${feed.url}/provider-metadata.json`]);
    assert.ok(feed.asked.length - earlier <= 2);
    assert.deepEqual(hidden.asked, []);
  } finally {
    await hidden.close();
    await feed.close();
  }
});

test("attack 85: names and keys of a feed are shown without terminal control sequences", async () => {
  const path = join(scratch, "list.json");
  await writeFile(path, `[{"id": "x", "modified": "2026-01-01", "\\u001b[2J": 1, "affected": 7}]`);
  const done = await runImport(world, "vulnerabilities", [path]);
  assert.doesNotMatch(done.refused.join(), /[\u0000-\u001f]/);
  assert.equal(done.refusals, 1);
});

test("attack 93: control of a provider's host without its key cannot forge signed documents", async () => {
  const world = await openWorld();
  const feed = await openFeedServer();
  try {
    const newKey = () => generateKey({ userIDs: [{ name: "Harbour" }], format: "object", date: new Date(Date.now() - 3_600_000) });
    const [{ privateKey, publicKey }, stranger] = [await newKey(), await newKey()];
    const documentOf = (status: string): string =>
      JSON.stringify({
        document: {
          category: "csaf_vex",
          csaf_version: "2.0",
          title: "x",
          publisher: { category: "vendor", name: "Harbour", namespace: "https://example.com" },
          tracking: {
            id: "signed-9",
            status: "final",
            version: "1",
            initial_release_date: "2026-01-01T00:00:00Z",
            current_release_date: "2026-01-01T00:00:00Z",
          },
        },
        product_tree: { full_product_names: [{ product_id: "P", name: "boat", product_identification_helper: { purl: "pkg:npm/boat@1.0" } }] },
        vulnerabilities: [{ cve: "CVE-2038-0001", product_status: { [status]: ["P"] } }],
      });
    const signed = async (text: string, by: typeof privateKey): Promise<string> =>
      String(await sign({ message: await createMessage({ binary: Buffer.from(text) }), signingKeys: by, detached: true, date: new Date(Date.now() - 1000) }));
    const metadata = (fingerprint: string): string =>
      JSON.stringify({
        canonical_url: `${feed.url}/metadata.json`,
        metadata_version: "2.0",
        publisher: { name: "Harbour" },
        public_openpgp_keys: [{ fingerprint, url: `${feed.url}/key.asc` }],
        distributions: [{ directory_url: `${feed.url}/csaf` }],
      });
    const put = (path: string, body: string): void => void feed.answers.set(path, { body });
    put("/metadata.json", metadata(publicKey.getFingerprint()));
    put("/key.asc", publicKey.armor());
    put("/csaf/index.txt", "signed-9.json\n");
    const genuine = documentOf("known_affected");
    const signature = await signed(genuine, privateKey);
    const ask = (): ReturnType<typeof runImport> => runImport(world, "advisories", [`${feed.url}/metadata.json`]);
    const forged = documentOf("known_not_affected");
    const tries: Readonly<Record<string, () => Promise<void>>> = {
      "the signature of another document": async () => put("/csaf/signed-9.json.asc", signature),
      "a signature of one's own": async () => put("/csaf/signed-9.json.asc", await signed(forged, stranger.privateKey)),
      "a signature of one's own, with one's own key in the place of the provider's": async () => put("/key.asc", stranger.publicKey.armor()),
      "both keys in one file": async () => put("/key.asc", `${publicKey.armor()}\n${stranger.publicKey.armor()}`),
      "a right hash beside it": async () => put("/csaf/signed-9.json.sha256", hash("sha256", forged, "hex")),
    };
    put("/csaf/signed-9.json", forged);
    for (const [name, attempt] of Object.entries(tries)) {
      await attempt();
      const done = await ask();
      assert.deepEqual([done.new, done.refusals], [0, 1], name);
      assert.match(done.refused[0] ?? "", /is not signed by its provider|no key of its provider can be had/, name);
    }
    feed.answers.delete("/csaf/signed-9.json.sha256");
    put("/key.asc", publicKey.armor());
    put("/csaf/signed-9.json", genuine);
    put("/csaf/signed-9.json.asc", signature);
    assert.equal((await ask()).new, 1);
    put("/csaf/signed-9.json", forged);
    const after = await ask();
    assert.deepEqual([after.changed, after.withdrawn, after.refusals], [0, 0, 1]);
  } finally {
    await feed.close();
    await world.close();
  }
});

test("attack 94: a feed's key is sent to its own host only and appears in no message", async (t) => {
  const lines: string[] = [];
  const world = await openWorld({}, (event, details) => void lines.push(JSON.stringify([event, details])));
  const [feed, stranger] = [await openFeedServer(), await openFeedServer()];
  const folder = await mkdtemp(join(tmpdir(), "gantry-key-"));
  t.after(async () => {
    await rm(folder, { recursive: true, force: true });
    await Promise.all([feed.close(), stranger.close()]);
    await world.close();
  });
  const key = "secret-key-0123456789";
  const keyFile = join(folder, "key");
  await writeFile(keyFile, `${key}\n`);
  // A redirect, the next page, a provider's list, a document and its companion files.
  feed.answers.set("/moved.json", { status: 302, headers: { location: `${stranger.url}/moved.json` } });
  feed.answers.set("/advisories", {
    headers: { link: `<${stranger.url}/advisories?after=1>; rel="next"` },
    body: JSON.stringify([{ ghsa_id: "GHSA-keys-keys-keys", updated_at: "2026-01-01T00:00:00Z" }]),
  });
  feed.answers.set("/metadata.json", {
    body: JSON.stringify({
      canonical_url: "x",
      metadata_version: "2.0",
      publisher: {},
      public_openpgp_keys: [{ fingerprint: "00", url: `${stranger.url}/key.asc` }],
      distributions: [{ rolie: { feeds: [{ url: `${stranger.url}/feed.json` }] } }, { directory_url: `${stranger.url}/csaf` }],
    }),
  });
  stranger.answers.set("/csaf/index.txt", { body: "a.json\n" });
  stranger.answers.set("/csaf/a.json", { body: "{}" });
  feed.answers.set("/rest/json/cves/2.0", { status: 403, body: key });
  const messages: string[] = [];
  for (const path of ["/moved.json", "/advisories", "/metadata.json", "/rest/json/cves/2.0"]) {
    const done = await runImport(world, path === "/metadata.json" ? "advisories" : "vulnerabilities", [`${feed.url}${path}`], { keyFile });
    messages.push(JSON.stringify(done));
  }
  const sent = (asked: readonly { readonly headers: object }[]): number => asked.filter(({ headers }) => JSON.stringify(headers).includes(key)).length;
  assert.equal(sent(feed.asked), feed.asked.length);
  assert.ok(stranger.asked.length >= 5, JSON.stringify(stranger.asked));
  assert.equal(sent(stranger.asked), 0);
  const rows = await everyRow(world.databaseUrl);
  for (const text of [...messages, ...lines, ...[...rows.values()].flat()]) assert.ok(!text.includes(key), text);
  await writeFile(keyFile, `${key} ${key}`);
  await assert.rejects(runImport(world, "vulnerabilities", [`${feed.url}/advisories`], { keyFile }), (thrown: Error) => !thrown.message.includes(key));
});
