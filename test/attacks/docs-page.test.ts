// Attacks on the docs pages (docs/attacks.md, 139 to 141): other sites that frame them or appear in them, the token they hold, and the server
// that renders them.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { Readable } from "node:stream";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { openDocs } from "#docs";
import { openWorld, type World } from "../world.ts";
import { type Browser, openChromium, type Page } from "../story/browser.ts";

let world: World;
let browser: Browser;
const servers: Server[] = [];

before(async () => {
  [world, browser] = await Promise.all([openWorld(), openChromium()]);
});
after(async () => {
  await browser?.close();
  for (const server of servers) server.close();
  await world?.close();
});

const openSite = async (html: string): Promise<{ readonly url: string; readonly asked: string[] }> => {
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    asked.push(`${incoming.url} ${incoming.headers.authorization ?? ""}`);
    response.writeHead(200, { "content-type": "text/html", "access-control-allow-origin": "*", "access-control-allow-headers": "*" }).end(html);
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
};

const pages = [
  "/docs",
  "/docs/operate/install",
  "/docs/operations",
  "/docs/reference/iam/GroupsService_ListGroups",
  "/docs/search?q=x",
  "/docs/signed-in",
  "/docs/nothing-here",
];

/** Requests the path exactly as written. */
const rawGet = async (path: string): Promise<{ status: number; body: string }> => {
  const asked = request(`${world.url}/`, { path });
  asked.end();
  const [response] = await once(asked, "response");
  let body = "";
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, body };
};

const says = (page: Page, selector: string, words: RegExp): Promise<void> => page.locator(selector).filter({ hasText: words }).waitFor({ state: "attached" });

const holdToken = async (page: Page): Promise<void> => {
  await page.click("#account");
  await page.fill("#token", await world.token());
  await page.click("#paste button");
  await says(page, "#account-status", /^Requests use/);
  await page.click("#account-close");
};

