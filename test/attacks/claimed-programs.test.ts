// Attack 254: a terminal that claims another program's name, and a victim who receives its code.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { openBrowser } from "../provider.ts";
import { postForm, showConfirmation } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";

let world: World;

before(async () => {
  world = await openWorld({ GANTRY_TRUSTED_PROXIES: "127.0.0.1" });
});
after(() => world?.close());

const minute = 60_000;

/** Opens the confirmation page for a code that a terminal at this address requested. */
const pageFor = async (form: Readonly<Record<string, string>>, address: string, afterMs = 0): Promise<string> => {
  const { status, body } = await postForm(`${world.url}/oauth/device_authorization`, form, { "x-forwarded-for": address });
  assert.equal(status, 200, JSON.stringify(body));
  world.clock.now += afterMs;
  return (await showConfirmation(world, openBrowser(), text(body, "verification_uri_complete"))).text;
};

test("attack 254: the page says that the program's name is unverified, and from where and when the code was requested", async () => {
  const time = new Date(world.clock.now).toISOString().slice(11, 16);
  const page = await pageFor({ client_id: "gantry" }, "203.0.113.7", 3 * minute);
  assert.ok(page.includes("<p>It says it is “gantry”. Any program can say that.</p>"));
  assert.ok(
    page.includes(`<p>The request came from the address 203.0.113.7 at ${time} UTC, 3 minutes ago. This browser has a different address, 127.0.0.1.</p>`),
  );
});

test("attack 254: the page says if the code was requested from the browser's own address", async () => {
  assert.match(
    await pageFor({ client_id: "gantry" }, "127.0.0.1"),
    /from the address 127\.0\.0\.1 at \d\d:\d\d UTC, less than a minute ago\. This browser has the same address\./,
  );
});

test("attack 254: the page says if the program gives no name, and treats its values as text", async () => {
  assert.match(await pageFor({}, "203.0.113.7"), /It does not say which program it is\./);
  assert.match(await pageFor({ client_id: "<b>gantry</b>" }, "203.0.113.7"), /It says it is “&lt;b&gt;gantry&lt;\/b&gt;”\./);
});

test("attack 254: the page says how long access lasts", async () => {
  assert.match(await pageFor({ client_id: "gantry" }, "203.0.113.7"), /<li>Access lasts one hour at most\.<\/li>/);
  assert.match(
    await pageFor({ client_id: "gantry", scope: "offline_access" }, "203.0.113.7"),
    /<li>Access lasts up to \d+ days, if it is used at least every \d+ days\.<\/li>/,
  );
});

test("a code stored without an address, as before an upgrade, is shown without one", async () => {
  const { body } = await postForm(`${world.url}/oauth/device_authorization`, { client_id: "gantry" });
  await world.server.application.services.store.write((rows) => rows.query("update device_codes set wanted = wanted - 'address'"));
  const { text: page } = await showConfirmation(world, openBrowser(), text(body, "verification_uri_complete"));
  assert.match(page, /The request came at \d\d:\d\d UTC, less than a minute ago\./);
});
