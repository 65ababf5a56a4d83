// Tasks of a newcomer, platform engineer, security engineer, developer and administrator in the console, from its home page, by mouse
// and by keyboard alone (docs/decisions/0104). Prints the steps and seconds of each; only steps have a bound.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { objectList, text } from "#base/json.ts";
import { openConsoleWorld, requireOperations, visit, type Watched } from "../console.ts";
import { openPicturesWorld, type PicturesWorld } from "../console-pictures.ts";
import { npm, pushImage } from "../image-layers.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import type { Locator, Page } from "./browser.ts";
import { runImport } from "./import.ts";

const modes = ["mouse", "keyboard"] as const;
type Mode = (typeof modes)[number];

/** A user who works with the mouse, or without it. A step is a click, a key that acts, or a text that is typed. */
class User {
  readonly mode: Mode;
  readonly page: Page;
  steps = 0;
  /** Keys that move the focus. */
  moves = 0;

  constructor(mode: Mode, page: Page) {
    this.mode = mode;
    this.page = page;
  }

  async press(key: string): Promise<void> {
    this.steps++;
    await this.page.keyboard.press(key);
  }

  /** Moves the focus as a keyboard does. */
  private async reach(target: Locator): Promise<void> {
    await target.waitFor();
    for (let count = 0; count < 200; count++) {
      if (await target.evaluate((node) => node === node.ownerDocument.activeElement)) return;
      await this.page.keyboard.press("Tab");
      this.moves++;
    }
    assert.fail(`the keyboard does not reach ${target}`);
  }

  /** Clicks, or presses a key on it. */
  async open(target: Locator, key = "Enter"): Promise<void> {
    if (this.mode === "keyboard") {
      await this.reach(target);
      return this.press(key);
    }
    this.steps++;
    await target.click();
  }

  check(target: Locator): Promise<void> {
    return this.open(target, "Space");
  }

  async type(target: Locator, words: string): Promise<void> {
    if (this.mode === "keyboard") await this.reach(target);
    else await target.click();
    this.steps++;
    await this.page.keyboard.type(words);
  }

  /** Types a part of a name, and takes the choice with it. */
  async pick(field: Locator, words: string, choice = words): Promise<void> {
    await this.type(field, words);
    const option = this.page.locator("dialog [role=option], main [role=option]", { hasText: choice }).first();
    await option.waitFor();
    await this.take(option);
  }

  /** Opens the search, types, and opens the entry. */
  async go(words: string, entry = words): Promise<void> {
    if (this.mode === "keyboard") await this.press("Control+K");
    else await this.open(this.page.locator(".search-open"));
    await this.page.locator(".palette input:focus").waitFor();
    this.steps++;
    await this.page.keyboard.type(words);
    const option = this.page.locator(".palette [role=option]", { hasText: entry }).first();
    await option.waitFor();
    await this.take(option);
    await this.page.locator(".palette").waitFor({ state: "detached" });
  }

  private async take(option: Locator): Promise<void> {
    if (this.mode === "mouse") return this.open(option);
    for (let count = 0; (await option.getAttribute("aria-selected")) !== "true"; count++) {
      assert.ok(count < 20, "the arrow keys do not reach the choice");
      await this.page.keyboard.press("ArrowDown");
      this.moves++;
    }
    await this.press("Enter");
  }
}

interface Task {
  readonly who: string;
  readonly what: string;
  /** Of either mode. */
  readonly stepsMax: number;
  readonly run: (user: User, page: Page) => Promise<void>;
}

const table: string[] = [];
const note = ({ who, what }: Pick<Task, "who" | "what">, { mode, steps, moves }: User, beganMs: number): void => {
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
  table.push(
    `${who.padEnd(18)} ${what.padEnd(46)} ${mode.padEnd(8)} ${String(steps).padStart(3)} steps ${String(moves).padStart(3)} moves ${seconds.padStart(5)} s`,
  );
};

let opened: PicturesWorld;
before(async () => {
  opened = await openPicturesWorld();
  await signAdaIn();
});
after(async () => {
  await opened?.close();
  process.stdout.write(`${table.join("\n")}\n`);
});

