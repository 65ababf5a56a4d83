// Deliveries that a receiver must refuse, forged from real ones: `verifyWebhook` of @gantry/client against the server's deliveries.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { clientLimits } from "#base/client-limits.ts";
import { verifyWebhook, WebhookError, type WebhookEvent, type WebhookOptions, type WebhookProblem } from "../../client/package.ts";
import { openWorld } from "../world.ts";
import { openSink, type ReceivedEvent } from "../story/sink.ts";

const world = await openWorld({ GANTRY_DELIVERY_DELAYS: "0,5,60" });
const sink = await openSink();
after(async () => {
  await world.close();
  await sink.close();
});

const { uid, secret } = (await world.ok("events.SubscriptionsService/CreateSubscription", {
  parent: world.organization,
  subscription: { sink: sink.url },
})) as { readonly uid: string; readonly secret: string };

const deliver = async (name: string): Promise<ReceivedEvent> => {
  await world.server.delivery.finish();
  sink.got.length = 0;
  await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name } });
  await world.server.delivery.finish();
  const [got] = sink.got;
  assert.ok(got);
  return got;
};

const clock = (): number => world.clock.now;
const verify = (request: ReceivedEvent, options: Partial<WebhookOptions> = {}): Promise<WebhookEvent> => verifyWebhook(request, { secret, clock, ...options });
const refuses = (request: ReceivedEvent, problem: WebhookProblem, options: Partial<WebhookOptions> = {}): Promise<void> =>
  assert.rejects(verify(request, options), (error) => error instanceof WebhookError && error.problem === problem);

const genuine = await deliver("app");
const withHeaders = (headers: Readonly<Record<string, string | undefined>>): ReceivedEvent => ({ ...genuine, headers: { ...genuine.headers, ...headers } });

/** Signs as a holder of this secret does. */
const signatureOf = (by: string, { headers, body }: ReceivedEvent): string =>
  `v1,${createHmac("sha256", Buffer.from(by, "base64")).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64")}`;

test("a delivery of the server is accepted, in each form that a handler receives", async () => {
  const event = await verify(genuine);
  assert.deepEqual(
    [event.type, event.body.name, event.id, event.group, event.sentAt.getTime()],
    ["dev.chainguard.api.platform.registry.repo.created.v1", "app", genuine.headers["webhook-id"], world.organization, Math.floor(clock() / 1000) * 1000],
  );
  assert.ok(Object.keys(event.actor).length > 0);
  const headers = new Headers(
    Object.entries(genuine.headers).flatMap(([name, value]): [string, string][] => (typeof value === "string" ? [[name, value]] : [])),
  );
  const forms = [new Request(sink.url, { method: "POST", headers, body: genuine.body }), { headers, body: new TextEncoder().encode(genuine.body) }];
  for (const request of forms) assert.deepEqual(await verifyWebhook(request, { secret, clock }), event);
});

test("attack 320: a delivery replayed after five minutes, or dated in the future, is refused", async () => {
  const off = clientLimits.webhookToleranceMs + 1000;
  for (const ms of [off, -off]) await refuses(genuine, "TIME_OUT_OF_RANGE", { clock: () => clock() + ms });
  await verify(genuine, { clock: () => clock() + off, toleranceMs: 2 * off });
  const later = String(Math.floor(clock() / 1000) + 60);
  await refuses(withHeaders({ "webhook-timestamp": later }), "SIGNATURE_MISMATCH");
  for (const timestamp of ["", "0", "-1", "1e99", "NaN", "Infinity", `${later}.5`, ` ${later}`, `+${later}`, `${later}000`])
    await refuses(withHeaders({ "webhook-timestamp": timestamp }), timestamp === "" ? "HEADER_MISSING" : "TIME_OUT_OF_RANGE");
  // A repeated delivery within the time window has the ID of the first.
  assert.equal((await verify(genuine)).id, (await verify(genuine)).id);
  await refuses(withHeaders({ "webhook-id": "another" }), "SIGNATURE_MISMATCH");
});

test("attack 321: a delivery without a signature, or signed by another or empty secret, is refused; during a rotation both secrets work", async () => {
  const other = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  await refuses(genuine, "SIGNATURE_MISMATCH", { secret: other });
  await refuses(withHeaders({ "webhook-signature": signatureOf(other.slice("whsec_".length), genuine) }), "SIGNATURE_MISMATCH");
  const forged = signatureOf("", genuine);
  for (const empty of ["", "whsec_", "whsec_!", secret.slice("whsec_".length), other.toUpperCase()])
    await refuses(withHeaders({ "webhook-signature": forged }), "SECRET_INVALID", { secret: empty });
  await refuses(genuine, "SIGNATURE_MISMATCH", { secret: [] });
  const given = String(genuine.headers["webhook-signature"]);
  for (const signature of ["v1,", "v1", "v1,!!", given.slice("v1,".length), given.replace("v1,", "v2,"), given.slice(0, -8), `${given}A`])
    await refuses(withHeaders({ "webhook-signature": signature }), "SIGNATURE_MISMATCH");
  await refuses(withHeaders({ "webhook-signature": undefined }), "HEADER_MISSING");
  await verify(withHeaders({ "webhook-signature": `v1,AAAA ${given}` }));
  const rotated: JsonObject = await world.ok("gantry.events.v1.DeliveriesService/RotateSubscriptionSecret", { subscriptionUid: uid, overlap: "3600s" });
  const signedTwice = await deliver("rotated");
  for (const each of [secret, String(rotated.secret)]) assert.equal((await verify(signedTwice, { secret: each })).body.name, "rotated");
  await verify(genuine, { secret: [String(rotated.secret), secret] });
});

test("attack 322: a delivery with a body that was changed, re-encoded or moved between the signed parts is refused", async () => {
  const { body, headers } = genuine;
  for (const changed of ["", `${body} `, body.replace('"app"', '"ap"'), JSON.stringify(JSON.parse(body), undefined, 1), `${body}${body}`])
    await refuses({ headers, body: changed }, "SIGNATURE_MISMATCH");
  // The signed text is "id.time.body": the dots must not let one part start in another.
  const [id, time] = [String(headers["webhook-id"]), String(headers["webhook-timestamp"])];
  await refuses({ headers: { ...headers, "webhook-id": `${id}.${time}` }, body: body.slice(time.length + 1) }, "SIGNATURE_MISMATCH");
  // Signed, but no event, so useless to a receiver.
  for (const other of ["[]", "null", "1", "{"]) {
    const request = { headers, body: other };
    const signature = signatureOf(secret.slice("whsec_".length), request);
    await refuses({ headers: { ...headers, "webhook-signature": signature }, body: other }, "BODY_INVALID");
  }
});
