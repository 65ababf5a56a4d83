// Version 1 is a second form of version 2 (requirement: Versioning 3). Each view is compared with its counterpart, which the other suites
// cover: same permissions, errors and results, under version 1 names. New views are covered automatically.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fromJson } from "@bufbuild/protobuf";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, objectList, text } from "#base/json.ts";
import { methods, version1, views } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import { type FieldFact, isViewed, type MessageFact, type MethodFact, type ViewedMethodFact } from "#contract/facts.ts";
import { linksOfMethod } from "#contract/links.ts";
import { replyInView, requestInView } from "#contract/views.ts";
import { signedInType } from "#outbox";
import { type Answer, callHttp, restRequest } from "../client.ts";
import { oneOrAll } from "../length.ts";
import { bodyField, nonEmpty, valueAt, withValue } from "../samples.ts";
import { grown, requestsOfGrown } from "./grown.ts";
import {
  comparableAnswer,
  everyCapabilityBut,
  folder,
  groupMessage,
  isForEverybody,
  neighbour,
  openStage,
  pluralOf,
  protocols,
  type RequestOptions,
  rowMessage,
  unusedUid,
} from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const place = await folder(stage);
const other = await neighbour(stage);
const nobody = await stage.stranger(world.organization);
const owner = await stage.holder(everyCapabilityBut(""), world.organization);

const done = 0;
const all = nonEmpty(views, "operation of version 1");
const writes = nonEmpty(
  all.filter((method) => method.writes),
  "write",
);
const lists = nonEmpty(
  all.filter((method) => method.view.of.input.byName.has("page_token")),
  "list",
);

/** Returns a valid request of version 2, and the same in version 1's form. */
const asked = async (method: ViewedMethodFact, options: RequestOptions): Promise<{ readonly first: JsonObject; readonly second: JsonObject }> => {
  const { of } = method.view;
  const grows = requestsOfGrown[rowMessage(of)?.name ?? ""] ?? {};
  const second = { ...(await stage.request(of, options)), ...grows };
  return { second, first: inView(method, second) };
};

/** Converts a request to version 1; if both a field and the group filter fit, uses the filter. */
const inView = (method: ViewedMethodFact, request: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(requestInView(method, request)).filter(([key]) => !request.uidp || !method.input.byName.get(key)?.counterpart?.path.startsWith("uidp.")),
  );

/** Returns the authorization result: the code, and the message without uids. */
const verdict = ({ code, message }: Answer): string => `${code} ${message.replace(/[0-9a-f]{40}(?:\/[0-9a-f]{16})*/g, "<uid>")}`;

const assertUntyped = (answer: Answer): void => assert.deepEqual(answer.details, [], "version 1 has no typed details");

const everyPage = async (of: MethodFact, request: JsonObject, token: string | undefined): Promise<JsonObject[]> => {
  const rows: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const { code, message, reply } = await stage.call("rest", of, { ...request, pageSize: 200, ...(pageToken && { pageToken }) }, { token });
    assert.equal(code, done, message);
    rows.push(...objectList(reply, pluralOf(of)));
    pageToken = text(reply, "nextPageToken");
    if (pageToken === "") return rows;
  }
};

/** Removes values that gRPC's JSON cannot distinguish from absence, and unifies times. */
const sparse = (value: Json): Json => {
  if (typeof value === "string") return value.replace(/(T\d\d:\d\d:\d\d)(?:\.0+)?Z$/, "$1Z").replace(/(\.\d*?[1-9])0+Z$/, "$1Z");
  if (Array.isArray(value)) return value.map(sparse);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== false && entry !== "" && entry !== 0 && entry !== "0" && !(Array.isArray(entry) && entry.length === 0))
      .map(([key, entry]) => [key, sparse(entry)]),
  );
};