const shows = (page: Page, words: string | RegExp): Promise<void> => page.locator("main").getByText(words).first().waitFor();
const dialogOf = (page: Page): Locator => page.locator("dialog");
const submit = (user: User, page: Page): Promise<void> => user.open(dialogOf(page).locator("button[type=submit]"));
const link = (page: Page, name: string): Locator => page.locator("main nav.tabs").getByRole("link", { name, exact: true });
const gone = (page: Page): Promise<void> => dialogOf(page).waitFor({ state: "detached" });

let number = 0;

const tasks: readonly Task[] = [
  {
    who: "Platform engineer",
    what: "walk the tree to a group",
    stepsMax: 3,
    run: async (user, page) => {
      const item = (name: string) => page.locator(".tree").getByRole("row", { name });
      if (user.mode === "keyboard") {
        await user.open(item("acme").first(), "ArrowRight");
        await item("payments").waitFor();
        await user.press("ArrowDown");
        await user.press("Enter");
      } else {
        await user.open(item("acme").locator("button"));
        await user.open(item("payments"));
      }
      await shows(page, "statements");
    },
  },
  {
    who: "Platform engineer",
    what: "see why an identity may not grant a role",
    stepsMax: 11,
    run: async (user, page) => {
      await user.go("payments");
      await user.open(link(page, "Access").first());
      await user.pick(page.getByRole("combobox", { name: "Capability" }), "role_bindings.create");
      await user.pick(page.getByRole("combobox", { name: "Identity" }), "ledger-ci");
      await user.open(page.locator(".ask button[type=submit]"));
      await page.locator(".verdict.no", { hasText: "ledger-ci" }).waitFor();
      await page.locator(".cure").waitFor();
    },
  },
  {
    who: "Platform engineer",
    what: "see who can delete repos",
    stepsMax: 8,
    run: async (user, page) => {
      await user.go("payments");
      await user.open(link(page, "Access").first());
      await user.pick(page.getByRole("combobox", { name: "Capability" }), "repo.delete");
      await user.open(page.locator(".ask button[type=submit]"));
      await page.locator(".answer tbody tr", { hasText: "grace" }).waitFor();
    },
  },
  {
    who: "Platform engineer",
    what: "make a CI identity from a preset",
    stepsMax: 11,
    run: async (user, page) => {
      await user.go("payments");
      await user.go("Robot accounts");
      await user.open(page.locator("main button", { hasText: "Add a CI identity" }));
      await user.type(dialogOf(page).getByLabel("Repository"), `acme/service-${++number}`);
      await user.pick(dialogOf(page).getByRole("combobox", { name: "Role" }), "registry.push");
      await submit(user, page);
      await page.waitForURL((url) => url.searchParams.has("robot"));
      await page.locator("section.details .role", { hasText: "registry.push" }).waitFor();
    },
  },
  {
    who: "Platform engineer",
    what: "invite a person",
    stepsMax: 11,
    run: async (user, page) => {
      await user.go("payments");
      await user.go("Invites");
      await user.open(page.locator("main section header button", { hasText: "Invite" }));
      await user.pick(dialogOf(page).getByRole("combobox", { name: "Role" }), "viewer");
      await submit(user, page);
      await dialogOf(page).locator("h2", { hasText: "Invite created" }).waitFor();
      await user.open(dialogOf(page).locator("button.primary"));
    },
  },
  {
    who: "Platform engineer",
    what: "bind a role to an identity",
    stepsMax: 11,
    run: async (user, page) => {
      await user.go("fraud");
      await user.go("Add role binding");
      await user.pick(dialogOf(page).getByRole("combobox", { name: "Identity" }), user.mode === "mouse" ? "alan" : "ada");
      await user.pick(dialogOf(page).getByRole("combobox", { name: "Role" }), "viewer");
      await submit(user, page);
      await gone(page);
      await page
        .locator("tbody tr", { hasText: user.mode === "mouse" ? "alan" : "ada" })
        .last()
        .waitFor();
    },
  },
  {
    who: "Security engineer",
    what: "a CVE: which images, since when, fixed where",
    stepsMax: 3,
    run: async (user, page) => {
      await user.go("CVE-2021-44906");
      await page.locator("tbody tr", { hasText: "ledger" }).filter({ hasText: "1.2.6" }).first().waitFor();
    },
  },
  {
    who: "Security engineer",
    what: "what is fixable and in use",
    stepsMax: 7,
    run: async (user, page) => {
      await user.go("acme");
      await user.open(link(page, "Findings").first());
      await user.check(page.getByLabel("With a fix"));
      await user.check(page.getByLabel("In images in use"));
      await user.open(page.locator("form button[type=submit]", { hasText: "Filter" }));
      await page.waitForURL((url) => url.searchParams.has("fixable"));
      await page.locator("main section.card", { hasText: "Findings" }).first().waitFor();
    },
  },
  {
    who: "Security engineer",
    what: "decide that a finding does not affect us",
    stepsMax: 7,
    run: async (user, page) => {
      const id = user.mode === "mouse" ? "CVE-2021-44906" : "CVE-2021-23337";
      await user.go("payments");
      await user.open(link(page, "Findings").first());
      await user.open(page.locator("tbody tr", { hasText: id }).first().locator("button", { hasText: "Decide" }));
      await user.type(dialogOf(page).locator("textarea"), "The code is never reached.");
      await submit(user, page);
      await gone(page);
    },
  },
  {
    who: "Security engineer",
    what: "withdraw a waiting decision, and undo it",
    stepsMax: 9,
    run: async (user, page) => {
      await user.go("payments");
      await user.go("Approvals");
      await user.open(page.locator("tbody tr", { hasText: "CVE-2022-24999" }).first().getByRole("button", { name: "Withdraw" }));
      await user.open(dialogOf(page).locator("button.danger"));
      await gone(page);
      await user.open(page.locator(".banner button", { hasText: "Undo" }));
      await page.locator("tbody tr", { hasText: "CVE-2022-24999" }).first().waitFor();
    },
  },
  {
    who: "Developer",
    what: "find a repo by a part of its name, copy the pull",
    stepsMax: 4,
    run: async (user, page) => {
      await user.go("edge", "ledger");
      await user.open(page.locator("tbody tr", { hasText: "2.0" }).first().locator("td button.copy").last());
      await page.locator("td button.copy.done").waitFor();
    },
  },
  {
    who: "Developer",
    what: "packages of the image of a tag",
    stepsMax: 6,
    run: async (user, page) => {
      await user.go("edge", "ledger");
      await user.open(page.locator("tbody tr", { hasText: "2.1" }).first().locator("a.digest-link, td .digest a").first());
      await user.open(link(page, "Packages"));
      await shows(page, "minimist");
    },
  },
  {
    who: "Administrator",
    what: "find a failed webhook, send it again",
    stepsMax: 9,
    run: async (user, page) => {
      await user.go("payments");
      await user.go("Webhooks");
      await user.open(page.locator(".states a", { hasText: "Failed" }));
      await user.open(page.locator("tbody tr", { hasText: "Failed" }).first().locator("button", { hasText: "Send again" }));
      await user.open(dialogOf(page).locator(".form-actions button").last());
      await gone(page);
    },
  },
  {
    who: "Administrator",
    what: "refused requests in the audit log",
    stepsMax: 8,
    run: async (user, page) => {
      await user.go("acme");
      await user.go("Audit log");
      await user.check(page.getByLabel("Refused only"));
      await user.open(page.locator("form button[type=submit]", { hasText: "Filter" }));
      await shows(page, "PERMISSION_DENIED");
    },
  },
  {
    who: "Administrator",
    what: "quotas of the organization",
    stepsMax: 6,
    run: async (user, page) => {
      await user.go("acme");
      await user.go("Storage");
      await shows(page, "blob-bytes");
    },
  },
  {
    who: "Administrator",
    what: "feeds and their state, health",
    stepsMax: 1,
    run: async (user, page) => {
      await user.open(page.locator("nav.side a", { hasText: "Administration" }));
      await shows(page, "GHSA-xvch-5gv4-984h.json");
      await shows(page, /\/readyz/);
    },
  },
  {
    who: "Administrator",
    what: "bring a deleted repo back",
    stepsMax: 8,
    run: async (user, page) => {
      await user.go("payments");
      await user.go("Deleted");
      await user.open(page.getByRole("button", { name: "Bring unstable back" }));
      await user.open(dialogOf(page).locator("button.primary"));
      await page.locator("tbody tr", { hasText: "unstable" }).waitFor({ state: "detached" });
    },
  },
  {
    who: "Platform engineer",
    what: "end the session of a user",
    stepsMax: 8,
    run: async (user, page) => {
      await user.go("acme");
      await user.go("Sessions");
      await user.open(page.locator("tbody tr").first().locator("button", { hasText: "End session" }));
      await user.open(dialogOf(page).locator("button.danger"));
      await gone(page);
    },
  },
];

