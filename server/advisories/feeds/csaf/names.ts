// Names of CSAF files and directories (CSAF 2.0, 5.1): the ID in lower case, with each run of characters other than letters,
// digits, "+" and "-" replaced by "_". Two IDs may share a name; our IDs are built to avoid that. Pure.

import { hash } from "node:crypto";

const withoutRuns = (text: string): string => text.replace(/[^-+a-z0-9]+/g, "_");

/** Returns the file name of a tracking ID, without extension. */
export const fileNameOfTracking = (id: string): string => withoutRuns(id.toLowerCase());

/** Our texts: ASCII letters only, as in the database index (findOriginsByFileName). */
const indexedName = (text: string): string => withoutRuns(text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));

// Only single dots become "_", so that the mapping is reversible; other texts get a digest.
const plainForm = /^[-+a-z0-9]+(?:\.[-+a-z0-9]+)*$/;
const digestForm = /[._]([0-9a-f]{16})$/;

const digestOf = (text: string): string => hash("sha256", text, "hex").slice(0, 16);

const isPlain = (text: string): boolean => plainForm.test(text) && !digestForm.test(text);

/** Returns a tracking ID with a unique file name: the text itself if it is reversible. */
export const distinctNumberOf = (text: string): string => (isPlain(text) ? text : `${indexedName(text).replace(/_$/, "")}_${digestOf(text)}`);

/** The original text, or candidate names with a test for the right one. */
export type NamedText = { readonly text: string } | { readonly fileNames: readonly string[]; readonly is: (text: string) => boolean };

/** Inverts the file name of distinctNumberOf; undefined for other names. */
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
