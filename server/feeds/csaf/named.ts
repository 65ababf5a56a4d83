// Numbers of others may lead to one name of a file: the document whose number came first has it, and the others are in no list
// of their issuer; the list of everything names them (documents/entries.ts).

import { limits } from "#base/limits.ts";
import { type CsafDocument, findCsafDocumentsNamed, findCsafPlaces } from "#store";
import { isPublishable } from "../licenses.ts";
import type { Reader } from "../documents/reader.ts";

/** Of documents of one name the one that has it: of the first number that came, the one that is told, and last modified. */
const chooseNamed = (documents: readonly CsafDocument[]): CsafDocument | undefined => {
  const publishable = documents.filter(({ license }) => isPublishable(license));
  let best = publishable[0];
  for (const each of publishable) {
    if (best === undefined || each.originId !== best.originId) continue;
    if (each.told === best.told ? (each.modifiedMs ?? 0) > (best.modifiedMs ?? 0) : each.told) best = each;
  }
  return best;
};

/** Which documents of a folder have these names. */
export const findNamed = async ({ read }: Reader, folder: string, fileNames: readonly string[]): Promise<Map<string, CsafDocument>> => {
  const found = await findCsafDocumentsNamed(read, folder, [...new Set(fileNames)], limits.osvCandidatesMax);
  const byName = Map.groupBy(found, ({ fileName }) => fileName);
  return new Map(
    [...byName].flatMap(([fileName, documents]) => {
      const chosen = chooseNamed(documents);
      return chosen ? [[fileName, chosen] as const] : [];
    }),
  );
};

/** Of documents that are published why the lists of their issuers do not have them. */
export const findUnlisted = async (reader: Reader, documentIds: readonly string[]): Promise<Map<string, string>> => {
  const reasons = new Map<string, string>();
  const byFolder = Map.groupBy(await findCsafPlaces(reader.read, documentIds), ({ folder }) => folder);
  for (const [folder, places] of byFolder) {
    const named = await findNamed(
      reader,
      folder,
      places.map(({ fileName }) => fileName),
    );
    for (const { documentId, fileName, leftOut } of places) {
      const other = named.get(fileName);
      if (leftOut !== "") reasons.set(documentId, leftOut);
      else if (other && other.id !== documentId) reasons.set(documentId, `its file would have the name of another document's: ${other.originId}`);
    }
  }
  return reasons;
};