test("every field of version 1 has a counterpart or is declared without one", () => {
  for (const method of all) assert.ok(linksOfMethod(method));
  const absent = all.flatMap(({ input, output }) => [input, output]).flatMap(fieldsWithin);
  assert.deepEqual([...new Set(absent)].sort(), [
    "chainguard.platform.events.IdentityMetadata.OnboardingQuestions.providers",
    "chainguard.platform.iam.RoleBindingList.Binding.email_unverified",
    "chainguard.platform.libraries.ArtifactFilter.include_upstream",
    "chainguard.platform.libraries.ArtifactVersion.malware_malicious",
    "chainguard.platform.libraries.ArtifactVersion.malware_scanned",
    "chainguard.platform.libraries.ArtifactVersion.source_type",
    "chainguard.platform.libraries.ArtifactVersion.upstream_published_date",
    "chainguard.platform.libraries.ArtifactVersionFilter.include_upstream",
    "chainguard.platform.registry.SyncConfig.sync_apks",
    "chainguard.platform.vulnerabilities.v1.AdvisoriesList.id",
    "chainguard.platform.vulnerabilities.v1.AdvisoryEvent.component_location_changed",
    "chainguard.platform.vulnerabilities.v1.AdvisoryEventList.parent_id",
  ]);
});

const fieldsWithin = (message: MessageFact): string[] =>
  message.fields.flatMap((field) => [
    ...(field.counterpart?.absent ? [`${message.name}.${field.name}`] : []),
    ...(field.message?.name.startsWith("chainguard.") ? fieldsWithin(field.message) : []),
  ]);

test("version 1 can express every required field of version 2", () => {
  for (const method of all) {
    const { of } = method.view;
    const reached = new Set(linksOfMethod(method).request.map(({ path }) => path[0]?.name));
    const needed = of.input.fields.filter((field) => field.required && !reached.has(field.name)).map(({ name }) => name);
    assert.deepEqual(needed, [], method.name);
  }
});

test("the group where capabilities are needed is a field of version 1 too", () => {
  for (const method of all) assert.equal(method.scope === undefined, method.view.of.scope === undefined, method.name);
});

/** Returns a request of any version 1 operation for a missing resource. */
const about = async (method: MethodFact): Promise<JsonObject> =>
  isViewed(method) ? (await asked(method, { place, uid: unusedUid(place) })).first : stage.request(method, { place, uid: unusedUid(place) });

for (const method of version1.filter(({ open }) => !open)) {
  test(`${method.name} authenticates the caller: without a token or with a wrong one it is UNAUTHENTICATED`, async () => {
    const first = await about(method);
    for (const protocol of oneOrAll(protocols)) {
      for (const token of [undefined, "garbage"]) {
        const answer = await stage.call(protocol, method, first, { token });
        assert.equal(answer.code, codes.UNAUTHENTICATED, answer.message);
        assert.equal(answer.headers["www-authenticate"], "Bearer");
        assertUntyped(answer);
      }
    }
  });
}

for (const method of all.filter(({ view }) => view.of.scope)) {
  test(`${method.name}: neither a stranger nor another organization's owner can detect what exists`, async () => {
    const { first } = await asked(method, { place });
    const uid = String(valueAt(first, method.scope ?? []));
    const absentUid = unusedUid(uid);
    const absent = JSON.parse(JSON.stringify(first).replaceAll(uid, absentUid)) as JsonObject;
    for (const protocol of oneOrAll(protocols)) {
      for (const { token } of [nobody, other.owner]) {
        const refusal = await stage.call(protocol, method, first, { token });
        assert.equal(refusal.code, codes.PERMISSION_DENIED, refusal.message);
        assertUntyped(refusal);
        assert.equal(comparableAnswer(refusal, uid), comparableAnswer(await stage.call(protocol, method, absent, { token }), absentUid));
      }
    }
  });
}

