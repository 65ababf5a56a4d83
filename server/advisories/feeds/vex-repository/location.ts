// What a repository of VEX documents calls packages and files. Pure.

import { createHash } from "node:crypto";
import { readPurlParts } from "../formats/purl.ts";

/** As the reader's library writes a part of a package URL: all but letters, digits and "-._~" is encoded. */
const encoded = (part: string): string => encodeURIComponent(part).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * What a package is looked up by: its package URL without version, qualifiers and subpath. Of an image the repository belongs
 * to it, which libraries write in two ways. None where the text is no package URL.
 */
export const packageIds = (purl: string): string[] => {
  const parts = readPurlParts(purl);
  if (!parts) return [];
  const { type, namespace, name, qualifiers } = parts;
  const steps = [...namespace.split("/").filter((step) => step !== ""), name];
  const id = `pkg:${type}/${steps.map(encoded).join("/")}`;
  const repository = type === "oci" ? (qualifiers.get("repository_url") ?? "") : "";
  if (repository === "") return [id];
  const url = encoded(repository);
  return [...new Set([url, url.replaceAll("%2F", "/").replaceAll("%3A", ":")])].map((each) => `${id}?repository_url=${each}`);
};

const plainBytesMax = 60;

/** A file's place in the archive, of few letters: other ones become "_" and their bytes, capitals too, which some systems take for small ones. */
export const fileLocation = (folder: string, name: string): string => {
  const plain = [...Buffer.from(name)]
    .map((byte) => (/[a-z0-9.-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `_${byte.toString(16).padStart(2, "0")}`))
    .join("");
  const short = plain.length <= plainBytesMax ? plain : `${plain.slice(0, 20)}-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
  return `${folder}/${short}.json`;
};
