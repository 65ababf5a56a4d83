// The documents of one publisher that have one TLP label: what a directory, a ROLIE feed and their files are made of. Our own
// are made of what is published of our advisories; those of others are passed on as they came in. Both are read in pages.

import { part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { type CsafDocument, findCsafDocuments, findOriginsByFileName, findOwnDocuments, findSourceDocuments, type OwnDocument } from "#store";
import { csafTitle } from "../documents/csaf.ts";
import { buildOwnDocument, type Feed } from "../documents/index.ts";
import { textOfStored } from "../stored-document.ts";
import { aggregatorBase, documentPath, ownFolder } from "./addresses.ts";
import { findNamed } from "./named.ts";
import { distinctNumberOf, fileNameOfTracking, textOfFileName } from "./names.ts";
import type { Reader } from "../documents/reader.ts";

/** What the lists say of a document. */
export interface CsafFile {
  /** Its number. */
  readonly id: string;
  readonly title: string;
  readonly fileName: string;
  readonly initialReleaseTime: string;
  readonly currentReleaseTime: string;
}

/** A document as it goes out. */
interface CsafContent {
  readonly text: string;
  readonly initialReleaseTime: string;
  readonly currentReleaseTime: string;
}

export interface CsafCollection {
  /** Its path, up to the last slash. */
  readonly folder: string;
  readonly label: CsafLabel;
  /** What is in it, the last released first; of a year ("" for all) what was first released in it. */
  pages(year: string): AsyncGenerator<readonly CsafFile[]>;
  find(fileName: string): Promise<CsafContent | undefined>;
}

export type CsafLabel = "WHITE" | "UNLABELED";
export const csafLabels: readonly CsafLabel[] = ["WHITE", "UNLABELED"];

const ownFile = ({ origin, initialReleaseTime, currentReleaseTime }: OwnDocument): CsafFile => {
  const id = distinctNumberOf(origin);
  return { id, title: csafTitle(origin), fileName: fileNameOfTracking(id), initialReleaseTime, currentReleaseTime };
};

async function* ownPages({ read }: Reader, year: string): AsyncGenerator<readonly CsafFile[]> {
  const size = limits.documentPageRows;
  for (let behind: OwnDocument | undefined; ; ) {
    const found = await findOwnDocuments(read, year, behind, size);
    if (found.length > 0) yield found.map(ownFile);
    if (found.length < size) return;
    behind = found.at(-1);
  }
}

/** The origin package whose document has this name. */
const findOrigin = async ({ read }: Reader, fileName: string): Promise<string | undefined> => {
  const named = textOfFileName(fileName);
  if (named === undefined) return undefined;
  if ("text" in named) return named.text;
  return (await findOriginsByFileName(read, named.fileNames, limits.csafIssuersMax)).find(named.is);
};

export const ownCollection = (feed: Feed): CsafCollection => ({
  folder: ownFolder,
  label: "WHITE",
  pages: (year) => ownPages(feed.reader, year),
  async find(fileName) {
    const origin = await findOrigin(feed.reader, fileName);
    const document = origin === undefined ? undefined : await buildOwnDocument(feed, "csaf", origin);
    if (!document) return undefined;
    const tracking = part(part(document, "document"), "tracking");
    return {
      text: JSON.stringify(document),
      initialReleaseTime: text(tracking, "initial_release_date"),
      currentReleaseTime: text(tracking, "current_release_date"),
    };
  },
});

const fileOf = ({ originId, title, fileName, initialReleaseTime, currentReleaseTime }: CsafDocument): CsafFile => ({
  id: originId,
  title,
  fileName,
  initialReleaseTime,
  currentReleaseTime,
});

async function* issuerPages(reader: Reader, folder: string, label: string, year: string): AsyncGenerator<readonly CsafFile[]> {
  const size = limits.documentPageRows;
  for (let behind: CsafDocument | undefined; ; ) {
    const found = await findCsafDocuments(reader.read, { folder, label, year }, behind, size);
    const named = await findNamed(
      reader,
      folder,
      found.map(({ fileName }) => fileName),
    );
    const listed = found.filter(({ id, fileName }) => named.get(fileName)?.id === id);
    if (listed.length > 0) yield listed.map(fileOf);
    if (found.length < size) return;
    behind = found.at(-1);
  }
}

export const issuerCollection = ({ reader }: Feed, folder: string, label: CsafLabel): CsafCollection => ({
  folder: `${aggregatorBase}${folder}/${label.toLowerCase()}/`,
  label,
  pages: (year) => issuerPages(reader, folder, label, year),
  async find(fileName) {
    const document = (await findNamed(reader, folder, [fileName])).get(fileName);
    if (document?.label !== label) return undefined;
    const [stored] = await findSourceDocuments(reader.read, [document.id]);
    return stored && { ...document, text: textOfStored(stored.body) };
  },
});

/** The path of a document's file in its collection. */
export const filePath = ({ initialReleaseTime, fileName }: CsafFile): string => documentPath(initialReleaseTime, fileName);
