// The documentation site, in a real browser and over HTTP: all operations and guides can be read, searched and tried without third-party resources
// (decision 0045).

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import axe from "axe-core";
import { builtInRoleUid } from "#authz";
import { isObject, type JsonObject, objectList, part, text } from "#base/json.ts";
import { shortOrLong } from "../length.ts";
import { openWorld, type World } from "../world.ts";
import { type Browser, openChromium, type Page } from "./browser.ts";
import { type Program, start, stopAll } from "./processes.ts";

const secret = "a client secret that only the two know";
const listGroups = "/docs/reference/iam/GroupsService_ListGroups";

let world: World;
let program: Program;
let browser: Browser;

before(async () => {
  world = await openWorld();
  program = start(join(import.meta.dirname, "provider.ts"), [`${world.url}/oauth/callback`, secret]);
  const [[issuer], opened] = await Promise.all([program.says(/^http:\S+/m), openChromium()]);
  browser = opened;
  await fetch(`${issuer}/people`, { method: "PUT", body: JSON.stringify({ ada: { name: "Ada Lovelace", email: "ada@example.com", email_verified: true } }) });
  const oidc = { issuer: issuer ?? "", clientId: "gantry", clientSecret: secret, additionalScopes: ["email", "profile"], pkceEnabled: true };
  await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent: world.organization,
    identityProvider: { name: "our people", defaultRole: builtInRoleUid("viewer"), oidc },
  });
});
after(async () => {
  await browser?.close();
  await world?.close();
  program?.child.stdin?.end();
  await stopAll();
});

interface Told {
  readonly page: Page;
  /** Console errors, with violations of the content security policy, and requests to other origins. */
  readonly problems: string[];
}

const openPage = async (path: string): Promise<Told> => {
  const page = await browser.context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => void (["error", "warning"].includes(message.type()) && problems.push(message.text())));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => void (new URL(request.url()).origin !== world.url && problems.push(`asked for ${request.url()}`)));
  await page.goto(world.url + path);
  return { page, problems };
};

const says = (page: Page, selector: string, words: RegExp): Promise<void> => page.locator(selector).filter({ hasText: words }).waitFor({ state: "attached" });

const fetchPage = async (path: string): Promise<{ readonly status: number; readonly html: string; readonly headers: Headers }> => {
  const response = await fetch(world.url + path, { headers: { accept: "text/html" } });
  return { status: response.status, html: await response.text(), headers: response.headers };
};

const textOf = (html: string): string =>
  html
    .replaceAll(/<wbr>/g, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ");

const linksIn = (html: string): string[] => [...html.matchAll(/ href="([^"]*)"/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&"));

