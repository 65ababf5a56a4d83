// Two third-party IDs may map to one file name. The first imported ID gets it; the issuer's lists omit other documents, which the
// list of all documents names (documents/entries.ts).

import { limits } from "#base/limits.ts";
import { type CsafDocument, findCsafDocumentsNamed, findCsafPlaces, type PublicDocument, type Reader } from "#advisories/store";
import { isPublishable } from "../licenses.ts";
import { labelReason, labelReasons } from "./labels.ts";

/** Returns the latest document of the first ID still in its source, else of the first withdrawn ID. */
const chooseNamed = (documents: readonly CsafDocument[]): CsafDocument | undefined => {
  const allowed = documents.filter(({ license }) => isPublishable(license));
  const present = allowed.filter(({ told }) => told);
  const publishable = present.length > 0 ? present : allowed;
  let best = publishable[0];
  for (const each of publishable) {
    if (best === undefined || each.originId !== best.originId) continue;
    if ((each.modifiedMs ?? 0) > (best.modifiedMs ?? 0)) best = each;
  }
  return best;
};

export const findNamed = async (reader: Reader, folder: string, fileNames: readonly string[]): Promise<Map<string, CsafDocument>> => {
  const found = await findCsafDocumentsNamed(reader, labelReasons, folder, [...new Set(fileNames)], limits.osvCandidatesMax);
  const byName = Map.groupBy(found, ({ fileName }) => fileName);
  return new Map(
    [...byName].flatMap(([fileName, documents]) => {
      const chosen = chooseNamed(documents);
      return chosen ? [[fileName, chosen] as const] : [];
    }),
  );
};

/** Returns, by document ID, why the issuers' lists omit it. */
export const findUnlisted = async (reader: Reader, documents: readonly PublicDocument[]): Promise<Map<string, string>> => {
  const reasons = new Map<string, string>();
  const known = new Map(documents.filter(({ form }) => form === "csaf").map((document) => [document.id, document]));
  // A TLP label does not hide a private document from readers of its group.
  const isListed = (id: string, leftOut: string): boolean =>
    leftOut === "" || (known.get(id)?.isPublic === false && leftOut === labelReason(known.get(id)?.label ?? ""));
  const byFolder = Map.groupBy(await findCsafPlaces(reader.read, [...known.keys()]), ({ folder }) => folder);
  for (const [folder, places] of byFolder) {
    const named = await findNamed(
      reader,
      folder,
      places.map(({ fileName }) => fileName),
    );
    for (const { documentId, fileName, leftOut } of places) {
      const other = named.get(fileName);
      if (!isListed(documentId, leftOut)) reasons.set(documentId, leftOut);
      else if (other && other.id !== documentId) reasons.set(documentId, `its file would have the name of another document's: ${other.originId}`);
    }
  }
  return reasons;
};
