// Real Wolfi documents are imported and read back: API responses are converted to the documents' form and compared, using an independent parser.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { isObject, type JsonObject, part, text, texts } from "#base/json.ts";
import type { FeedSummary } from "#advisories/feeds";
import { openWorld, type World } from "../world.ts";
import { counts, readAll, realData, runImport, withRealData } from "./import.ts";

const folder = join(realData, "advisories", "wolfi");

interface SourceEvent {
  readonly timestamp: string;
  readonly type: string;
  readonly data?: unknown;
}
interface SourceAdvisory {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly events: readonly SourceEvent[];
}

const readSource = (): Map<string, readonly SourceAdvisory[]> =>
  new Map(
    readdirSync(folder)
      .filter((name) => name.endsWith(".yaml"))
      .map((name) => {
        const document = parse(readFileSync(join(folder, name), "utf8"), { schema: "failsafe" }) as { package: { name: string }; advisories: SourceAdvisory[] };
        return [document.package.name, document.advisories] as const;
      }),
  );

const scanNames: Readonly<Record<string, string>> = {
  scanner: "scanner",
  subpackage: "subpackageName",
  componentId: "componentID",
  component: "componentName",
  componentVersion: "componentVersion",
  componentType: "componentType",
  componentLocation: "componentLocation",
};

const kebab = (name: string): string =>
  name
    .replace(/^TYPE_/, "")
    .toLowerCase()
    .replaceAll("_", "-");

const written = (event: JsonObject): SourceEvent => {
  const timestamp = text(event, "createTime").replace(".000Z", "Z");
  if (isObject(event.detection)) {
    const { scanv1, nvdapi } = event.detection;
    if (isObject(scanv1))
      return {
        timestamp,
        type: "detection",
        data: { type: "scan/v1", data: Object.fromEntries(Object.entries(scanv1).map(([key, value]) => [scanNames[key] ?? key, value])) },
      };
    return { timestamp, type: "detection", data: isObject(nvdapi) ? { type: "nvdapi", data: nvdapi } : { type: "manual" } };
  }
  if (isObject(event.fixed)) return { timestamp, type: "fixed", data: { "fixed-version": text(event.fixed, "fixedVersion") } };
  if (isObject(event.falsePositiveDetermination)) {
    const { type, ...rest } = event.falsePositiveDetermination;
    return { timestamp, type: "false-positive-determination", data: { type: kebab(String(type)), ...rest } };
  }
  for (const name of ["truePositiveDetermination", "analysisNotPlanned", "fixNotPlanned", "pendingUpstreamFix"]) {
    const data = event[name];
    if (isObject(data))
      return { timestamp, type: name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), ...(Object.keys(data).length > 0 ? { data } : {}) };
  }
  throw new Error(`an event of no type: ${JSON.stringify(event)}`);
};

/** Returns the events in the API's order: by time, with ties in document order. */
const sorted = (events: readonly SourceEvent[]): SourceEvent[] => [...events].sort((one, other) => Date.parse(one.timestamp) - Date.parse(other.timestamp));

const plain = (event: SourceEvent): SourceEvent => JSON.parse(JSON.stringify(event)) as SourceEvent;

const compare = (source: ReadonlyMap<string, readonly SourceAdvisory[]>, advisories: readonly JsonObject[]): number => {
  const byId = new Map(advisories.map((advisory) => [text(advisory, "advisoryId"), advisory]));
  let events = 0;
  for (const [name, expected] of source) {
    for (const advisory of expected) {
      const found = byId.get(advisory.id);
      assert.ok(found, `${advisory.id} is missing`);
      assert.deepEqual([text(found, "artifactName"), text(found, "artifactType"), texts(found, "aliases")], [name, "apk", advisory.aliases]);
      const answered = Array.isArray(found.events) ? found.events.filter(isObject) : [];
      assert.deepEqual(answered.map(written), sorted(advisory.events).map(plain), advisory.id);
      for (const event of answered) assert.deepEqual([text(event, "reviewState"), text(event, "author")], ["REVIEW_STATE_APPROVED", text(found, "author")]);
      events += answered.length;
    }
  }
  return events;
};

let world: World;
let summary: FeedSummary;
let source: Map<string, readonly SourceAdvisory[]>;

before(async () => {
  if (withRealData.skip) return;
  world = await openWorld();
  source = readSource();
  summary = await runImport(world, "advisories", [folder], { public: true });
});
after(() => world?.close());

