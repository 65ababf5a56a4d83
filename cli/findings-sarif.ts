// Findings as SARIF 2.1.0 (OASIS), for code scanning of GitHub and other readers.

import { type JsonObject, text, texts } from "#base/json.ts";
import { onOneLine } from "./output/escape.ts";

const schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

const levels: Readonly<Record<string, string>> = { critical: "error", high: "error", medium: "warning", unknown: "warning", low: "note", negligible: "note" };

/** GitHub reads the severity from a number. A band without a score gets its lowest one. */
const leastScores: Readonly<Record<string, string>> = { critical: "9.0", high: "7.0", medium: "4.0", low: "0.1", negligible: "0.1" };

export const severityOf = (finding: JsonObject): string =>
  text(finding, "severity")
    .replace(/^FINDING_SEVERITY_/, "")
    .toLowerCase();

/** Returns the CVE ID if there is one. */
export const vulnerabilityOf = (finding: JsonObject): string => {
  const ids = [text(finding, "advisoryId"), ...texts(finding, "aliases")];
  return ids.find((id) => id.startsWith("CVE-")) ?? ids[0] ?? "";
};

/** Readers of SARIF take "[text](target)" in a message as a link, and "{0}" as a placeholder. */
const messageText = (value: string): string =>
  onOneLine(value)
    .replaceAll(/[\\[\]]/g, "\\$&")
    .replaceAll(/[{}]/g, "$&$&");

const ruleOf = (id: string, finding: JsonObject): JsonObject => {
  const severity = severityOf(finding);
  const score = leastScores[severity];
  const aliases = [text(finding, "advisoryId"), ...texts(finding, "aliases")].filter((each) => each !== id);
  const names = messageText(aliases.length > 0 ? `${id}, also known as ${aliases.join(", ")}` : id);
  return {
    id,
    shortDescription: { text: messageText(`${id} in ${text(finding, "packageName")}`) },
    fullDescription: { text: names },
    // GitHub requires it.
    help: { text: names },
    ...(id.startsWith("CVE-") ? { helpUri: `https://www.cve.org/CVERecord?id=${encodeURIComponent(id.toWellFormed())}` } : {}),
    properties: {
      tags: ["security", "vulnerability", ...(finding.exploited === true ? ["exploited"] : [])],
      ...(score === undefined ? {} : { "security-severity": score }),
    },
  };
};

const resultOf = (image: string, finding: JsonObject, ruleIndex: number): JsonObject => {
  const id = vulnerabilityOf(finding);
  const [name, version, fixed] = [text(finding, "packageName"), text(finding, "installedVersion"), text(finding, "fixedVersion")];
  const severity = severityOf(finding);
  const message = [
    `Package: ${name}`,
    `Installed Version: ${version}`,
    `Vulnerability ${id}`,
    `Severity: ${severity.toUpperCase()}`,
    `Fixed Version: ${fixed}`,
    ...(finding.exploited === true ? ["Known to be exploited"] : []),
  ];
  return {
    ruleId: id,
    ruleIndex,
    level: levels[severity] ?? "warning",
    message: { text: message.map(messageText).join("\n") },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: image.replaceAll(/[^A-Za-z0-9/._@:-]/g, "_") }, region: { startLine: 1 } },
        logicalLocations: [{ fullyQualifiedName: `${name}@${version}`, kind: "package" }],
      },
    ],
    partialFingerprints: { "findingUid/v1": text(finding, "uid") },
  };
};

/** `unknown` becomes notifications, so that an incomplete result does not look complete. */
export const sarifOf = (version: string, image: string, findings: readonly JsonObject[], unknown: readonly string[]): JsonObject => {
  const rules = new Map<string, JsonObject>();
  for (const finding of findings) {
    const id = vulnerabilityOf(finding);
    if (!rules.has(id)) rules.set(id, ruleOf(id, finding));
  }
  const indexes = new Map([...rules.keys()].map((id, index) => [id, index]));
  return {
    $schema: schema,
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "Gantry", version, rules: [...rules.values()] } },
        invocations: [
          { executionSuccessful: true, toolExecutionNotifications: unknown.map((each) => ({ level: "warning", message: { text: messageText(each) } })) },
        ],
        results: findings.map((finding) => resultOf(image, finding, indexes.get(vulnerabilityOf(finding)) ?? -1)),
        properties: { imageName: image },
      },
    ],
  };
};
