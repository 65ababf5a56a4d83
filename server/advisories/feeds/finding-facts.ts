// Severity and exploitation of findings, as stored with the matches of images (match-images.ts). A change of either queues the IDs of the
// vulnerability; the findings with them are updated in bounded pieces.

import { cvssScore } from "#base/cvss.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import {
  addOrganizationToMatch,
  type AffectedFacts,
  deleteChangedVulnerabilities,
  type ExploitFacts,
  findAffectedFacts,
  findChangedVulnerabilities,
  findIdsOfRecords,
  findRootsWithAdvisories,
  type FindingFacts,
  type ImageRepo,
  lockMatching,
  noDueDate,
  readExploitFacts,
  readSeverities,
  severityRowsOf,
  type SeverityRow,
  writeAffectedFacts,
} from "#advisories/store";
import type { Read } from "#db";
import type { Services } from "#kernel";
import { installedPackageOf } from "./judge-package.ts";
import { type ReportSeverity, severityNamed, severityOfScore, severityRanks, worseOf } from "./reports/findings.ts";
import { writeOwnReports } from "./reports/own-reports.ts";

/** A vulnerability in a package. */
export interface FindingSubject {
  readonly advisoryId: string;
  readonly aliases: readonly string[];
  readonly packageName: string;
}

/** Prefixes of a distribution's record IDs, and the distribution in package URLs; "" for packages of apko. */
const recordPrefixes: readonly (readonly [prefix: string, distributions: readonly string[]])[] = [
  ["UBUNTU-", ["ubuntu"]],
  ["USN-", ["ubuntu"]],
  ["DEBIAN-", ["debian"]],
  ["DSA-", ["debian"]],
  ["DLA-", ["debian"]],
  ["RHSA-", ["redhat", "rhel"]],
  ["RHBA-", ["redhat", "rhel"]],
  ["RHEA-", ["redhat", "rhel"]],
  ["ALSA-", ["almalinux", "alma"]],
  ["RLSA-", ["rocky", "rocky-linux"]],
  ["RXSA-", ["rocky", "rocky-linux"]],
  ["ELSA-", ["oracle", "oraclelinux"]],
  ["ALAS", ["amzn", "amazon"]],
  ["SUSE-", ["suse", "sles"]],
  ["openSUSE-", ["opensuse"]],
  ["ALPINE-", ["alpine"]],
  ["CGA-", ["wolfi", "chainguard", ""]],
];

const distributionsOfRecord = (id: string): readonly string[] | undefined => recordPrefixes.find(([prefix]) => id.startsWith(prefix))?.[1];

const scoresOf = ({ severities }: SeverityRow): string[] => {
  const list = JSON.parse(severities) as Json;
  return (Array.isArray(list) ? list.filter(isObject) : []).map((each: JsonObject) => text(each, "score"));
};

const worstWord = (records: readonly SeverityRow[]): ReportSeverity => records.flatMap(scoresOf).map(severityNamed).reduce(worseOf, "UNKNOWN");

interface Cvss {
  readonly vector: string;
  readonly score: number;
  readonly version: string;
}

/** Of a record with several versions, version 4.0 counts. */
const newestOf = (scored: readonly Cvss[]): readonly Cvss[] => {
  const newest = scored.filter(({ version }) => version === "4.0");
  return newest.length > 0 ? newest : scored;
};

/** CVSS 2 counts only without a newer score. Returns the vector with the highest score, the first in byte order. */
const worstCvss = (records: readonly SeverityRow[]): Cvss | undefined => {
  const all = records.flatMap((record) =>
    newestOf(
      scoresOf(record).flatMap((vector): Cvss[] => {
        const found = cvssScore(vector);
        return found ? [{ vector, ...found }] : [];
      }),
    ),
  );
  const newer = all.filter(({ version }) => version !== "2.0");
  const [worst] = (newer.length > 0 ? newer : all).sort((one, other) => other.score - one.score || (one.vector < other.vector ? -1 : 1));
  return worst;
};

type Severity = Pick<FindingFacts, "severity" | "severityRank" | "severityOrigin" | "cvssVector" | "cvssScore">;

/** The distribution's word counts before those of others, and words before CVSS. Words about other distributions count last. */
const severityOf = (records: readonly SeverityRow[], packageName: string): Severity => {
  const { distribution } = installedPackageOf(packageName);
  const own = worstWord(records.filter(({ id }) => distributionsOfRecord(id)?.includes(distribution)));
  const source = worstWord(records.filter(({ id }) => distributionsOfRecord(id) === undefined));
  const cvss = worstCvss(records);
  const scored = cvss ? severityOfScore(cvss.score) : "UNKNOWN";
  const candidates: readonly (readonly [origin: string, severity: ReportSeverity])[] = [
    ["DISTRIBUTION", own],
    ["SOURCE", source],
    ["CVSS", scored],
    ["SOURCE", worstWord(records)],
  ];
  const [origin = "", severity = "UNKNOWN"] = candidates.find(([, each]) => each !== "UNKNOWN") ?? [];
  return {
    severity: `FINDING_SEVERITY_${severity}`,
    severityRank: severityRanks.indexOf(severity),
    severityOrigin: origin === "" ? "" : `FINDING_SEVERITY_ORIGIN_${origin}`,
    cvssVector: cvss?.vector ?? "",
    cvssScore: cvss?.score ?? 0,
  };
};

