// Reports of real scanners (shared/data/reports): version 1 shows what an independent reader concludes, vulnerability by vulnerability and package by
// package.

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { importReports } from "#advisories/feeds";
import { isObject, type Json, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";
import { realData } from "./import.ts";

const reports = join(realData, "reports");
const skip = !existsSync(reports) && "shared/data/reports is not here";

let world: World;
let repo: string;
before(async () => {
  world = await openWorld();
  repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "scanned" } }), "uid");
});
after(() => world?.close());

interface Conclusion {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly severity: string;
  readonly state: string;
  readonly versions: readonly string[];
  /** "" if the report has none. */
  readonly purl: string;
}

const asObject = (value: Json): JsonObject => (isObject(value) ? value : {});

const grypeWords: Readonly<Record<string, string>> = { fixed: "FIXED", "not-fixed": "NOT_FIXED", "wont-fix": "WONT_FIX" };
const judgeGrype = (document: Json): Conclusion[] =>
  objectList(asObject(document), "matches").map((match) => {
    const [vulnerability, artifact] = [part(match, "vulnerability"), part(match, "artifact")];
    const fix = vulnerability.fix === undefined ? undefined : part(vulnerability, "fix");
    const earlier = text(vulnerability, "fixedInVersion");
    return {
      id: text(vulnerability, "id"),
      name: text(artifact, "name"),
      version: text(artifact, "version"),
      purl: text(artifact, "purl"),
      severity: (text(vulnerability, "severity") || "Unknown").toUpperCase(),
      state: fix ? (grypeWords[text(fix, "state")] ?? "UNKNOWN") : earlier ? "FIXED" : "UNKNOWN",
      versions: fix ? texts(fix, "versions") : earlier ? [earlier] : [],
    };
  });

const trivyWords: Readonly<Record<string, string>> = {
  fixed: "FIXED",
  affected: "NOT_FIXED",
  fix_deferred: "NOT_FIXED",
  will_not_fix: "WONT_FIX",
  end_of_life: "WONT_FIX",
};
const judgeTrivy = (document: Json): Conclusion[] =>
  objectList(Array.isArray(document) ? { Results: document } : asObject(document), "Results").flatMap((result) =>
    objectList(result, "Vulnerabilities")
      .filter((each) => text(each, "VulnerabilityID") !== "")
      .map((each) => {
        const [status, fixed] = [text(each, "Status"), text(each, "FixedVersion")];
        return {
          id: text(each, "VulnerabilityID"),
          name: text(each, "PkgName"),
          version: text(each, "InstalledVersion"),
          purl: text(part(each, "PkgIdentifier"), "PURL"),
          severity: text(each, "Severity") || "UNKNOWN",
          state: status ? (trivyWords[status] ?? "UNKNOWN") : fixed ? "FIXED" : "NOT_FIXED",
          versions: fixed ? fixed.split(", ") : [],
        };
      }),
  );

const band = (score: number): string => (score >= 9 ? "CRITICAL" : score >= 7 ? "HIGH" : score >= 4 ? "MEDIUM" : score > 0 ? "LOW" : "UNKNOWN");

/** Returns the value of a line such as "Package: one". */
const lineOf = (lines: string, ...labels: readonly string[]): string => {
  for (const label of labels) {
    const found = new RegExp(`^${label}: (.+)$`, "m").exec(lines);
    if (found) return found[1] ?? "";
  }
  return "";
};
const judgeSarif = (document: Json): Conclusion[] =>
  objectList(asObject(document), "runs").flatMap((run) =>
    objectList(run, "results")
      .filter((result) => /^(?:CVE|GHSA|GO)-/.test(text(result, "ruleId")))
      .map((result) => {
        const rules = objectList(part(part(run, "tool"), "driver"), "rules");
        const rule = rules.find((each) => text(each, "id") === text(result, "ruleId")) ?? {};
        const lines = `${text(part(result, "message"), "text")}\n${text(part(rule, "help"), "text")}`;
        const score = Number(part(rule, "properties")["security-severity"] ?? 0);
        const word = lineOf(lines, "Severity") || text(part(result, "properties"), "cvssv3_baseSeverity");
        const fixed = lineOf(lines, "Fixed Version", "Fix Version");
        return {
          id: /^(?:CVE-\d+-\d+|GHSA(?:-\w{4}){3}|GO-\d+-\d+)/.exec(text(result, "ruleId"))?.[0] ?? "",
          name: lineOf(lines, "Package"),
          version: lineOf(lines, "Installed Version", "Version"),
          purl: "",
          severity: word === "" ? band(score) : word.toUpperCase(),
          state: fixed ? "FIXED" : "UNKNOWN",
          versions: fixed ? fixed.split(", ") : [],
        };
      }),
  );

