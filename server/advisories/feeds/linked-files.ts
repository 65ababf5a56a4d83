// Follows CSAF links (2.0, section 7.1): from a provider's metadata to ROLIE feeds or directories, and to documents. A document
// that cannot be fetched is refused with its URL, and the others are imported.

import { Fault } from "#base/fault.ts";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { type Checks, checkDocument, noSigningKeys, openSigningKeys, readShortFile, type SigningKeys } from "./document-checks.ts";
import { Field } from "./field.ts";
import { addressLabel, type Fetched, type Fetching, fetchFile, readOnce } from "./fetching.ts";
import { decodeUtf8 } from "./file-reader.ts";
import { DocumentError, FieldError, pathText } from "./invalid.ts";
import { isProvider } from "./find-provider.ts";
import { readJson } from "./parse/json.ts";
import type { FeedFile } from "./feed-file.ts";
import type { StoredFile } from "./stored-file.ts";

interface Link {
  readonly url: URL;
  readonly listed: string;
  readonly checks: Checks;
}

const noChecks: Checks = { hashes: [], signatures: [] };

const linkOf = (base: URL, field: Field, listed: string): Link => {
  const url = URL.parse(field.url(), base.href);
  return url !== null && ["https:", "http:"].includes(url.protocol) ? { url, listed, checks: noChecks } : field.refuse("must be an address");
};

const requireFew = <T>(links: readonly T[]): readonly T[] => {
  if (links.length > limits.feedLinksMax) throw new DocumentError(1, `leads to more than ${limits.feedLinksMax} documents`);
  return links;
};

/** Sorts SHA-512 before SHA-256. */
const longestFirst = (one: URL, other: URL): number => Number(other.pathname.endsWith(".sha512")) - Number(one.pathname.endsWith(".sha512"));

/** Returns the URLs of hashes and signature for a document of a directory. */
const checksBeside = ({ href }: URL): Checks => ({
  hashes: [".sha512", ".sha256"].map((extension) => new URL(`${href}${extension}`)),
  signatures: [new URL(`${href}.asc`)],
});

/** Returns an entry's content, or its self link. */
const entryLink = (base: URL, entry: Field): Link => {
  const own = entry
    .at("link")
    .list()
    .find((link) => link.at("rel").name() === "self");
  const content = entry.at("content").at("src");
  const link = linkOf(base, content.missing && own ? own.at("href") : content, entry.at("updated").name());
  const related = (rel: string): URL[] =>
    entry
      .at("link")
      .list()
      .filter((each) => each.at("rel").name() === rel)
      .map((each) => linkOf(base, each.at("href"), "").url);
  return { ...link, checks: { hashes: related("hash").sort(longestFirst), signatures: related("signature") } };
};

const rolieLinks = (base: URL, document: Field): readonly Link[] =>
  requireFew(
    document
      .at("feed")
      .at("entry")
      .list()
      .map((entry) => entryLink(base, entry)),
  );

const isRolie = (document: Json): boolean => isObject(document) && isObject(document.feed) && ("entry" in document.feed || "link" in document.feed);

const refusalOf = (thrown: unknown): string => {
  if (thrown instanceof FieldError) return `${pathText(thrown.path)} ${thrown.message}`.trim();
  if (thrown instanceof DocumentError || (thrown instanceof Fault && thrown.code !== "ABORTED")) return thrown.message;
  throw thrown;
};

const refusedFile = (name: string, label: string, reason: string, isOfMany: boolean): FeedFile => ({
  name,
  label,
  isOfMany,
  // biome-ignore lint/correctness/useYield: it only ever fails
  async *bytes() {
    throw new DocumentError(1, reason);
  },
});

/** Previous documents of an unreadable list are not missing. */
const refusedList = (url: URL, reason: string): FeedFile => refusedFile(url.href, addressLabel(url), reason, false);

interface LinkList {
  readonly keys: SigningKeys;
  readonly isFolder: boolean;
  uncheckedInRow: number;
}

/** Returns one document. It is not fetched if its time in the list is unchanged. */
const linkedFile = async (fetching: Fetching, { url, listed, checks }: Link, list: LinkList): Promise<FeedFile> => {
  const { validators } = fetching;
  const file = { name: url.href, label: addressLabel(url), isOfMany: true, refused: () => validators.forget(url.href) };
  const known = validators.find(url.href);
  if (known && known.listed !== "" && known.listed === listed) {
    validators.keep(url.href, known);
    return { ...file, unchanged: "file", async *bytes() {} };
  }
  let fetched: Fetched;
  try {
    fetched = await fetchFile(fetching, url, listed);
  } catch (thrown) {
    return refusedFile(url.href, file.label, refusalOf(thrown), true);
  }
  if (fetched.isUnchanged) return { ...file, unchanged: "file", async *bytes() {} };
  const stored = fetched.file;
  try {
    // After ten documents without hashes or signatures, the directory has none. ROLIE lists them explicitly.
    if (list.uncheckedInRow < limits.feedUncheckedMax) {
      const isChecked = await checkDocument(fetching, stored, checks, list.keys);
      list.uncheckedInRow = isChecked || !list.isFolder ? 0 : list.uncheckedInRow + 1;
    }
  } catch (thrown) {
    const refused = refusedFile(url.href, file.label, refusalOf(thrown), true);
    validators.forget(url.href);
    fetching.opened.delete(stored);
    await stored.close();
    return refused;
  }
  return { ...file, bytes: () => readOnce(fetching, stored) };
};

