// Guarantees of every blob storage: one suite for files and S3.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { Fault } from "#base/fault.ts";
import { randomNumbers, shortOrLong } from "../../../test/length.ts";
import { type ObjectStorage, objectStorageMissing, startObjectStorage } from "../../../test/object-storage.ts";
import { openFilePlace } from "./file-place.ts";
import { readBlobsSetting } from "#base/blobs-setting.ts";
import { type BlobPlace, makeBlobKey, openBlobPlace, type UploadPoint, uploadStart } from "./index.ts";
import { bytesAt, contentOf, readAll } from "./testing.ts";

const MiB = 1024 * 1024;

interface Kind {
  readonly name: string;
  readonly missing: string | false;
  start(): Promise<Pick<ObjectStorage, "settingOf" | "stop">>;
}

const kinds: readonly Kind[] = [
  {
    name: "files",
    missing: false,
    async start() {
      const folder = await mkdtemp(join(tmpdir(), "gantry-blobs-"));
      return { settingOf: (name) => join(folder, name), stop: () => rm(folder, { recursive: true, force: true }) };
    },
  },
  { name: "S3", missing: objectStorageMissing(), start: startObjectStorage },
];

const codeOf =
  (code: string) =>
  (thrown: unknown): boolean =>
    thrown instanceof Fault && thrown.code === code;

