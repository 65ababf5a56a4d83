// Rust's packages in an executable, as cargo-auditable records them: JSON, packed with zlib, in the section .dep-v0.

import { inflateSync } from "node:zlib";
import { isObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { ByteSource } from "../byte-source.ts";
import { type FoundPackage, plainPackage } from "../found-package.ts";
import { DatabaseError } from "../problem.ts";
import type { Executable } from "./executable.ts";
import { readJsonFile } from "./json-file.ts";

export const readCargoInfo = ({ sections }: Executable, bytes: ByteSource): FoundPackage[] => {
  const section = sections.find(({ name }) => name === ".dep-v0");
  if (!section || section.sizeBytes === 0) return [];
  if (section.sizeBytes > limits.auditableBytesMax) throw new DatabaseError(`has more than ${limits.auditableBytesMax} bytes of data about its Rust packages`);
  let unpacked: Buffer;
  try {
    unpacked = inflateSync(bytes.read(section.offset, section.sizeBytes), { maxOutputLength: limits.auditableBytesMax });
  } catch {
    throw new DatabaseError("has data about its Rust packages that cannot be unpacked");
  }
  const value = readJsonFile(unpacked);
  const listed = isObject(value) ? objectList(value, "packages") : [];
  return listed.flatMap((each) => {
    const [name, version] = [text(each, "name"), text(each, "version")];
    // Packages of the build only are not in the executable. The program itself is not from the registry.
    if (name === "" || version === "" || text(each, "kind") === "build") return [];
    return [plainPackage("cargo", name, version)];
  });
};
