// The documents of one publisher with one TLP label: the source of a directory, a ROLIE feed and their files. Ours are built from
// our advisories; those of others are served as imported. Both are read in pages.

import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import {
  type CsafDocument,
  findCsafDocuments,
  findOriginsByFileName,
  findOwnDocuments,
  findOwnPrivateDocuments,
  findSourceDocuments,
  type OwnDocument,
  ownPrivateNames,
  type Reader,
} from "#advisories/store";
import { csafNumberOf, csafTitle } from "../documents/csaf.ts";
import { buildOwnCsaf, buildOwnPrivateCsaf, type Feed } from "../documents/index.ts";
import { scopeOf } from "../documents/scope.ts";
import { textOfStored } from "../stored-document.ts";
import { aggregatorBase, documentPath, ownFolder, privateFolder } from "./addresses.ts";
import { closedLabels, type CsafLabel, labelReasons, openLabels } from "./labels.ts";
import { findNamed } from "./named.ts";
import { distinctNumberOf, fileNameOfTracking, textOfFileName } from "./names.ts";

export interface CsafFile {
  readonly id: string;
  readonly title: string;
  readonly fileName: string;
  readonly initialReleaseTime: string;
  readonly currentReleaseTime: string;
}

interface CsafContent {
  readonly text: string;
  readonly withdrawTime: string | undefined;
  readonly initialReleaseTime: string;
  readonly currentReleaseTime: string;
}

export interface CsafCollection {
  /** The path, up to the last slash. */
  readonly folder: string;
  readonly label: CsafLabel;
  /** Yields documents, most recently released first. `year` filters by first release; "" returns all. */
  pages(year: string): AsyncGenerator<readonly CsafFile[]>;
  find(fileName: string): Promise<CsafContent | undefined>;
}

/** Returns the labels of third-party documents that the reader may see. */
export const labelsFor = ({ visibility }: Reader): readonly CsafLabel[] => (visibility === "public" ? openLabels : [...openLabels, ...closedLabels]);

const ownFile = ({ origin, initialReleaseTime, currentReleaseTime }: OwnDocument, scope = ""): CsafFile => {
  const id = csafNumberOf(origin, scope);
  return { id, title: csafTitle(origin), fileName: fileNameOfTracking(id), initialReleaseTime, currentReleaseTime };
};

async function* ownPages({ read }: Reader, year: string): AsyncGenerator<readonly CsafFile[]> {
  const size = limits.documentPageRows;
  for (let behind: OwnDocument | undefined; ; ) {
    const found = await findOwnDocuments(read, year, behind, size);
    if (found.length > 0) yield found.map((each) => ownFile(each));
    if (found.length < size) return;
    behind = found.at(-1);
  }
}

const findOrigin = async ({ read }: Reader, fileName: string): Promise<string | undefined> => {
  const named = textOfFileName(fileName);
  if (named === undefined) return undefined;
  if ("text" in named) return named.text;
  return (await findOriginsByFileName(read, named.fileNames, limits.csafIssuersMax)).find(named.is);
};

const ownContentOf = (document: JsonObject): CsafContent => {
  const tracking = part(part(document, "document"), "tracking");
  return {
    text: JSON.stringify(document),
    withdrawTime: undefined,
    initialReleaseTime: text(tracking, "initial_release_date"),
    currentReleaseTime: text(tracking, "current_release_date"),
  };
};

export const ownCollection = (feed: Feed): CsafCollection => ({
  folder: ownFolder,
  label: "WHITE",
  pages: (year) => ownPages(feed.reader, year),
  async find(fileName) {
    const origin = await findOrigin(feed.reader, fileName);
    const document = origin === undefined ? undefined : await buildOwnCsaf(feed, origin);
    return document && ownContentOf(document);
  },
});

async function* privatePages(reader: Reader, year: string): AsyncGenerator<readonly CsafFile[]> {
  const size = limits.documentPageRows;
  for (let behind: OwnDocument | undefined; ; ) {
    const found = await findOwnPrivateDocuments(reader, year, behind, size);
    if (found.length > 0) yield found.map((each) => ownFile(each, scopeOf(each.groups)));
    if (found.length < size) return;
    behind = found.at(-1);
  }
}

/** Returns the origin package of a private document by its name without scope. */
const findPrivateOrigin = async (reader: Reader, name: string): Promise<string | undefined> => {
  for await (const origins of ownPrivateNames(reader, "origin", limits.osvRecordsMax)) {
    const found = origins.find((origin) => fileNameOfTracking(distinctNumberOf(origin)) === name);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** Returns one document for each package with private advisories, including its public ones. */
export const ownPrivateCollection = (feed: Feed): CsafCollection => ({
  folder: privateFolder,
  label: "AMBER",
  pages: (year) => privatePages(feed.reader, year),
  async find(fileName) {
    const [, name = ""] = /^(.+)_[0-9a-f]{16}$/.exec(fileName) ?? [];
    const origin = await findPrivateOrigin(feed.reader, name);
    const document = origin === undefined ? undefined : await buildOwnPrivateCsaf(feed, origin);
    // Readers of other groups get a different document.
    const number = text(part(part(document ?? {}, "document"), "tracking"), "id");
    return document && fileNameOfTracking(number) === fileName ? ownContentOf(document) : undefined;
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
    const found = await findCsafDocuments(reader, labelReasons, { folder, label, year }, behind, size);
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

export const filePath = ({ initialReleaseTime, fileName }: CsafFile): string => documentPath(initialReleaseTime, fileName);