/** Files without vulnerabilities of one image, with the expected reason. */
const refusals: Readonly<Record<string, string>> = {
  "trivy/defectdojo-kubernetes.json": "is a cluster report without an image digest",
  "sarif/dockle.sarif": "names no vulnerability by its number",
};

const judges = { grype: judgeGrype, trivy: judgeTrivy, sarif: judgeSarif };

const line = ({ id, name, version, severity, state, versions }: Omit<Conclusion, "purl">): string =>
  [id, name, version, severity, state, versions.join()].join(" | ");
const sorted = (lines: Iterable<string>): string[] => [...new Set(lines)].sort();
// A control character in a report is shown as U+FFFD.
const clean = (word: string): string => word.replaceAll("\u0000", "\uFFFD");

for (const [kind, judge] of Object.entries(judges)) {
  test(`every report of ${kind} is shown as an independent reader concludes`, { skip }, async () => {
    const names = readdirSync(join(reports, kind)).sort();
    assert.ok(names.length > 0);
    let judged = 0;
    for (const name of names) {
      const path = join(reports, kind, name);
      const digest = `sha256:${hash("sha256", `${kind}/${name}`, "hex")}`;
      const summary = await importReports(world.server.application.services, { group: world.organization, sources: [path], repo, digest, progress: () => {} });
      const refusal = refusals[`${kind}/${name}`];
      assert.deepEqual(summary.refused, refusal === undefined ? [] : [`${name}: ${refusal}`]);
      if (refusal !== undefined) continue;
      const raw = readFileSync(path, "utf8");
      const expected: Conclusion[] = judge(JSON.parse(raw) as Json).map((each) => ({
        ...each,
        name: clean(each.name),
        version: clean(each.version),
        purl: clean(each.purl),
      }));
      judged += expected.length;

      const shown = await world.ok("chainguard.platform.registry.Registry/GetVulnReport", { repoId: repo, digest });
      assert.deepEqual(
        sorted(
          objectList(shown, "vulnerabilityMatches").map((match) => {
            const [record, found, fix] = [part(match, "vulnerability"), part(match, "pkg"), part(match, "fix")];
            return line({
              id: text(record, "id"),
              name: text(found, "name"),
              version: text(found, "version"),
              severity: text(record, "severity"),
              state: text(fix, "state"),
              versions: texts(fix, "versions"),
            });
          }),
        ),
        sorted(expected.map((each) => line({ ...each, severity: each.severity === "NEGLIGIBLE" ? "LOW" : each.severity }))),
        name,
      );

      const [listed = {}, ...more] = objectList(await world.ok("chainguard.platform.registry.Vulnerabilities/ListVulnReports", { digest }), "items");
      assert.equal(more.length, 0);
      const findings: JsonObject[] = objectList(listed, "vulnerabilities");
      const keyOf = (id: string, severity: string, state: string, versions: readonly string[], purl: string): string =>
        [id, severity, state, versions.join(), purl].join(" | ");
      const known = sorted(
        findings.flatMap((each) =>
          texts(each, "purls").map((purl) =>
            keyOf(text(each, "id"), text(each, "severity"), text(part(each, "fix"), "state"), texts(part(each, "fix"), "versions"), purl),
          ),
        ),
      );
      for (const each of expected.filter(({ purl }) => purl !== ""))
        assert.ok(known.includes(keyOf(each.id, each.severity, each.state, each.versions, each.purl)), `${name}: ${line(each)} ${each.purl}`);
      assert.deepEqual(sorted(findings.map((each) => text(each, "id"))), sorted(expected.map(({ id }) => id)), name);

      const came = await world.ok("chainguard.platform.registry.Vulnerabilities/GetRawVulnReport", { digest });
      assert.equal(text(came, "rawReport"), raw, name);
    }
    assert.ok(judged > 30, `${judged} lines were judged`);
  });
}
