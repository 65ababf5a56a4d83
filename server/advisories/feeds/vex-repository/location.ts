// Names of packages and files in a VEX repository. Pure.

import { createHash } from "node:crypto";
import { readPurlParts } from "../formats/purl.ts";

/** Encodes like the client's library: all but letters, digits and "-._~". */
const encoded = (part: string): string => encodeURIComponent(part).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * Returns the lookup keys of a package: its package URL without version, qualifiers and subpath. Images include the repository,
 * which libraries encode in two ways. None if it is not a package URL.
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

/** Returns a file's path. Other bytes become "_" and hex, including capitals: some file systems ignore case. */
export const fileLocation = (folder: string, name: string): string => {
  const plain = [...Buffer.from(name)]
    .map((byte) => (/[a-z0-9.-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `_${byte.toString(16).padStart(2, "0")}`))
    .join("");
  const short = plain.length <= plainBytesMax ? plain : `${plain.slice(0, 20)}-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
  return `${folder}/${short}.json`;
};