test("browsers are redirected from / to the docs, and programs get a list of working addresses", async () => {
  const led = await fetch(world.url, { redirect: "manual", headers: { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" } });
  assert.deepEqual([led.status, led.headers.get("location")], [303, "/docs"]);
  for (const accept of ["*/*", "application/json", ""]) {
    const told = await fetch(world.url, { headers: accept === "" ? {} : { accept } });
    assert.match(told.headers.get("content-type") ?? "", /^application\/json/);
    assert.equal(told.headers.get("vary"), "accept");
    const { name, version, grpc, ...addresses } = (await told.json()) as JsonObject;
    assert.deepEqual([name, typeof version, Object.keys(isObject(grpc) ? grpc : {})], ["gantry", "string", ["reflection", "health"]]);
    for (const [what, address] of Object.entries(addresses)) {
      const { status } = await fetch(String(address));
      // The registry requires a token; MCP accepts only POST.
      assert.equal(status, { registry: 401, mcp: 405 }[what] ?? 200, `${what}: ${address}`);
    }
  }
  const icon = await fetch(`${world.url}/favicon.ico`);
  assert.deepEqual([icon.status, icon.headers.get("content-type")], [200, "image/svg+xml"]);
});

const escaped = (literal: string): string => literal.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Patterns of the fields and of their entries. */
const patternsIn = (schemas: readonly JsonObject[]): string[] =>
  schemas
    .flatMap((schema) =>
      Object.values(part(schema, "properties")).flatMap((field) => (isObject(field) ? [text(field, "pattern"), text(part(field, "items"), "pattern")] : [])),
    )
    .filter((pattern) => pattern !== "");

const operationsOf = async (): Promise<{ name: string; path: string; verb: string; operation: JsonObject; document: JsonObject }[]> => {
  const found: { name: string; path: string; verb: string; operation: JsonObject; document: JsonObject }[] = [];
  const home = await fetchPage("/docs");
  const names = linksIn(home.html).flatMap((href) => /^\/docs\/reference\/([^/#]+)$/.exec(href)?.[1] ?? []);
  for (const name of new Set(names)) {
    const document = (await (await fetch(`${world.url}/openapi/${name}.json`)).json()) as JsonObject;
    for (const [path, item] of Object.entries(part(document, "paths")))
      for (const [verb, operation] of Object.entries(isObject(item) ? item : {}))
        if (isObject(operation) && "operationId" in operation) found.push({ name, path, verb, operation, document });
  }
  return found;
};

const followed = (document: JsonObject, value: JsonObject): JsonObject => {
  const steps = text(value, "$ref").split("/").slice(1);
  return steps.length > 0 ? steps.reduce((object, step) => part(object, step), document) : value;
};

test("the reference documents every operation with the description of the OpenAPI documents", async () => {
  const operations = await operationsOf();
  const whole = (await (await fetch(`${world.url}/openapi.json`)).json()) as JsonObject;
  const ids = (document: JsonObject): string[] =>
    Object.values(part(document, "paths")).flatMap((item) =>
      Object.values(isObject(item) ? item : {}).flatMap((each) => (isObject(each) ? [text(each, "operationId")] : [])),
    );
  const told = operations.filter(({ name }) => name !== "v1").map(({ operation }) => text(operation, "operationId"));
  // The operations that serve the documents have no reference entry.
  const expectedIds = ids(whole).filter((id) => !id.startsWith("OpenApi_"));
  assert.deepEqual(told.filter((id) => !id.startsWith("OpenApi_")).toSorted(), expectedIds.toSorted());
  assert.ok(operations.length > 200, `only ${operations.length} operations`);
  for (const { name, path, verb, operation, document } of operations) {
    const id = text(operation, "operationId");
    const { status, html } = await fetchPage(`/docs/reference/${name}/${id}`);
    assert.equal(status, 200, id);
    const shown = textOf(html);
    const withoutExamples = textOf(html.replaceAll(/<pre.*?<\/pre>/gs, ""));
    const body = followed(document, part(operation, "requestBody"));
    const schemas = [body, ...Object.values(part(operation, "responses")).map((each) => followed(document, isObject(each) ? each : {}))].flatMap((each) =>
      Object.values(part(each, "content")).map((media) => followed(document, part(isObject(media) ? media : {}, "schema"))),
    );
    const parameters = objectList(operation, "parameters").map((each) => followed(document, each));
    // Operations of one path share its names; the page shows the field's own.
    const ownName = (each: JsonObject): string => text(each, "x-field") || text(each, "name");
    const shownPath = parameters.reduce((shown, each) => shown.replace(`{${text(each, "name")}}`, `{${ownName(each)}}`), path);
    assert.match(textOf(/<h1>.*<\/h1>/.exec(html)?.[0] ?? ""), new RegExp(`: ${verb.toUpperCase()} ${escaped(shownPath)} $`), id);
    const expected = [id, ...Object.keys(part(operation, "responses")), ...schemas.flatMap((schema) => Object.keys(part(schema, "properties")))];
    // Only the section with descriptions; the form repeats the names.
    const described = textOf(html.slice(html.indexOf('<h2 id="parameters"')));
    for (const parameter of parameters) assert.ok(described.includes(` ${ownName(parameter)} `), `the page of ${id} does not describe ${ownName(parameter)}`);
    for (const pattern of patternsIn(schemas)) assert.ok(!withoutExamples.includes(pattern), `the page of ${id} shows the expression ${pattern}`);
    for (const [, list = ""] of html.matchAll(/<dl class="fields">(.*?)<\/dl>/gs))
      assert.doesNotMatch(
        list.replaceAll(/<details>.*$/gs, ""),
        /<dt>(?:(?!required).)*?<\/dt>.*class="must"/s,
        `${id}: an optional field before a required one`,
      );
    for (const each of expected) assert.ok(shown.includes(each), `the page of ${id} does not say ${each}`);
    // A response without fields is a file.
    const files = Object.values(part(operation, "responses")).flatMap((each) =>
      Object.entries(part(followed(document, isObject(each) ? each : {}), "content")).flatMap(([type, media]) =>
        isObject(media) && Object.keys(part(media, "schema")).length === 0 ? [type] : [],
      ),
    );
    for (const type of files) assert.ok(html.includes(`<code>${type}</code>`), `the page of ${id} does not say ${type}`);
    if (files.length > 0) assert.match(shown, /The bytes of a file|A page, as/, id);
    assert.doesNotMatch(html, /<p>anything/, id);
  }
});

test("every link of every page leads to an existing page and anchor", async () => {
  const seen = new Map<string, string>();
  const waiting = ["/docs"];
  const targets = new Map<string, string>();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    const { status, html } = await fetchPage(path);
    assert.equal(status, 200, `${path}, which ${targets.get(path)} leads to`);
    seen.set(path, html);
    assert.doesNotMatch(html, /<th[^>]*><\/th>/, `${path}: a heading without words`);
    for (const href of linksIn(html)) {
      if (/^(?:https?|mailto):/.test(href)) continue;
      const { pathname, hash } = new URL(href, world.url + path);
      targets.set(pathname + hash, path);
      if (!seen.has(pathname) && pathname.startsWith("/docs") && !pathname.startsWith("/docs/files/")) {
        targets.set(pathname, path);
        waiting.push(pathname);
      }
    }
  }
  for (const [target, from] of targets) {
    const [path = "", id] = target.split("#");
    if (id) assert.ok(seen.get(path)?.includes(` id="${decodeURIComponent(id)}"`), `${from} leads to ${target}, which is not there`);
  }
  assert.ok(seen.has("/docs/operate/install") && seen.has(listGroups));
});

test("search finds an operation by name, path or description and a guide by heading, despite a typo", async () => {
  const firstFound = async (query: string): Promise<readonly string[]> => {
    const { html } = await fetchPage(`/docs/search?q=${encodeURIComponent(query)}`);
    return linksIn(/<main.*<\/main>/s.exec(html)?.[0] ?? "").slice(0, 3);
  };
  for (const query of ["GroupsService_ListGroups", "list groups", "/iam/v2/groups", "list the groups visible to the caller"])
    assert.ok((await firstFound(query)).includes(listGroups), query);
  assert.equal((await firstFound("identites create")).length > 0, true);
  for (const query of ["several servers", "severl servers"]) assert.ok((await firstFound(query)).includes("/docs/operate/postgresql#several-servers"), query);
  assert.deepEqual(await firstFound("xyzzyplugh"), []);
  assert.match(textOf((await fetchPage("/docs/search?q=xyzzyplugh")).html), /No results/);
  assert.match(textOf((await fetchPage("/docs/search")).html), /Type what you look for/);
});

test("typing shows suggestions, which the keyboard chooses, with the synonyms of the results page", async () => {
  const { page, problems } = await openPage("/docs");
  const field = page.getByRole("combobox", { name: "Search guides and reference" });
  const options = page.getByRole("listbox", { name: "Suggestions" }).getByRole("option");
  await page.keyboard.press("Control+k");
  assert.equal(await page.evaluate("document.activeElement.id"), "search");
  assert.equal(await field.getAttribute("aria-expanded"), "false");
  await page.keyboard.type("rbac");
  await options.first().waitFor();
  assert.equal(await field.getAttribute("aria-expanded"), "true");
  await says(page, "#suggested", /^\d suggestions$/);
  const { suggestions } = (await (await fetch(`${world.url}/docs/suggestions?q=rbac`)).json()) as JsonObject;
  const results = linksIn(/<main.*<\/main>/s.exec((await fetchPage("/docs/search?q=rbac")).html)?.[0] ?? "");
  assert.deepEqual(
    objectList({ suggestions: suggestions ?? [] }, "suggestions").map(({ href }) => href),
    results.slice(0, 8),
  );
  assert.match(results.join(), /roles|access/i);
  await page.evaluate(axe.source);
  assert.deepEqual(await page.evaluate("axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))"), []);
  for (const [key, chosen] of [
    ["ArrowDown", 0],
    ["ArrowDown", 1],
    ["ArrowUp", 0],
  ] as const) {
    await page.keyboard.press(key);
    assert.equal(await field.getAttribute("aria-activedescendant"), `suggestion-${chosen}`);
    assert.equal(await options.nth(chosen).getAttribute("aria-selected"), "true");
  }
  await page.keyboard.press("Escape");
  assert.deepEqual([await field.getAttribute("aria-expanded"), await options.count(), await field.inputValue()], ["false", 0, "rbac"]);
  await page.keyboard.press("ArrowDown");
  await options.first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(world.url + (results[0] ?? ""));
  assert.deepEqual(problems, []);
  await page.close();
});

test("samples have the server's address and colors, commands have a copy button, and their output has none", async () => {
  const { html } = await fetchPage("/docs/guides/registry");
  assert.ok(!html.includes("127.0.0.1:8080/first-organization") && html.includes(`docker://${new URL(world.url).host}/first-organization/team/hello:1.0`));
  assert.match(html, /<span class="string">&quot;\$BASE/);
  assert.ok(textOf((await fetchPage(listGroups)).html).includes(`curl "${world.url}/iam/v2/groups"`));
  const { page, problems } = await openPage("/docs/guides/registry");
  for (const block of await page.locator(".code").all()) {
    const isOutput = (await block.getAttribute("class")) === "code";
    assert.equal(await block.getByRole("button", { name: "Copy" }).count(), isOutput ? 0 : 1);
  }
  await page.click("#account");
  await page.fill("#token", await world.token());
  await page.click("#paste button");
  await page.locator("#sample-group option").first().waitFor({ state: "attached" });
  assert.equal(await page.locator("#sample-group").inputValue(), world.organization);
  await page.click("#account-close");
  await page.click("#contents summary:has-text('API reference')");
  await page.click("#contents a:text-is('iam')");
  await page.click(`main a[href="/docs/reference/iam/RolesService_CreateRole"]`);
  await page.locator(`#samples ~ .code.copy:has-text("curl"):has-text("/iam/v2/roles/${world.organization}")`).waitFor();
  assert.equal(await page.inputValue('form.try [data-place="path"]'), world.organization);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an old address leads to the section's current page, with and without scripts", async () => {
  const { html } = await fetchPage("/docs/operations");
  const { href = "" } = /<li id="audit-log-out"><a href="(?<href>[^"]+)"/.exec(html)?.groups ?? {};
  assert.equal(href, "/docs/operate/audit-log#audit-log-out");
  const { page, problems } = await openPage("/docs/operations#audit-log-out");
  await page.waitForURL(world.url + href);
  await page.close();
  assert.deepEqual(problems, []);
});

test("the table of contents opens the page's group and links the previous and next page", async () => {
  const { html } = await fetchPage("/docs/operate/tls");
  const open = [...html.matchAll(/<details open><summary>([^<]*)<\/summary>/g)].map(([, title]) => title);
  assert.deepEqual(open, ["Operate"]);
  assert.match(html, /<a href="\/docs\/operate\/tls" aria-current="page">/);
  const [pager = ""] = /<nav class="pager"[\s\S]*?<\/nav>/.exec(html) ?? [];
  assert.deepEqual(linksIn(pager), ["/docs/operate/storage", "/docs/operate/network"]);
  assert.deepEqual([...(await fetchPage("/docs/search?q=x")).html.matchAll(/<details open>/g)].length, 1);
});

test("an unchanged page is a 304, and a file's address contains its hash", async () => {
  for (const path of ["/docs", listGroups, "/docs/operate/install", "/docs/operations"]) {
    const { headers } = await fetchPage(path);
    const again = await fetch(world.url + path, { headers: { "if-none-match": headers.get("etag") ?? "" } });
    assert.deepEqual([headers.get("cache-control"), again.status, await again.text()], ["no-cache", 304, ""], path);
  }
  const files = linksIn((await fetchPage("/docs")).html).filter((href) => href.startsWith("/docs/files/"));
  assert.equal(files.length, 2);
  for (const file of files) {
    const { status, headers } = await fetch(world.url + file);
    assert.deepEqual([status, headers.get("cache-control")], [200, "public, max-age=31536000, immutable"]);
    assert.equal((await fetch(world.url + file.replace(/-[^.]+\./, "-x."))).status, 404);
  }
});

const kinds = [
  "/docs",
  "/docs/operate/logs",
  "/docs/operations",
  "/docs/reference/iam",
  listGroups,
  "/docs/reference/iam/IdentitiesService_CreateIdentity",
  "/docs/search?q=groups",
];

test("pages are accessible and complete, wide and narrow, light and dark, without requests to other origins", async () => {
  const looks = [
    [1280, "light"],
    [360, "dark"],
    [360, "light"],
    [1280, "dark"],
  ] as const;
  const { page, problems } = await openPage("/docs");
  for (const [index, [width, colorScheme]] of looks.entries()) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    // The short form checks each kind of page in one look, and each look with some kinds.
    for (const kind of kinds.filter((_, at) => at % looks.length === index || shortOrLong(0, 1) === 1)) {
      await page.goto(world.url + kind);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, `${kind} is wider than ${width}`);
      // The accessibility checker is injected through the debugger, past the content security policy.
      await page.evaluate(axe.source);
      const faults = await page.evaluate("axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))");
      assert.deepEqual(faults, [], `${kind}, ${width}, ${colorScheme}`);
    }
  }
  assert.deepEqual(problems, []);
  await page.close();
});

test("search, navigation, pasting a token and sending a request work with the keyboard alone", async () => {
  const { page, problems } = await openPage("/docs");
  const focused = (): Promise<string> => page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()");
  const tabTo = async (what: string): Promise<void> => {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press("Tab");
      if ((await focused()) === what) return;
    }
    assert.fail(`${what} was not reached; the focus is on ${await focused()}`);
  };
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Skip to the page");
  await tabTo("search");
  await page.keyboard.type("list groups");
  await page.keyboard.press("Enter");
  await page.waitForURL(/search\?q=list/);
  const title = (await page.locator(`main a[href="${listGroups}"]`).textContent()) ?? "";
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await tabTo(title);
  await page.keyboard.press("Enter");
  await page.waitForURL(world.url + listGroups);
  await tabTo("account");
  await page.keyboard.press("Enter");
  await tabTo("token");
  await page.keyboard.insertText(await world.token());
  await tabTo("Use this token");
  await page.keyboard.press("Enter");
  await page.locator("#forget:focus").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await focused(), "account");
  await tabTo("Send request");
  await page.keyboard.press("Enter");
  await says(page, ".outcome", /^200 /);
  const answer = JSON.parse((await page.locator(".answer > pre").textContent()) ?? "") as JsonObject;
  assert.deepEqual(
    objectList(answer, "groups").map(({ uid }) => uid),
    [world.organization],
  );
  assert.deepEqual(problems, []);
  await page.close();
});

