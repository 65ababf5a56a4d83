// Evaluates advisories for versions: ranges and product statements by document, ours and lists of fixes by their events
// (judge-package.ts). Documents are read in batches.

import { limits } from "#base/limits.ts";
import { findSourceDocuments, type MatchableAdvisory } from "#advisories/store";
import type { Read } from "#db";
import { osvForms, osvValueOf } from "./documents/osv-value.ts";
import { UnsaidError } from "./documents/rustsec-osv.ts";
import { approvedEventsOf, type InstalledPackage, isOfDistribution, judgeByEvents, judgeByRanges, orderOfType, type PackageVerdict } from "./judge-package.ts";
import { architectureOf, judgeByProducts, judgeByStatements } from "./judge-statements.ts";
import { valueOfStored } from "./stored-document.ts";

export type Judge = (installed: InstalledPackage, version: string) => PackageVerdict | undefined;

type JsonDocument = ReturnType<typeof valueOfStored>;
type DocumentJudge = (document: JsonDocument, advisory: MatchableAdvisory) => Judge;

const judgeRanges: DocumentJudge = (document, { artifactName, form }) => {
  const record = osvValueOf(form, document);
  return (installed, version) => judgeByRanges(record, [artifactName], installed, version);
};

const documentJudges: ReadonlyMap<string, DocumentJudge> = new Map<string, DocumentJudge>([
  ...osvForms.map((form): [string, DocumentJudge] => [form, judgeRanges]),
  ["openvex", (document, { aliases }) => judgeByStatements(document, aliases)],
  ["csaf", (document, { aliases }) => judgeByProducts(document, aliases)],
]);

/** Evaluated by fixed versions in events. */
const formsWithFixes = new Set(["wolfi", "secdb"]);

const judgeOfDocument = (document: JsonDocument, judge: DocumentJudge, advisory: MatchableAdvisory): Judge | undefined => {
  try {
    return judge(document, advisory);
  } catch (thrown) {
    if (thrown instanceof UnsaidError) return undefined;
    throw thrown;
  }
};

/** Evaluates an authored advisory, on packages of any type. */
const judgeOfAuthored = ({ artifactType, artifactArchitecture, namespace, events }: MatchableAdvisory): Judge => {
  const approved = approvedEventsOf(events);
  const ecosystem = orderOfType(artifactType);
  const isFor = (machine: string): boolean => architectureOf(artifactArchitecture) === machine;
  return (installed, version) => {
    const verdict = isOfDistribution(namespace, installed) ? judgeByEvents(approved, version, ecosystem) : undefined;
    return verdict && artifactArchitecture !== "" ? { ...verdict, isFor } : verdict;
  };
};

const judgeOfEvents = ({ form, events }: MatchableAdvisory): Judge => {
  const approved = approvedEventsOf(events);
  // Other distributions have packages of the same name.
  return (installed, version) => (form !== "wolfi" || isOfDistribution("wolfi", installed) ? judgeByEvents(approved, version, "Wolfi") : undefined);
};

/** Yields advisories that can be evaluated by version, with evaluators. */
export async function* judgesOf(rows: Read, advisories: readonly MatchableAdvisory[]): AsyncGenerator<readonly [MatchableAdvisory, Judge]> {
  for (const advisory of advisories) {
    if (advisory.isAuthored && formsWithFixes.has(advisory.form)) yield [advisory, judgeOfAuthored(advisory)];
    // Only distribution packages have one version order for all.
    else if (formsWithFixes.has(advisory.form) && advisory.artifactType === "apk") yield [advisory, judgeOfEvents(advisory)];
  }
  const told = advisories.filter(({ form, documentId }) => documentJudges.has(form) && documentId !== "");
  // Some documents assert thousands of advisories, so each is parsed once.
  told.sort((one, other) => (one.documentId < other.documentId ? -1 : 1));
  for (let from = 0; from < told.length; from += limits.matchedDocuments) {
    const some = told.slice(from, from + limits.matchedDocuments);
    const documents = new Map((await findSourceDocuments(rows, [...new Set(some.map(({ documentId }) => documentId))])).map((each) => [each.id, each]));
    let read: { readonly id: string; readonly value: JsonDocument } | undefined;
    for (const advisory of some) {
      const [document, judge] = [documents.get(advisory.documentId), documentJudges.get(advisory.form)];
      if (!document || !judge) continue;
      if (read?.id !== document.id) read = { id: document.id, value: valueOfStored(document.body) };
      const found = judgeOfDocument(read.value, judge, advisory);
      if (found) yield [advisory, found];
    }
  }
}
