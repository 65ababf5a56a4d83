// Attacks on the choice of a sign-in provider, and on what it reveals about others' identities and providers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { newChild } from "#base/uid.ts";
import { callbackUrl, type FakeProvider, openBrowser, openProvider, registerProvider, signInUrl } from "../provider.ts";
import { confirmAs, requestDeviceCodes, showConfirmation } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let provider: FakeProvider;
let idp: string;

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
});
after(async () => {
  await world?.close();
  await provider?.close();
});

test("attack 79: any token can look up identities by uid, but one of another kind or issuer looks missing", async () => {
  const make = async (identity: object): Promise<string> =>
    String((await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "robot", ...identity } })).uid);
  const uids = [
    await make({ claimMatch: { issuer: "https://ci.example.com", subject: "s" } }),
    await make({ awsIdentity: { awsAccount: "123456789012", arn: "arn:aws:iam::123456789012:role/x", userId: "AIDA" } }),
    await make({ claimMatch: { issuerPattern: "https://ci\\.example\\.com/.*", subjectPattern: ".*" } }),
    newChild(world.organization),
  ];
  const token = await world.token();
  const exchange = async (identity: string): Promise<string> => {
    const response = await fetch(`${world.url}/sts/exchange`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: new URLSearchParams({ identity }),
    });
    return `${response.status} ${await response.text()}`;
  };
  const [unknown = "", ...others] = (await Promise.all(uids.map(exchange))).reverse();
  assert.match(unknown, /^403 .*invalid \\"iss\\": no identity of this uid takes tokens of the issuer/);
  for (const other of others) assert.equal(other.replace(/"requestId":"[^"]*"/, ""), unknown.replace(/"requestId":"[^"]*"/, ""));
});

test("attack 80: a user with a self-chosen name is shown with the verified email address and the provider's host", async () => {
  const { host } = new URL(provider.url);
  const name = `Root (root@acme.example) through login.acme.example\u202E<b>${"x".repeat(500)}`;
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  const { text: shown } = await confirmAs(world, provider, codes.page, { sub: "mallory", name, email: "mallory@example.test", email_verified: true });
  assert.match(
    shown,
    /<strong><bdi>Root \(root@acme\.example\) through login\.acme\.example &lt;b&gt;x{10,40}…<\/bdi><\/strong><br><bdi>mallory@example\.test<\/bdi>/,
  );
  assert.ok(shown.includes(`<small>through ${host}</small>`) && !shown.includes("\u202E") && !shown.includes("<b>"));
  const browser = openBrowser();
  const question = new URL((await browser.get(signInUrl(world, { idp_id: idp, redirect: "" }))).location);
  const page = await browser.get(
    callbackUrl(provider, question, provider.vouch(question, { sub: "nameless", email: "root@acme.example", email_verified: false })),
  );
  assert.match(page.text, new RegExp(`<strong><bdi>nameless</bdi></strong><br><small>through ${host}</small>`));
  assert.doesNotMatch(page.text, /root@acme/, "an address that nobody verified is not shown");
});

test("attack 80: an imitated provider name is never listed, and with two tenants no provider is", async () => {
  const lists = async (): Promise<boolean[]> => {
    const codes = await requestDeviceCodes(world);
    const shown = [
      await openBrowser().get(signInUrl(world, {})),
      await openBrowser().get(signInUrl(world, { idp_id: "acme", chosen: "true" })),
      await showConfirmation(world, openBrowser(), codes.page),
      await openBrowser().get(`${world.url}/oauth/providers`),
      await openBrowser().get(`${world.url}/oauth/providers?name=acme`),
    ];
    return shown.map(({ text }) => /people|acme/.test(text.replace('value="acme"', "")));
  };
  assert.deepEqual(await lists(), [true, true, true, true, true]);
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "mallory" } });
  const made = await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent: String(uid),
    identityProvider: { name: "sign in with acme", defaultRole: builtInRoleUid("viewer"), oidc: { issuer: provider.url, clientId: "x", clientSecret: "y" } },
  });
  assert.deepEqual(await lists(), [false, false, false, false, false]);
  await world.ok("iam.IdentityProvidersService/DeleteIdentityProvider", { uid: String(made.uid) });
  assert.deepEqual(await lists(), [true, true, true, true, true]);
});

test("attack 80: if users can create organizations, no provider is listed, however few users there are", async () => {
  const open = await openWorld({ GANTRY_OPEN_ORGANIZATIONS: "true" });
  try {
    await registerProvider(open, provider);
    const { status, text } = await openBrowser().get(signInUrl(open, {}));
    assert.deepEqual([status, /people/.test(text), /Your organization/.test(text)], [200, false, true]);
    assert.deepEqual(await (await fetch(`${open.url}/oauth/providers`)).json(), { providers: [] });
  } finally {
    await open.close();
  }
});