const signInAsAda = async (page: Page): Promise<void> => {
  await page.click("#account");
  const [window] = await Promise.all([browser.context.waitForEvent("page"), page.click("#sign-in")]);
  await window.click("a:has-text('our people')");
  await window.fill("input[name=login]", "ada");
  await window.fill("input[name=password]", "any");
  await window.click("button[type=submit]");
  await Promise.all([page.waitForSelector("#account-in:not([hidden])"), window.click("button:has-text('Continue')")]);
  await says(page, "#account", /Ada Lovelace/);
};

test("a user signs in in the browser and tries requests, and the token stays in this page's memory", async () => {
  const { page, problems } = await openPage(listGroups);
  await page.click("text=Send request");
  await says(page, ".outcome", /^401 .*: sign in first/);
  // The browser itself logs an error response.
  assert.equal(problems.splice(0).length, 1);
  const sent: string[] = [];
  page.on("request", (request) => {
    const { authorization } = request.headers();
    if (authorization !== undefined) sent.push(authorization);
  });
  await signInAsAda(page);
  assert.match((await page.locator("#whose").textContent()) ?? "", /^Ada Lovelace\nada@example\.com\n[0-9a-f]{40}\nIssued by http/);
  await page.click("#account-close");
  await page.click("text=Send request");
  await says(page, ".outcome", /^200 /);
  assert.match((await page.locator(".answer > pre").textContent()) ?? "", new RegExp(world.organization));
  const token = sent[0]?.replace("Bearer ", "") ?? assert.fail("no request had a token");
  const kept = await page.evaluate(
    `JSON.stringify([document.documentElement.outerHTML, location.href, document.cookie, {...localStorage}, {...sessionStorage}, history.state,
      [...document.querySelectorAll("input, textarea")].map(({ value }) => value)])`,
  );
  const [, , signature = token] = token.split(".");
  assert.ok(!String(kept).includes(signature) && signature.length > 40);
  assert.deepEqual(await page.evaluate("indexedDB.databases().then((all) => all.length)"), 0);
  assert.deepEqual(await page.evaluate("caches.keys()"), []);
  assert.ok((await browser.context.storageState()).origins.every(({ localStorage }) => localStorage.length === 0));
  await page.click(".trail a >> nth=0");
  await page.waitForURL(`${world.url}/docs/reference/iam`);
  assert.match((await page.locator("#account").textContent()) ?? "", /Ada Lovelace/);
  await page.fill("#search", "create a group");
  await page.press("#search", "Enter");
  await page.waitForSelector("h1:has-text('Search: create a group')");
  assert.match((await page.locator("#account").textContent()) ?? "", /Ada Lovelace/);
  await page.goBack();
  await page.waitForSelector("h1:has-text('Reference: iam')");
  assert.match((await page.locator("#account").textContent()) ?? "", /Ada Lovelace/);
  await page.reload();
  assert.equal(await page.locator("#account").textContent(), "Sign in");
  assert.deepEqual(problems, []);
  await page.close();
});

