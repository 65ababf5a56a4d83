// What strangers' feeds do to whoever fetches and reads them.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { limits } from "#base/limits.ts";
import { openOutbound, type Outbound } from "#authn";
import { FeedFileReader } from "../../server/feeds/file-reader.ts";
import { openPieces } from "../../server/feeds/pieces.ts";
import { readYaml } from "../../server/feeds/parse/yaml.ts";
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

test("attack 83: a redirect leads nowhere that the first address would not have been allowed to be", async (t) => {
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
    const fetched = outbound.fetch("feed", feed.url, { redirectsMax: 3 });
    await assert.rejects(fetched, { message: `${feed.url} cannot be reached` }, location);
  }
  assert.equal(reached, 0);
});

test("attack 83: redirects are few, none is followed unasked, and secrets stay with the host they were given for", async (t) => {
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
  const found = await outbound.fetch("feed", `${feed.url}/near`, { headers, redirectsMax: 3 });
  assert.deepEqual([found.status, Buffer.from(found.body).toString(), found.url], [200, "found", `${other.url}/there`]);
  assert.deepEqual(asked.splice(0), [
    ["/near", "secret", '"one"'],
    ["/away", "secret", '"one"'],
    ["/there", undefined, '"one"'],
  ]);
  assert.equal((await outbound.fetch("feed", `${feed.url}/round`, { redirectsMax: 3 })).status, 302);
  assert.equal(asked.splice(0).length, 4);
  assert.equal((await outbound.fetch("feed", `${feed.url}/away`)).status, 302);
  assert.equal(asked.length, 1);
});

test("attack 83: an answer without end is cut at its limit, wherever it is kept", async (t) => {
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
  await assert.rejects(open(t, "127.0.0.0/8").fetch("feed", feed.url, { bytesMax: 1_000_000, receive }), /cannot be reached/);
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

test("attack 84: of a list whose element never ends no more is read than an element may have, and it is refused", async () => {
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
    await assert.rejects(countPieces(endless), /holds a value of more than 33554432 bytes/, element);
    assert.ok(read < limits.feedDocumentBytesMax + 1024 * 1024, `${element}: ${read} bytes`);
  }
});

test("attack 84: merge keys that multiply are refused as aliases that multiply are", async () => {
  const laughs = [
    "a0: &a0 {k0: v}",
    ...Array.from({ length: 60 }, (_, index) => `a${index + 1}: &a${index + 1} {<<: [*a${index}, *a${index}], k${index + 1}: v}`),
  ];
  await assert.rejects(readYaml(`${laughs.join("\n")}\n`), /holds more than 100 aliases/);
  const circle = "a: &a\n  <<: *a\n";
  await assert.rejects(readYaml(circle), /holds more than 100 aliases|nested deeper|not valid YAML|Unresolved/);
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

test("attack 85: a list of documents leads to no file of ours, to no address of our network, and out of no folder", async () => {
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
      assert.match(done.refused[0] ?? "", /which lies outside of/, path);
    }
    // A provider that names itself, or a page that is the same for ever, ends.
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

test("attack 85: names and keys of a feed are shown without what a terminal would take for orders", async () => {
  const path = join(scratch, "list.json");
  await writeFile(path, `[{"id": "x", "modified": "2026-01-01", "\\u001b[2J": 1, "affected": 7}]`);
  const done = await runImport(world, "vulnerabilities", [path]);
  assert.doesNotMatch(done.refused.join(), /[\u0000-\u001f]/);
  assert.equal(done.refusals, 1);
});
