// Tests small examples of each format, and hostile documents.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type DocumentOptions, readDocument } from "./document.ts";
import type { FeedKind } from "./formats/format.ts";
import { DocumentError } from "./invalid.ts";
import { isJsonLines, recogniseNotation } from "./recognise.ts";
import type { FeedRecord } from "./record.ts";

const fixtures = join(import.meta.dirname, "../../../test/fixtures/feeds");

const options = (kind: FeedKind, format?: string): DocumentOptions => ({ kind, author: undefined, format });

const read = async (text: string, kind: FeedKind, format?: string): Promise<FeedRecord[]> => {
  const notation = recogniseNotation(text);
  assert.notEqual(notation, "prose");
  const documents = isJsonLines(text, true) ? text.split("\n").filter((line) => line.trim() !== "") : [text];
  const records: FeedRecord[] = [];
  for (const document of documents) {
    for (const each of await readDocument(document, notation as "json", options(kind, format))) records.push(...each.records);
  }
  return records;
};

const file = (name: string): string => readFileSync(join(fixtures, name), "utf8");

const advisory = (given: object): object => ({ kind: "advisory", ...given });

test("a document keeps the compression of its source if its text is stored unchanged, and is compressed again otherwise", async () => {
  const text = JSON.stringify({ id: "X-1", modified: "2025-01-01T00:00:00Z", details: "it goes out, ".repeat(20) });
  for (const [written, isKept] of [
    [text, true],
    [`${text}\n`, false],
  ] as const) {
    const deflated = deflateRawSync(written, { level: 1 });
    const [read] = await readDocument(written, "json", options("vulnerabilities"), deflated);
    const body = Buffer.from(read?.draft?.body ?? "");
    assert.equal(body.equals(deflated), isKept);
    assert.equal(inflateRawSync(body).toString(), text);
  }
});

test("an overlong free text is cut and noted with its line, and the document is imported", async () => {
  const details = "x".repeat(300_000);
  const text = JSON.stringify({ id: "X-1", modified: "2025-01-01T00:00:00Z", details }, undefined, 1);
  const [read] = await readDocument(text, "json", options("vulnerabilities"));
  const [found] = read?.records ?? [];
  assert.ok(found?.kind === "vulnerability");
  assert.equal(found.details, "x".repeat(256 * 1024));
  assert.deepEqual(
    read?.cuts.map(({ line, reason }) => [line, reason.split(":")[0]]),
    [[4, "details is longer than 262144 characters"]],
  );
  assert.equal(read?.draft?.originId, "X-1");

  const location = "/usr/lib/lantern.jar;".repeat(200);
  const [document] = await readDocument(file("harbour.yaml").replaceAll("/usr/bin/harbour", location), "yaml", options("advisories"));
  assert.ok((document?.cuts.length ?? 0) > 0);
  const [advisoryRead] = document?.records ?? [];
  assert.ok(advisoryRead?.kind === "advisory");
  assert.equal(advisoryRead.componentLocation, location.slice(0, 2_000));
});

test("an overlong identifier, version or URL is refused, not cut", async () => {
  const long = "1".repeat(20_000);
  for (const [text, kind] of [
    [JSON.stringify({ id: long, modified: "2025-01-01T00:00:00Z" }), "vulnerabilities"],
    [JSON.stringify({ id: "X-1", references: [{ type: "WEB", url: `https://a.example/${long}` }] }), "vulnerabilities"],
    [
      JSON.stringify({ id: "X-1", affected: [{ package: { ecosystem: "npm", name: "a" }, ranges: [{ type: "SEMVER", events: [{ introduced: long }] }] }] }),
      "advisories",
    ],
  ] as const) {
    const refusedOrUnmatched = await readDocument(text, "json", options(kind)).then(
      ([read]) => read?.unmatched !== undefined,
      (thrown: unknown) => thrown instanceof DocumentError,
    );
    assert.ok(refusedOrUnmatched, text.slice(0, 60));
  }
});