test("a token that the server refuses is reported and cleared, and a malformed one is not accepted", async () => {
  const { page, problems } = await openPage(listGroups);
  await page.click("#account");
  const said = async (token: string, sentence: RegExp): Promise<void> => {
    await page.fill("#token", token);
    await page.click("#paste button");
    await says(page, "#account-status", sentence);
    assert.equal(await page.locator("#account-out").isVisible(), true);
    assert.equal(await page.inputValue("#token"), "");
  };
  const token = await world.token();
  await said("nonsense", /^This is not a token/);
  await said("a.b.c", /^This is not a token/);
  await said(`${token.split(".").slice(0, 2).join(".")}.${"A".repeat(342)}`, /^The server refused the token/);
  assert.equal(problems.filter((problem) => !problem.includes("401")).length, 0);
  await page.close();
});

test("at another address of the server a token can be pasted, and the sign-in names the public address", async () => {
  const other = world.url.replace("127.0.0.1", "localhost");
  const page = await browser.context.newPage();
  await page.goto(`${other}${listGroups}`);
  await page.click("#account");
  await page.click("#sign-in");
  await says(page, "#account-status", new RegExp(`open ${world.url}/docs`));
  await page.fill("#token", await world.token());
  await page.click("#paste button");
  await says(page, "#account-status", /^Requests use/);
  await page.click("#account-close");
  await page.click("text=Send request");
  await says(page, ".outcome", /^200 /);
  await page.close();
});

