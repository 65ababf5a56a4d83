// The examples of the OpenAPI documents are what a run asked and was answered: this makes them anew and compares with
// test/golden/openapi-examples.json (npm run golden accepts, npm run gen puts them into the documents). What differs from run to run by its
// nature is replaced: uids, times, secrets.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { after, test } from "node:test";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { restRequest } from "./client.ts";
import { answerableRequest, folder, openStage, rowMessage } from "./conformance/stage.ts";
import { requestsOfGrown } from "./conformance/grown.ts";
import { fetchDocument, judgeOf, sendDescribed } from "./openapi/document.ts";

const file = "test/golden/openapi-examples.json";
const startMs = Date.parse("2026-01-31T08:00:00.000Z");

const stage = await openStage();
const { world } = stage;
after(() => stage.close());
const judge = judgeOf(await fetchDocument(world.url, "/openapi.json"));

/** The same value for the same place of an example, of as many hex digits. */
const digits = (salt: string, count: number): string => createHash("sha256").update(salt).digest("hex").slice(0, count);

/** Keys whose values are new in each run, and what stands for them. */
const replaced: Readonly<Record<string, string>> = {
  nextPageToken: "a page token",
  pageToken: "a page token",
  code: "an invite's code",
  token: "a secret",
  etag: '"an etag"',
  secret: "whsec_a-secret",
  requestId: "0123456789abcdef01234567",
  hash: "0123456789abcdef".repeat(4),
};

/** In the order of what entries say besides uids and times. */
const byRest = (one: Json, other: Json): number => {
  const [first, second] = [one, other].map((each) => JSON.stringify(each).replace(/[0-9a-f]{16,}|\d{4}-\d\d-\d\dT[\d:.]+Z|-\d+/g, ""));
  return (first ?? "") < (second ?? "") ? -1 : first === second ? 0 : 1;
};

/** Replaces what a run has of its own. */
const settled = (value: Json): Json => {
  const uids = new Map<string, string>();
  const uidOf = (segment: string): string => {
    const known = uids.get(segment);
    if (known !== undefined) return known;
    const made = digits(String(uids.size + 1), segment.length);
    uids.set(segment, made);
    return made;
  };
  const times = new Map<string, string>();
  const visit = (each: Json, key: string): Json => {
    // Rows come in the order of their uids, which are new in each run.
    if (Array.isArray(each))
      return each
        .toSorted(byRest)
        .slice(0, 2)
        .map((entry) => visit(entry, key));
    if (isObject(each)) return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, visit(inner, name)]));
    if (key === "totalCount") return "2";
    if (typeof each !== "string") return each;
    const own = replaced[key];
    if (own !== undefined && each !== "") return own;
    if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(each)) {
      if (!times.has(each)) times.set(each, new Date(startMs + times.size * 60_000).toISOString());
      return times.get(each) ?? each;
    }
    return (
      each
        .replaceAll(world.url, "https://gantry.example.com")
        .replace(/(?<![0-9a-f])[0-9a-f]{40}(?:\/[0-9a-f]{16})*(?![0-9a-f])/g, (uid) => uid.split("/").map(uidOf).join("/"))
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "3f2b8c1e-5a4d-4c6b-9e7f-1a2b3c4d5e6f")
        .replace(/\bsample-\d+-/g, "sample-")
        // Samples are numbered in the order in which they are made, which is not always the same.
        .replace(/^([A-Za-z][A-Za-z ._-]*[a-z])-\d+$/, "$1")
    );
  };
  return visit(value, "");
};

const exampleOf = async (method: MethodFact): Promise<{ readonly id: string; readonly example: JsonObject } | undefined> => {
  const place = await folder(stage);
  const asked = { ...(await answerableRequest(stage, method, place, false)), ...requestsOfGrown[rowMessage(method)?.name ?? ""] };
  const request = method.input.byName.has("uidp") ? { ...asked, uidp: { descendantsOf: place } } : asked;
  const { verb, path, body } = restRequest(method, request);
  await stage.putBack(method, request);
  const described = judge.describe(verb, path.replace(/\/(?=$|\?)/, ""), body);
  const { token } = await stage.callerOf(method, { uid: "", token: await stage.operator() });
  const { status, raw } = await sendDescribed(world.url, described, { authorization: `Bearer ${token}` });
  if (status !== 200) return undefined;
  const answer = raw === "" ? {} : { answer: JSON.parse(raw) as Json };
  const shown = settled({ ...(described.body === undefined ? {} : { request: described.body }), ...answer });
  return isObject(shown) && Object.keys(shown).length > 0 ? { id: described.operation.id, example: shown } : undefined;
};

test("the examples of the documents are what a run asked and was answered", async () => {
  const made: JsonObject = {};
  for (const method of methods) {
    if (method.http.length === 0 || method.givesFile || method.credentials || !stage.answers(method)) continue;
    const found = await exampleOf(method);
    if (found) made[found.id] = found.example;
  }
  assert.ok(Object.keys(made).length > 80);
  if (process.env.GANTRY_GOLDEN === "accept") await writeFile(file, `${JSON.stringify(made, undefined, 1)}\n`);
  assert.deepEqual(made, JSON.parse(await readFile(file, "utf8")), "npm run golden, then npm run gen");
});
