// Every event type of the contract, read by the CloudEvents SDK, for each form of public address. The short form checks each type with one address,
// the long form with all. For event contents see test/story/receiver.test.ts.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { registerPerson } from "../../server/application/person.ts";
import { everyCapabilityBut, folder, openStage } from "../conformance/stage.ts";
import { shortOrLong } from "../length.ts";
import { nonEmpty } from "../samples.ts";
import { startIssuer } from "./processes.ts";
import { readEvent } from "./receiver.ts";
import { openSink } from "./sink.ts";

/** RFC 3986 §4.1, §3.2.2: an absolute URI, or `//` with an authority; an IPv6 address is in brackets. */
const uriReference = /^(?:https?:)?\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d+)?(?:\/[^\s]*)?$/;

const addresses = {
  "a host name": "http://gantry.example.com:8080",
  "an IPv4 address": "http://192.0.2.1:8080",
  "an IPv6 address": "http://[2001:db8::1]:8080",
} as const;

const issuer = await startIssuer();
after(() => issuer.close());

for (const [index, [form, publicUrl]] of Object.entries(addresses).entries()) {
  test(`with ${form} as the public address, the CloudEvents SDK reads each event type, and its source is a URI reference`, async () => {
    const stage = await openStage({ GANTRY_PUBLIC_URL: publicUrl });
    const sink = await openSink();
    const { world } = stage;
    try {
      const told = methods.filter((method) => stage.answers(method) && method.event?.audience === "customer");
      const asked = nonEmpty(
        told.filter((_, at) => shortOrLong(at % 3 === index, true)),
        "operation with an event",
      );
      const heard = await world.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: { sink: sink.url } });
      const place = await folder(stage);
      const owner = await stage.holder(everyCapabilityBut(""), world.organization);
      await registerPerson(world.server.application.kernel, { issuer: issuer.url, subject: "known", email: "known@example.com", name: "" });
      /** A subscription that matches no event, so that only the tested one is sent. */
      const deaf = { parent: place, subscription: { sink: sink.url, eventTypes: ["none"] } };
      const subscribe = async (): Promise<string> => text(await world.ok("events.SubscriptionsService/CreateSubscription", deaf), "uid");
      const requestOf = async (method: MethodFact): Promise<{ readonly request: JsonObject; readonly token?: string }> => {
        if (method.rpc === "Register") {
          const groupInvite = { roleUid: builtInRoleUid("viewer"), ttl: "3600s" };
          const { code = "" } = await world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent: world.organization, groupInvite });
          return { request: { code }, token: await issuer.token({ sub: `newcomer-${stage.next()}`, aud: publicUrl }) };
        }
        if (method.rpc === "TestSubscription") return { request: { subscriptionUid: text(heard, "uid") } };
        if (method.rpc === "CreateSubscription") return { request: deaf };
        if (method.rpc === "DeleteSubscription") return { request: { uid: await subscribe() } };
        return { request: await stage.request(method, { place }) };
      };
      for (const method of asked) {
        const { request, token } = await requestOf(method);
        const caller = token === undefined ? await stage.callerOf(method, { uid: owner.uid, token: await world.token(owner.uid) }) : { token };
        const answer = await stage.call("rest", method, request, { token: caller.token });
        assert.equal(answer.code, 0, `${method.name}: ${answer.message}`);
        await world.server.delivery.finish();
      }
      const events = sink.got.map(({ headers, body }) => readEvent(headers, body));
      for (const event of events) {
        assert.ok(event.validate(), event.type);
        assert.match(event.source, uriReference, event.type);
        assert.ok(event.source.includes(new URL(publicUrl).host), `${event.type} of ${event.source}`);
      }
      const types = new Set(events.map(({ type }) => type));
      assert.deepEqual(
        asked.filter(({ event }) => !types.has(event?.type ?? "")).map(({ name }) => name),
        [],
      );
    } finally {
      await sink.close();
      await stage.close();
    }
  });
}