test("a change is a dry run until the user opts in, and the curl command sends the same request", async () => {
  const { page } = await openPage("/docs/reference/iam/GroupsService_CreateGroup");
  const token = await world.token();
  await page.click("#account");
  await page.fill("#token", token);
  await page.click("#paste button");
  await page.click("#account-close");
  const count = async (): Promise<unknown> => (await world.ok("iam.GroupsService/ListGroups", {})).totalCount;
  const before = await count();
  await page.fill('[data-place="path"]', world.organization);
  await page.fill(".body", JSON.stringify({ name: 7 }));
  const send = async (expected: RegExp): Promise<void> => {
    await page.click("text=Send request");
    await says(page, ".outcome", expected);
  };
  await send(/^400 /);
  assert.match((await page.locator(".answer > pre").textContent()) ?? "", /fieldViolations/);
  await page.fill(".body", JSON.stringify({ name: "engines", description: 'it\'s with "quotes" and $HOME' }));
  await send(/^200 /);
  assert.equal(await count(), before);
  await page.selectOption('[data-name="validateOnly"]', "false");
  const command = (await page.locator(".command code").textContent()) ?? "";
  await send(/^200 /);
  const made = JSON.parse((await page.locator(".answer > pre").textContent()) ?? "") as JsonObject;
  // Names of sibling groups are unique.
  const other = command.replace('"name":"engines"', '"name":"engines again"');
  const { stdout } = await promisify(execFile)("bash", ["-c", `${other} --silent --fail`], { env: { ...process.env, TOKEN: token } });
  const again = JSON.parse(stdout) as JsonObject;
  assert.deepEqual([again.name, again.description], [`${String(made.name)} again`, made.description]);
  assert.equal(made.description, 'it\'s with "quotes" and $HOME');
  assert.equal(Number(await count()), Number(before) + 2);
  await page.goto(`${world.url}/docs/reference/iam/GroupsService_GetGroup?uid=${world.organization}`);
  assert.equal(await page.inputValue('[data-place="path"]'), world.organization, "gantry open fills in the uid");
  await page.close();
});