/** Signs Ada in, who has a session then. */
const signAdaIn = async (): Promise<void> => {
  const { page } = await opened.open("/console");
  await opened.signIn(page);
  await opened.browser.context.clearCookies();
  await page.close();
};

/** What a task has used up. */
const restore = async (): Promise<void> => {
  const owned = openOwners(opened.world).world();
  const [repo = {}] = objectList(await owned.ok("registry.ReposService/ListRepos", { name: "unstable" }), "repos");
  if (text(repo, "uid") !== "") await owned.ok("registry.ReposService/DeleteRepo", { uid: text(repo, "uid") });
  await opened.world.server.delivery.finish();
  await signAdaIn();
};

for (const mode of modes)
  test(`each task is done from the home page by ${mode === "mouse" ? "mouse" : "keyboard alone"}, within its number of steps`, async () => {
    if (mode === "keyboard") await restore();
    const watched: Watched = await opened.openAs("owner");
    const { page, problems, requests } = watched;
    const failures: Error[] = [];
    for (const task of tasks) {
      await visit(page, "/console");
      await page.waitForLoadState("networkidle");
      const user = new User(mode, page);
      const beganMs = performance.now();
      try {
        await task.run(user, page);
      } catch (cause) {
        failures.push(new Error(`${task.what}, at ${page.url()}`, { cause }));
        continue;
      }
      note(task, user, beganMs);
      if (user.steps > task.stepsMax) failures.push(new Error(`${task.what}: ${user.steps} steps, at most ${task.stepsMax}`));
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message, cause }) => `${message}: ${String(cause)}`).join("\n"));
    requireOperations(requests);
    assert.deepEqual(problems, []);
    await page.close();
  });

