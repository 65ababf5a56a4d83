// Compares the package's client with the contract's test client (test/client.ts), which shares no code with it: both get the same response for
// every operation over REST and gRPC.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fromJson, toJson } from "@bufbuild/protobuf";
import type { Json, JsonObject } from "#base/json.ts";
import { ApiError, createClient } from "#contract-client";
import { methods, views } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import { isViewed, type MethodFact } from "#contract/facts.ts";
import { requestInView } from "#contract/views.ts";
import { answerableRequest, folder, isBesideOpen, openStage, protocolsOf } from "../conformance/stage.ts";
import { nonEmpty } from "../samples.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const place = await folder(stage);
const operator = await stage.operator();
const transports = ["rest", "grpc"] as const;

const held = await stage.stranger(world.organization);
const stranger = (): Promise<string> => world.token(held.uid);

/** Returns everything visible of an error except the request ID. */
const errorText = (thrown: unknown): unknown => {
  assert.ok(thrown instanceof ApiError, String(thrown));
  const { code, reason, message, violations, retryDelayMs, metadata, details } = thrown;
  return { code, reason, message, violations, retryDelayMs, metadata, details: details.filter((detail) => !detail["@type"].endsWith("RequestInfo")) };
};

const answered = nonEmpty(
  methods.filter((method) => stage.answers(method) && method.distribution === undefined && !method.givesFile && !isBesideOpen(method)),
  "operation with an answer",
);

/** Fields stored as given, without defaults, and group fields that version 1 omits. */
const asGiven = new Set(["uniqueTags", "gracePeriod", "verified"]);

/** Replaces new uids and sealed tokens, which differ each time, and drops zero numbers. */
const settled = (json: Json, request: JsonObject): Json => {
  const asked = JSON.stringify(request);
  return JSON.parse(
    JSON.stringify(json, (key, value: Json) => {
      if (["nextPageToken", "token", "eventId", "name", "keyId"].includes(key) && typeof value === "string") return key;
      if (value === 0 || value === "0" || (value === false && asGiven.has(key))) return undefined;
      if (typeof value !== "string") return value;
      return value.replace(/[0-9a-f]{40}(?:\/[0-9a-f]{16})*|[0-9a-f]{32}/g, (uid) => (asked.includes(uid) ? uid : "new"));
    }),
  ) as Json;
};

const canonical = ({ output }: MethodFact, reply: JsonObject): JsonObject =>
  toJson(messageDescriptor(output), fromJson(messageDescriptor(output), reply, { registry }), { registry }) as JsonObject;

const answeredInVersion1 = nonEmpty(
  views.filter(({ view }) => answered.includes(view.of)),
  "operation of version 1 with an answer",
);

/** Returns a valid request; for version 1, the same as its counterpart, without values that both a field and the group filter could carry. */
const requestOf = async (method: MethodFact): Promise<JsonObject> => {
  if (!isViewed(method)) {
    const given = await answerableRequest(stage, method, place, true);
    // Counts by day are those of one organization.
    return method.rpc.endsWith("History") && method.input.byName.has("uidp") ? { ...given, uidp: { descendantsOf: place } } : given;
  }
  const request = await answerableRequest(stage, method.view.of, place, true);
  const said = Object.entries(requestInView(method, request)).filter(
    ([key]) => !request.uidp || !method.input.byName.get(key)?.counterpart?.path.startsWith("uidp."),
  );
  // Version 1 lists with the parent in the path.
  const inPath = method.http.flatMap(({ template }) =>
    [...template.matchAll(/\{(\w+)=/g)].flatMap(([, name = ""]) => method.input.byName.get(name)?.json ?? []),
  );
  const parents = inPath.map((name) => [name, place] as const);
  return Object.fromEntries([...parents, ...said]);
};

const clients = new Map<string, ReturnType<typeof createClient>>();

/** One for each token: each keeps its connection, and a server limits the number of connections from an address. */
const clientOf = (transport: (typeof transports)[number], token: string | undefined): ReturnType<typeof createClient> => {
  const key = JSON.stringify([transport, token]);
  const client = clients.get(key) ?? createClient({ server: world.url, token, transport });
  clients.set(key, client);
  return client;
};

for (const method of [...answered, ...answeredInVersion1]) {
  test(`${method.name}: the client gets the same response as any other client, over each protocol`, async () => {
    const request = await requestOf(method);
    const validateOnly = method.writes && !method.credentials;
    const replies: JsonObject[] = [];
    for (const transport of transports) {
      if (!protocolsOf(method).includes(transport)) continue;
      await stage.putBack(method, request);
      const { token } = await stage.callerOf(method, { uid: "", token: operator });
      replies.push(await clientOf(transport, token).call(method, request, { validateOnly }));
    }
    await stage.putBack(method, request);
    const { token } = await stage.callerOf(method, { uid: "", token: operator });
    const other = await stage.call("rest", method, request, { token, validateOnly });
    assert.equal(other.code, 0, other.message);
    for (const reply of replies) {
      assert.deepEqual(settled(canonical(method, reply), request), settled(canonical(method, other.reply), request));
      assert.deepEqual(settled(reply, request), settled(other.reply, request), "in REST's own shape");
    }

    for (const refused of [undefined, "no token of anybody", await stranger()]) {
      const errors = await Promise.all(
        transports.flatMap((transport) =>
          protocolsOf(method).includes(transport)
            ? [
                clientOf(transport, refused)
                  .call(method, request, { validateOnly })
                  .then(() => undefined, errorText),
              ]
            : [],
        ),
      );
      for (const error of errors) assert.deepEqual(error, errors[0]);
    }
  });
}
