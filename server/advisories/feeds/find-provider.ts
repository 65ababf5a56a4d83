// Finds a domain's CSAF provider metadata (CSAF 2.0, section 7.3): at its well-known URL, in its security.txt, or at its
// dedicated host.

import { isIP } from "node:net";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { Fault } from "#base/fault.ts";
import { readShortFile } from "./document-checks.ts";
import { AnswerFault, type Fetched, type Fetching, fetchFile } from "./fetching.ts";
import { DocumentError } from "./invalid.ts";

export const isProvider = (document: Json): boolean =>
  isObject(document) && "canonical_url" in document && "publisher" in document && "metadata_version" in document;

export const isBareHost = ({ pathname, search, hash }: URL): boolean => pathname === "/" && search === "" && hash === "";

const namedAddresses = async (fetching: Fetching, host: URL): Promise<URL[]> => {
  try {
    const text = (await readShortFile(fetching, new URL("/.well-known/security.txt", host), limits.feedCheckBytesMax)).toString("utf8");
    return text
      .split("\n")
      .flatMap((line) => /^CSAF:\s*(\S+)\s*$/i.exec(line)?.[1] ?? [])
      .flatMap((address) => URL.parse(address) ?? [])
      .slice(0, limits.feedProvidersMax);
  } catch (thrown) {
    if (thrown instanceof AnswerFault || thrown instanceof DocumentError) return [];
    throw thrown;
  }
};

interface FoundProvider {
  readonly url: URL;
  readonly fetched: Fetched;
}

const fetchMetadata = async (fetching: Fetching, url: URL): Promise<FoundProvider | undefined> => {
  let fetched: Fetched;
  try {
    fetched = await fetchFile(fetching, url);
  } catch (thrown) {
    // The dedicated host may not exist; try the next candidate.
    if (thrown instanceof Fault && thrown.code !== "ABORTED") return undefined;
    throw thrown;
  }
  // Linked files may have changed nevertheless.
  fetching.validators.forget(url.href);
  if (fetched.isUnchanged) return { url, fetched };
  try {
    const { file } = fetched;
    if (file.sizeBytes <= limits.feedDocumentBytesMax && isProvider(JSON.parse((await file.read(0, file.sizeBytes)).toString("utf8")) as Json))
      return { url, fetched };
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
  }
  fetching.opened.delete(fetched.file);
  await fetched.file.close();
  return undefined;
};

/** Returns undefined if the host has none. */
export const findProvider = async (fetching: Fetching, host: URL): Promise<FoundProvider | undefined> => {
  const known = await fetchMetadata(fetching, new URL("/.well-known/csaf/provider-metadata.json", host));
  if (known) return known;
  const setAside = isIP(host.hostname.replace(/^\[|\]$/g, "")) === 0 ? [new URL(`https://csaf.data.security.${host.host}/`)] : [];
  for (const url of [...(await namedAddresses(fetching, host)), ...setAside]) {
    const found = await fetchMetadata(fetching, url);
    if (found) return found;
  }
  return undefined;
};
