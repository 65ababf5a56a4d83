import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { growthMax, growthOf } from "../../../../test/growth.ts";
import { hostileMarkdown } from "../../../../test/hostile-texts.ts";
import { limits } from "#base/limits.ts";
import { judgeReadme, makeJudge } from "./judge.ts";

const fence = "```";

/** Markdown that runs a script in the browser. */
const scripts: Readonly<Record<string, string>> = {
  "a script": "<script>alert(1)</script>",
  "a script in the middle of a line": "text <script>alert(1)</script> text",
  "a script without its end": "<script>",
  "an entity in a link's address": "[x](&#106;avascript:alert(1))",
  "an entity by name in a link's address": "[x](javascript&colon;alert(1))",
  "an entity of many digits": "[x](&#x0000006A;avascript:alert(1))",
  "a line end as an entity": '<a href="java&#10;script:alert(1)">x</a>',
  "a tab as an entity": '<a href="java&Tab;script:alert(1)">x</a>',
  "a scheme in capitals": "[x](JavaScript:alert(1))",
  "a control character before the scheme": '<a href="\u0001javascript:alert(1)">x</a>',
  "a control character as an entity": '<a href="&#1;javascript:alert(1)">x</a>',
  "an address in angle brackets": "[x](<javascript:alert(1)>)",
  "a reference": "[x][y]\n\n[y]: javascript:alert(1)",
  "a reference with an entity": "[y]\n\n[y]: &#x6a;avascript:alert(1) 'title'",
  "a reference that is defined in a quote": "[y]\n\n> [y]: javascript:alert(1)",
  "an autolink": "<javascript:alert(1)>",
  "an autolink behind an angle bracket": "<<javascript:alert(1)>",
  "a link behind an element in an indented line of a paragraph": "text\n    <div>\n[x](javascript:alert(1))",
  "a script in an indented line below a reference": "[x]: y\n    <script>alert(1)</script>",
  "a script that a form feed parts from a reference": "[x]: \f<script>alert(1)</script>",
  "a script that a tab parts from a reference": "[x]: \t<script>alert(1)</script>",
  "a picture's address": "![x](javascript:alert(1))",
  "a data address": "[x](data:text/html;base64,PHNjcmlwdD4=)",
  "a picture that is a document": "![x](data:image/svg+xml;base64,PHN2Zz4=)",
  "a vbscript address": "[x](vbscript:msgbox(1))",
  "a script after an escaped backtick": "\\`<script>alert(1)</script>`",
  "a script between escaped backticks": "\\`<script>alert(1)</script>\\`",
  "a script behind a comment that ended at once": "<!--> <script>alert(1)</script> -->",
  "a script behind a comment of three hyphens": "<!---> <script>alert(1)</script> -->",
  "a script behind a comment that ended with a bang": "<div>\n<!-- --!> <script>alert(1)</script> -->\n</div>",
  "a script behind a fence that did not close a comment": `<!--\n${fence}\n--> <script>alert(1)</script>`,
  "a script behind code that never ended": "`` <script>alert(1)</script> `",
  "a script behind a fence with a backtick in its line": `${fence} a\`b\n<script>alert(1)</script>\n${fence}`,
  "a script in an indented line of a paragraph": "text\n    <script>alert(1)</script>",
  "a script behind code of more backticks than parsers count": `${"`".repeat(33)} a \` b ${"`".repeat(33)} <script>alert(1)</script> \``,
  "a script in a table's cell that divides code": "| a | b |\n|---|---|\n| `x | <script>alert(1)</script>` |",
  "a script in a cell of a row that divides code": "| a | b |\n|---|---|\n| c | d |\n| `x | <script>alert(1)</script>` |",
  "a script in a cell of a table without outer pipes": "a | b\n:-|-:\n`x | <script>alert(1)</script>` ",
  "a script in a table in a quote": "> | a | b |\n> |---|---|\n> | `x | <script>alert(1)</script>` |",
  "a script in a table of one column": "a\n:-\n`x\n<script>alert(1)</script>`",
  "an address in a cell that divides code": "| a | b |\n|---|---|\n| `x | [y](javascript:alert(1))` |",
  "a script that is code in a table alone": "| ` |\n|---|\n| `<script>alert(1)</script>` |",
  "an event handler": '<img src="x" onerror="alert(1)">',
  "an event handler without quotes": "<img src=x onerror=alert(1)>",
  "an event handler behind a slash": "<div><img/onerror=alert(1)/src=x></div>",
  "an event handler in capitals over lines": "<img\n  src=x\n  ONERROR=alert(1)>",
  "an event handler on details": "<details open ontoggle=alert(1)>",
  "an event handler behind a quoted bracket": '<a title=">" onclick="alert(1)">x</a>',
  "an address of an element": '<a href="javascript:alert(1)">x</a>',
  "an address of an element with an entity": '<a href="&#106;avascript:alert(1)">x</a>',
  "an address of an element with line ends": '<a href="java\nscript:alert(1)">x</a>',
  "an address without quotes": "<a href=javascript:alert(1)>x</a>",
  "a style": '<p style="background:url(javascript:alert(1))">x</p>',
  "a style sheet": "<style>*{display:none}</style>",
  "an svg": "<svg onload=alert(1)>",
  "an svg with a script": "<svg><script>alert(1)</script></svg>",
  "an svg's link": '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
  mathematics: '<math><mtext><table><mglyph><style><img src="x" onerror="alert(1)">',
  "a frame": '<iframe src="https://example.com"></iframe>',
  "a frame's document": '<iframe srcdoc="<script>alert(1)</script>">',
  "an object": '<object data="x"></object>',
  "an embedded one": "<embed src=x>",
  "a form": '<form action="https://example.com"><button>x</button></form>',
  "a form's button": '<button formaction="javascript:alert(1)">x</button>',
  "a base": '<base href="https://example.com/">',
  "a refresh": '<meta http-equiv="refresh" content="0;url=https://example.com">',
  "a link to a style sheet": '<link rel="stylesheet" href="https://example.com/x.css">',
  "a template": "<template><script>alert(1)</script></template>",
  "a noscript": '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  "plain text": "<plaintext>",
  "a title": '<title><img src="</title><img src=x onerror=alert(1)>">',
  "an element of one's own": "<x-y onclick=alert(1)>",
  "a document type": "<!DOCTYPE html [<!ENTITY x 'y'>]>",
  "a tag that ends with the page": "<div onclick=alert(1)",
  "a value that ends with the page": '<div\ntitle="x',
  "a comment that does not end": "<!-- ",
  "a script in a comment that older parsers take for none": "text <!-- -- <script>alert(1)</script> -->",
  "a script in a declaration": "text <!A\t<script>alert(1)</script>",
  "a processing instruction": "<?php <script>alert(1)</script> ?>",
  "an element in a processing instruction, which no browser knows": "text <?x <img src=x onerror=alert(1)>?>",
  "character data": "<div>\n<![CDATA[ > <script>alert(1)</script> ]]>\n</div>",
  "a script behind a NUL": "<\0script>alert(1)</script>\n\n<script\0>alert(1)</script>",
  "a script behind so many references that a parser stops": `[a]: ${"u".repeat(500)}\n\n${"[a] ".repeat(60)}\n\n[b]\n\n[b]: javascript:alert(1)`,
  "the same, and a fence at the end": `[a]: ${"u".repeat(500)}\n\n${"[a] ".repeat(60)}\n\n[b]\n\n[b]: javascript:alert(1)\n\n${fence}\nx`,
};

