// Alpine's secdb: fixed versions for packages of one repository. Without times, so events are dated 1970; an invented date would
// distort reports by day.

import { timestamp } from "#base/time.ts";
import type { AdvisoryEventRecord, AdvisoryRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { originOf, type Format, type ReadOptions } from "./format.ts";

interface FixDraft {
  readonly advisoryId: string;
  readonly aliases: Set<string>;
  readonly events: AdvisoryEventRecord[];
}

/** Splits the IDs of one vulnerability: "CVE-2019-1 GHSA-…"; "CVE-2019-1 (+ regression)" has a remark. */
const readFixIds = (entry: Field): string[] => {
  const words = entry.required().trim().split(/\s+/);
  const ids = words.filter((word) => /^[A-Za-z][A-Za-z0-9]*[-:?_][\w.:?-]+$/.test(word));
  return ids.length > 0 ? ids : words.slice(0, 1);
};

// "0" means never affected.
const fixEvent = (version: string): AdvisoryEventRecord => ({
  time: timestamp(0),
  data: version === "0" ? { falsePositiveDetermination: { type: "TYPE_UNSPECIFIED" } } : { fixed: { fixedVersion: version } },
});

const packageAdvisories = (entry: Field, repository: string, { author }: ReadOptions): AdvisoryRecord[] => {
  const pkg = entry.at("pkg").object();
  const name = pkg.at("name").id();
  const fixes = pkg.at("secfixes");
  const found = new Map<string, FixDraft>();
  for (const version of fixes.keys()) {
    for (const fix of fixes.at(version).list()) {
      const [advisoryId = "", ...aliases] = readFixIds(fix);
      const known = found.get(advisoryId) ?? { advisoryId, aliases: new Set([advisoryId]), events: [] };
      if (found.has(advisoryId) === false) found.set(advisoryId, known);
      for (const alias of aliases) known.aliases.add(alias);
      known.events.push(fixEvent(version));
    }
  }
  return [...found.values()].map(({ advisoryId, aliases, events }) => ({
    kind: "advisory",
    key: `${repository} ${name} ${advisoryId}`,
    advisoryId,
    author: author ?? "secdb",
    artifactName: name,
    artifactType: "apk",
    namespace: repository,
    aliases: [...aliases],
    events,
  }));
};

const repositoryOf = (document: Field): string => {
  const parts = [document.at("distroversion").name(), document.at("reponame").name()].filter((part) => part !== "");
  return parts.length > 0 ? parts.join("/") : document.at("urlprefix").name();
};

export const secdb: Format = {
  name: "secdb",
  title: "a secdb of Alpine",
  kinds: ["advisories"],
  matches: (document) =>
    Array.isArray(document.packages) && ("apkurl" in document || "reponame" in document || "distroversion" in document || "urlprefix" in document),
  origin: (document) => originOf(repositoryOf(document)),
  read: (document, options) => {
    const repository = repositoryOf(document);
    return document
      .at("packages")
      .list()
      .flatMap((entry) => packageAdvisories(entry, repository, options));
  },
};
