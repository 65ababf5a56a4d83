// Examples in the OpenAPI documents are recorded from a run and compared with test/golden/openapi-examples.json and
// openapi-examples-version-1.json. `npm run golden` accepts changes, `npm run gen` copies them into the documents. Values that
// differ per run (uids, times, secrets) are replaced.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { after, test } from "node:test";
import { isObject, type Json, type JsonObject, part } from "#base/json.ts";
import { methods, version1 } from "#contract/catalog.ts";
import { isViewed, type MethodFact } from "#contract/facts.ts";
import { requestInView } from "#contract/views.ts";
import { restRequest } from "./client.ts";
import { answerableRequest, folder, hidesRows, isList, openStage, rowMessage, shownMessage } from "./conformance/stage.ts";
import { requestsOfGrown } from "./conformance/grown.ts";
import { type DescribedRequest, fetchDocument, type Judge, judgeOf, sendDescribed } from "./openapi/document.ts";
import { fillStage } from "./openapi/filled.ts";

const startMs = Date.parse("2026-01-31T08:00:00.000Z");

// Versions of feed documents contain times.
const stage = await openStage({}, undefined, startMs);
const { world } = stage;
after(() => stage.close());
const filled = await fillStage(stage);

const digits = (salt: string, count: number): string => createHash("sha256").update(salt).digest("hex").slice(0, count);

const replaced: Readonly<Record<string, string>> = {
  // Content has the URL of this run.
  organizationBytes: "1253",
  used: "1253",
  // Entries of this run, as far as they are sealed.
  entryCount: "2",
  endSequence: "2",
  sequence: "2",
  nextPageToken: "a page token",
  pageToken: "a page token",
  code: "an invite's code",
  token: "a secret",
  etag: '"an etag"',
  secret: "whsec_a-secret",
  requestId: "0123456789abcdef01234567",
  hash: "0123456789abcdef".repeat(4),
  // The chart contains the URL of this run.
  chartDigest: `sha256:${"0123456789abcdef".repeat(4)}`,
  kid: "a key's name",
  n: "a modulus",
  access_token: "a secret",
  refresh_token: "a secret",
  device_code: "a secret",
  user_code: "BCDF-GHJK",
  ecdhPublicKey: Buffer.from("a public key").toString("base64"),
};

/** Orders entries by their content without uids, times and numbers. */
const byRest = (one: Json, other: Json): number => {
  const [first, second] = [one, other].map((each) =>
    JSON.stringify(each).replace(/[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|-\d+/g, ""),
  );
  return (first ?? "") < (second ?? "") ? -1 : first === second ? 0 : 1;
};

const settled = (value: Json, isDocument: boolean): Json => {
  const uids = new Map<string, string>();
  const uidOf = (segment: string): string => {
    const known = uids.get(segment);
    if (known !== undefined) return known;
    const made = digits(String(uids.size + 1), segment.length);
    uids.set(segment, made);
    return made;
  };
  const times = new Map<string, string>();
  const timeOf = (time: string): string => {
    if (!times.has(time)) times.set(time, new Date(startMs + times.size * 60_000).toISOString());
    return times.get(time) ?? time;
  };
  const visit = (each: Json, key: string): Json => {
    // Rows are ordered by uids, which differ per run.
    if (Array.isArray(each)) return (isDocument ? each : each.toSorted(byRest)).slice(0, 2).map((entry) => visit(entry, key));
    if (isObject(each)) return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, visit(inner, name)]));
    if (key === "totalCount") return "2";
    if (typeof each !== "string") return each;
    const own = replaced[key];
    if (own !== undefined && each !== "") return own;
    return (
      each
        .replaceAll(world.url, "https://gantry.example.com")
        .replaceAll(new URL(world.url).host, "gantry.example.com")
        .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => (isDocument ? time : timeOf(time)))
        .replace(/(?<![0-9a-f])[0-9a-f]{40}(?:\/[0-9a-f]{16})*(?![0-9a-f])/g, (uid) => uid.split("/").map(uidOf).join("/"))
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "3f2b8c1e-5a4d-4c6b-9e7f-1a2b3c4d5e6f")
        .replace(/(?<=:export#)[0-9a-f]{32}/, "0123456789abcdef0123456789abcdef")
        .replace(/\bsample-\d+-/g, "sample-")
        .replace(/(?<=\buser_code=)[A-Z-]+/, "BCDF-GHJK")
        // Samples are numbered in creation order, which varies.
        .replace(/^([A-Za-z][A-Za-z ._-]*[a-z])-\d+$/, "$1")
        .replace(/^((?:https:|repo:|\w+@)\S*[a-z])-\d+$/, "$1")
    );
  };
  return visit(value, "");
};

/** Lists without an example: always empty ones, and two of users, who do not sign in here. */
const emptyLists = [
  "MembershipsService_ListMemberships",
  "Registry_ListBuildReports",
  "Registry_ListManifestMetadata",
  "Registry_ListSyncStatuses",
  "SessionsService_ListSessions",
];

const showsNothing = ({ answer }: JsonObject): boolean =>
  isObject(answer) && (Object.values(answer).some((each) => Array.isArray(each) && each.length === 0) || answer.count === "0");

interface Found {
  readonly id: string;
  readonly example: JsonObject;
}