for (const method of all.filter(({ capabilities, open }) => capabilities.length > 0 && !open)) {
  test(`${method.name} requires exactly ${method.capabilities.join(" and ")}`, async () => {
    const { of } = method.view;
    const { token } = await stage.holder(method.capabilities, stage.needsAt(of, place));
    for (const protocol of oneOrAll(protocols)) {
      const { first } = await asked(method, { place, capabilities: method.capabilities });
      const answer = await stage.call(protocol, method, first, { token });
      // No image is pushed, so NOT_FOUND proves permission.
      const absent = answer.code === codes.NOT_FOUND && !method.writes && of.input.byName.has("digest");
      if (!absent) assert.equal(answer.code, done, answer.message);
    }
  });

  for (const missing of method.capabilities) {
    test(`${method.name} is refused, with version 2's message, with every capability except ${missing}`, async () => {
      const { of } = method.view;
      const { token } = await stage.holder(everyCapabilityBut(missing), place);
      for (const protocol of oneOrAll(protocols)) {
        const { first, second } = await asked(method, { place, capabilities: ["groups.list"] });
        const [one, two] = [await stage.call(protocol, method, first, { token }), await stage.call(protocol, of, second, { token })];
        assert.equal(verdict(one), verdict(two));
        if (one.code === done) assert.deepEqual(sparse(one.reply), sparse(replyInView(method, two.reply)), "an empty list");
      }
    });
  }
}

/** Implemented operations that only version 1 has. */
const own = nonEmpty(
  version1.filter((method) => !isViewed(method) && !method.open && method.capabilities.length > 0 && stage.answers(method)),
  "operation of version 1 alone",
);

/** Returns true for success, and for reads that miss an uncreated or unpushed resource. */
const isAllowed = ({ writes }: MethodFact, { code }: Answer): boolean =>
  code === done || (!writes && (code === codes.NOT_FOUND || code === codes.INVALID_ARGUMENT));

/** Only the operator can call this operation, with any capabilities (test/attacks/invites.test.ts). */
const byOperator = "chainguard.platform.iam.GroupInvites/CreateWithGroup";

for (const method of own) {
  test(`${method.name}, version 1 only, requires exactly ${method.capabilities.join(" and ")}`, async () => {
    // Settings belong to an organization, not a subgroup.
    const ofOrganization = method.input.byName.has("registry_id");
    const { token } = await stage.holder(method.capabilities, ofOrganization ? world.organization : place);
    for (const protocol of oneOrAll(protocols)) {
      const request = await stage.request(method, ofOrganization ? { uid: world.organization } : { place });
      const answer = await stage.call(protocol, method, request, { token });
      if (method.name === byOperator) assert.equal(answer.code, codes.PERMISSION_DENIED);
      else assert.ok(isAllowed(method, answer), `${answer.code} ${answer.message}`);
    }
  });

  for (const missing of method.capabilities) {
    test(`${method.name}, version 1 only, is refused with every capability except ${missing}, and changes nothing`, async () => {
      const { token } = await stage.holder(everyCapabilityBut(missing), world.organization);
      for (const protocol of oneOrAll(protocols)) {
        const request = await stage.request(method, { place });
        const before = method.writes ? await stage.fingerprint() : "";
        const answer = await stage.call(protocol, method, request, { token });
        // An unscoped one shows nothing; a lookup by name finds nothing.
        if (method.unscoped) assert.ok(answer.code === done || answer.code === codes.NOT_FOUND || answer.code === codes.PERMISSION_DENIED, answer.message);
        else assert.equal(answer.code, codes.PERMISSION_DENIED, answer.message);
        if (method.writes) assert.equal(await stage.fingerprint(), before);
      }
    });
  }

  test(`${method.name}, version 1 only, reveals existence to neither a stranger nor another organization's owner`, async () => {
    const request = await stage.request(method, { place });
    const uid = method.scope ? String(valueAt(request, method.scope)) : unusedUid(place);
    const absentUid = unusedUid(uid);
    const absent = JSON.parse(JSON.stringify(request).replaceAll(uid, absentUid)) as JsonObject;
    for (const protocol of oneOrAll(protocols)) {
      for (const { token } of [nobody, other.owner]) {
        const answer = await stage.call(protocol, method, request, { token });
        if (method.scope) assert.equal(answer.code, codes.PERMISSION_DENIED, answer.message);
        assert.ok(!JSON.stringify(answer.reply).includes(world.organization), "nothing of others is shown");
        assert.equal(comparableAnswer(answer, uid), comparableAnswer(await stage.call(protocol, method, absent, { token }), absentUid));
      }
    }
  });
}