test("a list can continue with its next page, and lists, enums and headers are sent as entered", async () => {
  for (const name of ["first", "second", "third"]) await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name } });
  const { page } = await openPage(listGroups);
  const requests: URL[] = [];
  page.on("request", (request) => requests.push(new URL(request.url())));
  await page.click("#account");
  await page.fill("#token", await world.token());
  await page.click("#paste button");
  await page.click("#account-close");
  await page.click("text=more parameters");
  await page.fill('[data-name="page_size"]', "2");
  await page.fill('[data-name="uidp.descendants_of"]', world.organization);
  await page.click("text=Send request");
  await Promise.all([page.waitForRequest(/page_token=/), page.click(".next-page")]);
  // The sign-in itself lists groups for the samples.
  const isSent = ({ pathname, searchParams }: URL): boolean => pathname === "/iam/v2/groups" && searchParams.get("page_size") !== "100";
  const [first, second] = requests.filter(isSent).map(({ searchParams }) => searchParams);
  assert.deepEqual([first?.get("page_size"), first?.get("uidp.descendants_of"), first?.has("page_token")], ["2", world.organization, false]);
  assert.ok((second?.get("page_token") ?? "").length > 10);
  await page.close();
});

test("in a narrow window the contents open and close without scrolling the page", async () => {
  const { page, problems } = await openPage(listGroups);
  await page.setViewportSize({ width: 360, height: 740 });
  const contents = page.locator("#contents");
  assert.equal(await contents.isVisible(), false);
  await page.click("#contents-button");
  assert.equal(await contents.isVisible(), true);
  assert.equal(await contents.locator("[aria-current=page]").textContent(), "ListGroups");
  await page.keyboard.press("Escape");
  assert.equal(await contents.isVisible(), false);
  await page.click("#contents-button");
  await contents.locator("summary:text-is('Operate')").click();
  await contents.locator("text=Install Gantry").click();
  await page.waitForSelector("h1:has-text('Install Gantry')");
  assert.equal(await contents.isVisible(), false);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a field for a parent offers the user's groups and repositories by their paths of names", async () => {
  const { page, problems } = await openPage("/docs/reference/registry/TagsService_CreateTag");
  const { group } = await world
    .ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "picked" } })
    .then(({ uid }) => ({ group: String(uid) }));
  const { uid } = await world.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "app" } });
  await page.click("#account");
  await page.fill("#token", await world.token());
  await page.click("#paste button");
  await page.locator("#account-in:not([hidden])").waitFor();
  await page.click("#account-close");
  const picker = page.getByRole("combobox", { name: "Choose parent" });
  await picker.locator("option", { hasText: /\/picked\/app$/ }).waitFor({ state: "attached" });
  await picker.selectOption(String(uid));
  assert.equal(await page.inputValue('form.try input[data-place="path"]'), uid);
  await says(page, ".command code", new RegExp(`/registry/v2/tags/${String(uid)}`));
  assert.deepEqual(problems, []);
  await page.close();
});