for (const kind of kinds) {
  // A skip shows the reason in the results.
  describe(`blobs in ${kind.name}`, { skip: kind.missing }, () => {
    let started: Awaited<ReturnType<Kind["start"]>>;
    const opened: BlobPlace[] = [];
    const openAt = async (name: string): Promise<BlobPlace> => {
      const place = await openBlobPlace(readBlobsSetting(started.settingOf(name), "/"), { redirects: true });
      opened.push(place);
      return place;
    };
    const listed = async (place: BlobPlace): Promise<string[]> => {
      const keys: string[] = [];
      for await (const { key } of place.list()) keys.push(key);
      return keys;
    };
    before(async () => {
      started = await kind.start();
    });
    after(async () => {
      for (const place of opened) await place.close();
      await started.stop();
    });

    test("appended content can be read back, whole and in ranges", async () => {
      const place = await openAt("whole");
      for (const length of [0, 1, 70_000, 8 * MiB, 13 * MiB + 7]) {
        const key = makeBlobKey();
        const at = await place.append(key, uploadStart, contentOf(0, length));
        assert.equal(at.sizeBytes, length);
        assert.equal(await place.sizeOf(key), undefined, "nothing is to be seen of it before it is complete");
        assert.equal(await place.read(key), undefined);
        await place.complete(key, at);
        assert.equal(await place.sizeOf(key), length);
        assert.ok((await readAll(await place.read(key)))?.equals(bytesAt(0, length)), `${length} bytes`);
        for (const [startBytes, endBytes] of [
          [0, length],
          [length, length],
          [Math.floor(length / 3), Math.ceil(length / 2)],
          [Math.max(0, length - 1), length],
        ] as const) {
          const found = await readAll(await place.read(key, { startBytes, endBytes }));
          assert.ok(found?.equals(bytesAt(startBytes, endBytes - startBytes)), `${startBytes} to ${endBytes} of ${length}`);
        }
      }
    });

    test("an upload continues at another server, with chunks of any size", async () => {
      const servers = [await openAt("moved"), await openAt("moved")];
      const random = randomNumbers(1);
      const key = makeBlobKey();
      let at: UploadPoint = uploadStart;
      for (let round = 0; round < shortOrLong(14, 60); round++) {
        const length = round % 3 === 0 ? 1 + Math.floor(random() * 100) : Math.floor(random() * 7 * MiB);
        // As stored in the database.
        const kept: UploadPoint = JSON.parse(JSON.stringify(at));
        const next = await servers[round % 2]?.append(key, kept, contentOf(at.sizeBytes, length));
        assert.equal(next?.sizeBytes, at.sizeBytes + length);
        at = next ?? at;
      }
      await servers[0]?.complete(key, at);
      assert.ok((await readAll(await servers[1]?.read(key)))?.equals(bytesAt(0, at.sizeBytes)));
    });

    test("an append that fails, or that was never recorded, has no effect", async () => {
      const place = await openAt("failed");
      for (const length of [1000, 6 * MiB]) {
        const key = makeBlobKey();
        const cut = async function* (): AsyncGenerator<Uint8Array> {
          yield* contentOf(500, length);
          throw new Error("the client is gone");
        };
        await assert.rejects(place.append(key, uploadStart, cut()), /the client is gone/);
        const first = await place.append(key, uploadStart, contentOf(0, length));
        await assert.rejects(place.append(key, first, cut()), /the client is gone/);
        // Longer than the next one, and never recorded.
        await place.append(key, first, contentOf(77, 2 * length));
        const second = await place.append(key, first, contentOf(length, length));
        await place.complete(key, second);
        assert.ok((await readAll(await place.read(key)))?.equals(bytesAt(0, 2 * length)), `${length} bytes`);
      }
    });

    test("an append stops when its signal aborts", async () => {
      const place = await openAt("given-up");
      const key = makeBlobKey();
      const stop = new AbortController();
      const endless = async function* (): AsyncGenerator<Uint8Array> {
        for (let at = 0; ; at += 1000) {
          if (at === 100_000) stop.abort();
          yield bytesAt(at, 1000);
        }
      };
      await assert.rejects(place.append(key, uploadStart, endless(), stop.signal), { name: "AbortError" });
    });

    test("completing twice equals once, and missing content cannot be completed", async () => {
      const place = await openAt("twice");
      for (const length of [0, 10, 9 * MiB]) {
        const key = makeBlobKey();
        const at = await place.append(key, uploadStart, contentOf(0, length));
        await place.complete(key, at);
        // A client that missed the response retries with an empty last chunk.
        assert.deepEqual(await place.append(key, at, contentOf(length, 0)), at);
        await place.complete(key, at);
        assert.ok((await readAll(await place.read(key)))?.equals(bytesAt(0, length)));
      }
      await assert.rejects(place.complete(makeBlobKey(), { sizeBytes: 5, state: { restBytes: 5 } }), codeOf("DATA_LOSS"));
    });

    test("content that is completed aside can be read, and its upload can go on until it is forgotten", {
      skip: kind.name === "S3" && "unsupported",
    }, async () => {
      const place = await openAt("aside");
      const { completeAside, forgetUpload } = place;
      assert.ok(completeAside && forgetUpload);
      const key = makeBlobKey();
      const at = await place.append(key, uploadStart, contentOf(0, 1000));
      await completeAside(key, at);
      await completeAside(key, at);
      assert.ok((await readAll(await place.read(key)))?.equals(bytesAt(0, 1000)));
      const further = await place.append(key, at, contentOf(1000, 500));
      // The first size is outdated, so the transaction fails that would have referenced it.
      await assert.rejects(completeAside(key, at), codeOf("DATA_LOSS"));
      await place.complete(key, further);
      assert.ok((await readAll(await place.read(key)))?.equals(bytesAt(0, 1500)));
      const other = makeBlobKey();
      const end = await place.append(other, uploadStart, contentOf(0, 10));
      await completeAside(other, end);
      await forgetUpload(other);
      await forgetUpload(other);
      await completeAside(other, end);
      assert.deepEqual((await listed(place)).sort(), [key, other].sort(), "each has one name");
      await assert.rejects(completeAside(makeBlobKey(), end), codeOf("DATA_LOSS"));
    });

    test("removed content is gone, and removing it again has no effect", async () => {
      const place = await openAt("removed");
      for (const length of [0, 10, 6 * MiB]) {
        const [complete, open] = [makeBlobKey(), makeBlobKey()];
        await place.complete(complete, await place.append(complete, uploadStart, contentOf(0, length)));
        const at = await place.append(open, await place.append(open, uploadStart, contentOf(0, length)), contentOf(length, 3));
        for (let times = 0; times < 2; times++) {
          await place.remove(complete);
          await place.remove(open, at.state);
        }
        assert.equal(await place.sizeOf(complete), undefined);
        assert.equal(await place.read(complete), undefined);
        await assert.rejects(place.complete(open, at), codeOf("DATA_LOSS"));
      }
      assert.deepEqual(await Array.fromAsync(place.list()), []);
    });

    test("an upload removed while it is completed is completed or lost, not reported as unreachable storage", async () => {
      const place = await openAt("removed-meanwhile");
      for (let times = 0; times < 64; times++) {
        const key = makeBlobKey();
        const at = await place.append(key, uploadStart, contentOf(0, 10));
        const completed = place.complete(key, at).catch((thrown: unknown) => assert.ok(codeOf("DATA_LOSS")(thrown), String(thrown)));
        for (let turns = 0; turns < times % 8; turns++) await new Promise((resolve) => setImmediate(resolve));
        await place.remove(key, at.state);
        await completed;
      }
    });

    test("the list contains all content, over many pages", async () => {
      const place = await openAt("listed");
      const completed = Array.from({ length: 1_010 }, makeBlobKey).sort();
      for (let from = 0; from < completed.length; from += 50)
        await Promise.all(completed.slice(from, from + 50).map((key) => place.complete(key, uploadStart)));
      const [small, large] = [makeBlobKey(), makeBlobKey()];
      const atSmall = await place.append(small, uploadStart, contentOf(0, 5));
      await place.append(large, uploadStart, contentOf(0, 9 * MiB));
      const found = await Array.fromAsync(place.list());
      assert.deepEqual(found.flatMap((each) => (each.completed ? [each.key] : [])).sort(), completed);
      assert.deepEqual([...new Set(found.flatMap((each) => (each.completed ? [] : [each.key])))].sort(), [small, large].sort());
      assert.ok(found.every(({ changedAtMs }) => Math.abs(changedAtMs - Date.now()) < 600_000));
      // Leftovers of a crashed server with no recorded point: the list is enough to remove them.
      for (const { key, completed: isCompleted, state } of found) if (!isCompleted) await place.remove(key, state);
      assert.equal((await Array.fromAsync(place.list())).filter((each) => !each.completed).length, 0);
      await assert.rejects(place.complete(small, atSmall), codeOf("DATA_LOSS"));
    });

    test("storage belongs to one database, and a database has one storage", async () => {
      const [one, same] = [await openAt("claimed"), await openAt("claimed")];
      const ids = await Promise.all([one.claim("store-1", undefined), same.claim("store-1", undefined)]);
      assert.equal(ids[0], ids[1], "two servers that start at once");
      const id = await one.claim("store-1", undefined);
      assert.equal(await same.claim("store-1", id), id);
      await assert.rejects(one.claim("store-2", undefined), /another database/);
      const other = await openAt("empty");
      await assert.rejects(other.claim("store-1", id), /is empty/);
      assert.notEqual(await other.claim("store-1", undefined), id);
      await assert.rejects(other.claim("store-1", id), /does not contain this/);
      const unmarked = await openAt("unmarked");
      const key = makeBlobKey();
      await unmarked.complete(key, await unmarked.append(key, uploadStart, contentOf(0, 3)));
      await assert.rejects(unmarked.claim("store-1", undefined), /of an unknown database/);
    });

    test("acknowledged content survives kill -9", async () => {
      const random = randomNumbers(2);
      for (let round = 0; round < shortOrLong(4, 40); round++) {
        const setting = started.settingOf("killed");
        const child = spawn(process.execPath, [join(import.meta.dirname, "appending.fixture.ts"), setting, String(round + 1)], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        const ended = once(child, "exit");
        const answered = new Map<string, { key: string; at: UploadPoint; completed: boolean }>();
        let left = 1 + Math.floor(random() * 14);
        for await (const line of createInterface({ input: child.stdout })) {
          const each = JSON.parse(line);
          answered.set(each.key, each);
          // At a random moment of the work after this response.
          if (--left === 0) setTimeout(() => child.kill("SIGKILL"), random() * 30);
        }
        await ended;
        const place = await openAt("killed");
        for (const { key, at, completed } of answered.values()) {
          // The last one may have progressed further than reported.
          if (!completed) await place.complete(key, at);
          assert.ok((await readAll(await place.read(key)))?.equals(bytesAt(0, at.sizeBytes)), `${at.sizeBytes} bytes, completed ${completed}`);
        }
      }
    });
  });
}

test("unreachable storage is reported as such, and the operation can be retried", async () => {
  process.env.AWS_ACCESS_KEY_ID ??= "nobody";
  process.env.AWS_SECRET_ACCESS_KEY ??= "nothing";
  const place = await openBlobPlace(readBlobsSetting("s3://blobs/?endpoint=http://127.0.0.1:9", "/"), { redirects: false });
  const key = makeBlobKey();
  await assert.rejects(place.append(key, uploadStart, contentOf(0, 10)), codeOf("UNAVAILABLE"));
  await assert.rejects(place.sizeOf(key), codeOf("UNAVAILABLE"));
  await assert.rejects(place.claim("store-1", undefined), codeOf("UNAVAILABLE"));
  await place.close();
});

test("a signed URL gives anyone this content and nothing else", { skip: objectStorageMissing() }, async () => {
  const storage = await startObjectStorage();
  try {
    const place = await openBlobPlace(readBlobsSetting(storage.settingOf("signed"), "/"), { redirects: true });
    const [key, other] = [makeBlobKey(), makeBlobKey()];
    for (const each of [key, other]) await place.complete(each, await place.append(each, uploadStart, contentOf(0, 1000)));
    const url = (await place.signedUrl?.(key, { seconds: 300, contentType: "application/vnd.example" })) ?? "";
    const answer = await fetch(url);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "application/vnd.example");
    assert.ok(Buffer.from(await answer.arrayBuffer()).equals(bytesAt(0, 1000)));
    assert.equal((await fetch(url.replace(key, other))).status, 403);
    assert.equal((await fetch(url, { method: "PUT", body: "other" })).status, 403);
    await place.close();
  } finally {
    await storage.stop();
  }
});

