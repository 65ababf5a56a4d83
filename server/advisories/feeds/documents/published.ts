// Chooses the published document of an ID for each kind, or says why there is none. Pure.

import type { PublicDocument } from "#advisories/store";
import { withheldReason } from "../licenses.ts";
import { isOpenLabel, labelReason } from "../csaf/labels.ts";
import { type DocumentKind, leftOutOfForm } from "./left-out.ts";
import { osvForms } from "./osv-value.ts";

export interface Published {
  /** For a withdrawn record its last document; undefined if there is none. */
  readonly document: PublicDocument | undefined;
  /** "" if there is a document, or if the ID does not belong to this kind. */
  readonly leftOut: string;
}

/** In order of preference: originals first, then conversions. */
const formsOf: Readonly<Record<DocumentKind, readonly string[]>> = { osv: osvForms, openvex: ["openvex"], csaf: ["csaf"], secdb: ["secdb"] };

/** Imported as our advisories. */
const ownForm = "wolfi";

const leftOutOf = (kind: DocumentKind, { form, leftOut, license, label, isPublic }: PublicDocument): string => {
  const withheld = isPublic ? withheldReason(license) : undefined;
  if (withheld !== undefined) return withheld;
  if (isPublic && kind === "csaf" && !isOpenLabel(label)) return labelReason(label);
  if (form === ownForm || formsOf[kind].includes(form)) return kind === "osv" ? leftOut : "";
  return kind === "osv" ? leftOut : leftOutOfForm(kind);
};

/** Prefers a document still in its source, then the better format, then the latest. */
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

/** Returns undefined if the record is withdrawn. For archives, queries and lists of current records. */
export const choosePresent = (kind: DocumentKind, documents: readonly PublicDocument[]): PublicDocument | undefined => {
  const { document } = choosePublished(kind, documents);
  return document?.withdrawTime === undefined ? document : undefined;
};
