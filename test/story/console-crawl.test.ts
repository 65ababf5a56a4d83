// A crawl of the console by its links and buttons, its memory, its layout from right to left and with longer texts, and its weight.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { callerKinds, requireAccessible, requireOperations, requireViews, settled, visit, type Watched } from "../console.ts";
import { shareOf, shortOrLong } from "../length.ts";
import { openPicturesWorld, type PicturesWorld } from "../console-pictures.ts";

let opened: PicturesWorld;
let watched: Watched;
before(async () => {
  opened = await openPicturesWorld();
  watched = await opened.openAs("owner", "/console");
});
after(() => opened?.close());

const payments = "/console/acme/payments";
const pageNames = readFileSync(join(import.meta.dirname, "..", "..", "console", "src", "page-names.ts"), "utf8");

/** Returns the names in a list of page-names.ts, which only the console may import. */
const namesIn = (list: string): readonly string[] => pageNames.split(`export const ${list} = [`)[1]?.split("]")[0]?.match(/\w+/g) ?? assert.fail(`no ${list}`);

/** Every page and view that the console has. */
const starts = (): readonly string[] => {
  const image = `${payments}/-/repos/ledger/images/${opened.digest}`;
  return [
    "/console",
    "/console/acme",
    payments,
    `${payments}/-/repos/ledger?tag=2.1`,
    ...namesIn("imageViews").map((view) => `${image}?view=${view}`),
    ...namesIn("groupPages").map((name) => `${payments}/-/${name}`),
    ...namesIn("ownPages").map((name) => `/console/-/${name}`),
    "/console/-/advisories/CVE-2021-44906",
  ];
};

/** Buttons that delete, end, send or decide something, and those that leave the console. */
const isConsequential =
  /delete|remove|withdraw|revoke|end |sign out|send again|bring back|restore|approve|trust |require |download|^filter$|create|add |save|submit/i;