const exploitFactsOf = (facts: ExploitFacts, numbers: readonly string[]): Pick<FindingFacts, "epssScore" | "exploitAddedDate" | "exploitDueDate"> => {
  const exploit = facts.knownExploitOf(numbers);
  return {
    epssScore: facts.predictionOf(numbers)?.score ?? 0,
    exploitAddedDate: exploit?.dateAdded ?? "",
    exploitDueDate: exploit === undefined ? "" : exploit.dueDate || noDueDate,
  };
};

/** Returns a reader of facts that reads those of a vulnerability once. */
export const openFindingFacts = (rows: Read, root: string): ((subjects: readonly FindingSubject[]) => Promise<readonly FindingFacts[]>) => {
  const known = new Map<string, FindingFacts>();
  const keyOf = ({ advisoryId, aliases, packageName }: FindingSubject): string =>
    JSON.stringify([advisoryId, aliases, installedPackageOf(packageName).distribution]);
  const numbersOf = ({ advisoryId, aliases }: FindingSubject): string[] => [advisoryId, ...aliases];
  return async (subjects) => {
    const keys = subjects.map(keyOf);
    const missing = new Map(subjects.flatMap((subject, index) => (known.has(keys[index] ?? "") ? [] : [[keys[index] ?? "", subject] as const])));
    if (missing.size > 0) {
      const numbers = [...missing.values()].flatMap(numbersOf);
      const severities = await readSeverities(rows, [root], numbers);
      const exploits = await readExploitFacts(rows, root, numbers);
      for (const [key, subject] of missing) {
        const own = numbersOf(subject);
        known.set(key, { ...severityOf(severityRowsOf(severities, root, own), subject.packageName), ...exploitFactsOf(exploits, own) });
      }
    }
    return keys.map((key) => {
      const facts = known.get(key);
      if (!facts) throw new Error("facts of a finding were not read");
      return facts;
    });
  };
};

// ---- updates ----------------------------------------------------------------------------------------------------

const sameFacts = (one: FindingFacts, other: FindingFacts): boolean =>
  one.severity === other.severity &&
  one.severityOrigin === other.severityOrigin &&
  one.cvssVector === other.cvssVector &&
  one.epssScore === other.epssScore &&
  one.exploitAddedDate === other.exploitAddedDate &&
  one.exploitDueDate === other.exploitDueDate;

const repoOf = ({ owner, repo }: AffectedFacts): readonly [string, ImageRepo] => [JSON.stringify([owner, repo]), { owner, repo }];

/** Updates findings after this one, in one transaction; returns the last one, or undefined if there are no more. */
const updatePiece = (services: Services, root: string, ids: readonly string[], after: string): Promise<string | undefined> =>
  services.store.write(async (rows) => {
    await lockMatching(rows, root);
    const found = await findAffectedFacts(rows, root, ids, after, limits.updatedFindings);
    const facts = await openFindingFacts(rows, root)(found);
    const changed = found.flatMap((finding, index) => {
      const now = facts[index];
      return now === undefined || sameFacts(finding, now) ? [] : [{ finding, facts: now }];
    });
    if (changed.length > 0) {
      const nowMs = services.clock();
      await writeAffectedFacts(
        rows,
        changed.map(({ finding: { uid }, facts: now }) => ({ uid, ...now })),
        nowMs,
      );
      const reported = changed.filter(({ finding, facts: now }) => finding.severity !== now.severity || finding.cvssVector !== now.cvssVector);
      await writeOwnReports(rows, services, root, [...new Map(reported.map(({ finding }) => repoOf(finding))).values()], nowMs);
    }
    return found.length < limits.updatedFindings ? undefined : found.at(-1)?.uid;
  });

/**
 * Updates the findings of all vulnerabilities with changed severities or exploitation. Matching of the same organization waits, so that
 * no match keeps facts from before a change. Any number of servers may run it; the changes stay queued until all findings are updated.
 * An organization that fails is queued to be matched as a whole, which reads the same facts, and delays no other.
 */
export const updateFindings = async (services: Services, goOn: () => Promise<void> = async () => {}): Promise<void> => {
  const { store, log } = services;
  for (;;) {
    const changes = await findChangedVulnerabilities(store.read, limits.changedVulnerabilities);
    if (changes.length === 0) return;
    const ids = await findIdsOfRecords(store.read, [...new Set(changes.map(({ id }) => id))]);
    const failed: string[] = [];
    for (const root of await findRootsWithAdvisories(store.read, ids)) {
      for (let after: string | undefined = ""; after !== undefined; ) {
        await goOn();
        after = await updatePiece(services, root, ids, after).catch((cause: unknown) => {
          log("images.unmatched", { organization: root, cause });
          failed.push(root);
          return undefined;
        });
      }
    }
    await store.write(async (rows) => {
      await deleteChangedVulnerabilities(
        rows,
        changes.map(({ position }) => position),
      );
      for (const root of failed) await addOrganizationToMatch(rows, root, true);
    });
  }
};
