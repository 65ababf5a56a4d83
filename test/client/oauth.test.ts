// Sign-ins of @gantry/client against a server and a provider: by device code, through a browser, and with refresh.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Gantry, finishSignIn, OAuthError, refreshedToken, signInWithDevice, startSignIn, type DeviceCode, type Tokens } from "../../client/package.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { allow, answerPage, clientRedirect, openClientHost } from "../authorization.ts";
import { openBrowser, openProvider, registerProvider } from "../provider.ts";
import { confirmAs } from "../terminal.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
const provider = await openProvider(() => world.clock.now);
const identityProvider = await registerProvider(world, provider);
const host = await openClientHost();
after(async () => {
  await world.close();
  await provider.close();
  await host.close();
});

const server = world.url;
const refusesWith = (work: Promise<unknown>, error: string): Promise<void> =>
  assert.rejects(work, (thrown) => thrown instanceof OAuthError && thrown.error === error);

test("a code that the user confirms in a browser signs a device in, which polls no faster than allowed", async () => {
  let shown: DeviceCode | undefined;
  const waits: number[] = [];
  const tokens = await signInWithDevice({
    server: `${server}/`,
    clientId: "a tool",
    scope: `${world.organization} offline_access`,
    capabilities: ["repo.list"],
    identityProvider,
    onCode: (code) => {
      shown = code;
    },
    // The first poll comes before the confirmation.
    wait: async (ms) => {
      world.clock.now += ms;
      if (waits.push(ms) === 2) await confirmAs(world, provider, shown?.url ?? "", { sub: "ada" });
    },
  });
  assert.deepEqual(waits, [5000, 5000]);
  assert.ok(shown && /^[A-Z]{4}-[A-Z]{4}$/.test(shown.code) && shown.url.endsWith(shown.code) && shown.expiresInMs === 900_000);
  const claims = claimsOf(tokens.accessToken);
  assert.deepEqual([claims.aud, claims.gantry_cap, claims.gantry_scopes], [server, ["repo.list"], [world.organization]]);
  assert.ok(tokens.refreshToken !== undefined && tokens.expiresInMs > 3_500_000);
});

test("an expired code ends the sign-in, and so does its signal", async () => {
  const options = { server, onCode: () => {} };
  const wait = async (): Promise<void> => {
    world.clock.now += 16 * 60 * 1000;
  };
  await refusesWith(signInWithDevice({ ...options, wait }), "expired_token");
  const reason = new Error("enough");
  const stop = new AbortController();
  const stopped = (): Promise<void> => {
    stop.abort(reason);
    return Promise.reject(stop.signal.reason);
  };
  await assert.rejects(signInWithDevice({ ...options, signal: stop.signal, wait: stopped }), reason);
});

const clientId = host.put("/agent/client.json");

/** Returns the address to which the browser returns after consent. */
const allowed = async (url: string): Promise<string> => `${clientRedirect}?${await allow(world, provider, new URL(url))}`;

test("a user who consents signs a program in through a browser, with PKCE, once", async () => {
  const { url, pending } = await startSignIn({ server, clientId, redirectUri: clientRedirect, scope: "offline_access groups.list" });
  const returnedTo = await allowed(`${url}&idp_id=${encodeURIComponent(identityProvider)}`);
  // Serialized as a page stores it while the browser is elsewhere.
  const kept = JSON.parse(JSON.stringify(pending)) as typeof pending;
  const signedIn: Tokens = await finishSignIn(kept, returnedTo);
  assert.deepEqual(claimsOf(signedIn.accessToken).gantry_cap, ["groups.list"]);
  const gantry = new Gantry({ server, token: signedIn.accessToken });
  assert.ok(Array.isArray((await gantry.iam.groups.list().page()).groups));
  await refusesWith(finishSignIn(kept, returnedTo), "invalid_grant");
});

test("an address of another sign-in, server or verifier is refused", async () => {
  const { url, pending } = await startSignIn({ server, clientId, redirectUri: clientRedirect });
  const returnedTo = new URL(await allowed(`${url}&idp_id=${encodeURIComponent(identityProvider)}`));
  const changed = (name: string, value: string): URL => {
    const other = new URL(returnedTo);
    other.searchParams.set(name, value);
    return other;
  };
  await refusesWith(finishSignIn(pending, changed("state", "other")), "invalid_response");
  await refusesWith(finishSignIn({ ...pending, state: "" }, changed("state", "")), "invalid_response");
  await refusesWith(finishSignIn(pending, changed("iss", "https://other.example.com")), "invalid_response");
  await refusesWith(finishSignIn({ ...pending, verifier: `${pending.verifier.slice(0, -1)}~` }, returnedTo), "invalid_grant");
});

test("a refusal by the user is an error that the program can distinguish", async () => {
  const { url, pending } = await startSignIn({ server, clientId, redirectUri: clientRedirect });
  const browser = openBrowser();
  const refused = await answerPage(world, browser, await browser.get(new URL(url)), "refuse");
  const returnedTo = refused.location || (/0;url=(.*)$/.exec(refused.headers.get("refresh") ?? "")?.[1] ?? "");
  await refusesWith(finishSignIn(pending, returnedTo), "access_denied");
});

test("a signed-in user stays signed in: tokens are renewed before expiry, and each refresh token is stored before use", async () => {
  const { url, pending } = await startSignIn({ server, clientId, redirectUri: clientRedirect, scope: "offline_access groups.list" });
  const signedIn = await finishSignIn(pending, await allowed(`${url}&idp_id=${encodeURIComponent(identityProvider)}`));
  const stored: (string | undefined)[] = [];
  const token = refreshedToken({
    server,
    clientId,
    tokens: signedIn,
    clock: () => world.clock.now,
    onRefresh: ({ refreshToken }) => void stored.push(refreshToken),
  });
  const gantry = new Gantry({ server, token });
  const list = (): Promise<unknown> => gantry.iam.groups.list().page();
  await list();
  assert.equal(stored.length, 0);
  for (let renewals = 1; renewals <= 2; renewals++) {
    world.clock.now += 56 * 60 * 1000;
    await Promise.all([list(), list()]);
    assert.equal(new Set(stored).size, renewals);
  }
  assert.ok(!stored.includes(signedIn.refreshToken));
  const { refreshToken: _refreshToken, ...without } = signedIn;
  const ended = refreshedToken({ server, clientId, tokens: { ...without, refreshToken: undefined, expiresInMs: 0 }, onRefresh: () => {} });
  const source = new Gantry({ server, token: ended });
  await refusesWith(source.iam.groups.list().toArray({ limit: 1 }), "invalid_grant");
});

test("a server with another issuer, and one that is not Gantry, are refused", async () => {
  const answer = (body: object | string) => async (): Promise<Response> => new Response(typeof body === "string" ? body : JSON.stringify(body));
  for (const body of [
    "<html>",
    "[]",
    { issuer: "https://other.example.com" },
    { issuer: server },
    { issuer: server, device_authorization_endpoint: "javascript:1" },
  ])
    await refusesWith(signInWithDevice({ server, onCode: () => {}, fetch: answer(body) }), "invalid_response");
});