test("a Wolfi document is read completely, with all kinds of events in order and versions as texts", async () => {
  const [first, second] = await read(file("harbour.yaml"), "advisories");
  assert.deepEqual(
    first,
    advisory({
      key: "CGA-2222-3333-4444",
      advisoryId: "CGA-2222-3333-4444",
      author: "Wolfi",
      artifactName: "harbour",
      artifactType: "apk",
      componentName: "example.com/lantern",
      componentLocation: "/usr/bin/harbour",
      componentType: "go-module",
      aliases: ["CVE-2025-1001", "GHSA-aaaa-bbbb-cccc"],
      events: [
        { time: "2025-03-02T10:00:00.000Z", data: { fixed: { fixedVersion: "1.10-r0" } } },
        {
          time: "2025-03-01T10:00:00.000Z",
          data: {
            detection: {
              scanv1: {
                scanner: "grype",
                subpackage: "harbour-cli",
                componentId: "0011223344556677",
                component: "example.com/lantern",
                componentVersion: "1.10",
                componentType: "go-module",
                componentLocation: "/usr/bin/harbour",
              },
            },
          },
        },
        { time: "2025-03-02T10:00:00.000Z", data: { truePositiveDetermination: { note: "The lantern is reached by every command.\nIt must be replaced.\n" } } },
      ],
    }),
  );
  assert.ok(second?.kind === "advisory");
  assert.deepEqual(
    second.events.map(({ data }) => data),
    [
      { detection: { manual: {} } },
      { detection: { nvdapi: { cpeSearched: "cpe:2.3:a:*:harbour:*:*:*:*:*:*:*:*", cpeFound: "cpe:2.3:a:quay:harbour:*:*:*:*:*:*:*:*" } } },
      { analysisNotPlanned: { note: "No time: the quay is closed" } },
      { fixNotPlanned: { note: "It's at its end" } },
      { pendingUpstreamFix: { note: "waiting for the yard" } },
      { falsePositiveDetermination: { type: "TYPE_INLINE_MITIGATIONS_EXIST" } },
      { truePositiveDetermination: {} },
    ],
  );
});

