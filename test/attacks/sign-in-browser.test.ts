// Attacks 242 to 244 in a real browser: two tenants, one hostile with its own identity provider, and honest identity providers with and
// without the parameter iss (RFC 9207). The honest ones have a session and do not prompt.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { builtInRoleUid } from "#authz";
import { type Browser, openChromium, type Page } from "../story/browser.ts";
import { type FakeProvider, openProvider } from "../provider.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let browser: Browser;
let hostile: FakeProvider;
let hostileIdp: string;
/** Bodies that the hostile token endpoint received. */
let redeemed: string[] = [];

const screenshots = process.env.SCREENSHOTS ?? "";

const makeIdp = async (provider: FakeProvider, parent: string): Promise<JsonObject> =>
  world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent,
    identityProvider: {
      name: "people",
      defaultRole: builtInRoleUid("viewer"),
      oidc: { issuer: provider.url, clientId: "gantry-client", clientSecret: provider.clientSecret, pkceEnabled: true },
    },
  });

/** Returns the callback address to register; it was shared before each provider had its own. */
const callbackOf = (idp: JsonObject): string => text(idp, "callbackUrl") || `${world.url}/oauth/callback`;

/** Opens an honest identity provider that accepts registered addresses only and has a signed-in user. */
const openHonest = async (sendsIss: boolean): Promise<{ readonly provider: FakeProvider; readonly idp: string; readonly callback: string }> => {
  const provider = await openProvider(() => world.clock.now, { sendsIss });
  const made = await makeIdp(provider, world.organization);
  const callback = callbackOf(made);
  provider.instead = (request, response) => {
    const url = new URL(request.url ?? "", provider.url);
    if (url.pathname !== "/authorize") return false;
    if (url.searchParams.get("redirect_uri") !== callback) return Boolean(response.writeHead(400).end("this address is not registered"));
    const back = new URL(callback);
    const claims = { sub: "victim", name: "Vera Victim", email: "vera@victim.example", email_verified: true };
    back.search = new URLSearchParams({
      code: provider.vouch(url, claims),
      state: url.searchParams.get("state") ?? "",
      ...(sendsIss ? { iss: provider.url } : {}),
    }).toString();
    return Boolean(response.writeHead(302, { location: back.href }).end());
  };
  return { provider, idp: text(made, "uid"), callback };
};

let honest: Awaited<ReturnType<typeof openHonest>>;
let honestWithIss: Awaited<ReturnType<typeof openHonest>>;

before(async () => {
  [world, browser] = await Promise.all([openWorld(), openChromium()]);
  hostile = await openProvider(() => world.clock.now, { sendsIss: false });
  const tenant = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "hostile tenant" } });
  hostileIdp = text(await makeIdp(hostile, text(tenant, "uid")), "uid");
  honest = await openHonest(false);
  honestWithIss = await openHonest(true);
});
afterEach(async () => {
  redeemed = [];
  hostile.instead = undefined;
  for (const page of browser.context.pages().slice(1)) await page.close();
});
after(async () => {
  await browser?.close();
  await world?.close();
  await Promise.all([hostile?.close(), honest?.provider.close(), honestWithIss?.provider.close()]);
});

interface Listener {
  readonly port: number;
  readonly told: URLSearchParams[];
  readonly server: Server;
}

/** Opens a program that listens on a port of the user's computer. */
const listen = async (port = 0): Promise<Listener> => {
  const told: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    if (pathname === "/callback") told.push(searchParams);
    response.end("<title>arrived</title>");
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  return { port: (server.address() as AddressInfo).port, told, server };
};

const stop = async ({ server }: Listener): Promise<void> => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
};

const signInAddress = (idp: string, redirect: string, more: Readonly<Record<string, string>> = {}): string =>
  `${world.url}/oauth?${new URLSearchParams({ idp_id: idp, ...(redirect === "" ? {} : { redirect }), ...more })}`;

/** As the public SDK writes it. */
const loopbackOf = ({ port }: Listener): string => `http://localhost:${port}/callback?token=true&error=true`;

const open = async (address: string): Promise<Page> => {
  const page = await browser.context.newPage();
  await page.goto(address);
  return page;
};

const arrived = (page: Page): Promise<void> => page.waitForFunction("document.title === 'arrived'").then(() => undefined);

const mainText = async (page: Page): Promise<string> => (await page.textContent("main")) ?? "";

