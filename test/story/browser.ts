// Starts Chromium with an empty profile for browser tests.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium } from "playwright-core";

export type { Locator, Page } from "playwright-core";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Browser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

/** Starts a browser with a new profile; it can reach only this machine. */
export const openChromium = async (): Promise<Browser> => {
  const executablePath = places.find((place) => existsSync(place));
  if (!executablePath) throw new Error(`this test needs a browser and there is none at ${places.join(", ")}: apt-get install chromium`);
  const folder = await mkdtemp(join(tmpdir(), "gantry-chromium-"));
  const context = await chromium.launchPersistentContext(folder, { executablePath, headless: true, args: flags });
  await context.route("**/*", (route) => (/^http:\/\/(?:127\.0\.0\.1|localhost):/.test(route.request().url()) ? route.continue() : route.abort()));
  context.setDefaultTimeout(20_000);
  return {
    context,
    async close() {
      await context.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
