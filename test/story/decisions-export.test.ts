// Decisions about findings as VEX documents: what they state about which images and packages, in both formats, and over each protocol.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as mandatoryTests from "@secvisogram/csaf-validator-lib/mandatoryTests.js";
import { csaf_2_0_strict } from "@secvisogram/csaf-validator-lib/schemaTests.js";
import validate from "@secvisogram/csaf-validator-lib/validate.js";
import { codes } from "#base/fault.ts";
import { type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { runGantry } from "../command-line.ts";
import { decisionsService as service, type DecisionsStage, documentOf, notAffected, openDecisionsStage, stated } from "../decisions-stage.ts";
import { debian, dpkg, pushImage } from "../image-layers.ts";
import { openPusher } from "../pusher.ts";
import { timeForm } from "./openvex-rules.ts";

const dayMs = 86_400_000;
const csafRules = [csaf_2_0_strict, ...Object.values(mandatoryTests).filter((each) => typeof each === "function")];

let stage: DecisionsStage;

before(async () => {
  stage = await openDecisionsStage();
});
after(() => stage?.close());

test("each state is a statement with the decision's reason about the image's digest and its package, in both formats", async () => {
  const own = await stage.newOrganization();
  const names = ["denied", "absent", "accepted", "examined"];
  for (const [index, name] of names.entries()) await stage.importRecord(own, `GHSA-${name}`, [`CVE-2026-100${index}`], name);
  const digest = await stage.push(own, `${own.name}/team/web`, ...names);
  await stage.decide(own, { vulnerability: "CVE-2026-1000", reason: "Mistaken.", packageName: "pkg:npm/denied" });
  await stage.decide(own, { vulnerability: "CVE-2026-1001", reason: "Not built.", ...notAffected });
  const expireTime = new Date(stage.world.clock.now + 30 * dayMs).toISOString();
  await stage.decide(own, { vulnerability: "CVE-2026-1002", reason: "Internal.", state: "FINDING_DECISION_STATE_ACCEPTED", expireTime });
  await stage.decide(own, { vulnerability: "GHSA-examined", reason: "Looking.", state: "FINDING_DECISION_STATE_UNDER_INVESTIGATION" });

  const reply = await stage.exported(own);
  assert.deepEqual([reply.decisionCount, reply.findingCount, reply.omittedFindingCount ?? 0], [4, 4, 0]);
  const document = documentOf(reply);
  assert.deepEqual(Object.keys(document), ["@context", "@id", "author", "timestamp", "version", "statements"]);
  assert.deepEqual([document["@context"], document.author, document.version], ["https://openvex.dev/ns/v0.2.0", own.name, 1]);
  assert.match(text(document, "timestamp"), timeForm);
  const host = new URL(stage.world.url).host;
  const purl = `pkg:oci/web@${digest.replace(":", "%3A")}?repository_url=${host}/${own.name}/team`;
  const about = (name: string): Json => [
    {
      "@id": purl,
      identifiers: { purl: `${purl}/web` },
      subcomponents: [{ "@id": `pkg:npm/${name}@1.0.0`, identifiers: { purl: `pkg:npm/${name}@1.0.0` } }],
    },
  ];
  const vulnerability = (index: number): Json => ({ name: `CVE-2026-100${index}`, aliases: [`GHSA-${names[index]}`] });
  assert.deepEqual(
    objectList(document, "statements")
      .map(({ timestamp, ...statement }) => {
        assert.match(String(timestamp), timeForm);
        return statement;
      })
      .sort((one, other) => (JSON.stringify(one.vulnerability) < JSON.stringify(other.vulnerability) ? -1 : 1)),
    [
      { vulnerability: vulnerability(0), products: about("denied"), status: "not_affected", justification: "component_not_present", status_notes: "Mistaken." },
      {
        vulnerability: vulnerability(1),
        products: about("absent"),
        status: "not_affected",
        justification: "vulnerable_code_not_present",
        status_notes: "Not built.",
      },
      { vulnerability: vulnerability(2), products: about("accepted"), status: "affected", action_statement: `Risk accepted until ${expireTime}: Internal.` },
      { vulnerability: vulnerability(3), products: about("examined"), status: "under_investigation", status_notes: "Looking." },
    ],
  );

  const csaf = documentOf(await stage.exported(own, { format: "FINDING_DECISIONS_FORMAT_CSAF" }));
  const { tests } = await validate(csafRules, csaf);
  assert.deepEqual(
    tests.filter(({ errors }) => errors.length > 0).map(({ name, errors }) => [name, errors]),
    [],
  );
  const byCve = new Map(objectList(csaf, "vulnerabilities").map((each) => [text(each, "cve"), each]));
  assert.deepEqual(
    names.map((_, index) => Object.keys(part(byCve.get(`CVE-2026-100${index}`) ?? {}, "product_status"))),
    [["known_not_affected"], ["known_not_affected"], ["known_affected"], ["under_investigation"]],
  );
  assert.deepEqual(objectList(byCve.get("CVE-2026-1001") ?? {}, "flags")[0]?.label, "vulnerable_code_not_present");
  assert.deepEqual(objectList(byCve.get("CVE-2026-1002") ?? {}, "remediations")[0]?.details, `Risk accepted until ${expireTime}: Internal.`);
});

test("the same decisions have the same document over REST, gRPC and the command line, and other decisions another ID", async () => {
  const own = await stage.newOrganization();
  await stage.importRecord(own, "GHSA-same", ["CVE-2026-2000"], "same");
  await stage.push(own, `${own.name}/web`, "same");
  await stage.decide(own, { vulnerability: "CVE-2026-2000", ...notAffected });
  const token = await own.token();
  const environment = { GANTRY_SERVER: stage.world.url, GANTRY_TOKEN: token, XDG_CONFIG_HOME: stage.folder, HOME: stage.folder };
  const ids: string[] = [];
  for (const format of ["OPENVEX", "CSAF"]) {
    const request = { parent: own.group, format: `FINDING_DECISIONS_FORMAT_${format}` };
    const documents: string[] = [];
    for (const protocol of ["rest", "grpc"] as const)
      documents.push(text(await stage.world.ok(`${service}/ExportFindingDecisions`, request, { protocol, token }), "document"));
    const run = await runGantry(["findings", "decisions", "export", own.name, "--format", format.toLowerCase()], { environment });
    assert.equal(run.status, 0, run.err);
    assert.match(run.err, /decision count: 1, finding count: 1/);
    assert.deepEqual(new Set([...documents, run.out.trim()]).size, 1);
    const document = JSON.parse(run.out) as JsonObject;
    ids.push(text(document, "@id") || text(part(part(document, "document"), "tracking"), "id"));
  }
  const asRecord = await runGantry(["findings", "decisions", "export", own.name, "-o", "json"], { environment });
  assert.equal((JSON.parse(asRecord.out) as JsonObject).decisionCount, 1);
  await stage.importRecord(own, "GHSA-more", ["CVE-2026-2001"], "same");
  await stage.decide(own, { vulnerability: "CVE-2026-2001", ...notAffected });
  const [openVex, csaf] = [documentOf(await stage.exported(own)), documentOf(await stage.exported(own, { format: "FINDING_DECISIONS_FORMAT_CSAF" }))];
  assert.ok(!ids.includes(text(openVex, "@id")) && !ids.includes(text(part(part(csaf, "document"), "tracking"), "id")));
});

test("an expired or deleted decision is not stated, before and after the images are matched again", async () => {
  const own = await stage.newOrganization();
  await stage.importRecord(own, "GHSA-ends", ["CVE-2026-3000"], "ends");
  await stage.push(own, `${own.name}/web`, "ends");
  const accepted = {
    vulnerability: "CVE-2026-3000",
    state: "FINDING_DECISION_STATE_ACCEPTED",
    expireTime: new Date(stage.world.clock.now + dayMs).toISOString(),
  };
  await stage.decide(own, accepted);
  assert.equal((await stage.exported(own)).findingCount, 1);
  stage.world.clock.now += 2 * dayMs;
  for (const isMatched of [false, true]) {
    if (isMatched) await stage.turn();
    assert.equal(await stage.exportCode(own), codes.FAILED_PRECONDITION);
  }
  const { uid } = await stage.decide(own, { vulnerability: "CVE-2026-3000", ...notAffected });
  assert.equal((await stage.exported(own)).findingCount, 1);
  await stage.world.ok(`${service}/DeleteFindingDecision`, { uid: String(uid) }, { token: await own.token() });
  for (const isMatched of [false, true]) {
    if (isMatched) await stage.turn();
    assert.equal(await stage.exportCode(own), codes.FAILED_PRECONDITION);
  }
});

test("a document has the images of the group and the groups below, with the decision of the nearest group", async () => {
  const own = await stage.newOrganization();
  const team = await stage.newGroup(own, own.group, "team");
  await stage.importRecord(own, "GHSA-near", ["CVE-2026-4000"], "near");
  await stage.push(own, `${own.name}/web`, "near");
  await stage.push(own, `${own.name}/team/api`, "near");
  await stage.decide(own, { vulnerability: "CVE-2026-4000", ...notAffected });
  await stage.decide(own, { vulnerability: "CVE-2026-4000", state: "FINDING_DECISION_STATE_UNDER_INVESTIGATION" }, team);
  assert.deepEqual(stated(documentOf(await stage.exported(own))), [
    `CVE-2026-4000 not_affected ${own.name}/web pkg:npm/near@1.0.0`,
    `CVE-2026-4000 under_investigation ${own.name}/team/api pkg:npm/near@1.0.0`,
  ]);
  assert.deepEqual(stated(documentOf(await stage.exported(own, { parent: team }))), [
    `CVE-2026-4000 under_investigation ${own.name}/team/api pkg:npm/near@1.0.0`,
  ]);
});

test("a package is stated in the forms of scanners: without qualifiers, and an epoch in the version and as a qualifier", async () => {
  const own = await stage.newOrganization();
  const affected = [{ package: { ecosystem: "Debian:12", name: "tar" }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }] }] }];
  await stage.importOsv(own, { id: "DEBIAN-CVE-2026-5000", aliases: ["CVE-2026-5000"], affected });
  await pushImage(openPusher(stage.world, `${own.name}/base`, own.token), "1", [debian, dpkg(["tar", "1:1.34-1"])]);
  await stage.turn();
  await stage.decide(own, { vulnerability: "CVE-2026-5000", ...notAffected });
  assert.deepEqual(stated(documentOf(await stage.exported(own))), [
    `CVE-2026-5000 not_affected ${own.name}/base pkg:deb/debian/tar@1.34-1?epoch=1`,
    `CVE-2026-5000 not_affected ${own.name}/base pkg:deb/debian/tar@1:1.34-1`,
  ]);
});