/** In memory and without validators: the linked documents have them. */
const readList = (fetching: Fetching, url: URL): Promise<Buffer> => readShortFile(fetching, url, limits.feedDocumentBytesMax);

async function* documentsOf(fetching: Fetching, links: Iterable<Link>, keys: SigningKeys, isFolder = false): AsyncGenerator<FeedFile> {
  const list: LinkList = { keys, isFolder, uncheckedInRow: 0 };
  for (const link of links) yield await linkedFile(fetching, link, list);
}

async function* filesOfRolie(fetching: Fetching, url: URL, document: Json): AsyncGenerator<FeedFile> {
  let links: readonly Link[];
  try {
    links = rolieLinks(url, new Field(document));
  } catch (thrown) {
    yield refusedList(url, refusalOf(thrown));
    return;
  }
  // Signing keys are in the provider's metadata.
  yield* documentsOf(fetching, links, noSigningKeys);
}

/** "2023/x.json","2023-07-01T10:09:07Z" */
const changeForm = /^"([^"]+)","([^"]*)"$/;

/** Reads the links from changes.csv with times, or from index.txt. */
const folderLinks = async (fetching: Fetching, folder: URL): Promise<readonly Link[]> => {
  const lines = async (name: string): Promise<string[]> =>
    decodeUtf8(await readList(fetching, new URL(name, folder)))
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  let found: (readonly [path: string, listed: string])[];
  try {
    found = (await lines("changes.csv")).map((line) => {
      const [, path = "", listed = ""] = changeForm.exec(line) ?? [];
      if (path === "") throw new DocumentError(1, 'changes.csv must contain lines such as "2024/a.json","2024-01-31T08:00:00Z"');
      return [path, listed] as const;
    });
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    found = (await lines("index.txt")).map((path) => [path, ""] as const);
  }
  return requireFew(
    found.map(([path, listed]) => {
      const url = URL.parse(path, folder.href);
      // A list must not lead outside its directory.
      if (url === null || !url.href.startsWith(folder.href))
        throw new DocumentError(1, `names ${JSON.stringify(path)}, which is outside ${addressLabel(folder)}`);
      return { url, listed, checks: checksBeside(url) };
    }),
  );
};

/** Yields files of ROLIE feeds, or of directories if there are none. */
async function* filesOfProvider(fetching: Fetching, url: URL, metadata: Json): AsyncGenerator<FeedFile> {
  const provider = new Field(metadata);
  const feeds: URL[] = [];
  const folders: URL[] = [];
  let keys: SigningKeys;
  try {
    keys = await openSigningKeys(fetching, url, provider);
    for (const distribution of provider.at("distributions").list()) {
      const rolie = distribution.at("rolie").at("feeds").list();
      for (const feed of rolie) feeds.push(linkOf(url, feed.at("url"), "").url);
      const folder = distribution.at("directory_url");
      if (rolie.length === 0 && !folder.missing) folders.push(new URL("./", linkOf(url, folder, "").url.href.replace(/\/?$/, "/")));
    }
  } catch (thrown) {
    yield refusedList(url, refusalOf(thrown));
    return;
  }
  if (feeds.length + folders.length === 0) yield refusedList(url, "distributions must name a ROLIE feed or a directory");
  const seen = new Set<string>();
  const once = (links: readonly Link[]): Link[] => links.filter(({ url: { href } }) => !seen.has(href) && seen.add(href));
  for (const feed of feeds) {
    try {
      yield* documentsOf(fetching, once(rolieLinks(feed, new Field(await readJson(decodeUtf8(await readList(fetching, feed)))))), keys);
    } catch (thrown) {
      yield refusedList(feed, refusalOf(thrown));
    }
  }
  for (const folder of folders) {
    try {
      yield* documentsOf(fetching, once(await folderLinks(fetching, folder)), keys, true);
    } catch (thrown) {
      yield refusedList(folder, refusalOf(thrown));
    }
  }
}

const headOf = async (file: StoredFile): Promise<string> => (await file.read(0, limits.feedHeadLength)).toString("utf8");

/** Returns undefined if the file is an ordinary one. */
export const linkedFiles = async (fetching: Fetching, url: URL, file: StoredFile): Promise<AsyncIterable<FeedFile> | undefined> => {
  const head = await headOf(file);
  if (!/^\s*\{/.test(head)) return undefined;
  const mayLead = /"feed"\s*:\s*\{/.test(head) || /"(?:canonical_url|metadata_version)"\s*:/.test(head);
  if (!mayLead || file.sizeBytes > limits.feedDocumentBytesMax) return undefined;
  let document: Json;
  try {
    document = await readJson(decodeUtf8(await file.read(0, file.sizeBytes)));
  } catch (thrown) {
    // The reader refuses it with its line.
    if (thrown instanceof DocumentError) return undefined;
    throw thrown;
  }
  // Linked files may have changed nevertheless.
  if (isRolie(document)) {
    fetching.validators.forget(url.href);
    return filesOfRolie(fetching, url, document);
  }
  if (isProvider(document)) {
    fetching.validators.forget(url.href);
    return filesOfProvider(fetching, url, document);
  }
  return undefined;
};