for (const sendsIss of [false, true])
  test(`attack 242: a provider that redirects to another tenant's ${sendsIss ? "with" : "without"} iss is never sent its code`, async () => {
    const victim = sendsIss ? honestWithIss : honest;
    hostile.instead = (request, response) => {
      const url = new URL(request.url ?? "", hostile.url);
      if (url.pathname === "/token") {
        request.on("data", (piece: Buffer) => redeemed.push(piece.toString()));
        return Boolean(response.writeHead(400).end("{}"));
      }
      if (url.pathname !== "/authorize") return false;
      const on = new URL(`${victim.provider.url}/authorize`);
      on.search = url.search;
      // The only address that the honest provider accepts.
      on.searchParams.set("redirect_uri", victim.callback);
      return Boolean(response.writeHead(302, { location: on.href }).end());
    };
    const page = await open(signInAddress(hostileIdp, ""));
    assert.ok(victim.provider.requestedPaths.includes("/authorize"), "the browser came to the honest provider");
    assert.deepEqual([redeemed, hostile.requestedPaths.includes("/token"), victim.provider.requestedPaths.includes("/token")], [[], false, false]);
    assert.match(await mainText(page), /Start it again/);
  });

test("attack 242: a code that reaches another provider's callback is not redeemed, and its own sign-in can continue", async () => {
  const { instead } = honest.provider;
  const begun: URL[] = [];
  honest.provider.instead = (request, response) => {
    if (!request.url?.startsWith("/authorize?")) return false;
    begun.push(new URL(request.url, honest.provider.url));
    return Boolean(response.end("held"));
  };
  const page = await open(signInAddress(honest.idp, ""));
  honest.provider.instead = instead;
  const [question] = begun;
  assert.ok(question);
  const code = honest.provider.vouch(question, { sub: "victim", name: "Vera Victim" });
  const query = new URLSearchParams({ code, state: question.searchParams.get("state") ?? "" });
  for (const wrong of [`${world.url}/oauth/callback`, `${world.url}/oauth/callback/${hostileIdp}`, `${world.url}/oauth/callback/${honestWithIss.idp}`])
    assert.equal((await page.goto(`${wrong}?${query}`))?.status(), 400, wrong);
  assert.ok(!hostile.requestedPaths.includes("/token"));
  await page.goto(`${honest.callback}?${query}`);
  assert.match(await mainText(page), /Vera Victim/);
});

test("attack 243: a sign-in cannot end at the server's own redirecting path, and no token reaches the next provider", async () => {
  hostile.instead = (request, response) => (request.url ?? "").startsWith("/authorize") && Boolean(response.end("<title>arrived</title>"));
  const redirect = `${world.url}/oauth?idp_id=${hostileIdp}`;
  const page = await browser.context.newPage();
  const response = await page.goto(signInAddress(honest.idp, redirect, { create_refresh_token: "true" }));
  assert.ok(!page.url().includes("token=ey"), "a token stands in an address");
  assert.deepEqual([response?.status(), new URL(page.url()).origin], [400, world.url]);
});

test("attack 243: a fragment is not carried to a requested address, and a request with a token leads to no provider", async () => {
  const program = await listen();
  const page = await open(`${signInAddress(honest.idp, loopbackOf(program), { cap: "fly" })}#token=planted`);
  await arrived(page);
  assert.equal(new URL(page.url()).hash, "#_");
  assert.equal(program.told[0]?.get("status_code"), "400");
  for (const name of ["token", "refresh_token"]) {
    const response = await page.goto(signInAddress(hostileIdp, "", { [name]: "planted" }));
    assert.deepEqual([response?.status(), new URL(page.url()).origin], [400, world.url], name);
  }
  await stop(program);
});

test("attack 244: no token reaches a port before the user continues on a page with the port, account and organization", async () => {
  const program = await listen();
  const page = await open(signInAddress(honest.idp, loopbackOf(program), { create_refresh_token: "true" }));
  assert.equal(program.told.length, 0);
  const shown = await mainText(page);
  const { name } = await world.ok("iam.GroupsService/GetGroup", { uid: world.organization });
  for (const part of [`port ${program.port}`, "Vera Victim", "vera@victim.example", `through ${new URL(honest.provider.url).host}`, String(name)])
    assert.ok(shown.includes(part), part);
  if (screenshots !== "") await page.screenshot({ path: `${screenshots}/loopback.png`, fullPage: true });
  await page.click("button:has-text('Continue')");
  await arrived(page);
  assert.deepEqual(
    program.told.map((query) => [[...query.keys()].sort(), /^ey/.test(query.get("token") ?? "")]),
    [[["refresh_token", "token"], true]],
  );
  assert.equal(new URL(page.url()).hash, "#_");
  await stop(program);
});

