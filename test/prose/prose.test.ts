// The prose check: each kind of prose in each module stays within its budget of odd words per 1,000 words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Budgets, countProse, findExcess, kinds, measureProse, proseOf, proseOfMarkdown, proseOfProject, readBudgets } from "./measure.ts";

const measured = measureProse(proseOfProject());

test("no module has more odd words than its budget", () => {
  const excess = findExcess(measured, readBudgets());
  assert.equal(excess.length, 0, `\n${excess.join("\n")}\nnpm run prose -- FOLDER lists the words. Name the noun instead: see CONTRIBUTING.md, "Prose"`);
});

test("a budget names a module that has prose of its kind", () => {
  for (const kind of kinds)
    for (const module of Object.keys(readBudgets()[kind]))
      assert.ok(module === "*" || measured.get(kind)?.has(module), `${kind} of ${module}: remove the budget`);
});

test("odd words and headless sentences are counted, and plain sentences are not", () => {
  assert.deepEqual(countProse("Whoever signs in is told whose it is."), { odd: 3, words: 8 });
  assert.equal(countProse("What no source names is withdrawn. Who signs in becomes an identity.").odd, 2);
  assert.equal(countProse("Where do I begin? The server lists the rows. You delete a group.").odd, 0);
});

test("code blocks, inline code and addresses are not prose", () => {
  assert.equal(countProse(proseOfMarkdown("Run `nobody` [here](whose.md).\n\n```sh\nwhoever\n```\n")).odd, 0);
  assert.equal(countProse(proseOfMarkdown("```sh\nx\n```\nWhoever runs it.")).odd, 1);
});

test("every kind of prose is found in its files, and an excess names kind and module", () => {
  const planted: readonly (readonly [kind: (typeof kinds)[number], path: string, content: string])[] = [
    ["docs", "docs/x.md", "Nobody, nobody, nobody."],
    ["proto", "contract/proto/gantry/x.proto", "// Nobody, nobody, nobody.\nmessage X {}"],
    ["comments", "base/x.ts", "// Nobody, nobody, nobody.\nconst x = 1;"],
    ["titles", "base/x.test.ts", 'test("nobody, nobody, nobody", () => {});'],
    ["messages", "base/x.ts", 'throw new Error("here is nobody and nobody and nobody");'],
  ];
  const none: Budgets = { docs: {}, proto: {}, comments: {}, titles: {}, messages: {} };
  for (const [kind, path, content] of planted) {
    const [excess = ""] = findExcess(measureProse(proseOf(path, content)), none);
    assert.ok(excess.startsWith(`${kind} of `), `${kind}: ${excess}`);
  }
});