const exampleOf = async (described: DescribedRequest, headers: Readonly<Record<string, string>>): Promise<Found | undefined> => {
  const { operation, body, inQuery } = described;
  const answer = await sendDescribed(world.url, described, headers);
  assert.equal(answer.status, 200, `${operation.id}: ${answer.raw}`);
  const type = (answer.headers.get("content-type") ?? "").split(";")[0] ?? "";
  const isForm = part(part(operation.described, "requestBody"), "content")["application/x-www-form-urlencoded"] !== undefined;
  const sent = isForm && inQuery.length > 0 ? Object.fromEntries(inQuery) : body;
  const said: JsonObject = {
    ...(sent === undefined ? {} : { request: sent }),
    ...(answer.raw === "" ? {} : { answer: /json$/.test(type) ? (JSON.parse(answer.raw) as Json) : answer.raw }),
    ...(type === "application/json" || type === "" ? {} : { type }),
  };
  const shown = settled(said, operation.id.startsWith("Osv") || operation.id.startsWith("FeedFiles"));
  return isObject(shown) && Object.keys(shown).length > 0 ? { id: operation.id, example: shown } : undefined;
};

const requestOf = async (method: MethodFact, path: number): Promise<JsonObject> => {
  const of = isViewed(method) ? method.view.of : method;
  const place = await folder(stage);
  const asked = { ...(await answerableRequest(stage, of, place, false)), ...requestsOfGrown[rowMessage(of)?.name ?? ""] };
  const narrowed = of.input.byName.has("uidp") ? { ...asked, uidp: { descendantsOf: place } } : asked;
  const row = shownMessage(of);
  // An empty list shows nothing.
  if ((isList(of) || hidesRows(of)) && row) await stage.make(row.name, { place });
  await stage.putBack(of, asked);
  return { ...(isViewed(method) ? requestInView(method, narrowed) : narrowed), ...(await filled.requestOf(method, path)) };
};

const examplesOf = async (from: readonly MethodFact[], judge: Judge): Promise<JsonObject> => {
  const made: JsonObject = {};
  // Files first, while they contain only imported data.
  const inOrder = from.toSorted((one, other) => Number(other.givesFile) - Number(one.givesFile));
  for (const method of inOrder.filter((each) => each.http.length > 0 && stage.answers(each))) {
    for (const [index, http] of method.http.entries()) {
      if (index > 0 && !method.givesFile) continue;
      const { verb, path, body } = restRequest({ ...method, http: [http] }, await requestOf(method, index));
      const token = (await filled.tokenFor(method)) ?? (await stage.callerOf(method, { uid: "", token: await stage.operator() })).token;
      const found = await exampleOf(judge.describe(verb, path.replace(/\/(?=$|\?)/, ""), body), { authorization: `Bearer ${token}` });
      if (found) made[found.id] = found.example;
    }
  }
  return made;
};

/** JSON paths outside the contract, with their form. */
const besideContract = async (): Promise<readonly (readonly [verb: string, path: string, form: Readonly<Record<string, string>>])[]> => {
  const refresh = methods.find(({ rpc }) => rpc === "ExchangeRefreshToken") ?? assert.fail("there are no refresh tokens");
  // Creates a verified name and an identity provider for the organization.
  const { token } = await stage.callerOf(refresh, { uid: "", token: "" });
  return [
    ["GET", "/healthz", {}],
    ["GET", "/readyz", {}],
    ["GET", "/orgcheck?name=stage.example", {}],
    ["GET", "/oauth/providers?name=stage.example", {}],
    ["GET", "/.well-known/vex-repository.json", {}],
    ["GET", "/.well-known/openid-configuration", {}],
    ["GET", "/.well-known/oauth-authorization-server", {}],
    ["GET", "/.well-known/jwks.json", {}],
    ["POST", "/oauth/device_authorization", {}],
    ["POST", "/oauth/token", { grant_type: "refresh_token", refresh_token: token }],
    ["POST", "/oauth/revoke", { token: "a token" }],
  ];
};

const examplesBeside = async (judge: Judge): Promise<JsonObject> => {
  const made: JsonObject = {};
  for (const [verb, path, form] of await besideContract()) {
    const described = judge.describe(verb, path, undefined);
    const found = await exampleOf({ ...described, inQuery: [...described.inQuery, ...Object.entries(form)] }, {});
    if (found) made[found.id] = found.example;
  }
  return made;
};

for (const [version, from, address, file] of [
  ["version 2", methods, "/openapi.json", "test/golden/openapi-examples.json"],
  ["version 1", version1, "/openapi/v1.json", "test/golden/openapi-examples-version-1.json"],
] as const) {
  test(`the error responses of ${version} have recorded examples`, async () => {
    const responses = part(part(await fetchDocument(world.url, address), "components"), "responses");
    const shown = (name: string): readonly string[] => Object.keys(part(part(part(part(responses, name), "content"), "application/json"), "examples"));
    for (const name of ["BadRequest", "Unauthenticated", "PermissionDenied", "NotFound", "Conflict", "PreconditionFailed"])
      assert.notDeepEqual(shown(name), [], name);
    for (const name of ["ContentTooLarge", "UnsupportedMediaType"]) assert.notDeepEqual(shown(name), [], name);
    // Every operation of version 2 is served.
    if (isObject(responses.Unimplemented)) assert.notDeepEqual(shown("Unimplemented"), []);
  });

  test(`the examples of ${version} equal the recorded requests and responses`, async () => {
    const judge = judgeOf(await fetchDocument(world.url, address));
    const made = { ...(await examplesOf(from, judge)), ...(from === methods ? await examplesBeside(judge) : {}) };
    const empty = Object.entries(made).flatMap(([id, example]) => (isObject(example) && showsNothing(example) ? [id] : []));
    assert.deepEqual(
      empty.filter((id) => !emptyLists.includes(id)),
      [],
      "a list of nothing is no example",
    );
    if (process.env.GANTRY_GOLDEN === "accept") await writeFile(file, `${JSON.stringify(made, undefined, 1)}\n`);
    assert.deepEqual(made, JSON.parse(await readFile(file, "utf8")), "npm run golden, then npm run gen");
  });
}
