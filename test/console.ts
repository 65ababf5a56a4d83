// A world with a console: an identity provider whose users sign in with a browser, and identities of three kinds.

import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import axe from "axe-core";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { methods, version1 } from "#contract/catalog.ts";
import { type Browser, type Locator, openChromium, type Page } from "./story/browser.ts";
import { start, stopAll } from "./story/processes.ts";
import { openWorld, type World } from "./world.ts";

const secret = "a client secret that only the two know";

export const callerKinds = ["owner", "viewer", "nobody"] as const;
export type CallerKind = (typeof callerKinds)[number];

/** A page with what it has sent and reported. */
export interface Watched {
  readonly page: Page;
  readonly problems: string[];
  readonly requests: { readonly method: string; readonly url: URL }[];
}

export interface ConsoleWorld {
  readonly world: World;
  readonly browser: Browser;
  readonly open: (path: string) => Promise<Watched>;
  /** Returns a token of an identity of the organization with this role, or without one. */
  readonly tokenOf: (kind: CallerKind) => Promise<string>;
  /** Signs Ada in, a viewer, through the provider's pages. The page is at the console's sign-in. */
  readonly signIn: (page: Page) => Promise<void>;
  /** Continues with a token instead. */
  readonly pasteToken: (page: Page, token: string) => Promise<void>;
  /** Opens a page of the console with the token of an identity of this kind. */
  readonly openAs: (kind: CallerKind, path?: string) => Promise<Watched>;
  close(): Promise<void>;
}

/** Refusals are expected of callers without permissions; the browser reports each as an error. */
const isRefusal = (message: string): boolean => /status of 40[34]/.test(message);

const openPage = async (browser: Browser, world: World, path: string): Promise<Watched> => {
  const page = await browser.context.newPage();
  const problems: string[] = [];
  const requests: Watched["requests"] = [];
  page.on("console", (message) => void (["error", "warning"].includes(message.type()) && !isRefusal(message.text()) && problems.push(message.text())));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => {
    const url = new URL(request.url());
    requests.push({ method: request.method(), url });
    if (url.origin !== world.url) problems.push(`requested ${request.url()}`);
  });
  await page.goto(world.url + path);
  return { page, problems, requests };
};

export const settled = async (page: Page): Promise<void> => {
  await page.locator("h1").first().waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
};

