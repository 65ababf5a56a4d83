// Chooses which document of an ID is published as a document of some kind, or says why none is. Pure.

import type { PublicDocument } from "#store";
import { withheldReason } from "../licenses.ts";
import { isOpenLabel, labelReason } from "../csaf/labels.ts";
import { type DocumentKind, leftOutOfForm } from "./left-out.ts";
import { osvForms } from "./osv-value.ts";

/** The choice for one ID and one kind of document. */
export interface Published {
  /** The chosen document; for a withdrawn record the last one; undefined if there is none. */
  readonly document: PublicDocument | undefined;
  /** Why there is none; "" if there is one or if the ID does not belong to this kind. */
  readonly leftOut: string;
}

/** Formats that can be served as each kind, in order of preference: originals first, then conversions. */
const formsOf: Readonly<Record<DocumentKind, readonly string[]>> = { osv: osvForms, openvex: ["openvex"], csaf: ["csaf"], secdb: ["secdb"] };

/** The format that is imported as our advisories. */
const ownForm = "wolfi";

const leftOutOf = (kind: DocumentKind, { form, leftOut, license, label, isPublic }: PublicDocument): string => {
  const withheld = isPublic ? withheldReason(license) : undefined;
  if (withheld !== undefined) return withheld;
  if (isPublic && kind === "csaf" && !isOpenLabel(label)) return labelReason(label);
  if (form === ownForm || formsOf[kind].includes(form)) return kind === "osv" ? leftOut : "";
  return kind === "osv" ? leftOut : leftOutOfForm(kind);
};

/** Prefers a document that is still in its source, then the better format, then the later modification, then the first. */
const isBetter = (kind: DocumentKind, one: PublicDocument, other: PublicDocument): boolean => {
  const forms = formsOf[kind];
  if (one.told !== other.told) return one.told;
  if (one.form !== other.form) return forms.indexOf(one.form) < forms.indexOf(other.form);
  return (one.modifiedMs ?? 0) > (other.modifiedMs ?? 0);
};

export const choosePublished = (kind: DocumentKind, documents: readonly PublicDocument[]): Published => {
  let best: PublicDocument | undefined;
  for (const each of documents) {
    if (!formsOf[kind].includes(each.form) || leftOutOf(kind, each) !== "") continue;
    if (!best || isBetter(kind, each, best)) best = each;
  }
  if (best) return { document: best, leftOut: "" };
  const reasons = documents.map((each) => leftOutOf(kind, each)).filter((reason) => reason !== "");
  return { document: undefined, leftOut: [...new Set(reasons)].join("; ") };
};

/** Returns the document unless the record is withdrawn. For archives, queries by scanners and lists of current records. */
export const choosePresent = (kind: DocumentKind, documents: readonly PublicDocument[]): PublicDocument | undefined => {
  const { document } = choosePublished(kind, documents);
  return document?.withdrawTime === undefined ? document : undefined;
};