for (const [name, markdown] of Object.entries(scripts))
  test(`a readme with ${name} is rejected`, async () => {
    assert.notEqual(await judgeReadme(markdown), undefined);
    // Surrounding text must not change that.
    assert.notEqual(await judgeReadme(`# Readme\n\nText, and more.\n\n${markdown}`), undefined);
  });

const ordinary: Readonly<Record<string, string>> = {
  nothing: "",
  "headings, lists and emphasis": "# One\n\n* a\n  * b *c* **d** ~~e~~\n1. f\n\n- [ ] g\n- [x] h\n\n---\n\n> i\n",
  badges: "[![build](https://example.com/b.svg)](https://example.com/ci) ![](https://example.com/v.svg 'v')",
  "a table": "| a | b |\n|:--|--:|\n| `x \\| y` | <br> |\n",
  "a centred picture": '<p align="center">\n  <img src="./logo.png" alt="Logo" width="200" height="100">\n</p>\n\n<h1 align="center">Name</h1>',
  "details and their summary": "<details open>\n<summary>More</summary>\n\n* a\n\n</details>",
  "a picture for dark pages":
    '<picture><source media="(prefers-color-scheme: dark)" srcset="d.png 1x, d2.png 2x"><img alt="x" src="l.png" loading="lazy"></picture>',
  "HTML in fenced code": `${fence}html\n<script>alert(1)</script>\n<a href="javascript:alert(1)">\n${fence}`,
  "HTML in tildes": "~~~\n<script>\n~~~",
  "HTML in indented code": "text\n\n    <script>alert(1)</script>\n",
  "HTML in code": 'Use `<script>`, ``<a href="javascript:x">`` and `` ` <style> ` ``.',
  "HTML in code of a table": "| a |\n|---|\n| `<script>` |",
  "types with pipes in code": "`Array<string> | null` and `<T> | <U>`\n\n| a |\n|---|\n| `Map<string, T> \\| null` |",
  "HTML that is escaped": "\\<script> and &lt;script&gt; and 1 < 2 > 0 && a<b",
  "prose about schemes": "JavaScript: the good parts. data: some. vbscript: none. javascript:void(0)",
  comments: "<!-- toc -->\n\n# x\n\n<!-- tocstop -->\ntext <!-- in a line --> text",
  links: "<https://example.com> <mailto:a@example.com> <a@example.com> [x](#anchor) [y](../z.md?a=b:c) [tel](tel:+1)",
  references: "[a][ref] and [ref]\n\n[ref]: https://example.com/a_(b) 'Title'\n[two]: <../z.md>\n    \"Title\"",
  "an anchor": '<a name="install"></a>\n## Install',
  "keys and marks": "<kbd>Ctrl</kbd> H<sub>2</sub>O x<sup>2</sup> <b>b</b> <i>i</i> <br/> <hr>",
  "a picture in the text": `![x](data:image/png;base64,${"A".repeat(100)})`,
  "an unfinished fence": `${fence}sh\ndocker run nginx`,
  "an unfinished fence behind references": `[a]\n\n[a]: https://example.com\n\n${fence}sh\ndocker run nginx`,
  "many uses of references": `${"[a] [b] ".repeat(200)}\n\n[a]: https://example.com/a\n[b]: https://example.com/b\n`,
  "lines of another system": "# a\r\n\r\n* b\r\n* c\r\n",
  "other scripts": "# 日本語\n\nПривет, мир! 👋🏽 e\u0301\n",
  "a long rule": `${"-".repeat(500)}\n\n${"=".repeat(300)}\n`,
  "JSON in code": `${fence}json\n${JSON.stringify(Array.from({ length: 3_000 }, (_, index) => ({ [`key${index}`]: "value" })))}\n${fence}`,
};

