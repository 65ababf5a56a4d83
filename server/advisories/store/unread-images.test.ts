// Unread images as kept and noted by triggers equal those of the tags, after any changes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { EVERYWHERE } from "#base/uid.ts";
import { openStore, type Store, type Write } from "#db";
import { freshDatabase } from "../../../test/database.ts";
import { fc, runs } from "../../../test/property.ts";
import { placeBelow, placeOnly, writeImageCoverage } from "./image-coverage.ts";
import { findUnreadImages, isUnreadChanged, refreshUnreadImages, refreshUnreadPiece, type UnreadPiece } from "./unread-images.ts";

const root = "a".repeat(40);
const groups = [root, `${root}/${"1".repeat(16)}`, "b".repeat(40)];
const repos = [groups[1] ?? "", groups[2] ?? ""].map((owner, number) => ({ owner, name: "app", uid: `${owner}/${`${number}`.padStart(16, "0")}` }));

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await database.drop();
});

const repo = fc.constantFrom(...repos.slice(0, 1), ...repos);
const tag = fc.constantFrom("t0", "t1");
const digest = fc.constantFrom("sha256:0", "sha256:0", "sha256:0", "sha256:1");
const architecture = fc.constantFrom("amd64", "arm64", "unknown");
const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("tag" as const), repo, tag, digest }) },
  fc.record({ kind: fc.constant("untag" as const), repo, tag }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("platform" as const), repo, digest, architecture }) },
  fc.record({ kind: fc.constant("forget" as const), repo, digest }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("cover" as const),
      repo,
      tags: fc.array(fc.tuple(tag, fc.constantFrom("", "amd64", "arm64")), { maxLength: 2 }),
    }),
  },
  fc.record({ kind: fc.constant("delete" as const), repo }),
  fc.record({ kind: fc.constant("rename" as const), repo, name: fc.constantFrom("app", "new") }),
);
// Mostly everything is written between two changes; a part is left otherwise. Two servers write large repos.
const refresh = fc.oneof({ weight: 3, arbitrary: fc.constant(100) }, fc.nat(2));
const step = fc.record({
  change,
  refresh,
  start: fc.constantFrom("", "a", "b", "c"),
  tagsMax: fc.constantFrom(1, 1, 100),
  server: fc.nat(1),
  pieces: fc.nat(3),
});
const changes = fc.array(step, { minLength: 3, maxLength: 14 });

/** The repos of a run keep their names apart, as the database demands. */
const nameOf = ({ uid }: { readonly uid: string }, name: string): string => (name === "new" ? `new-${uid.slice(-2)}` : `${name}-${uid.slice(-2)}`);

const writeTag = async (rows: Write, repoUid: string, name: string, of: string): Promise<void> => {
  await rows.query(
    `insert into tags (uid, name, digest, create_time, update_time)
     select uid || '/' || lpad(right($2, 1), 16, '0'), $2, $3, now(), now() from repos where uid = $1
     on conflict (uid) do update set digest = excluded.digest`,
    [repoUid, name, of],
  );
};

const writePlatform = async (rows: Write, repoUid: string, index: string, of: string): Promise<void> => {
  await rows.query(
    `insert into manifests (repo_uid, index_digest, digest, os, architecture, size_bytes) values ($1, $2, 'sha256:' || $3, 'linux', $3, 1)
     on conflict do nothing`,
    [repoUid, index, of],
  );
};