test("attack 139: docs pages cannot be framed, run and load only their own files, and have the declared type", async () => {
  for (const path of pages) {
    const { headers } = await fetch(world.url + path);
    const policy = new Map((headers.get("content-security-policy") ?? "").split("; ").map((each) => [each.split(" ")[0], each.split(" ").slice(1).join(" ")]));
    assert.deepEqual(
      ["default-src", "script-src", "style-src", "connect-src", "form-action", "base-uri", "frame-ancestors", "trusted-types"].map((name) => policy.get(name)),
      ["'none'", "'self'", "'self'", "'self'", "'self'", "'none'", "'none'", "'none'"],
      path,
    );
    assert.deepEqual(
      ["x-frame-options", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy"].map((name) => headers.get(name)),
      ["DENY", "nosniff", "no-referrer", "same-origin"],
      path,
    );
  }
  const { url } = await openSite(pages.map((path) => `<iframe src="${world.url}${path}"></iframe>`).join(""));
  const page = await browser.context.newPage();
  const refused: string[] = [];
  page.on("console", (message) => void (/frame/i.test(message.text()) && refused.push(message.text())));
  await page.goto(url);
  const [, ...frames] = page.frames();
  assert.equal(frames.length, pages.length);
  for (const frame of frames) assert.equal(await frame.locator("main").count(), 0, frame.url());
  assert.ok(refused.length >= pages.length, refused.join("\n"));
  await page.close();
});

/** Replaces every text of a document by markup, javascript: addresses and prototype names. */
const hostile =
  '"><img src=x onerror=alert(1)><script>alert(2)</script><a href="javascript:alert(3)">x</a>[y](javascript:alert(4))<style>*{display:none}</style>';

const hostileDocument: JsonObject = {
  info: { title: hostile, description: hostile },
  tags: [{ name: hostile, description: hostile }],
  paths: {
    [`/x/${hostile}`]: {
      get: {
        operationId: "constructor",
        tags: [hostile],
        summary: hostile,
        description: hostile,
        parameters: [
          { name: hostile, in: "query", description: hostile, schema: { type: hostile, enum: [hostile], default: hostile, pattern: hostile } },
          { name: "__proto__", in: "header", schema: { $ref: "#/components/schemas/constructor/prototype" } },
        ],
        requestBody: {
          content: { [hostile]: { schema: { properties: { [hostile]: { type: "string", description: hostile, examples: [hostile] } } }, example: hostile } },
        },
        responses: {
          [hostile]: { description: hostile, content: { [hostile]: { example: { [hostile]: hostile }, schema: { $ref: "#/components/schemas/Round" } } } },
        },
      },
    },
  },
  components: { schemas: { Round: { properties: { again: { $ref: "#/components/schemas/Round" }, [hostile]: { $ref: hostile } } } } },
};

test("attack 139: documents and search results render as text, whatever they contain", async () => {
  const docs = openDocs({ source: { names: ["hostile"], read: () => hostileDocument }, version: hostile, publicUrl: "http://127.0.0.1:1", hasConsole: true });
  const server = createServer((incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://127.0.0.1");
    const asked = {
      query: searchParams,
      form: new URLSearchParams(),
      readText: async () => "",
      headers: { cookie: undefined, authorization: undefined, origin: undefined },
      headerOf: () => undefined,
      origin: { address: "", userAgent: "" },
      requestId: "",
    };
    void docs(pathname)
      ?.GET?.(asked)
      .then(({ status, headers, body }) => Readable.from(typeof body === "string" ? [body] : body).pipe(response.writeHead(status, headers)));
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const page = await browser.context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && !message.text().includes("404") && problems.push(message.text())));
  page.on("dialog", (dialog) => {
    problems.push(dialog.message());
    void dialog.dismiss();
  });
  const search = `/docs/search?q=${encodeURIComponent(hostile)}`;
  for (const path of ["/docs", "/docs/reference/hostile", "/docs/reference/hostile/constructor", search, `/docs/${encodeURIComponent(hostile)}`]) {
    await page.goto(url + path);
    const elements = await page.locator("main img:not([src^='/docs/images/']), main script, main style, [onerror], [href^=javascript]").count();
    assert.equal(elements, 0, path);
    assert.equal(await page.locator("main").isVisible(), true);
  }
  await page.goto(`${url}/docs/reference/hostile/constructor`);
  assert.match((await page.locator("h1").textContent()) ?? "", /^"><img src=x onerror=alert\(1\)><script>/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("attack 140: the token is sent only to this server and only to the form's operation, whatever the user types", async () => {
  const elsewhere = await openSite("");
  const page = await browser.context.newPage();
  await page.goto(`${world.url}/docs/reference/iam/GroupsService_GetGroup`);
  await holdToken(page);
  const asked: URL[] = [];
  page.on("request", (each) => asked.push(new URL(each.url())));
  const field = page.locator('form.try [data-place="path"]');
  for (const value of [elsewhere.url, `//${new URL(elsewhere.url).host}`, `@${new URL(elsewhere.url).host}`, "\\\\evil.example.com", "?x=1#y", "%2e%2e/x"]) {
    await field.fill(value);
    await page.click("text=Send request");
    await says(page, ".outcome", /^(?:[45]\d\d |No response: A path value)/);
    await page.locator(".outcome").evaluate("(element) => (element.textContent = '')");
  }
  for (const value of ["..", "a/../b", ".", "%2E%2e"]) {
    await field.fill(value);
    await page.click("text=Send request");
    await says(page, ".outcome", /^No response: A path value cannot contain/);
    await page.locator(".outcome").evaluate("(element) => (element.textContent = '')");
  }
  assert.ok(asked.length > 3);
  for (const { origin, pathname } of asked) assert.ok(origin === world.url && pathname.startsWith("/iam/v2/groups/"), `${origin}${pathname}`);
  assert.deepEqual(elsewhere.asked, []);
  const carried = await page.evaluate(`fetch(${JSON.stringify(elsewhere.url)}).then(() => "sent", () => "refused")`);
  assert.equal(carried, "refused");
  assert.equal(await page.evaluate("(() => { try { document.body.innerHTML = '<b>x</b>'; return 'made'; } catch { return 'refused'; } })()"), "refused");
  await page.close();
});

test("attack 140: a sign-in response that the page did not request is rejected, and its data is useless elsewhere", async () => {
  const page = await browser.context.newPage();
  await page.goto(`${world.url}/docs`);
  const victim = await browser.context.newPage();
  const exchanged: string[] = [];
  page.on("request", (each) => void (each.url().endsWith("/oauth/token") && exchanged.push(each.postData() ?? "")));
  for (const query of [
    "?code=abc&state=",
    "?code=abc",
    `?code=abc&state=undefined&iss=${encodeURIComponent(world.url)}`,
    "?x=1#token=abc&access_token=abc",
    "?state=a&state=b&code=c",
  ]) {
    await victim.goto(`${world.url}/docs/signed-in${query}`);
    await victim.waitForURL(`${world.url}/docs/signed-in`);
    assert.equal(await page.locator("#account").textContent(), "Sign in");
  }
  await page.click("#account");
  const [window] = await Promise.all([browser.context.waitForEvent("page"), page.click("#sign-in")]);
  const asked = new URL(window.url()).searchParams;
  await window.close();
  const state = asked.get("state") ?? assert.fail("no state");
  assert.ok(state.length > 40 && asked.get("code_challenge_method") === "S256" && (asked.get("code_challenge") ?? "").length === 43);
  await victim.goto(`${world.url}/docs/signed-in?${new URLSearchParams({ code: "abc", state: `${state}x`, iss: world.url })}`);
  await victim.goto(`${world.url}/docs/signed-in?${new URLSearchParams({ code: "abc", state, iss: "https://evil.example.com" })}`);
  await says(page, "#account-status", /another issuer/);
  assert.deepEqual(exchanged, []);
  await victim.goto(`${world.url}/docs/signed-in?${new URLSearchParams({ code: "abc", state, iss: world.url })}`);
  assert.equal(await page.locator("#account").textContent(), "Sign in");
  assert.deepEqual(exchanged, [], "a state counts once");
  await Promise.all([page.close(), victim.close()]);
});

test("attack 140: a token in an address, cookie or form field is ignored", async () => {
  const token = await world.token();
  const page = await browser.context.newPage();
  for (const address of [`/docs?token=${token}`, `/docs#token=${token}`, `/docs#access_token=${token}&state=x`]) {
    await page.goto(world.url + address);
    assert.equal(await page.locator("#account").textContent(), "Sign in", address.slice(0, 20));
  }
  await page.close();
});

test("attack 141: paths lead only to pages, however they are spelled", async () => {
  const marks = [/"dependencies"/, /root:/, /BEGIN/, /private/];
  const steps = ["..", "%2e%2e", "..%2f..", "%2e%2e%2f", "....", "..\\..", "..%5c", "%00", "guides/%00", "~", "files"];
  const ends = ["package.json", "package", "etc/passwd", "README", "README.md", "operations.md", "operations%00", "x".repeat(3000), "a/".repeat(500)];
  for (const step of steps)
    for (const end of ends) {
      const { status, body } = await rawGet(`/docs/${step}/${end}`);
      assert.ok([303, 404, 414].includes(status), `/docs/${step}/${end}: ${status}`);
      for (const mark of marks) assert.doesNotMatch(body.replace(/<nav.*<\/nav>/s, ""), mark);
    }
  for (const name of ["__proto__", "constructor", "toString"]) assert.equal((await rawGet(`/docs/reference/${name}/${name}`)).status, 404, name);
});

test("attack 141: a search of any length costs as much as a short one, and page requests are limited per address", async () => {
  const before = process.memoryUsage().heapUsed;
  const queries = [
    "a ".repeat(7000),
    "x".repeat(14_000),
    "é".repeat(2000),
    "a*b?c[d](e)^f$".repeat(500),
    "groups ".repeat(1500),
    "\u0000".repeat(1000),
    "\ud800",
  ];
  for (const query of queries) {
    const { status } = await rawGet(
      `/docs/search?q=${encodeURIComponent(query.toWellFormed())
        .slice(0, 15_000)
        .replace(/%[0-9A-F]?$/, "")}`,
    );
    assert.ok(status === 200 || status === 414, `${query.slice(0, 20)}: ${status}`);
  }
  assert.ok(process.memoryUsage().heapUsed - before < 200 * 1024 * 1024);
  // After a minute's quota of pages this address waits, and no other does.
  const other = await openWorld();
  try {
    const statuses = new Map<number, number>();
    for (let sent = 0; sent < limits.openReadsPerMinute / limits.docsPageRequests + 100; sent += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => fetch(`${other.url}/docs/signed-in`)));
      for (const answer of answers) {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        await answer.arrayBuffer();
      }
    }
    assert.equal(statuses.get(200), limits.openReadsPerMinute / limits.docsPageRequests);
    const late = await fetch(`${other.url}/docs`);
    assert.deepEqual([late.status, late.headers.has("retry-after")], [429, true]);
  } finally {
    await other.close();
  }
});
