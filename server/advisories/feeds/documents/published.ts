// Which of several documents of one number is published as a document of some kind, or why none is. Pure.

import type { PublicDocument } from "#advisories/store";
import { withheldReason } from "../licenses.ts";
import { isOpenLabel, labelReason } from "../csaf/labels.ts";
import { type DocumentKind, leftOutOfForm } from "./left-out.ts";
import { osvForms } from "./osv-value.ts";

/** What a number stands for in one kind of document. */
export interface Published {
  /** The document that says it, or the last that did if the record is withdrawn; undefined where none does. */
  readonly document: PublicDocument | undefined;
  /** Why none does; "" where one does, or where it is no part of this kind. */
  readonly leftOut: string;
}

/** Forms that go out as documents of a kind, the better first: as they came in, then made of another one. */
const formsOf: Readonly<Record<DocumentKind, readonly string[]>> = { osv: osvForms, openvex: ["openvex"], csaf: ["csaf"], secdb: ["secdb"] };

/** Forms whose advisories are our own. */
const ownForm = "wolfi";

const leftOutOf = (kind: DocumentKind, { form, leftOut, license, label, isPublic }: PublicDocument): string => {
  const withheld = isPublic ? withheldReason(license) : undefined;
  if (withheld !== undefined) return withheld;
  if (isPublic && kind === "csaf" && !isOpenLabel(label)) return labelReason(label);
  if (form === ownForm || formsOf[kind].includes(form)) return kind === "osv" ? leftOut : "";
  return kind === "osv" ? leftOut : leftOutOfForm(kind);
};

/** The better one: one that its source still has, then its form, then the later modified, then the first. */
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

/** The same, of what holds alone: no document where the record is withdrawn. For archives, answers to scanners and lists of what holds. */
export const choosePresent = (kind: DocumentKind, documents: readonly PublicDocument[]): PublicDocument | undefined => {
  const { document } = choosePublished(kind, documents);
  return document?.withdrawTime === undefined ? document : undefined;
};
