// What OpenVEX and CSAF say of a product, in the words of advisory events.

import type { AdvisoryEventData, FalsePositiveType } from "../record.ts";
import { type Package, packageName, readPurl } from "./purl.ts";

const justifications: ReadonlyMap<string, FalsePositiveType> = new Map([
  ["component_not_present", "TYPE_COMPONENT_VULNERABILITY_MISMATCH"],
  ["vulnerable_code_not_present", "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE"],
  ["vulnerable_code_not_in_execute_path", "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH"],
  ["vulnerable_code_cannot_be_controlled_by_adversary", "TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY"],
  ["inline_mitigations_already_exist", "TYPE_INLINE_MITIGATIONS_EXIST"],
]);

export const isJustification = (given: string): boolean => justifications.has(given);

const noted = (note: string): { readonly note?: string } => (note === "" ? {} : { note });

export const notAffected = (justification: string, note: string): AdvisoryEventData => ({
  falsePositiveDetermination: { type: justifications.get(justification) ?? "TYPE_UNSPECIFIED", ...noted(note) },
});

export const affected = (note: string): AdvisoryEventData => ({ truePositiveDetermination: noted(note) });

export const fixedIn = (version: string, note: string): AdvisoryEventData => ({
  fixed: { ...(version === "" ? {} : { fixedVersion: version }), ...noted(note) },
});

export const investigated: AdvisoryEventData = { detection: { manual: {} } };

/** What a product is, as an advisory says it. */
export interface Product {
  readonly artifactName: string;
  readonly artifactType: string;
  readonly artifactArchitecture: string;
  readonly namespace: string;
  readonly version: string;
}

const ofPackage = (found: Package): Product => ({
  artifactName: packageName(found),
  artifactType: found.type,
  artifactArchitecture: found.architecture,
  namespace: found.namespace,
  version: found.version,
});

/** A product by its package URL; one that is named otherwise goes by that name. */
export const productOf = (name: string): Product => {
  const found = readPurl(name);
  return found ? ofPackage(found) : { artifactName: name, artifactType: "generic", artifactArchitecture: "", namespace: "", version: "" };
};
