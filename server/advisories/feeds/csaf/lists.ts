// Streams the lists of a collection: CSAF's directory with index.txt and changes.csv (2.0, 7.1.11 to 7.1.14), and a ROLIE feed
// (7.1.15).

import { escapeHtml } from "#base/html.ts";
import { addressOf } from "./addresses.ts";
import { type CsafCollection, type CsafFile, filePath } from "./collection.ts";

export const feedNameOf = ({ label }: CsafCollection): string => `csaf-feed-tlp-${label.toLowerCase()}.json`;

export async function* indexPieces(collection: CsafCollection): AsyncGenerator<string> {
  for await (const page of collection.pages("")) yield page.map((file) => `${filePath(file)}\n`).join("");
}

export async function* changesPieces(collection: CsafCollection): AsyncGenerator<string> {
  for await (const page of collection.pages("")) yield page.map((file) => `"${filePath(file)}","${file.currentReleaseTime}"\n`).join("");
}

export const besideEndings = [".sha256", ".sha512", ".asc"] as const;

const htmlHead = (path: string): string => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(path)}</title></head><body><ul>\n`;
const htmlLink = (name: string): string => `<li><a href="${escapeHtml(name)}">${escapeHtml(name)}</a></li>\n`;
const htmlEnd = "</ul></body></html>\n";

export async function* folderPieces(collection: CsafCollection): AsyncGenerator<string> {
  const years = new Set<string>();
  for await (const page of collection.pages("")) for (const { initialReleaseTime } of page) years.add(initialReleaseTime.slice(0, 4));
  const names = [...[...years].sort().map((year) => `${year}/`), categoryNameOf(collection), "changes.csv", feedNameOf(collection), "index.txt"];
  yield htmlHead(collection.folder) + names.map(htmlLink).join("") + htmlEnd;
}

export async function* yearPieces(collection: CsafCollection, year: string): AsyncGenerator<string> {
  yield htmlHead(`${collection.folder}${year}/`);
  for await (const page of collection.pages(year))
    yield page.flatMap(({ fileName }) => ["", ...besideEndings].map((ending) => htmlLink(`${fileName}.json${ending}`))).join("");
  yield htmlEnd;
}

const category = { scheme: "urn:ietf:params:rolie:category:information-type", term: "csaf" };
const format = { schema: "https://docs.oasis-open.org/csaf/csaf/v2.0/csaf_json_schema.json", version: "2.0" };

const feedEntry = (folder: string, file: CsafFile): object => {
  const src = `${folder}${filePath(file)}`;
  return {
    id: file.id,
    title: file.title,
    link: [
      { rel: "self", href: src },
      { rel: "hash", href: `${src}.sha256` },
      { rel: "hash", href: `${src}.sha512` },
      { rel: "signature", href: `${src}.asc` },
    ],
    published: file.initialReleaseTime,
    updated: file.currentReleaseTime,
    content: { type: "application/json", src },
    format,
  };
};

/** The change time of an empty list. */
export const noTime = "1970-01-01T00:00:00.000Z";

export async function* feedPieces(collection: CsafCollection, publicUrl: string, id: string, title: string): AsyncGenerator<string> {
  const folder = addressOf(publicUrl, collection.folder);
  let before: string | undefined;
  const headOf = (updated: string): string => {
    const head = { id, title, link: [{ rel: "self", href: `${folder}${feedNameOf(collection)}` }], category: [category], updated };
    return `{"feed":${JSON.stringify(head).slice(0, -1)},"entry":[`;
  };
  for await (const page of collection.pages("")) {
    before ??= headOf(page[0]?.currentReleaseTime ?? noTime);
    yield before + page.map((file) => JSON.stringify(feedEntry(folder, file))).join(",\n");
    before = ",\n";
  }
  yield `${before === undefined ? headOf(noTime) : ""}]}}`;
}

/** Returns the file of a feed's categories (ROLIE, RFC 8322, 8.1). */
export const categoryNameOf = ({ label }: CsafCollection): string => `category-${label.toLowerCase()}.json`;
export const categoryDocument = JSON.stringify({ categories: { category: [category] } });

export const serviceDocument = (title: string, feeds: readonly string[]): string =>
  JSON.stringify({
    service: { workspace: [{ title, collection: feeds.map((href) => ({ title, href, categories: { category: [category] } })) }] },
  });
