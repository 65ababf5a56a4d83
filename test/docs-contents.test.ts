// docs/contents.json lists every page for readers once, pages have a maximum size, and sections of removed pages redirect to
// existing ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isObject, type Json, type JsonObject, objectList, part, texts } from "#base/json.ts";
import { firstSentence } from "../server/docs/markdown.ts";
import { files } from "./project-files.ts";

const pageBytesMax = 24 * 1024;
const readmeBytesMax = 6 * 1024;
const summaryCharactersMax = 160;
/** The number of headings that each removed page had. */
const oldAnchors: Readonly<Record<string, number>> = { "operate/several-cores": 3, operations: 72 };

const parsed = JSON.parse(files.get("docs/contents.json") ?? "{}") as Json;
const contents: JsonObject = isObject(parsed) ? parsed : {};
const listed = objectList(contents, "groups").flatMap((group) => texts(group, "pages"));
const textOf = (page: string): string => files.get(`docs/${page}.md`) ?? "";

const slugsOf = (markdown: string): string[] =>
  [...markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-"),
  );

test("the contents list every page for readers once, and every listed page exists", () => {
  const written = [...files.keys()].flatMap((path) => /^docs\/((?:guides|concepts|how-to|operate|reference)\/.+)\.md$/.exec(path)?.[1] ?? []);
  assert.ok(written.length > 50, `only ${written.length} pages`);
  assert.deepEqual(listed.toSorted(), [...written, "first-change", "find-the-code", "architecture", "adding-a-resource"].toSorted());
});

test("no listed page is larger than 24 KB, and README has at most 6 KB", () => {
  for (const page of listed) assert.ok(Buffer.byteLength(textOf(page)) <= pageBytesMax, `${page} has ${Buffer.byteLength(textOf(page))} bytes`);
  assert.ok(Buffer.byteLength(files.get("README.md") ?? "") <= readmeBytesMax);
});

test("every listed page begins with a sentence of at most 160 characters, which the home page shows", () => {
  const summaries = listed.map((page) => [page, firstSentence(textOf(page))] as const);
  assert.deepEqual(
    summaries.filter(([, summary]) => summary === "" || summary.length > summaryCharactersMax),
    [],
  );
});

test("the first sentence has no markup and no decisions, and is empty if no paragraph follows the title", () => {
  const rows = [
    ["# T\n\nRead [the guide](a.md) of `npm` 1.2 ([0003](b.md); [each](c.md)). Then more.\n\nLast.", "Read the guide of npm 1.2."],
    ["# T\n\nOver two\nlines: a list.\n", "Over two lines."],
    ["# T\n\nWithout an end", "Without an end"],
    ["# T\n\n```sh\nls\n```\n\nLater.", ""],
    ["# T\n\n## Section\n\nLater.", ""],
    ["Before a title.\n\n# T", ""],
  ] as const;
  for (const [markdown, expected] of rows) assert.equal(firstSentence(markdown), expected, markdown);
});

test("every section of a removed page redirects to an existing section", () => {
  const moved = Object.entries(part(contents, "moved"));
  assert.deepEqual(moved.map(([page]) => page).sort(), Object.keys(oldAnchors));
  for (const [page, sections] of moved) {
    assert.ok(!files.has(`docs/${page}.md`), `${page} is still a page`);
    const targets = Object.entries(isObject(sections) ? sections : {});
    assert.equal(targets.length, oldAnchors[page]);
    for (const [anchor, target] of targets) {
      const [to = "", fragment] = String(target).split("#");
      assert.ok(listed.includes(to), `${page}#${anchor} leads to ${to}`);
      if (fragment !== undefined) assert.ok(slugsOf(textOf(to)).includes(fragment), `${page}#${anchor} leads to ${String(target)}`);
    }
  }
});