for (const method of all.filter((each) => isForEverybody(each.view.of))) {
  test(`${method.name} requires a token and no capability`, async () => {
    for (const protocol of oneOrAll(protocols)) {
      const { token } = await stage.callerOf(method.view.of, nobody);
      const { first } = await asked(method, {});
      const answer = await stage.call(protocol, method, first, { token });
      assert.equal(answer.code, done, answer.message);
    }
  });
}

for (const method of lists) {
  test(`${method.name} shows each caller the same as version 2, unpaged, and an empty list if there is nothing`, async () => {
    const { of } = method.view;
    const shown = rowMessage(of)?.name ?? "";
    for (const where of [place, other.organization]) {
      const maker = methods.find((each) => each.output.name === shown && each.rpc.startsWith("Create"));
      if (grown[shown] || maker) await stage.make(shown, { place: where });
    }
    const { second } = await asked(method, { place });
    const narrowed = of.input.byName.has("uidp") && method.input.byName.has("uidp");
    const requests = [
      second,
      ...(narrowed
        ? [
            { ...second, uidp: { descendantsOf: world.organization } },
            { ...second, uidp: { ids: [unusedUid(place)] } },
          ]
        : []),
    ];
    for (const request of requests) {
      for (const token of [await stage.operator(), owner.token, nobody.token, other.owner.token]) {
        const allowed = await stage.call("rest", of, { ...request, pageSize: 200 }, { token });
        for (const protocol of oneOrAll(protocols)) {
          const answer = await stage.call(protocol, method, inView(method, request), { token });
          assert.equal(verdict(answer), verdict(allowed));
          if (allowed.code !== done) continue;
          if (protocol === "rest") fromJson(messageDescriptor(method.output), answer.reply, { registry, ignoreUnknownFields: false });
          const expected = replyInView(method, { [pluralOf(of)]: await everyPage(of, request, token) });
          const [name = ""] = Object.keys(expected);
          assert.deepEqual(sparse(answer.reply[name] ?? []), sparse(expected[name] ?? []));
          if (protocol === "rest") assert.ok(Array.isArray(answer.reply[name]), "a list is there when it is empty");
        }
      }
    }
  });
}

for (const method of version1.filter((each) => each.http.length > 0 && each.input.fields.length > 0 && stage.answers(each))) {
  test(`${method.name} refuses bad input, names its own fields, and changes nothing`, async () => {
    const first = await about(method);
    const [http] = method.http;
    const { verb, path, body } = restRequest(method, first);
    const before = await stage.fingerprint();
    const token = await stage.owner();
    // In an unreadable body the missing parent is reported first, if it belongs inside.
    const unread = new RegExp(`body|${method.scope?.at(-1) ?? "body"}`);
    const wrong: readonly (readonly [path: string, body: string | undefined, names: RegExp])[] =
      http?.body === ""
        ? [[`${path}${path.includes("?") ? "&" : "?"}nonsense=1`, undefined, /nonsense/]]
        : [
            [
              path,
              `${(body ?? "{}").startsWith("[") ? '[{"nonsense":1}]' : `${(body ?? "{}").slice(0, -1)}${body === "{}" ? "" : ","}"nonsense":1}`}`,
              /nonsense/,
            ],
            [path, '"text"', unread],
            [path, "{", unread],
          ];
    for (const [target, sent, names] of wrong) {
      const answer = await callHttp(world.url, verb, target, { token, body: sent });
      assert.equal(answer.code, codes.INVALID_ARGUMENT, `${target} ${sent}: ${answer.message}`);
      assert.match(answer.message, names);
      assertUntyped(answer);
    }
    assert.equal(await stage.fingerprint(), before);
  });
}

