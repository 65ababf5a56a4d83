// The source of an event is a URI reference that every receiver can parse, for each form of public address.

import assert from "node:assert/strict";
import { test } from "node:test";
import { finishPulls } from "../../server/registry/resources/distribution/pulls.ts";
import { indexType, openRegistry } from "../registry.ts";
import { openWorld } from "../world.ts";
import { readEvent } from "./receiver.ts";
import { openSink } from "./sink.ts";

/** RFC 3986 §4.1: a URI, a reference with an authority, or a relative reference without a colon in its first segment. */
const uriReference = /^(?:[a-z][a-z0-9+.-]*:|\/\/(?:\[[0-9a-f:.]+\]|[^\s:/[\]]+)(?::\d+)?(?:\/|$)|[^\s:/[\]]*(?:\/|$))/i;

const addresses = {
  "a host name": ["https://gantry.example.com", "gantry.example.com"],
  "a host name with a port": ["http://localhost:8080", "//localhost:8080"],
  "an IPv4 address": ["https://192.0.2.1", "192.0.2.1"],
  "an IPv4 address with a port": ["http://127.0.0.1:8080", "//127.0.0.1:8080"],
  "an IPv6 address": ["https://[2001:db8::1]", "//[2001:db8::1]"],
  "an IPv6 address with a port": ["http://[::1]:8080", "//[::1]:8080"],
} as const;

for (const [form, [publicUrl, registrySource]] of Object.entries(addresses)) {
  test(`with ${form} as its public address, the server sends events with a URI reference as source`, async () => {
    const world = await openWorld({ GANTRY_PUBLIC_URL: publicUrl });
    const sink = await openSink();
    try {
      await world.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: { sink: sink.url } });
      const registry = openRegistry(world.url, `Bearer ${await world.token()}`);
      await registry.pushManifest("first-organization/web", "latest", { schemaVersion: 2, mediaType: indexType, manifests: [] });
      await registry.send("GET", "first-organization/web/manifests/latest");
      await finishPulls(world.server.application.services);
      await world.server.delivery.finish();
      const sources = new Map(sink.got.map(({ headers, body }) => readEvent(headers, body)).map((event) => [event.type, event.validate() && event.source]));
      for (const source of sources.values()) assert.match(String(source), uriReference);
      assert.equal(sources.get("dev.chainguard.registry.push.v1"), registrySource);
      assert.equal(sources.get("dev.chainguard.registry.pull.v1"), registrySource);
      assert.equal(sources.get("dev.chainguard.api.platform.registry.repo.created.v1"), `${publicUrl}/registry/v2/repos`);
    } finally {
      await sink.close();
      await world.close();
    }
  });
}