test("unread images equal the tagged images and platforms without coverage, whatever changed and whatever servers have written already", async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (given) => {
      await store.write(async (rows) => {
        await rows.query("delete from tags");
        await rows.query("delete from repos");
        await rows.query("delete from manifests");
        await rows.query("delete from image_coverage");
        for (const each of repos) {
          await rows.query("insert into repos (uid, name, create_time, update_time) values ($1, $2, now(), now())", [each.uid, nameOf(each, each.name)]);
          await writeTag(rows, each.uid, "t0", "sha256:0");
          await writePlatform(rows, each.uid, "sha256:0", "amd64");
        }
      });
      const pieces: (UnreadPiece | undefined)[] = [];
      const refresh = async (server: number, start: string, repos: number, tags: number, most: number): Promise<boolean> => {
        for (let count = 0; count < most; count++) {
          const piece = pieces[server];
          if (piece) pieces[server] = await store.write((rows) => refreshUnreadPiece(rows, piece, 1));
        }
        const { isMore, large } = await store.write((rows) => refreshUnreadImages(rows, start, { repos, tags }, pieces[server]?.repoUid));
        pieces[server] ??= large;
        return isMore || pieces[server] !== undefined;
      };
      for (const { change, refresh: limit, start, tagsMax, server, pieces: most } of given) {
        await store.write(async (rows) => {
          if (change.kind === "tag") await writeTag(rows, change.repo.uid, change.tag, change.digest);
          else if (change.kind === "untag") await rows.query("delete from tags where left(uid, -17) = $1 and name = $2", [change.repo.uid, change.tag]);
          else if (change.kind === "platform") await writePlatform(rows, change.repo.uid, change.digest, change.architecture);
          else if (change.kind === "forget")
            await rows.query("delete from manifests where repo_uid = $1 and index_digest = $2", [change.repo.uid, change.digest]);
          else if (change.kind === "delete") {
            await rows.query("delete from tags where left(uid, -17) = $1", [change.repo.uid]);
            await rows.query("delete from repos where uid = $1", [change.repo.uid]);
          } else if (change.kind === "rename")
            await rows.query("update repos set name = $2 where uid = $1", [change.repo.uid, nameOf(change.repo, change.name)]);
          else {
            const shortRepo = nameOf(change.repo, change.repo.name);
            const { owner } = change.repo;
            const covered = change.tags.map(([name, each]) => ({ tag: name, architecture: each }));
            const rest = { owner, repo: shortRepo, shortRepo, repoUid: "", digest: "", identity: "", ecosystems: [], partlyRead: false };
            await writeImageCoverage(
              rows,
              [{ owner, repo: shortRepo }],
              covered.map((each) => ({ ...rest, ...each })),
            );
          }
        });
        if (limit > 0) await refresh(server, start, limit, tagsMax, most);
      }
      const naive = await store.read.query(
        `select left(repo.uid, -17), repo.uid || ' ' || repo.name || ' ' || tag.digest, jsonb_agg(distinct tag.name)::text,
           jsonb_agg(distinct manifest.architecture) filter (where manifest.architecture is not null)::text
         from repos as repo join tags as tag on left(tag.uid, -17) = repo.uid
         left join manifests as manifest on manifest.repo_uid = repo.uid and manifest.index_digest = tag.digest and manifest.architecture <> 'unknown'
         where not exists (
           select from image_coverage as image where image.owner = left(repo.uid, -17) and image.short_repo = repo.name and image.tag = tag.name
             and (manifest.architecture is null or image.architecture in ('', manifest.architecture)))
         group by repo.uid, repo.name, tag.digest`,
      );
      const requireEqual = async (): Promise<void> => {
        for (const place of [placeBelow(EVERYWHERE), ...groups.flatMap((path) => [placeBelow(path), placeOnly(path)])]) {
          const expected = naive.filter(([owner]) => (owner ?? "") >= place.low && (owner ?? "") < place.high).map(([, ...rest]) => rest);
          const found = await findUnreadImages(store.read, [place], 100);
          const shown = found.images.map(({ repoUid, repo: name, digest: of, tags, architectures }) => [
            `${repoUid} ${name} ${of}`,
            `["${tags.join('", "')}"]`,
            architectures.length === 0 ? null : `["${architectures.join('", "')}"]`,
          ]);
          assert.deepEqual(shown.sort(), expected.sort(), place.low);
          assert.equal(found.count, expected.length);
          const [first] = (await findUnreadImages(store.read, [place], 1)).images;
          assert.deepEqual(first, found.images[0]);
        }
      };
      await requireEqual();
      for (const server of [0, 1]) while (await refresh(server, "", 1, 1, 1));
      assert.equal(await isUnreadChanged(store.read), false);
      await requireEqual();
    }),
    { numRuns: runs(200) },
  );
});