/** Opens another page as a link of the console would. */
export const visit = async (page: Page, path: string): Promise<void> => {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`);
  await settled(page);
};

/** Longer than any part of a page takes. */
const shownMaxMs = 30_000;

/** Parts of a page arrive one after another: reads until the texts are as expected, and fails with the last ones. */
const reads = async (read: () => Promise<void>): Promise<void> => {
  const endMs = performance.now() + shownMaxMs;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || performance.now() > endMs) throw error;
    }
    await sleep(50);
  }
};

/** Waits until the element's text matches. */
export const showsText = (element: Locator, expected: RegExp, message?: string): Promise<void> =>
  reads(async () => assert.match((await element.textContent()) ?? "", expected, message));

/** Waits until the elements have exactly these texts. */
export const showsTexts = (elements: Locator, expected: readonly string[]): Promise<void> =>
  reads(async () => assert.deepEqual(await elements.allTextContents(), expected));

/** Waits until the field has exactly this value. */
export const showsValue = (field: Locator, expected: string): Promise<void> => reads(async () => assert.equal(await field.inputValue(), expected));

const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

/** Desktop and phone, light and dark. */
export const views = sizes.flatMap((size) => (["light", "dark"] as const).map((colorScheme) => ({ size, colorScheme })));

type Rules = NonNullable<axe.RunOptions["runOnly"]>;
const allRules: Rules = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"];
/** Those that read colors. */
const colorRules: Rules = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** Requires that axe finds nothing on the page as it is now, and that it scrolls in one direction only. */
export const requireAccessible = async (page: Page, where: string, runOnly: Rules = allRules): Promise<void> => {
  if ((await page.evaluate("'axe' in window")) !== true) await page.evaluate(axe.source);
  const found = await page.evaluate(
    `axe.run(document, ${JSON.stringify({ runOnly, resultTypes: ["violations"] })}).then(({ violations }) => ` +
      "violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 150)).join(' | ')))",
  );
  assert.deepEqual(found, [], where);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, `${where}: scrolls sideways`);
};

/** Requires that the page is accessible in each size and theme. A theme changes colors only. */
export const requireViews = async (page: Page, where: string): Promise<void> => {
  for (const { size, colorScheme } of views) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await settled(page);
    await requireAccessible(page, `${where} at ${size.width} px, ${colorScheme}`, colorScheme === "light" ? allRules : colorRules);
  }
};

/** The paths of all operations, as patterns. */
const operationPaths = [...methods, ...version1].flatMap(({ http, distribution }) =>
  [...http, ...(distribution ? [distribution] : [])].map(({ verb, template }) => ({
    verb,
    pattern: new RegExp(`^${template.replaceAll(/[.()]/g, "\\$&").replaceAll(/\{[^}]*\}/g, ".+")}$`),
  })),
);

/** Requests of a page itself: without the console's files and the tree of groups. */
export const pageRequests = (requests: Watched["requests"]): Watched["requests"] =>
  requests.filter(({ url }) => !url.pathname.startsWith("/console/assets/") && url.searchParams.get("pageSize") !== "200");

/** Requires that each request is an operation of the contract, the console's session, or a file of the console. */
export const requireOperations = (requests: Watched["requests"]): void => {
  for (const { method, url } of requests) {
    const isOwn = url.pathname === "/console" || url.pathname.startsWith("/console/assets/") || url.pathname === "/favicon.ico";
    const isOperation = operationPaths.some(({ verb, pattern }) => verb === method && pattern.test(url.pathname));
    assert.ok(isOwn || (method === "POST" && url.pathname === "/console/session") || isOperation, `${method} ${url.pathname} is no operation`);
  }
};

export const openConsoleWorld = async (environment: Readonly<Record<string, string>> = {}): Promise<ConsoleWorld> => {
  const world = await openWorld(environment);
  const program = start(join(import.meta.dirname, "story", "provider.ts"), [`${world.url}/oauth/callback`, secret]);
  const [[issuer = ""], browser] = await Promise.all([program.says(/^http:\S+/m), openChromium()]);
  const people = { ada: { name: "Ada Lovelace", email: "ada@example.com", email_verified: true } };
  await fetch(`${issuer}/people`, { method: "PUT", body: JSON.stringify(people) });
  const oidc = { issuer, clientId: "gantry", clientSecret: secret, additionalScopes: ["email", "profile"], pkceEnabled: true };
  const parent = world.organization;
  await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent,
    identityProvider: { name: "our people", defaultRole: builtInRoleUid("viewer"), oidc },
  });
  const identities = new Map<CallerKind, string>();
  for (const kind of callerKinds) {
    const identity: JsonObject = { name: `${kind} of tests`, claimMatch: { issuer: "https://issuer.example.com", subject: kind } };
    const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent, identity }), "uid");
    identities.set(kind, identityUid);
    if (kind !== "nobody") await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(kind) } });
  }
  const tokenOf: ConsoleWorld["tokenOf"] = (kind) => world.token(identities.get(kind) ?? "");
  const pasteToken: ConsoleWorld["pasteToken"] = async (page, token) => {
    await page.click("summary:has-text('Use an access token')");
    await page.fill("#token", token);
    await page.click("form button");
    await page.locator(".shell").waitFor();
  };
  return {
    world,
    browser,
    open: (path) => openPage(browser, world, path),
    tokenOf,
    openAs: async (kind, path = "/console") => {
      const watched = await openPage(browser, world, "/console");
      await pasteToken(watched.page, await tokenOf(kind));
      await visit(watched.page, path);
      return watched;
    },
    signIn: async (page) => {
      await page.click("button:has-text('Sign in')");
      await page.click("a:has-text('our people')");
      // The provider remembers a user in its own cookies.
      await page.locator("input[name=login], button:visible:has-text('Continue')").first().waitFor();
      if ((await page.locator("input[name=login]").count()) > 0) {
        await page.fill("input[name=login]", "ada");
        await page.fill("input[name=password]", "any");
        await page.click("button[type=submit]");
      }
      await page.click("button:visible:has-text('Continue')");
      await page.locator(".shell").waitFor();
    },
    pasteToken,
    async close() {
      await browser.close();
      await world.close();
      program.child.stdin?.end();
      await stopAll();
    },
  };
};
