// Advisory documents of Wolfi and Chainguard, one per origin package (YAML, schema 2.x). Versions stay texts.

import { isObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { AdvisoryEventData, AdvisoryEventRecord, AdvisoryRecord, FalsePositiveType, ScanDetection } from "../record.ts";
import type { Field } from "../field.ts";
import { originOf, type Format, type ReadOptions } from "./format.ts";

const falsePositiveTypes: ReadonlyMap<string, FalsePositiveType> = new Map([
  ["vulnerability-record-analysis-contested", "TYPE_VULNERABILITY_RECORD_ANALYSIS_CONTESTED"],
  ["component-vulnerability-mismatch", "TYPE_COMPONENT_VULNERABILITY_MISMATCH"],
  ["vulnerable-code-version-not-used", "TYPE_VULNERABLE_CODE_VERSION_NOT_USED"],
  ["vulnerable-code-not-included-in-package", "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE"],
  ["vulnerable-code-not-in-execution-path", "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH"],
  ["vulnerable-code-cannot-be-controlled-by-adversary", "TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY"],
  ["inline-mitigations-exist", "TYPE_INLINE_MITIGATIONS_EXIST"],
]);

/** Free texts of a scanner, cut if too long. */
const freeTexts: ReadonlySet<string> = new Set(["scanner", "componentName", "componentType", "componentLocation"]);

const scanKeys = [
  ["scanner", "scanner"],
  ["subpackage", "subpackageName"],
  ["componentId", "componentID"],
  ["component", "componentName"],
  ["componentVersion", "componentVersion"],
  ["componentType", "componentType"],
  ["componentLocation", "componentLocation"],
  ["artifactVersion", "artifactVersion"],
  ["scannerVersion", "scannerVersion"],
  ["grypeDbBuilt", "grypeDBBuilt"],
  ["grypeDbChecksum", "grypeDBChecksum"],
] as const;

const textMembers = <Key extends string>(data: Field, keys: readonly (readonly [Key, string])[]): Partial<Record<Key, string>> => {
  const found: Partial<Record<Key, string>> = {};
  for (const [key, name] of keys) {
    const value = freeTexts.has(name) ? data.at(name).freeText() : data.at(name).name();
    if (value !== "") found[key] = value;
  }
  return found;
};

const noteMember = (data: Field): { readonly note?: string } => {
  const note = data.at("note").prose();
  return note === "" ? {} : { note };
};

const readDetection = (data: Field): AdvisoryEventData => {
  const type = data.at("type");
  const inner = data.at("data");
  switch (type.required()) {
    case "manual":
      return { detection: { manual: {} } };
    case "nvdapi":
      return {
        detection: {
          nvdapi: textMembers(inner, [
            ["cpeSearched", "cpeSearched"],
            ["cpeFound", "cpeFound"],
          ] as const),
        },
      };
    case "scan/v1":
      return { detection: { scanv1: textMembers(inner, scanKeys) } };
    default:
      return type.refuse("must be manual, nvdapi or scan/v1");
  }
};

const readFalsePositive = (data: Field): AdvisoryEventData => {
  const reason = data.at("type");
  const type = falsePositiveTypes.get(reason.required());
  if (!type) return reason.refuse(`must be one of ${[...falsePositiveTypes.keys()].join(", ")}`);
  return { falsePositiveDetermination: { type, ...noteMember(data) } };
};

const readFixed = (data: Field): AdvisoryEventData => ({
  fixed: {
    fixedVersion: data.at("fixed-version").required(),
    ...noteMember(data),
    ...textMembers(data, [
      ["scannerVersion", "scanner-version"],
      ["grypeDbBuilt", "grype-db-built"],
      ["grypeDbChecksum", "grype-db-checksum"],
    ] as const),
  },
});

const eventReaders: ReadonlyMap<string, (data: Field) => AdvisoryEventData> = new Map([
  ["detection", readDetection],
  ["fixed", readFixed],
  ["false-positive-determination", readFalsePositive],
  ["true-positive-determination", (data): AdvisoryEventData => ({ truePositiveDetermination: noteMember(data) })],
  ["analysis-not-planned", (data): AdvisoryEventData => ({ analysisNotPlanned: noteMember(data) })],
  ["fix-not-planned", (data): AdvisoryEventData => ({ fixNotPlanned: noteMember(data) })],
  ["pending-upstream-fix", (data): AdvisoryEventData => ({ pendingUpstreamFix: noteMember(data) })],
  [
    "patched",
    (data): AdvisoryEventData => ({
      patched: {
        patchedVersions: data
          .at("patched-versions")
          .list()
          .map((version) => version.required()),
        ...noteMember(data),
      },
    }),
  ],
]);

const readEvent = (event: Field): AdvisoryEventRecord => {
  const type = event.at("type");
  const read = eventReaders.get(type.required());
  if (!read) return type.refuse(`must be one of ${[...eventReaders.keys()].join(", ")}`);
  return { time: timestamp(event.at("timestamp").requiredTime()), data: read(event.at("data")) };
};

/** Returns the scan of the component that the advisory is about. */
const firstScan = (events: readonly AdvisoryEventRecord[]): ScanDetection => {
  for (const { data } of events) if ("detection" in data && "scanv1" in data.detection && data.detection.scanv1.component) return data.detection.scanv1;
  return {};
};

const readAdvisory = (advisory: Field, origin: string, namespace: string, options: ReadOptions): AdvisoryRecord => {
  const advisoryId = advisory.at("id").id();
  const events = advisory.at("events").list().map(readEvent);
  const { component, componentLocation, componentType } = firstScan(events);
  return {
    kind: "advisory",
    // In the first schemas packages share IDs.
    key: advisoryId.startsWith("CGA-") ? advisoryId : `${origin} ${advisoryId}`,
    advisoryId,
    author: options.author ?? "Wolfi",
    artifactName: origin,
    artifactType: "apk",
    ...(component ? { componentName: component } : {}),
    ...(componentLocation ? { componentLocation } : {}),
    ...(componentType ? { componentType } : {}),
    ...(namespace ? { namespace } : {}),
    aliases: advisory.at("aliases").ids(),
    events,
  };
};

export const wolfi: Format = {
  name: "wolfi",
  title: "an advisory document of schema 2",
  kinds: ["advisories"],
  matches: (document) => "advisories" in document && ("schema-version" in document || isObject(document.package)),
  origin: (document) => {
    const [namespace, name] = [document.at("package").at("namespace").name(), document.at("package").at("name").id()];
    return originOf(namespace === "" ? name : `${namespace}/${name}`);
  },
  read: (document, options) => {
    const version = document.at("schema-version");
    // JSON may have the number 2.
    const schema = typeof version.value === "number" ? String(version.value) : version.required();
    if (!/^v?2(?:\.\d+)*$/.test(schema)) return version.refuse("must be of schema 2");
    const origin = document.at("package").object().at("name").id();
    const namespace = document.at("package").at("namespace").name();
    const seen = new Set<string>();
    return document
      .at("advisories")
      .list()
      .map((advisory) => {
        const record = readAdvisory(advisory, origin, namespace, options);
        if (seen.has(record.key)) return advisory.at("id").refuse(`occurs twice in the document: ${record.advisoryId}`);
        seen.add(record.key);
        return record;
      });
  },
};