for (const mode of modes)
  test(`a newcomer signs in on a fresh server, pushes to the path that is shown, and sees the findings, by ${mode}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "gantry-console-newcomer-"));
    const fresh = await openConsoleWorld({ GANTRY_BLOBS: join(folder, "blobs") });
    try {
      const { world } = fresh;
      const { page, problems } = await fresh.open("/console");
      const token = await fresh.tokenOf("owner");
      const user = new User(mode, page);
      const beganMs = performance.now();
      await user.open(page.locator("summary", { hasText: "Use an access token" }));
      await user.type(page.locator("#token"), token);
      await user.open(page.locator("form button"));
      const shown = (await page.locator(".steps .command code", { hasText: "docker push" }).textContent()) ?? "";
      const path = /docker push [^/]+\/(\S+):3$/.exec(shown)?.[1] ?? assert.fail(shown);
      // The commands that are shown, as two steps.
      user.steps += 2;
      const owners = openOwners(world);
      await pushImage(
        openPusher(world, path, () => owners.token()),
        "3",
        [npm("lantern", "1.0.0")],
      );
      const affected = [{ package: { ecosystem: "npm", name: "lantern" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }];
      const record = join(folder, "GHSA-aaaa-bbbb-cccc.json");
      writeFileSync(record, JSON.stringify({ schema_version: "1.7.0", id: "GHSA-aaaa-bbbb-cccc", modified: "2026-01-01T00:00:00Z", affected }));
      for (const kind of ["vulnerabilities", "advisories"] as const) assert.deepEqual((await runImport(world, kind, [record])).refused, []);
      await world.server.contents.turn();
      await world.server.sboms.turn();
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
      await user.open(page.locator("nav.side a", { hasText: "Vulnerabilities" }));
      await user.open(page.locator("nav.side a", { hasText: "Home" }));
      await user.open(page.locator("main tbody a", { hasText: ":3" }).first());
      await user.open(page.locator("main nav.tabs").getByRole("link", { name: "Findings", exact: true }));
      await page.locator("tbody tr", { hasText: "GHSA-aaaa-bbbb-cccc" }).waitFor();
      note({ who: "Newcomer", what: "sign in, push a first image, see its findings" }, user, beganMs);
      assert.ok(user.steps <= 10, `${user.steps} steps`);
      assert.deepEqual(problems, []);
    } finally {
      await fresh.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