test("a crawl by links and by every button without consequences meets no error, policy violation, outside request or dead end", async () => {
  const { page, problems, requests } = watched;
  const seen = new Set(starts().map((path) => path.replace(/\?.*/, "")));
  const queue = [...starts()];
  let [clicked, visited] = [0, 0];
  for (let path = queue.shift(); path !== undefined && visited < shortOrLong(32, 200); path = queue.shift()) {
    await visit(page, path);
    visited++;
    await page.waitForLoadState("networkidle");
    const links = await page.locator("main a[href^='/console']").evaluateAll((found) => found.map((each) => each.getAttribute("href") ?? ""));
    for (const link of links) {
      const bare = link.replace(/[?#].*/, "");
      if (seen.has(bare)) continue;
      seen.add(bare);
      queue.push(link);
    }
    const count = await page.locator("main button").count();
    for (let index = 0; index < Math.min(count, shortOrLong(8, 20)); index++) {
      const button = page.locator("main button").nth(index);
      if ((await button.count()) === 0 || !(await button.isVisible())) continue;
      const name = ((await button.getAttribute("aria-label")) ?? (await button.textContent()) ?? "").trim();
      if (name === "" || isConsequential.test(name)) continue;
      await button.click();
      clicked++;
      await page.keyboard.press("Escape");
      if (new URL(page.url()).pathname !== path.replace(/\?.*/, "")) await visit(page, path);
    }
    assert.notEqual(await page.locator("h1").first().textContent(), "Nothing at this address", path);
    assert.deepEqual(problems, [], path);
  }
  assert.ok(seen.size > 40, `${seen.size} addresses`);
  assert.ok(clicked > 40, `${clicked} buttons`);
  requireOperations(requests);
});

test("every page passes axe, violates no policy and scrolls in one direction only, for each kind of caller, size and theme", async (t) => {
  const title = async (page: Watched["page"]): Promise<string> => (await page.locator("h1").first().textContent()) ?? "";
  for (const kind of callerKinds)
    await t.test(kind, async () => {
      const { page, problems, requests } = await opened.openAs(kind);
      for (const path of [...shareOf(starts(), 3), "/console/no/such/place"]) {
        await visit(page, path);
        await page.waitForLoadState("networkidle");
        const isHidden = kind === "nobody" && path.startsWith("/console/acme");
        assert.equal((await title(page)) === "Nothing at this address", isHidden || path === "/console/no/such/place", `${path}, ${kind}`);
        // All hidden pages are the same.
        if (!isHidden) await requireViews(page, `${path}, ${kind}`);
      }
      assert.deepEqual(problems, [], kind);
      requireOperations(requests);
      await page.close();
    });
});

const megabyte = 1_000_000;

test("after 200 pages, at most 60 MB are in use", async () => {
  const { page } = watched;
  const paths = starts();
  for (let index = 0; index < 200; index++) await visit(page, paths[index % paths.length] ?? "/console");
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  assert.ok(usedSize <= 60 * megabyte, `${usedSize} bytes`);
});

test("pages from right to left, or with texts half as long again, do not scroll sideways, also at a zoom of 200 % and on a phone", async () => {
  const { page } = watched;
  const lengthen = `(() => {
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      if (/[a-z]{3}/.test(node.data) && !node.parentElement.closest("code, pre, option"))
        node.data += " " + "ābçdé ".repeat(Math.ceil(node.data.length / 12)).trim();
  })()`;
  const fits = async (what: string): Promise<void> =>
    assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, `${what}: scrolls sideways`);
  for (const path of shareOf(starts(), 2)) {
    for (const width of [1280, 640, 390]) {
      await page.setViewportSize({ width, height: 800 });
      // Renders the page anew, without the longer texts.
      await visit(page, "/console/no/such/place");
      await visit(page, path);
      await page.waitForLoadState("networkidle");
      await page.evaluate("document.documentElement.dir = 'rtl'");
      await fits(`${path}, ${width} px, from right to left`);
      await page.evaluate("document.documentElement.dir = 'ltr'");
      await page.evaluate(lengthen);
      await fits(`${path}, ${width} px, longer texts`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("a planted unlabelled button, low contrast and inline style are each found", async () => {
  const { page, problems } = await opened.openAs("owner", payments);
  const plant = (statements: string): Promise<unknown> =>
    page.evaluate(`(() => { const planted = document.createElement("button"); ${statements}; document.querySelector("main").append(planted); })()`);
  await requireAccessible(page, "before");
  await plant("planted.className = 'button'");
  await assert.rejects(requireAccessible(page, "planted"), /button-name/);
  await visit(page, "/console/acme");
  await plant("planted.textContent = 'Pale'; planted.className = 'button'; planted.style.color = '#ddd'; planted.style.background = '#fff'");
  await assert.rejects(requireAccessible(page, "planted"), /color-contrast/);
  assert.deepEqual(problems, []);
  await visit(page, payments);
  await plant("planted.textContent = 'Inline'; planted.setAttribute('style', 'color: red')");
  await settled(page);
  assert.match(problems.join("\n"), /Content Security Policy/);
  await page.close();
});

const built = join(import.meta.dirname, "..", "..", "server", "console", "built");
const firstLoadMax = 185_000;
const pageMax = 40_000;

interface Part {
  readonly bytes: number;
  readonly imports: readonly string[];
  readonly later: readonly string[];
}

/** Returns which load is too large: the first, or that of a part which is loaded later. */
const tooLarge = (parts: ReadonlyMap<string, Part>, entry: string, styleBytes: number): string[] => {
  const loadedWith = (name: string, loaded: Set<string>): Set<string> => {
    if (loaded.has(name)) return loaded;
    loaded.add(name);
    for (const each of parts.get(name)?.imports ?? []) loadedWith(each, loaded);
    return loaded;
  };
  const sizeOf = (names: Iterable<string>): number => [...names].reduce((sum, name) => sum + (parts.get(name)?.bytes ?? 0), 0);
  const first = loadedWith(entry, new Set());
  const problems = sizeOf(first) + styleBytes > firstLoadMax ? [`first load: ${sizeOf(first) + styleBytes}`] : [];
  for (const name of new Set([...parts.values()].flatMap(({ later }) => later))) {
    const more = [...loadedWith(name, new Set())].filter((each) => !first.has(each));
    if (sizeOf(more) > pageMax) problems.push(`${name}: ${sizeOf(more)}`);
  }
  return problems;
};

test("the first load has at most 185 kB and each further page 40 kB, compressed; an import of 300 kB is found", () => {
  const parts = new Map<string, Part>();
  let styleBytes = 0;
  for (const file of readdirSync(built).filter((name) => name.endsWith(".gz"))) {
    const content = readFileSync(join(built, file));
    const name = file.replace(/\.gz$/, "");
    if (name.endsWith(".css")) styleBytes += content.length;
    if (!name.endsWith(".js")) continue;
    const script = gunzipSync(content).toString();
    const named = (pattern: RegExp): string[] => [...script.matchAll(pattern)].map(([, each = ""]) => each);
    parts.set(name, { bytes: content.length, imports: named(/(?:from|import)\s*"\.\/([^"]+)"/g), later: named(/import\("\.\/([^"]+)"\)/g) });
  }
  const entry = [...parts.keys()].find((name) => name.startsWith("app-")) ?? assert.fail("no entry");
  assert.ok((parts.get(entry)?.imports.length ?? 0) > 0 && [...parts.values()].some(({ later }) => later.length > 0));
  assert.deepEqual(tooLarge(parts, entry, styleBytes), []);
  const planted = new Map(parts).set("planted.js", { bytes: 300_000, imports: [], later: [] });
  const [name, part] = [...parts].find(([each]) => each === entry) ?? assert.fail();
  assert.match(tooLarge(new Map(planted).set(name, { ...part, imports: [...part.imports, "planted.js"] }), entry, styleBytes).join(), /first load/);
  assert.match(tooLarge(new Map(planted).set(name, { ...part, later: [...part.later, "planted.js"] }), entry, styleBytes).join(), /planted/);
});
