// Names of CSAF's files and folders (CSAF 2.0, 5.1): a file is named after its document's number, in small letters, and each
// run of what is neither letter, digit, "+" nor "-" is one "_". So two numbers may have one name; our own are chosen so that
// theirs never do. Pure.

import { hash } from "node:crypto";

const withoutRuns = (text: string): string => text.replace(/[^-+a-z0-9]+/g, "_");

/** The name of the file of a document with this number, without its ending. */
export const fileNameOfTracking = (id: string): string => withoutRuns(id.toLowerCase());

/** The same of a text of our own: ASCII's letters alone, as the store's index has it (findOriginsByFileName). */
const indexedName = (text: string): string => withoutRuns(text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));

// Single dots alone become "_", so that the name can be turned back; whatever else there is gets a digest behind its name.
const plainForm = /^[-+a-z0-9]+(?:\.[-+a-z0-9]+)*$/;
const digestForm = /[._]([0-9a-f]{16})$/;

const digestOf = (text: string): string => hash("sha256", text, "hex").slice(0, 16);

const isPlain = (text: string): boolean => plainForm.test(text) && !digestForm.test(text);

/** A number for a text whose name no other text's number has: itself where that does. */
export const distinctNumberOf = (text: string): string => (isPlain(text) ? text : `${indexedName(text).replace(/_$/, "")}_${digestOf(text)}`);

/** What a name says of the text that it was made of: the text, or what its own name may be and whether it is this one. */
export type NamedText = { readonly text: string } | { readonly fileNames: readonly string[]; readonly is: (text: string) => boolean };

/** Of a name that distinctNumberOf has led to; undefined of any other. */
export const textOfFileName = (fileName: string): NamedText | undefined => {
  if (!/^[-+a-z0-9_]+$/.test(fileName)) return undefined;
  const [ending] = digestForm.exec(fileName) ?? [];
  if (ending === undefined) {
    const text = fileName.replaceAll("_", ".");
    return isPlain(text) ? { text } : undefined;
  }
  const start = fileName.slice(0, -ending.length);
  return { fileNames: [start, `${start}_`], is: (text) => distinctNumberOf(text) === fileName };
};