test("an OSV record becomes a vulnerability, or an advisory for each affected package", async () => {
  assert.deepEqual(await read(file("osv.json"), "vulnerabilities"), [
    {
      kind: "vulnerability",
      id: "GO-2025-0001",
      aliases: ["CVE-2025-1001"],
      state: "PUBLISHED",
      summary: "Lanterns go out",
      details: "All of them.\n\nAt once.",
      severities: [
        { type: "TYPE_CVSS_V4", score: "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N" },
        { type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" },
      ],
      references: [
        { type: "TYPE_FIX", url: "https://example.com/fix" },
        { type: "TYPE_WEB", url: "https://example.com" },
      ],
      modifyTime: "2025-02-01T00:00:00.000Z",
    },
  ]);
  const common = { advisoryId: "GO-2025-0001", author: "Go", artifactType: "golang", aliases: ["CVE-2025-1001"] };
  assert.deepEqual(await read(file("osv.json"), "advisories"), [
    advisory({
      key: "GO-2025-0001 Go example.com/lantern",
      artifactName: "example.com/lantern",
      ...common,
      events: [{ time: "2025-02-01T00:00:00.000Z", data: { patched: { patchedVersions: ["1.2.0", "2.0.1"] } } }],
    }),
    advisory({
      key: "GO-2025-0001 Go example.com/wick",
      artifactName: "example.com/wick",
      ...common,
      events: [{ time: "2025-02-01T00:00:00.000Z", data: { truePositiveDetermination: {} } }],
    }),
  ]);
  assert.deepEqual(await read(file("osv.yaml"), "vulnerabilities"), [
    {
      kind: "vulnerability",
      id: "PYSEC-2025-1",
      aliases: ["CVE-2025-1003"],
      state: "PUBLISHED",
      summary: "",
      details: "Sails tear in the wind.\n",
      severities: [],
      references: [{ type: "TYPE_ADVISORY", url: "https://example.com/sail" }],
      publishTime: "2025-02-01T00:00:00.000Z",
      modifyTime: "2025-02-02T00:00:00.123Z",
      withdrawnTime: "2025-02-03T00:00:00.000Z",
    },
  ]);
  const [sail] = await read(file("osv.yaml"), "advisories");
  assert.ok(sail?.kind === "advisory");
  assert.deepEqual([sail.key, sail.events[0]?.data, sail.withdrawnTime], ["PYSEC-2025-1", { fixed: { fixedVersion: "1.10" } }, "2025-02-03T00:00:00.000Z"]);
});

test("a CVE JSON 5 record combines its CNA and ADP containers, with each reference and severity once", async () => {
  assert.deepEqual(await read(file("cve5.json"), "vulnerabilities"), [
    {
      kind: "vulnerability",
      id: "CVE-2025-1001",
      aliases: [],
      state: "PUBLISHED",
      summary: "Lanterns",
      details: "They go out",
      severities: [
        { type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:L/AC:L/PR:L/UI:N/S:U/C:H/I:N/A:N" },
        { type: "TYPE_CVSS_V2", score: "AV:N/AC:L/Au:S/C:N/I:P/A:N" },
      ],
      references: [
        { type: "TYPE_FIX", url: "https://example.com/a" },
        { type: "TYPE_WEB", url: "https://example.com/b" },
      ],
      publishTime: "2025-01-01T00:00:00.000Z",
      modifyTime: "2025-01-02T00:00:00.123Z",
    },
  ]);
});

test("distilled CVE records are read line by line, including rejected ones", async () => {
  assert.deepEqual(await read(file("distilled.jsonl"), "vulnerabilities"), [
    {
      kind: "vulnerability",
      id: "CVE-2025-2001",
      aliases: [],
      state: "PUBLISHED",
      summary: "",
      details: "Ropes slip",
      severities: [{ type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:L/A:L" }],
      references: [{ type: "TYPE_DISCUSSION", url: "https://example.com/rope" }],
      publishTime: "2025-01-01T00:00:00.000Z",
      modifyTime: "2025-01-02T00:00:00.123Z",
    },
    {
      kind: "vulnerability",
      id: "CVE-2025-2002",
      aliases: [],
      state: "REJECTED",
      summary: "",
      details: "",
      severities: [],
      references: [],
      modifyTime: "2025-01-02T00:00:00.123Z",
    },
  ]);
});

test("a RustSec record takes its title from the first heading and its patched versions as an event", async () => {
  assert.deepEqual(await read(file("rustsec.md"), "vulnerabilities"), [
    {
      kind: "vulnerability",
      id: "RUSTSEC-2025-9001",
      aliases: ["CVE-2025-3001"],
      state: "PUBLISHED",
      summary: "Masts break in a gale",
      details: "Only the long ones.",
      severities: [{ type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H" }],
      references: [
        { type: "TYPE_WEB", url: "https://example.com/mast" },
        { type: "TYPE_WEB", url: "https://example.com/more" },
      ],
      publishTime: "2025-03-04T00:00:00.000Z",
    },
  ]);
  const [mast] = await read(file("rustsec.md"), "advisories");
  assert.ok(mast?.kind === "advisory");
  assert.deepEqual(
    [mast.artifactName, mast.artifactType, mast.events[0]?.data],
    ["mast", "cargo", { patched: { patchedVersions: [">= 0.4.2, < 0.5.0", ">= 0.5.3"] } }],
  );
});

test("Alpine's secdb lists fixes by version, and version 0 means that the package was never affected", async () => {
  const records = await read(file("secdb.json"), "advisories");
  assert.deepEqual(
    records.map((record) => record.kind === "advisory" && [record.key, record.aliases, record.events.map(({ data }) => data)]),
    [
      // JSON.parse moves integer keys to the front.
      ["v9.1/main anchor CVE-2025-4003", ["CVE-2025-4003"], [{ falsePositiveDetermination: { type: "TYPE_UNSPECIFIED" } }]],
      [
        "v9.1/main anchor CVE-2025-4001",
        ["CVE-2025-4001", "GHSA-dddd-eeee-ffff"],
        [{ fixed: { fixedVersion: "1.2.3-r0" } }, { fixed: { fixedVersion: "1.2.4-r0" } }],
      ],
      ["v9.1/main anchor CVE-2025-4002", ["CVE-2025-4002"], [{ fixed: { fixedVersion: "1.2.3-r0" } }]],
    ],
  );
});

test("OpenVEX of both versions becomes an advisory for each product, with an event for each statement", async () => {
  const old = await read(file("openvex-0.0.1.json"), "advisories");
  assert.deepEqual(
    old.map((record) => record.kind === "advisory" && [record.artifactName, record.artifactArchitecture, record.author, record.events]),
    ["armv7", "x86_64"].map((architecture) => [
      "rudder",
      architecture,
      "The Yard",
      [{ time: "2025-01-09T00:02:03.647Z", data: { fixed: { fixedVersion: "2.0-r1" } } }],
    ]),
  );
  const [hull, oar] = await read(file("openvex-0.2.0.json"), "advisories");
  assert.ok(hull?.kind === "advisory" && oar?.kind === "advisory");
  assert.deepEqual(
    [hull.advisoryId, hull.artifactName, hull.artifactType, hull.componentName, hull.aliases],
    ["CVE-2025-5002", "hull", "oci", "tar", ["CVE-2025-5002", "GHSA-gggg-hhhh-jjjj"]],
  );
  assert.deepEqual(hull.events, [
    { time: "2025-01-07T00:00:00.000Z", data: { detection: { manual: {} } } },
    { time: "2025-01-08T00:00:00.000Z", data: { falsePositiveDetermination: { type: "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH", note: "Never called" } } },
  ]);
  assert.deepEqual([oar.artifactName, oar.events[0]?.data], ["https://example.com/products/oar", { truePositiveDetermination: { note: "Upgrade" } }]);
});

test("CSAF becomes an advisory for each vulnerability and package, independent of stream names", async () => {
  const records = await read(file("csaf.json"), "advisories");
  assert.deepEqual(
    records.map(
      (record) =>
        record.kind === "advisory" && [
          record.advisoryId,
          record.aliases[0],
          record.artifactName,
          record.artifactArchitecture ?? "",
          record.events.map(({ data }) => data),
        ],
    ),
    [
      ["YARD-2025:1", "CVE-2025-6001", "deck", "x86_64", [{ falsePositiveDetermination: { type: "TYPE_COMPONENT_VULNERABILITY_MISMATCH" } }]],
      ["YARD-2025:1", "CVE-2025-6001", "keel", "x86_64", [{ fixed: { fixedVersion: "1.0-1" } }, { fixed: { fixedVersion: "2.0-1" } }]],
      ["YARD-2025:1", "CVE-2025-6002", "nowhere", "", [{ detection: { manual: {} } }]],
      ["YARD-2025:1", "CVE-2025-6002", "keel", "x86_64", [{ fixNotPlanned: { note: "It stays" } }]],
      ["YARD-2025:1", "CVE-2025-6002", "deck", "x86_64", [{ truePositiveDetermination: { note: "Row slowly" } }]],
    ],
  );
});

test("libraries are read from artifact lists, Python's simple API and Maven metadata", async () => {
  assert.deepEqual(await read(file("artifacts.jsonl"), "libraries"), [
    {
      kind: "library",
      ecosystem: "ECOSYSTEM_JAVA",
      name: "org.example:bell",
      description: "Rings",
      versions: [{ version: "1.0", sizeBytes: 10, publishTime: "2025-01-01T00:00:00.000Z" }, { version: "1.1" }],
    },
    {
      kind: "library",
      ecosystem: "ECOSYSTEM_PYTHON",
      name: "whistle",
      remediated: true,
      versions: [{ version: "2.0", sizeBytes: 7, publishTime: "2025-01-01T00:00:00.000Z", description: "Blows" }],
    },
  ]);
  assert.deepEqual(await read(file("pypi.json"), "libraries"), [
    {
      kind: "library",
      ecosystem: "ECOSYSTEM_PYTHON",
      name: "fog-horn",
      versions: [{ version: "1.0", sizeBytes: 11, publishTime: "2025-01-01T00:00:00.500Z" }, { version: "1.1" }],
    },
  ]);
  assert.deepEqual(await read(file("maven.xml"), "libraries"), [
    { kind: "library", ecosystem: "ECOSYSTEM_JAVA", name: "org.example:bell", versions: [{ version: "1.9" }, { version: "1.10" }] },
  ]);
});

test("images list packages by architecture and tag, and packages list their origin", async () => {
  const images = await read(file("images.jsonl"), "images");
  assert.deepEqual(
    images.map((record) => record.kind === "image" && [record.repo, record.tag, record.architecture, record.packages.length]),
    [
      ["public/ferry", "latest", "amd64", 2],
      ["public/ferry", "1", "amd64", 2],
      ["public/ferry", "latest", "arm64", 1],
      ["public/ferry", "1", "arm64", 1],
    ],
  );
  assert.deepEqual(
    await read(file("packages.jsonl"), "images"),
    ["harbour", "harbour-cli", "harbour-doc", "anchor"].map((name) => ({ kind: "origin", name, origin: name === "anchor" ? "anchor" : "harbour" })),
  );
});

test("a product's lifecycle lists its releases with version texts, and its names in repositories and packages", async () => {
  const own = {
    product: "Buoy",
    names: ["buoy-server"],
    gracePeriodMonths: 0,
    releases: [{ releaseCycle: "1", releaseDate: "2026-01-01", eol: true, eolBroken: true }],
  };
  assert.deepEqual(await read(file("lighthouse.md"), "lifecycle"), [
    {
      kind: "lifecycle",
      product: "lighthouse",
      names: ["lighthouse", "beacon", "lighthouse-server"],
      graceMonths: 6,
      releases: [
        { version: "1.10", releaseDate: "2025-06-01", end: "2027-06-30", lts: "2025-12-01", latest: "1.10.2", broken: false },
        { version: "1.9", releaseDate: "2024-06-01", end: "2025-08-31", lts: "", latest: "1.9 (final)", broken: false },
        { version: "1.8", releaseDate: "2023-06-01", end: "true", lts: "", latest: "", broken: false },
        { version: "2", releaseDate: "2026-01-01", end: "", lts: "true", latest: "", broken: false },
      ],
    },
  ]);
  const expected = {
    kind: "lifecycle",
    product: "Buoy",
    names: ["buoy", "buoy-server"],
    graceMonths: 0,
    releases: [{ version: "1", releaseDate: "2026-01-01", end: "true", lts: "", latest: "", broken: true }],
  };
  assert.deepEqual(await read(JSON.stringify(own), "lifecycle"), [expected]);
  const yaml =
    'product: Buoy\nnames: [buoy-server]\ngracePeriodMonths: 0\nreleases:\n- {releaseCycle: "1", releaseDate: 2026-01-01, eol: true, eolBroken: true}\n';
  assert.deepEqual(await read(yaml, "lifecycle"), [expected]);
});

test("a document of the wrong kind or format is refused with the format that it has", async () => {
  await assert.rejects(read(file("cve5.json"), "advisories"), { message: "is a CVE record of JSON 5, which import vulnerabilities takes" });
  await assert.rejects(read(file("osv.json"), "advisories", "wolfi"), { message: "is an OSV record, not of the format wolfi" });
  await assert.rejects(read('{"hello": 1}', "advisories"), { message: "is of no format that import advisories knows" });
  await assert.rejects(read("[1]", "advisories"), { message: "must be one document, not a list" });
});

const wolfi = file("harbour.yaml");
const aliasLines = [..."bcdefgh"].map((name, index) => `${name}: &${name} [${Array(10).fill(`*${"abcdefgh"[index]}`).join(",")}]`);
const bomb = `id: X-1\nmodified: 2025-01-01T00:00:00Z\na: &a [x,x,x,x,x,x,x,x,x,x]\n${aliasLines.join("\n")}\n`;
const json = (given: object): string => JSON.stringify(given, null, 1);
const cve = JSON.parse(file("cve5.json")) as { cveMetadata: Record<string, unknown>; containers: { cna: Record<string, unknown> } };
const withCna = (given: object): string => json({ ...cve, containers: { ...cve.containers, cna: { ...cve.containers.cna, ...given } } });

const hostile: readonly (readonly [string, FeedKind, string, number, RegExp])[] = [
  ["a bomb of aliases", "advisories", bomb, 4, /more than 100 aliases/],
  ["an alias of itself", "advisories", "id: X-1\nmodified: &a [*a]\n", 2, /nested deeper|must be a text|alias/i],
  ["lists without end", "advisories", `id: X-1\nmodified: ${"[".repeat(5_000)}`, 2, /nested deeper|not valid YAML/],
  ["brackets without end", "advisories", `{"id": "X-1",\n"modified": ${"[".repeat(200_000)}`, 2, /nested deeper than 100 levels/],
  ["a document that ends too early", "advisories", file("osv.json").slice(0, 400), 12, /not valid JSON/],
  ["YAML that ends within a text", "advisories", `${wolfi}      - timestamp: "2025`, 68, /not valid YAML/],
  ["two documents in one file", "advisories", `${wolfi}---\n${wolfi}`, 68, /contains more than one document/],
  ["a key that stands twice", "advisories", wolfi.replace("package:", "schema-version: 2\npackage:"), 3, /not valid YAML/],
  ["a number where a list is wanted", "advisories", wolfi.replace(/advisories:[\s\S]*/, "advisories: 7\n"), 6, /^advisories must be a list/],
  ["a list where a name is wanted", "advisories", wolfi.replace("name: harbour", "name: [harbour]"), 4, /^package.name must be a text/],
  ["a schema of the future", "advisories", wolfi.replace("2.0.2", "3.0.0"), 1, /^schema-version must be of schema 2/],
  ["an advisory twice", "advisories", wolfi.replace("CGA-5555-6666-7777", "CGA-2222-3333-4444"), 35, /occurs twice/],
  ["an event of no known kind", "advisories", wolfi.replace("type: fixed", "type: repaired"), 13, /^advisories\[0\].events\[0\].type must be one of/],
  ["the 30th of February", "advisories", wolfi.replace("2025-03-02T10", "2025-02-30T10"), 12, /timestamp must be a time/],
  ["a time of the year 300000", "advisories", wolfi.replace("2025-03-02T10:00:00Z", "+300000-01-01T00:00:00Z"), 12, /timestamp must be a time/],
  ["an event without a version", "advisories", wolfi.replace("fixed-version: 1.10-r0", "fixed-version:"), 15, /fixed-version must be a text that is not empty/],
  [
    "an escape sequence in a version",
    "advisories",
    wolfi.replace("fixed-version: 1.10-r0", 'fixed-version: "1\\e[2J"'),
    15,
    /must not contain control characters/,
  ],
  ["a bell in a note", "advisories", wolfi.replace('"No time: the quay is closed"', '"\\a"'), 53, /must not contain control characters/],
  ["NUL in JSON", "vulnerabilities", withCna({ title: "a\u0000b" }), 12, /title must not contain control characters/],
  ["half of a surrogate pair", "vulnerabilities", withCna({ title: "a" }).replace('"a"', '"\\ud800"'), 12, /title must not contain half of a surrogate pair/],
  ["a state that is none", "vulnerabilities", json({ ...cve, cveMetadata: { ...cve.cveMetadata, state: "MAYBE" } }), 6, /state must be PUBLISHED or REJECTED/],
  ["a number that is none", "vulnerabilities", json({ ...cve, cveMetadata: { ...cve.cveMetadata, cveId: "CVE-1" } }), 5, /cveId must be a number/],
  ["a text where an object is wanted", "vulnerabilities", json({ ...cve, containers: "all" }), 10, /^containers must be an object/],
  ["an identifier as long as a book", "vulnerabilities", json({ id: `X-${"1".repeat(600)}`, modified: "2025-01-01T00:00:00Z" }), 2, /^id must be at most 512/],
  ["a prototype for a document", "advisories", `{"__proto__": {"id": "X-1"}, "modified": "2025-01-01T00:00:00Z"}`, 1, /no format/],
  ["TOML that is none", "vulnerabilities", file("rustsec.md").replace('package = "mast"', "package = mast mast"), 4, /not valid TOML/],
  ["TOML without an end", "vulnerabilities", file("rustsec.md").replace("\n```\n", "\n"), 16, /fence/],
  ["a RustSec record without a date", "vulnerabilities", file("rustsec.md").replace("date = 2025-03-04\n", ""), 2, /advisory.date must be a time/],
  [
    "an external entity",
    "libraries",
    file("maven.xml").replace("<metadata>", '<!DOCTYPE metadata [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<metadata>'),
    2,
    /must not have a document type/,
  ],
  ["XML that ends too early", "libraries", file("maven.xml").slice(0, 200), 8, /not valid XML: it ends within/],
  ["elements without end", "libraries", `<metadata>${"<a>".repeat(20_000)}${"</a>".repeat(20_000)}</metadata>`, 1, /not valid XML/],
  [
    "a negative size",
    "libraries",
    '{"name": "a", "ecosystem": "JAVA", "versions": [{"version": "1", "sizeBytes": -1}]}',
    1,
    /sizeBytes must be a whole number/,
  ],
  [
    "a size beyond all numbers",
    "libraries",
    '{"name": "a", "ecosystem": "JAVA", "versions": [{"version": "1", "sizeBytes": 1e400}]}',
    1,
    /sizeBytes must be a whole number/,
  ],
  ["an ecosystem of no contract", "libraries", '{"name": "a", "ecosystem": "COBOL", "versions": []}', 1, /ecosystem must be JAVA or PYTHON/],
  ["a package without a version", "images", file("images.jsonl").replace("harbour=1.9-r0", "harbour"), 1, /must be a package and its version/],
  ["a release whose end is no day", "lifecycle", file("lighthouse.md").replace("2025-08-31", "next year"), 24, /releases\[1\]\.eol must be a day such as/],
  ["a release whose end is in no calendar", "lifecycle", file("lighthouse.md").replace("2025-08-31", "2025-02-30"), 24, /releases\[1\]\.eol must be a day/],
  ["a release that is there twice", "lifecycle", file("lighthouse.md").replace('"1.8"', '"1.9"'), 27, /releaseCycle is a duplicate/],
  ["a release without a day", "lifecycle", file("lighthouse.md").replace("releaseDate: 2026-01-01", "codename: x"), 31, /releaseDate must be a text/],
  ["a grace of a thousand months", "lifecycle", '{"product": "a", "gracePeriodMonths": 1000, "releases": [{}]}', 1, /gracePeriodMonths must be at most 120/],
  ["a lifecycle without releases", "lifecycle", '{"product": "a", "releases": []}', 1, /releases must be a list that is not empty/],
  [
    "a bomb in front of prose",
    "lifecycle",
    `---\npermalink: /a\na: &a [x,x,x,x,x,x,x,x,x,x]\n${aliasLines.join("\n")}\n---\nprose\n`,
    4,
    /more than 100 aliases/,
  ],
  ["a key with a line end", "advisories", file("secdb.json").replace('"1.2.3-r0"', '"1\\n2"'), 5, /must not contain control characters/],
];

for (const [title, kind, text, line, reason] of hostile) {
  test(`${title} is refused with its line and a reason`, async () => {
    const started = performance.now();
    await assert.rejects(read(text, kind), (thrown: unknown) => {
      assert.ok(thrown instanceof DocumentError, String(thrown instanceof Error ? thrown.stack : thrown));
      assert.match(thrown.message, reason);
      assert.equal(thrown.line, line, thrown.message);
      return true;
    });
    assert.ok(performance.now() - started < 5_000);
  });
}