test("the S3 client is loaded only if S3 is configured", async () => {
  const loadedWith = async (setting: string): Promise<string> => {
    const script = `import { registerHooks } from "node:module";
      const seen = new Set();
      registerHooks({ resolve(specifier, context, next) { const found = next(specifier, context); seen.add(found.url); return found; } });
      const { openBlobPlace } = await import(${JSON.stringify(join(import.meta.dirname, "index.ts"))});
      await openBlobPlace(${JSON.stringify(readBlobsSetting(setting, "/"))}, { redirects: true });
      process.stdout.write([...seen].join(" "));`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: ["ignore", "pipe", "inherit"] });
    return String(await readAll(child.stdout));
  };
  assert.doesNotMatch(await loadedWith("/nowhere"), /@aws-sdk|@smithy/);
  assert.match(await loadedWith("s3://blobs/"), /@aws-sdk\/client-s3/);
});

test("a full disk is reported as such, and keeps exactly the acknowledged content", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-blobs-"));
  try {
    const script = `
      import { openFilePlace } from ${JSON.stringify(join(import.meta.dirname, "file-place.ts"))};
      import { makeBlobKey, uploadStart } from ${JSON.stringify(join(import.meta.dirname, "place.ts"))};
      import { contentOf } from ${JSON.stringify(join(import.meta.dirname, "testing.ts"))};
      const place = openFilePlace({ folder: ${JSON.stringify(folder)}, spaceLeftBytes: 0 });
      const told = (thrown) => [thrown.code, thrown.httpStatus];
      const key = makeBlobKey();
      const at = await place.append(key, uploadStart, contentOf(0, 600_000));
      const answers = [
        await place.append(key, at, contentOf(600_000, 5_000_000)).catch(told),
        await place.append(makeBlobKey(), uploadStart, contentOf(0, 5_000_000)).catch(told),
      ];
      process.stdout.write(JSON.stringify({ key, at, answers }));`;
    // Limits files to 1 MiB, which fails like a full disk.
    const run = 'ulimit -f 2048 && trap \'\' XFSZ && exec "$0" --input-type=module --eval "$1"';
    const child = spawn("sh", ["-c", run, process.execPath, script], { stdio: ["ignore", "pipe", "inherit"] });
    const { key, at, answers } = JSON.parse(String(await readAll(child.stdout)));
    assert.deepEqual(answers, [
      ["UNAVAILABLE", 507],
      ["UNAVAILABLE", 507],
    ]);
    const place = openFilePlace({ folder });
    assert.deepEqual(
      (await Array.fromAsync(place.list())).map((each) => [each.key, each.sizeBytes]),
      [[key, 600_000]],
    );
    await place.complete(key, await place.append(key, at, contentOf(600_000, 1000)));
    assert.ok((await readAll(await place.read(key)))?.equals(bytesAt(0, 601_000)));
    // Some space stays free, because the database may share the disk.
    const short = openFilePlace({ folder, spaceLeftBytes: Number.MAX_SAFE_INTEGER });
    await assert.rejects(short.append(makeBlobKey(), uploadStart, contentOf(0, 10)), { code: "UNAVAILABLE", httpStatus: 507 });
    assert.equal((await Array.fromAsync(place.list())).length, 1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
