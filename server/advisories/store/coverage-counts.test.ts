// Counts kept by repo equal the images, after any changes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { EVERYWHERE } from "#base/uid.ts";
import { openStore, type Store } from "#db";
import { freshDatabase } from "../../../test/database.ts";
import { fc, runs } from "../../../test/property.ts";
import { countKnownImages, deleteImageCoverageExcept, placeBelow, placeOnly, writeImageCoverage } from "./image-coverage.ts";

const root = "a".repeat(40);
const groups = [root, `${root}/${"1".repeat(16)}`, "b".repeat(40)];
const repos = ["app", "web"];
const ecosystems = ["Debian:12", "PyPI", "npm"];

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase();
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await database.drop();
});

const place = { group: fc.nat(groups.length - 1), repo: fc.nat(repos.length - 1) };
const tags = fc.array(
  fc.record({ tag: fc.nat(3), architecture: fc.constantFrom("", "amd64", "arm64"), identity: fc.nat(2), held: fc.subarray(ecosystems), partly: fc.boolean() }),
  { maxLength: 6 },
);
const changes = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("write" as const), ...place, tags }) },
    fc.record({ kind: fc.constant("keep" as const), ...place }),
    fc.record({ kind: fc.constant("clear" as const), ...place }),
  ),
  { minLength: 1, maxLength: 10 },
);

const gaps = [
  { owner: root, key: "PyPI" },
  { owner: groups[1] ?? "", key: "Debian:12" },
  { owner: groups[1] ?? "", key: "npm" },
];

interface Row {
  readonly owner: string;
  readonly image: string;
  readonly ecosystems: readonly string[];
  readonly partly: boolean;
}

const counted = (rows: readonly Row[], low: string, high: string): { readonly known: number; readonly unjudged: number } => {
  const images = Map.groupBy(
    rows.filter(({ owner }) => owner >= low && owner < high),
    ({ image }) => image,
  );
  const isUnjudged = (row: Row): boolean =>
    row.partly || row.ecosystems.length === 0 || gaps.some(({ owner, key }) => owner === row.owner && row.ecosystems.includes(key));
  return { known: images.size, unjudged: [...images.values()].filter((of) => of.some(isUnjudged)).length };
};

const readRows = async (): Promise<Row[]> => {
  const found = await store.read.query("select owner, repo, identity, ecosystems::text, partly_read::text from image_coverage");
  return found.map(([owner = "", repo = "", identity = "", held, partly]) => ({
    owner: owner ?? "",
    image: JSON.stringify([owner, repo, identity]),
    ecosystems: ecosystems.filter((each) => held?.includes(`"${each}"`)),
    partly: partly === "true",
  }));
};

test("counts kept by repo equal the images and those that no source judges, after any matches, deletions and deleted groups", async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (given) => {
      await store.write((rows) => rows.query("delete from image_coverage"));
      for (const change of given) {
        const [owner = "", repo = ""] = [groups[change.group], repos[change.repo]];
        await store.write(async (rows) => {
          if (change.kind === "clear") await rows.query("delete from image_coverage where owner = $1", [owner]);
          else if (change.kind === "keep") await deleteImageCoverageExcept(rows, owner.slice(0, 40), [{ owner, repo }]);
          else
            await writeImageCoverage(
              rows,
              [{ owner, repo }],
              change.tags.map(({ tag, architecture, identity, held, partly }) => ({
                owner,
                repo,
                tag: `t${tag}`,
                architecture,
                shortRepo: repo,
                repoUid: "",
                digest: "",
                identity: `sha256:${identity}`,
                ecosystems: held,
                partlyRead: partly,
              })),
            );
        });
      }
      const rows = await readRows();
      for (const each of [placeBelow(EVERYWHERE), ...groups.flatMap((path) => [placeBelow(path), placeOnly(path)])])
        assert.deepEqual(await countKnownImages(store.read, [each], gaps), counted(rows, each.low, each.high), each.low);
    }),
    { numRuns: runs(40) },
  );
});
