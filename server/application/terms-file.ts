// GANTRY_TERMS_FILE: documents that organizations can accept, and operations that require them.
//
//   {"documents": [{"id": "general-rules.v1", "label": "General rules", "url": "https://example.com/rules"}],
//    "requires": {"chainguard.platform.registry.v2.ReposService/CreateRepo": ["general-rules.v1"]}}

import { Fault } from "#base/fault.ts";
import { isObject, type Json, jsonProblem, text, texts } from "#base/json.ts";
import type { TermsDocument, TermsSettings } from "#kernel";

const termsFileFault = (reason: string): Fault => new Fault("FAILED_PRECONDITION", `GANTRY_TERMS_FILE ${reason}`);

/** Default: the documents that public clients query, required by no operation. */
export const defaultTerms: TermsSettings = {
  documents: [
    { id: "guardener-tos.v1", label: "Terms of Service", url: "" },
    { id: "sfdpa.v1", label: "Data Privacy Agreement", url: "" },
    { id: "skills-tos.v1", label: "Skills Registry Terms of Service", url: "" },
  ],
  requires: {},
};

const readTermsDocument = (value: Json): TermsDocument => {
  if (!isObject(value) || text(value, "id") === "")
    throw termsFileFault('must contain documents such as {"id": "rules.v1", "label": "Rules", "url": "https://example.com/rules"}');
  return { id: text(value, "id"), label: text(value, "label"), url: text(value, "url") };
};

/** Parses the file. Throws a one-line Fault. */
export const readTermsFile = (json: string): TermsSettings => {
  let file: Json;
  try {
    file = JSON.parse(json) as Json;
  } catch (cause) {
    throw termsFileFault(`must contain JSON: ${jsonProblem(cause)}`);
  }
  if (!isObject(file) || !Array.isArray(file.documents)) throw termsFileFault('must be an object with a list "documents"');
  const requires = file.requires ?? {};
  if (!isObject(requires)) throw termsFileFault('must list in "requires" which operations require which documents');
  const documents = file.documents.map(readTermsDocument);
  if (new Set(documents.map(({ id }) => id)).size < documents.length) throw termsFileFault("names a document twice");
  return { documents, requires: Object.fromEntries(Object.keys(requires).map((name) => [name, texts(requires, name)])) };
};
