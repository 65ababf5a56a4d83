// Converts statuses and products of OpenVEX and CSAF to events and artifacts of advisories.

import { normalizePythonName } from "#base/versions/python-name.ts";
import type { AdvisoryEventData, FalsePositiveType } from "../record.ts";
import { type Package, packageName, readPurl } from "./purl.ts";

const justifications: ReadonlyMap<string, FalsePositiveType> = new Map([
  ["component_not_present", "TYPE_COMPONENT_VULNERABILITY_MISMATCH"],
  ["vulnerable_code_not_present", "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE"],
  ["vulnerable_code_not_in_execute_path", "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH"],
  ["vulnerable_code_cannot_be_controlled_by_adversary", "TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY"],
  ["inline_mitigations_already_exist", "TYPE_INLINE_MITIGATIONS_EXIST"],
]);

export const isJustification = (label: string): boolean => justifications.has(label);

const noteMember = (note: string): { readonly note?: string } => (note === "" ? {} : { note });

export const notAffected = (justification: string, note: string): AdvisoryEventData => ({
  falsePositiveDetermination: { type: justifications.get(justification) ?? "TYPE_UNSPECIFIED", ...noteMember(note) },
});

export const affected = (note: string): AdvisoryEventData => ({ truePositiveDetermination: noteMember(note) });

export const fixedIn = (version: string, note: string): AdvisoryEventData => ({
  fixed: { ...(version === "" ? {} : { fixedVersion: version }), ...noteMember(note) },
});

export const investigated: AdvisoryEventData = { detection: { manual: {} } };

export interface Product {
  readonly artifactName: string;
  readonly artifactType: string;
  readonly artifactArchitecture: string;
  readonly namespace: string;
  readonly version: string;
}

const productOfPackage = (found: Package): Product => ({
  artifactName: found.type === "pypi" ? normalizePythonName(packageName(found)) : packageName(found),
  artifactType: found.type,
  artifactArchitecture: found.architecture,
  namespace: found.namespace,
  version: found.version,
});

/** Names other than package URLs become generic artifacts. */
export const productOf = (name: string): Product => {
  const found = readPurl(name);
  return found ? productOfPackage(found) : { artifactName: name, artifactType: "generic", artifactArchitecture: "", namespace: "", version: "" };
};
