// CycloneDX VEX. Justifications unknown to the contract go into the note. Without an analysis there is no status.

import type { AdvisoryEventData, AdvisoryEventRecord, AdvisoryRecord, FalsePositiveType } from "../record.ts";
import { timestamp } from "#base/time.ts";
import type { Field } from "../field.ts";
import { originOf, type Format, type ReadOptions } from "./format.ts";
import { affected, fixedIn, investigated, type Product, productOf } from "./vex.ts";

const justifications: ReadonlyMap<string, FalsePositiveType> = new Map([
  ["code_not_present", "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE"],
  ["code_not_reachable", "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH"],
  ["protected_at_runtime", "TYPE_INLINE_MITIGATIONS_EXIST"],
  ["protected_by_mitigating_control", "TYPE_INLINE_MITIGATIONS_EXIST"],
]);

const notAffectedBy = (justification: string, detail: string): AdvisoryEventData => {
  const type = justifications.get(justification);
  const note = type === undefined ? [justification, detail].filter((text) => text !== "").join(": ") : detail;
  return { falsePositiveDetermination: { type: type ?? "TYPE_UNSPECIFIED", ...(note === "" ? {} : { note }) } };
};

/** Returns "" if there are several unaffected versions, or a range. */
const unaffectedVersion = (affects: Field): string => {
  const versions = affects
    .at("versions")
    .list()
    .filter((each) => each.at("status").name() === "unaffected")
    .map((each) => each.at("version").name());
  return versions.length === 1 ? (versions[0] ?? "") : "";
};

const analysisData = (vulnerability: Field, affects: Field): AdvisoryEventData | undefined => {
  const analysis = vulnerability.at("analysis");
  if (analysis.missing) return undefined;
  const state = analysis.at("state");
  const detail = analysis.at("detail").prose().trim();
  const justification = analysis.at("justification").name();
  const responses = analysis
    .at("response")
    .list()
    .map((response) => response.name());
  if (state.missing) return undefined;
  switch (state.required()) {
    case "resolved":
    case "resolved_with_pedigree":
      return fixedIn(unaffectedVersion(affects), detail);
    case "exploitable":
      if (responses.some((response) => response === "will_not_fix" || response === "can_not_fix"))
        return { fixNotPlanned: detail === "" ? {} : { note: detail } };
      return affected(detail);
    case "in_triage":
      return investigated;
    case "false_positive":
    case "not_affected":
      return notAffectedBy(justification, detail);
    default:
      return state.refuse("must be resolved, resolved_with_pedigree, exploitable, in_triage, false_positive or not_affected");
  }
};

const productsByRef = (document: Field): Map<string, Product> => {
  const found = new Map<string, Product>();
  const add = (component: Field): void => {
    if (component.missing) return;
    const purl = component.object().at("purl").name();
    const [group, name] = [component.at("group").name(), component.at("name").name()];
    const product = productOf(purl !== "" ? purl : group === "" ? name : `${group}/${name}`);
    const version = product.version || component.at("version").name();
    const ref = component.at("bom-ref").name();
    if (ref !== "" && product.artifactName !== "") found.set(ref, { ...product, version });
    for (const within of component.at("components").list()) add(within);
  };
  add(document.at("metadata").at("component"));
  for (const component of document.at("components").list()) add(component);
  return found;
};

const decodeRef = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Finds a component of this document, or of another one: "urn:cdx:UUID/VERSION#ref". */
const productOfRef = (products: ReadonlyMap<string, Product>, ref: string): Product => {
  const [, elsewhere] = /^urn:cdx:[^#]+#(.+)$/.exec(ref) ?? [];
  return products.get(ref) ?? productOf(elsewhere === undefined ? ref : decodeRef(elsewhere));
};

const eventTime = (document: Field, vulnerability: Field): string => {
  const analysis = vulnerability.at("analysis");
  const times = [
    analysis.at("lastUpdated"),
    analysis.at("firstIssued"),
    vulnerability.at("updated"),
    vulnerability.at("published"),
    document.at("metadata").at("timestamp"),
  ];
  return timestamp(times.map((each) => each.time()).find((each) => each !== undefined) ?? 0);
};

export const cyclonedx: Format = {
  name: "cyclonedx",
  title: "a CycloneDX document",
  kinds: ["advisories"],
  matches: (document) => document.bomFormat === "CycloneDX",
  origin: (document) => originOf(document.at("serialNumber").name(), document.at("metadata").at("timestamp")),
  read: (document, options: ReadOptions) => {
    const number = document.at("serialNumber").name();
    const author = options.author ?? (document.at("metadata").at("supplier").at("name").name() || "CycloneDX");
    const products = productsByRef(document);
    const found = new Map<string, AdvisoryRecord & { readonly events: AdvisoryEventRecord[] }>();
    for (const vulnerability of document.at("vulnerabilities").list()) {
      const id = vulnerability.object().at("id");
      const references = vulnerability
        .at("references")
        .list()
        .map((reference) => reference.at("id").name())
        .filter((alias) => alias !== "" && !/\s/.test(alias));
      for (const affects of vulnerability.at("affects").list()) {
        const data = analysisData(vulnerability, affects);
        if (data === undefined) continue;
        const { version: _, artifactArchitecture, namespace, ...artifact } = productOfRef(products, affects.object().at("ref").required());
        const key = [number, id.id(), artifact.artifactType, namespace, artifact.artifactName, artifactArchitecture].join(" ");
        const known = found.get(key) ?? {
          kind: "advisory" as const,
          key,
          advisoryId: id.id(),
          author,
          ...artifact,
          ...(artifactArchitecture ? { artifactArchitecture } : {}),
          ...(namespace ? { namespace } : {}),
          aliases: [...new Set([id.id(), ...references])],
          events: [],
        };
        found.set(key, known);
        known.events.push({ time: eventTime(document, vulnerability), data });
      }
    }
    return [...found.values()];
  },
};