for (const [name, markdown] of Object.entries(ordinary))
  test(`a readme with ${name} is accepted`, async () => {
    assert.equal(await judgeReadme(markdown), undefined);
  });

test("the project's own documents are accepted as readmes", async () => {
  const root = join(import.meta.dirname, "../../../..");
  for (const path of ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/attacks.md", "docs/how-to/push-and-pull.md"])
    assert.equal(await judgeReadme(readFileSync(join(root, path), "utf8")), undefined, path);
});

test("excessively nested lists and quotes are rejected, moderate ones accepted", async () => {
  for (const [part, depth] of [
    ["> ", 90],
    ["* ", 90],
    ["1. ", 60],
  ] as const) {
    assert.equal(await judgeReadme(`${part.repeat(depth)}a`), undefined, part);
    assert.notEqual(await judgeReadme(`${part.repeat(300)}a`), undefined, part);
  }
});

/** A thread that works for ten seconds on "busy", exhausts memory on "full", and otherwise responds at once. */
const script = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", (text) => {
      const end = Date.now() + 10_000;
      while (text === "busy" && Date.now() < end) ;
      const held = [];
      while (text === "full") held.push(new Array(1e6).fill(held.length));
      parentPort.postMessage({ problem: text });
    });
    parentPort.postMessage("ready");
  `)}`,
);

test("a readme that takes too much time or memory is rejected, and the next one is checked", async () => {
  const judge = makeJudge(script, 20_000);
  const impatient = makeJudge(script, 50);
  assert.equal(await judge("first"), "first");
  assert.match((await impatient("busy")) ?? "", /more than can be judged/);
  assert.match((await judge("full")) ?? "", /more than can be judged/);
  assert.equal(await judge("second"), "second");
});

test("readmes are checked one at a time, and too many waiting ones are rejected", async () => {
  const judge = makeJudge(script, 20_000);
  const asked = Array.from({ length: limits.readmesWaitingMax + 3 }, (_, index) => judge(String(index)));
  const answers = await Promise.allSettled(asked);
  assert.deepEqual(
    answers.slice(0, limits.readmesWaitingMax).map((answer) => (answer.status === "fulfilled" ? answer.value : "")),
    Array.from({ length: limits.readmesWaitingMax }, (_, index) => String(index)),
  );
  for (const answer of answers.slice(limits.readmesWaitingMax)) {
    assert.equal(answer.status, "rejected");
    assert.match(String(answer.reason), /too many readmes/);
  }
  assert.equal(await judge("afterwards"), "afterwards");
});

const longest = 262_144;

for (const [name, textOf] of Object.entries(hostileMarkdown))
  test(`checking a readme of ${name} takes linear time`, async () => {
    assert.equal(textOf(longest).length, longest);
    const { growth, longestMs } = await growthOf(judgeReadme, textOf, longest);
    assert.ok(growth <= growthMax, `grows ${growth.toFixed(1)} times, to ${longestMs.toFixed(0)} ms`);
  });