test("every Wolfi document is imported whole without refusals", withRealData, () => {
  assert.equal(source.size, 878);
  assert.deepEqual(counts(summary), { new: 14_179, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 });
  assert.deepEqual(summary.failed, []);
  assert.deepEqual(summary.passedOver, ["LICENSE: is not a known feed format"]);
});

for (const protocol of ["rest", "grpc"] as const) {
  test(`every advisory and event of the documents is read back equal over ${protocol}`, withRealData, async () => {
    const advisories = await readAll(world, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", {}, protocol);
    assert.equal(advisories.length, 14_179);
    assert.equal(compare(source, advisories), 22_338);
  });
}

test("the public documents of the same import are equal", withRealData, async () => {
  const documents = await readAll(world, "advisory.SecurityAdvisoryService/ListDocuments", "documents", {});
  assert.equal(documents.length, 878);
  const found = new Map(documents.map((document) => [text(document, "id"), document.advisories]));
  for (const [name, advisories] of source) {
    const given = found.get(name);
    assert.ok(Array.isArray(given), name);
    assert.deepEqual(
      given
        .filter(isObject)
        .map((advisory) => text(advisory, "id"))
        .sort(),
      advisories.map(({ id }) => id).sort(),
    );
  }
});

test("events that are out of order in a document are returned by time, with ties in document order", withRealData, async () => {
  const all = [...source.values()].flat();
  const unordered = all.filter(({ events }) => JSON.stringify(sorted(events)) !== JSON.stringify(events));
  assert.ok(unordered.length > 0);
  const tied = all.filter(({ events }) => new Set(events.map(({ timestamp }) => timestamp)).size < events.length);
  assert.ok(tied.length > 0);
  for (const advisory of [...unordered, ...tied]) {
    const { advisories } = await world.ok("vulnerabilities.AdvisoriesService/ListAdvisories", { advisoryIds: [advisory.id] });
    const [found] = Array.isArray(advisories) ? advisories.filter(isObject) : [];
    assert.deepEqual((Array.isArray(found?.events) ? found.events : []).filter(isObject).map(written), sorted(advisory.events).map(plain));
  }
});

test("a CVE named by hundreds of advisories finds all of them by alias", withRealData, async () => {
  const uses = new Map<string, number>();
  for (const { aliases } of [...source.values()].flat()) for (const alias of aliases) uses.set(alias, (uses.get(alias) ?? 0) + 1);
  const [most, count] = [...uses].sort(([, one], [, other]) => other - one)[0] ?? ["", 0];
  assert.ok(count > 400);
  const found = await readAll(world, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", { aliases: [most] });
  assert.equal(found.length, count);
  const { totalCount } = await world.ok("vulnerabilities.AdvisoriesService/ListAdvisories", { aliases: [most], pageSize: 1 });
  assert.equal(totalCount, String(count));
});

test("a second run of the same directory reads no file again and writes nothing", withRealData, async () => {
  const rows = (): Promise<unknown> => world.server.application.services.store.read.query("select xmin::text, uid from advisories order by uid");
  const earlier = await rows();
  const again = await runImport(world, "advisories", [folder], { public: true });
  assert.deepEqual(counts(again), { new: 0, changed: 0, withdrawn: 0, unchanged: 14_179, refused: 0 });
  assert.equal(again.filesUnchanged, 878);
  assert.deepEqual(await rows(), earlier);
});

test("severities of an advisory come from the records of its aliases", withRealData, async () => {
  const done = await runImport(world, "vulnerabilities", [join(realData, "vulnerability-metadata", "cve-distilled.jsonl")], { public: true });
  assert.deepEqual(counts(done), { new: 3_374, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 });
  const records = readFileSync(join(realData, "vulnerability-metadata", "cve-distilled.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
  const record = records.find((each) => text(each, "id") === "CVE-2024-24787");
  assert.ok(record);
  const { advisories } = await world.ok("vulnerabilities.AdvisoriesService/ListAdvisories", { aliases: ["CVE-2024-24787"], pageSize: 1 });
  const [found] = Array.isArray(advisories) ? advisories.filter(isObject) : [];
  const given = Array.isArray(record.severities) ? record.severities.filter(isObject) : [];
  assert.deepEqual(
    found?.severities,
    given.map((severity) => ({ type: `TYPE_${text(severity, "type")}`, score: text(severity, "score") })),
  );
  assert.equal(text(part({ found: found ?? {} }, "found"), "artifactType"), "apk");
});
