// Pictures of the console in the README and in docs/guides/console-tour.md. `npm run pictures` takes them again, from real data.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { settled, visit, type Watched } from "../console.ts";
import { openPicturesWorld, type PicturesWorld } from "../console-pictures.ts";

const folder = join(import.meta.dirname, "..", "..", "docs", "images");
const tour = join(import.meta.dirname, "..", "..", "docs", "guides", "console-tour.md");
const size = { width: 1280, height: 800 };
/** Shows the tables of long pages. */
const tall = { width: 1280, height: 1200 };
const tallPages: readonly string[] = ["access", "audit", "compare", "events", "findings", "storage", "vulnerability", "webhooks"];

let opened: PicturesWorld;
let watched: Watched;
before(async () => {
  opened = await openPicturesWorld();
  watched = await opened.openAs("owner", "/console/acme");
  await watched.page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
});
after(() => opened?.close());

const payments = "/console/acme/payments";
const image = (view = ""): string => `${payments}/-/repos/ledger/images/${opened.digest}${view === "" ? "" : `?view=${view}`}`;

/** By the name of the picture: the address, and a text that the page shows once it is complete. */
const pages: Readonly<Record<string, readonly [address: () => string, text: string | RegExp]>> = {
  "console/home": [() => "/console", "ledger"],
  "console/group": [() => payments, "ledger"],
  "console-repo": [() => `${payments}/-/repos/ledger?tag=2.1`, "amd64"],
  "console/image": [() => image(), "Debian"],
  "console/image-findings": [() => image("findings"), "CVE-2021-44906"],
  "console/image-packages": [() => image("packages"), "minimist"],
  "console/compare": [() => `${image("compare")}&with=2.0`, "4.17.21"],
  "console/findings": [() => "/console/acme/-/findings", "CVE-2021-44906"],
  "console/decisions": [() => "/console/acme/-/decisions", "The ledger never redirects."],
  "console/approvals": [() => `${payments}/-/approvals`, "CVE-2022-24999"],
  "console/vex": [() => `${payments}/-/vex`, "supplier of express"],
  "console/vulnerability": [() => "/console/-/advisories/CVE-2021-44906", "ledger"],
  "console/access": [() => `${payments}/-/access`, "ledger-ci"],
  "console/roles": [() => `${payments}/-/roles`, "release manager"],
  "console/robots": [() => "/console/acme/-/robots", "acme/payments"],
  "console/providers": [() => `${payments}/-/providers`, "viewer"],
  "console/rules": [() => `${payments}/-/rules`, "release candidates"],
  "console/storage": [() => "/console/acme/-/storage", "blob-bytes"],
  "console/libraries": [() => `${payments}/-/libraries`, "reports"],
  "console/webhooks": [() => `${payments}/-/webhooks`, "5xx"],
  "console/events": [() => "/console/acme/-/events", "acme/payments/statements"],
  "console/audit": [() => "/console/acme/-/audit", "acme/payments"],
  "console/deleted": [() => "/console/acme/-/deleted", "unstable"],
  "console/admin": [() => "/console/-/admin", "npm"],
};

/** The size of a PNG, from its header. */
const sizeOf = (png: Buffer) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) });

for (const [name, [address, shown]] of Object.entries(pages)) {
  test(`the picture ${name}.png can be taken again, and has its size`, async () => {
    const { page, problems } = watched;
    const wanted = tallPages.includes(name.replace("console/", "")) ? tall : size;
    await page.setViewportSize(wanted);
    await visit(page, address());
    await page.locator("main").getByText(shown).first().waitFor();
    await settled(page);
    await page.waitForLoadState("networkidle");
    const taken = await page.screenshot();
    assert.deepEqual(sizeOf(taken), wanted);
    const path = join(folder, `${name}.png`);
    if (process.env.GANTRY_GOLDEN === "accept") {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, taken);
    }
    assert.deepEqual(sizeOf(readFileSync(path)), wanted);
    assert.deepEqual(problems, []);
  });
}

test("the tour of the console shows each picture with its description", () => {
  const markdown = readFileSync(tour, "utf8");
  for (const name of Object.keys(pages)) assert.match(markdown, new RegExp(`!\\[[^\\]]{20,}\\]\\(\\.\\./images/${name}\\.png\\)`), name);
});