for (const method of all.filter(({ view }) => view.of.input.fields.some(({ required }) => required))) {
  test(`${method.name} without any field is refused as in version 2, with its own field names`, async () => {
    const { of } = method.view;
    const { first, second } = await asked(method, { place });
    const kept = (request: JsonObject, path: readonly string[] | undefined): JsonObject => (path ? withValue({}, path, valueAt(request, path)) : {});
    for (const protocol of oneOrAll(protocols)) {
      const options = { token: owner.token };
      const two = await stage.call(protocol, of, kept(second, of.scope), options);
      if (two.code !== codes.INVALID_ARGUMENT) continue;
      const one = await stage.call(protocol, method, kept(first, method.scope), options);
      assert.equal(one.code, codes.INVALID_ARGUMENT, one.message);
      const named = /^Invalid argument: ([A-Za-z0-9_.]+)/.exec(one.message)?.[1] ?? "";
      let within: MessageFact | undefined = messageOfBody(method);
      for (const name of named.split(".")) {
        const field: FieldFact | undefined = within?.byName.get(name) ?? method.input.byName.get(name);
        assert.ok(field, `${named} of "${one.message}" is no field of version 1`);
        within = field.message;
      }
    }
  });
}

/** Returns the message with the fields that a violation names. */
const messageOfBody = (method: ViewedMethodFact): MessageFact => method.input.byName.get(method.http[0]?.body ?? "")?.message ?? method.input;

interface Told {
  readonly type: string;
  readonly source: string;
  readonly bodyType: string;
  readonly body: JsonObject;
}

const toldAfter = async (number: string): Promise<Told[]> => {
  const rows = await stage.query("select type, source, body_type, data::jsonb -> 'body' from outbox where id > $1 and type <> $2 order by id", [
    number,
    signedInType,
  ]);
  return rows.map(([type, source, bodyType, body]) => ({
    type: type ?? "",
    source: source ?? "",
    bodyType: bodyType ?? "",
    body: JSON.parse(body ?? "{}") as JsonObject,
  }));
};

/** Returns version 1 fields that no event shows: secrets, personal details, private values. */
const hidden = (method: ViewedMethodFact): string[] => {
  const found: string[] = [];
  const visit = (links: ReturnType<typeof linksOfMethod>["reply"]): void => {
    for (const { field, path, inner } of links) {
      if (path.some(({ redacted, additive }) => redacted || additive)) found.push(field.name);
      else if (inner) visit(inner);
    }
  };
  const links = linksOfMethod(method);
  visit(method.output.fields.length === 0 || method.view.tellsRequest ? links.request : links.reply);
  return found;
};

const keysWithin = (value: Json): string[] =>
  Array.isArray(value) ? value.flatMap(keysWithin) : isObject(value) ? Object.entries(value).flatMap(([key, entry]) => [key, ...keysWithin(entry)]) : [];

for (const method of writes.filter(({ event, capabilities, view }) => event && (capabilities.length > 0 || isForEverybody(view.of)))) {
  test(`${method.name} emits one event with its own message and path, valid for a strict decoder, without secrets`, async () => {
    for (const protocol of oneOrAll(protocols)) {
      const caller = await stage.callerOf(method.view.of, owner);
      const { first } = await asked(method, { place, whole: bodyField(method.view.of)?.message?.name !== groupMessage });
      const last = (await stage.query("select coalesce(max(id), 0) from outbox"))[0]?.[0] ?? "0";
      const answer = await stage.call(protocol, method, first, { token: caller.token });
      assert.equal(answer.code, done, answer.message);
      const told = await toldAfter(last);
      assert.deepEqual(
        told.map(({ type }) => type),
        [method.event?.type],
      );
      const [event] = told;
      assert.ok(event);
      const asksForBody = method.output.fields.length === 0 || method.view.tellsRequest;
      const message = asksForBody ? method.input : method.output;
      assert.equal(event.bodyType, message.name);
      assert.equal(event.source, `${world.url}${(method.http[0]?.template ?? "").replace(/\/\{.*$/, "")}`);
      fromJson(messageDescriptor(message), event.body, { registry, ignoreUnknownFields: false });
      const keys = keysWithin(event.body);
      assert.ok(keys.length > 0, "it says something");
      assert.deepEqual(
        hidden(method).filter((name) => keys.includes(name) && !["name", "description", "id"].includes(name)),
        [],
      );
      for (const name of Object.keys(event.body))
        assert.ok(
          message.fields.some((field) => field.name === name),
          `${name} is a name of the proto`,
        );
    }
  });
}
