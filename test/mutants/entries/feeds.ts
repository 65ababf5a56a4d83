// Imports, published feeds, and data about images.

import type { Mutant } from "../mutant.ts";

const yaml = "server/advisories/feeds/parse/yaml.ts";
const zip = "server/advisories/feeds/parse/zip.ts";
const lifecycle = "server/advisories/feeds/formats/lifecycle.ts";
const statement = "server/advisories/feeds/sbom/statement.ts";
const report = "server/advisories/feeds/reports/read-report.ts";
const vex = "server/advisories/feeds/vex/read-vex.ts";
const coverage = "server/advisories/feeds/coverage.ts";

export const feeds: readonly Mutant[] = [
  {
    attack: 348,
    file: "server/advisories/resources/finding.ts",
    find: "...(stated.length === 0 ? {} : { vexStatements: stated }),",
    replace: '...(stated.length === 0 ? {} : { vexStatements: stated, state: "AFFECTED_IMAGE_STATE_SUPPRESSED" }),',
  },
  {
    attack: 377,
    file: "server/advisories/store/vex-statements.ts",
    find: "join vex_statements as statement on statement.repo_uid = given.repo_uid and statement.digest = image.digest",
    replace: "join vex_statements as statement on statement.digest = image.digest",
  },
  {
    attack: 388,
    file: "server/advisories/store/image-layers.ts",
    find: 'where exists (select from visible where held.uid >= visible.low collate "C" and held.uid < visible.high collate "C")',
    replace: "where true",
  },
  {
    attack: 388,
    file: "server/advisories/store/image-layers.ts",
    find: "where left(uid, 40) = wanted.root and chain = wanted.chain",
    replace: "where chain = wanted.chain",
  },
  {
    attack: 390,
    file: "server/advisories/resources/finding.ts",
    find: "found, { layers, fromBaseImage }, scope)",
    replace: "found, { layers, fromBaseImage }, { ...scope, visible: [wholeTable] })",
  },
  {
    attack: 391,
    file: "server/advisories/feeds/trusted-statements.ts",
    find: 'platformDigest === "" || platformDigest === platform',
    replace: "platformDigest !== platform || platformDigest === platform",
  },
  {
    attack: 385,
    file: "server/advisories/feeds/vex/signatures.ts",
    find: 'objectList(content, "subject").some(',
    replace: 'objectList(content, "subject").every(',
  },
  {
    attack: 385,
    file: "server/advisories/feeds/vex/signatures.ts",
    find: 'text(content, "predicateType").startsWith("https://openvex.dev/ns")',
    replace: "true",
  },
  {
    attack: 386,
    file: "server/advisories/store/vex-sources.ts",
    find: "left(uid, 40) = left($1, 40) and left(uid, -17) = any($2)",
    replace: "cardinality($2::text[]) > 0",
  },
  {
    attack: 386,
    file: "server/advisories/feeds/vex/public-key.ts",
    find: 'if (key.asymmetricKeyType === "ed25519") return verify',
    replace: 'if (key.asymmetricKeyType === "ec") return true;\n  if (key.asymmetricKeyType === "ed25519") return verify',
  },
  {
    attack: 387,
    file: "server/advisories/feeds/vex/signatures.ts",
    find: "signatures.length > limits.vexSignaturesMax",
    replace: "false",
  },
  { attack: 380, file: vex, find: "if (drafts.length > limits.vexStatementsMax) throw", replace: "if (false) throw" },
  { attack: 380, file: vex, find: "if (packageCount > limits.vexPackagesMax) throw", replace: "if (false) throw" },
  { attack: 61, file: zip, find: "if (archive.entryCount > limits.feedArchiveEntriesMax) throw", replace: "if (false) throw" },
  {
    attack: 84,
    file: zip,
    find: "if (entry.uncompressedSize > limits.feedDocumentBytesMax) throw",
    replace: "if (false) throw",
    tests: ["server/advisories/feeds/parse/zip.test.ts"],
  },
  { attack: 84, file: yaml, find: "if (++conversion.values > limits.feedYamlValuesMax) refuse(", replace: "if (false) refuse(" },
  {
    attack: 89,
    file: "server/advisories/feeds/secdb/yaml.ts",
    find: 'if (typeof value === "string") return ` ${quoted(value)}\\n`;',
    replace: 'if (typeof value === "string") return ` ${value}\\n`;',
  },
  { attack: 91, file: "server/advisories/feeds/csaf/names.ts", find: "if (!/^[-+a-z0-9_]+$/.test(fileName)) return undefined;", replace: "" },
  { attack: 107, file: statement, find: "return count > limits.sbomValuesMax;", replace: "return count < 0;" },
  { attack: 108, file: statement, find: "if (named.length > 0 && !named.some((digest) => about.includes(digest))) throw", replace: "if (false) throw" },
  { attack: 128, file: statement, find: "if (named.length > 0 && !named.some((digest) => about.includes(digest))) throw", replace: "if (false) throw" },
  { attack: 125, file: lifecycle, find: "if (entries.length > limits.lifecycleReleasesMax) return", replace: "if (false) return" },
  { attack: 126, file: report, find: 'if (typeof value === "string") return value.replace(controls, "\\uFFFD").toWellFormed();', replace: "" },
  {
    attack: 130,
    file: "server/registry/resources/overlay-binding.ts",
    find: "if (!covers(parentOf(overlay), parent)) return",
    replace: "if (false) return",
  },
  {
    attack: 127,
    file: "server/advisories/resources/vuln-report.ts",
    find: 'const asked = { places: visiblePaths, digest, scanner: scannerNamed(text(request, "scanner"))',
    replace: 'const asked = { places: visiblePaths.length < 0 ? visiblePaths : [""], digest, scanner: scannerNamed(text(request, "scanner"))',
  },
  {
    attack: 296,
    file: "server/advisories/store/source-documents.ts",
    find: "const narrowed = await findDroppedRecords(rows, knownIds(changed));",
    replace: "const narrowed: Awaited<ReturnType<typeof findDroppedRecords>> = [];",
    tests: ["test/story/withdrawals.test.ts"],
  },
  {
    attack: 297,
    file: "server/advisories/store/record-successors.ts",
    find: "where successor.old_id = any($1) and (feeds.id = any($2::integer[]) or (",
    replace: "where successor.old_id = any($1) and (true or feeds.id = any($2::integer[]) or (",
    tests: ["test/story/withdrawals.test.ts"],
  },
  {
    attack: 306,
    file: "server/advisories/resources/coverage/statement.ts",
    find: "unjudgedImageCount: unjudged + unread.count,",
    replace: "unjudgedImageCount: unjudged,",
  },
  {
    attack: 306,
    file: "server/advisories/store/image-coverage.ts",
    find: ") filter (where image.incomplete or ",
    replace: ") filter (where ",
  },
  { attack: 307, file: coverage, find: "if (!feed.public && !covers(feed.group, group)) continue;", replace: "" },
  {
    attack: 307,
    file: "server/advisories/store/feed-ecosystems.ts",
    find: "select ecosystem, bool_and(public) as public,",
    replace: "select ecosystem, bool_or(public) as public,",
  },
  {
    attack: 307,
    file: coverage,
    find: "const feedUid = covers(feed.group, group) ?",
    replace: "const feedUid = feed.group !== group || covers(feed.group, group) ?",
  },
  { attack: 308, file: coverage, find: 'staleMs === undefined || staleMs < nowMs ? "STALE"', replace: 'staleMs === undefined ? "STALE"' },
  {
    attack: 308,
    file: "server/advisories/store/feeds.ts",
    find: 'word === "OK" && !isUnread,',
    replace: 'word !== "FAILED",',
  },
  {
    attack: 309,
    file: coverage,
    find: ": [...keys.slice(0, limits.imageEcosystemsMax - 1), otherEcosystem];",
    replace: ": keys.slice(0, limits.imageEcosystemsMax);",
  },
  {
    attack: 309,
    file: coverage,
    find: "(isLanguageEcosystem(ecosystem) ? artifactTypeOf(ecosystem) : ecosystem)",
    replace: "artifactTypeOf(ecosystem)",
  },
  {
    attack: 371,
    file: "server/advisories/resources/finding.ts",
    find: "if (name === undefined || !isVisible) return",
    replace: "if (name === undefined || repo === undefined) return",
  },
  {
    attack: 372,
    file: "server/advisories/store/finding-facts.ts",
    find: "shown and (owner = '' or left(owner, 40) = $2)",
    replace: "shown and $2 <> ''",
  },
  { attack: 373, file: "server/advisories/resources/finding.ts", find: "if (digests.length === 0) throw", replace: "if (false) throw" },
];
