// Go's build information in an executable: the version of Go and the modules, as `go version -m` reads it (debug/buildinfo).

import { limits } from "#base/limits.ts";
import type { ByteSource } from "../byte-source.ts";
import { type FoundPackage, pathPackage } from "../found-package.ts";
import { DatabaseError } from "../problem.ts";
import { type Executable, offsetOf } from "./executable.ts";

const magic = Buffer.from("\xff Go buildinf:", "latin1");
const headerBytes = 32;
const alignment = 16;
/** Searched in pieces. */
const windowBytes = 1024 * 1024;

const findMagic = (bytes: ByteSource, start: number, sizeBytes: number): number | undefined => {
  for (let at = start; at < start + sizeBytes; at += windowBytes) {
    const window = bytes.read(at, Math.min(windowBytes + headerBytes, start + sizeBytes - at));
    for (let found = window.indexOf(magic); found >= 0; found = window.indexOf(magic, found + 1))
      if ((at + found - start) % alignment === 0 && at + found + headerBytes <= start + sizeBytes) return at + found;
  }
  return undefined;
};

const sectionNames = new Set([".go.buildinfo", "__go_buildinfo"]);

const findInfo = (executable: Executable, bytes: ByteSource): number | undefined => {
  const section = executable.sections.find(({ name }) => sectionNames.has(name));
  if (section) return findMagic(bytes, section.offset, section.sizeBytes);
  // Of PE, and of stripped section tables: the first data segment.
  const data = executable.segments.find(({ isWritable }) => isWritable);
  return data && findMagic(bytes, data.offset, data.sizeBytes);
};

const readUvarint = (bytes: ByteSource, at: number): { readonly value: number; readonly end: number } => {
  const found = bytes.read(at, 10);
  let value = 0;
  for (const [index, byte] of found.entries()) {
    value += (byte & 0x7f) * 2 ** (7 * index);
    if ((byte & 0x80) === 0) return { value, end: at + index + 1 };
  }
  throw new DatabaseError("has damaged build information of Go");
};

const readText = (bytes: ByteSource, offset: number, length: number): string => {
  if (length > limits.goInfoBytesMax) throw new DatabaseError(`has build information of Go with more than ${limits.goInfoBytesMax} bytes`);
  const found = bytes.read(offset, length);
  if (found.length < length) throw new DatabaseError("has truncated build information of Go");
  return found.toString("utf8");
};

/** Before Go 1.18: a pointer to a string's pointer and length. */
const readPointed = (executable: Executable, bytes: ByteSource, pointerAt: number, isLittleEndian: boolean, pointerBytes: number): string => {
  const word = (offset: number): number => {
    const found = bytes.read(offset, pointerBytes);
    if (found.length < pointerBytes) return 0;
    if (pointerBytes === 4) return isLittleEndian ? found.readUInt32LE() : found.readUInt32BE();
    return Number(isLittleEndian ? found.readBigUInt64LE() : found.readBigUInt64BE());
  };
  const header = offsetOf(executable, word(pointerAt));
  if (!header) return "";
  const length = word(header.offset + pointerBytes);
  const content = offsetOf(executable, word(header.offset));
  return content && length <= content.restBytes ? readText(bytes, content.offset, length) : "";
};

/** The text is between two marks of 16 bytes. */
const withoutMarks = (text: string): string => (text.length >= 33 && text.at(-17) === "\n" ? text.slice(16, -16) : "");

interface GoInfo {
  /** "go1.22.1". */
  readonly version: string;
  readonly modules: string;
}

const readInfo = (executable: Executable, bytes: ByteSource): GoInfo | undefined => {
  const at = findInfo(executable, bytes);
  if (at === undefined) return undefined;
  const header = bytes.read(at, headerBytes);
  if (header.length < headerBytes) return undefined;
  const flags = header[15] ?? 0;
  if ((flags & 2) !== 0) {
    const version = readUvarint(bytes, at + headerBytes);
    const modules = readUvarint(bytes, version.end + version.value);
    // Marks are bytes, not UTF-8.
    const raw = bytes.read(modules.end, Math.min(modules.value, limits.goInfoBytesMax));
    const isMarked = raw.length === modules.value && raw.length >= 33 && raw[raw.length - 17] === 0x0a;
    return { version: readText(bytes, version.end, version.value), modules: isMarked ? raw.toString("utf8", 16, raw.length - 16) : "" };
  }
  const pointerBytes = header[14] ?? 0;
  if (pointerBytes !== 4 && pointerBytes !== 8) return undefined;
  const isLittleEndian = (flags & 1) === 0;
  return {
    version: readPointed(executable, bytes, at + 16, isLittleEndian, pointerBytes),
    modules: withoutMarks(readPointed(executable, bytes, at + 16 + pointerBytes, isLittleEndian, pointerBytes)),
  };
};

/** Lines such as "dep\tgithub.com/a/b\tv1.2.3\th1:…", and "=>\t…" behind a replaced one. */
const modulesIn = (text: string): FoundPackage[] => {
  const found: { path: string; version: string }[] = [];
  for (const line of text.split("\n")) {
    const [kind, path = "", version = ""] = line.split("\t");
    if (kind === "mod" || kind === "dep") found.push({ path, version });
    // A replacement by a folder has no version: the module's own name and version are closer.
    if (kind === "=>" && version !== "") found.splice(-1, 1, { path, version });
  }
  return found
    .filter(({ path, version }) => path !== "" && version !== "" && version !== "(devel)")
    .map(({ path, version }) => pathPackage("golang", path, version));
};

export const readGoInfo = (executable: Executable, bytes: ByteSource): FoundPackage[] => {
  const info = readInfo(executable, bytes);
  if (!info) return [];
  // "go1.22.1 X:boringcrypto", "devel go1.23-…".
  const [, release] = /^go(\d+(?:\.\d+)*(?:(?:rc|beta)\d+)?)(?:[ -]|$)/.exec(info.version) ?? [];
  return [...(release === undefined ? [] : [pathPackage("golang", "stdlib", release)]), ...modulesIn(info.modules)];
};
