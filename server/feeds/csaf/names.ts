// Names of CSAF files and directories (CSAF 2.0, 5.1): the tracking ID in lower case, with each run of characters other than
// letters, digits, "+" and "-" replaced by "_". Two IDs may share a name; our own IDs are built to avoid that. Pure.

import { hash } from "node:crypto";

const withoutRuns = (text: string): string => text.replace(/[^-+a-z0-9]+/g, "_");

/** Returns the file name for a tracking ID, without extension. */
export const fileNameOfTracking = (id: string): string => withoutRuns(id.toLowerCase());

/** The same for our own texts: ASCII letters only, as in the database index (findOriginsByFileName). */
const indexedName = (text: string): string => withoutRuns(text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));

// Only single dots become "_", so that the mapping is reversible; all other texts get a digest suffix.
const plainForm = /^[-+a-z0-9]+(?:\.[-+a-z0-9]+)*$/;
const digestForm = /[._]([0-9a-f]{16})$/;

const digestOf = (text: string): string => hash("sha256", text, "hex").slice(0, 16);

const isPlain = (text: string): boolean => plainForm.test(text) && !digestForm.test(text);

/** Returns a tracking ID with a unique file name: the text itself if its name is reversible. */
export const distinctNumberOf = (text: string): string => (isPlain(text) ? text : `${indexedName(text).replace(/_$/, "")}_${digestOf(text)}`);

/** Either the original text, or candidate file names of it with a test for the right one. */
export type NamedText = { readonly text: string } | { readonly fileNames: readonly string[]; readonly is: (text: string) => boolean };

/** Inverts the file name of an ID from distinctNumberOf; undefined for other names. */
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
