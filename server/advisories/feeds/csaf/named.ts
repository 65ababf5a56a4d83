// Numbers of others may lead to one name of a file: the document whose number came first has it, and the others are in no list
// of their issuer; the list of everything names them (documents/entries.ts).

import { limits } from "#base/limits.ts";
import { type CsafDocument, findCsafPlaces, type PublicDocument } from "#advisories/store";
import { isPublishable } from "../licenses.ts";
import { type Reader, readCsafDocumentsNamed } from "../documents/reader.ts";
import { labelReason } from "./labels.ts";

/**
 * Of documents of one name the one that has it: of the first number that came and holds, the last modified. A withdrawn one
 * has it as long as no other wants it.
 */
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

/** Which documents of a folder have these names. */
export const findNamed = async (reader: Reader, folder: string, fileNames: readonly string[]): Promise<Map<string, CsafDocument>> => {
  const found = await readCsafDocumentsNamed(reader, folder, [...new Set(fileNames)], limits.osvCandidatesMax);
  const byName = Map.groupBy(found, ({ fileName }) => fileName);
  return new Map(
    [...byName].flatMap(([fileName, documents]) => {
      const chosen = chooseNamed(documents);
      return chosen ? [[fileName, chosen] as const] : [];
    }),
  );
};

/** Of documents that this reader may read why the lists of their issuers do not have them. */
export const findUnlisted = async (reader: Reader, documents: readonly PublicDocument[]): Promise<Map<string, string>> => {
  const reasons = new Map<string, string>();
  const known = new Map(documents.filter(({ form }) => form === "csaf").map((document) => [document.id, document]));
  // Whom a document may be shown to is no question of who sees its group.
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