test("attack 244: Cancel reports to the program with 403 and without a token", async () => {
  const program = await listen();
  const page = await open(signInAddress(honestWithIss.idp, loopbackOf(program)));
  await page.click("button:has-text('Cancel')");
  await arrived(page);
  assert.deepEqual(
    program.told.map((query) => [...query].sort()),
    [
      [
        ["error", "the user cancelled the sign-in"],
        ["status_code", "403"],
      ],
    ],
  );
  await stop(program);
});

test("attack 244: Continue counts once, however often the form is submitted concurrently", async () => {
  const program = await listen();
  const page = await browser.context.newPage();
  const sent: string[] = [];
  await page.route(`${world.url}/oauth/loopback`, async (route) => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => browser.context.request.fetch(route.request(), { headers: { ...route.request().headers(), origin: world.url } })),
    );
    sent.push(...answers.map((answer) => `${answer.status()} ${answer.headers().refresh?.includes("token=ey") ?? false}`));
    await route.fulfill({ body: "held" });
  });
  await page.goto(signInAddress(honest.idp, loopbackOf(program)));
  await page.click("button:has-text('Continue')");
  await page.getByText("held").waitFor();
  assert.deepEqual(sent.sort(), ["200 true", "400 false", "400 false", "400 false", "400 false"]);
  await stop(program);
});

test("attack 244: the page cannot be framed, and another site's form has no effect", async () => {
  const program = await listen();
  const address = signInAddress(honest.idp, loopbackOf(program));
  const site = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      request.url === "/framed"
        ? `<title>site</title><iframe src="${address.replaceAll("&", "&amp;")}"></iframe>`
        : `<title>site</title><form method="post" action="${world.url}/oauth/loopback"><input name="answer" value="continue"><button>Press</button></form>`,
    );
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  site.unref();
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const page = await open(`${origin}/framed`);
  await page.waitForLoadState("networkidle");
  const [, frame] = page.frames();
  assert.ok(frame);
  assert.equal(await frame.locator("button").count(), 0, "the page can be framed");
  const asked = await open(address);
  const forged = await open(`${origin}/forged`);
  await forged.click("button");
  await forged.getByRole("heading", { name: "Not confirmed" }).waitFor();
  assert.deepEqual(program.told, []);
  await asked.click("button:has-text('Continue')");
  await arrived(asked);
  assert.equal(program.told.length, 1);
  site.closeAllConnections();
  site.close();
  await stop(program);
});

test("attack 244: a program that takes over the port gets nothing by Cancel, an expired page or a used one", async () => {
  const first = await listen();
  const { port } = first;
  const [cancelled, late, answered] = [
    await open(signInAddress(honest.idp, loopbackOf(first))),
    await open(signInAddress(honest.idp, loopbackOf(first))),
    await open(signInAddress(honest.idp, loopbackOf(first))),
  ];
  // On a page without a policy of its own, the form can be kept and sent again.
  const kept: string[] = [];
  await answered.route(`${world.url}/oauth/loopback`, async (route) => {
    kept.push(route.request().postData() ?? "");
    await route.continue();
  });
  await answered.click("button:has-text('Continue')");
  await arrived(answered);
  assert.equal(first.told.length, 1);
  await stop(first);
  const second = await listen(port);
  await cancelled.click("button:has-text('Cancel')");
  await arrived(cancelled);
  const again = await browser.context.request.post(`${world.url}/oauth/loopback`, {
    data: kept[0] ?? "",
    headers: { "content-type": "application/x-www-form-urlencoded", origin: world.url },
  });
  assert.equal(again.status(), 400);
  world.clock.now += limits.loopbackQuestionLifetimeMs;
  await late.click("button:has-text('Continue')");
  await late.getByRole("heading", { name: "Already answered or expired" }).waitFor();
  assert.deepEqual(
    second.told.map((query) => [query.get("token"), query.get("status_code")]),
    [[null, "403"]],
  );
  await stop(second);
});
