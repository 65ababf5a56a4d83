// Libraries, one per line (docs/reference/import-formats.md):
//
//   {"name": "org.example:lib", "ecosystem": "JAVA", "description": "…", "versions": ["1.0",
//     {"version": "1.1", "sizeBytes": 1, "publishTime": "…", "files": [{"sizeBytes": 1, "uploadTime": "…"}]}]}

import { timestamp } from "#base/time.ts";
import type { LibraryArtifactRecord, LibraryVersionRecord } from "../record.ts";
import type { Field } from "../field.ts";
import type { Format } from "./format.ts";

const ecosystems: ReadonlyMap<string, LibraryArtifactRecord["ecosystem"]> = new Map([
  ["JAVA", "ECOSYSTEM_JAVA"],
  ["MAVEN", "ECOSYSTEM_JAVA"],
  ["ECOSYSTEM_JAVA", "ECOSYSTEM_JAVA"],
  ["PYTHON", "ECOSYSTEM_PYTHON"],
  ["PYPI", "ECOSYSTEM_PYTHON"],
  ["ECOSYSTEM_PYTHON", "ECOSYSTEM_PYTHON"],
]);

/** Returns a version with the time of the first file and the size of all. */
export const libraryVersion = (
  version: string,
  files: readonly { readonly sizeBytes: number | undefined; readonly timeMs: number | undefined }[],
  description = "",
): LibraryVersionRecord => {
  const sizes = files.flatMap(({ sizeBytes }) => (sizeBytes === undefined ? [] : [sizeBytes]));
  const times = files.flatMap(({ timeMs }) => (timeMs === undefined ? [] : [timeMs]));
  return {
    version,
    ...(sizes.length > 0 ? { sizeBytes: sizes.reduce((sum, size) => sum + size, 0) } : {}),
    ...(times.length > 0 ? { publishTime: timestamp(times.reduce((one, other) => Math.min(one, other))) } : {}),
    ...(description === "" ? {} : { description }),
  };
};

const lineVersion = (field: Field): LibraryVersionRecord => {
  if (typeof field.value === "string") return { version: field.id() };
  const version = field.object().at("version").id();
  const files = field
    .at("files")
    .list()
    .map((file) => ({ sizeBytes: file.object().at("sizeBytes").count(), timeMs: file.at("uploadTime").time() }));
  const own = { sizeBytes: field.at("sizeBytes").count(), timeMs: field.at("publishTime").time() ?? field.at("uploadTime").time() };
  const described = [field, ...field.at("files").list()].map((each) => each.at("description").prose()).find((text) => text !== "") ?? "";
  const summed = libraryVersion(version, files, described);
  return {
    ...summed,
    ...(own.sizeBytes === undefined ? {} : { sizeBytes: own.sizeBytes }),
    ...(own.timeMs === undefined ? {} : { publishTime: timestamp(own.timeMs) }),
  };
};

export const distinctVersions = (versions: readonly LibraryVersionRecord[]): LibraryVersionRecord[] => [
  ...new Map(versions.map((version) => [version.version, version])).values(),
];

const artifactRecord = (line: Field): LibraryArtifactRecord => {
  const ecosystemName = line.at("ecosystem");
  const ecosystem = ecosystems.get(ecosystemName.required().toUpperCase());
  if (!ecosystem) return ecosystemName.refuse("must be JAVA or PYTHON");
  const description = line.at("description").prose();
  const cudaVersions = line.at("cudaVersions").ids();
  return {
    kind: "library",
    ecosystem,
    name: line.at("name").id(),
    ...(description === "" ? {} : { description }),
    ...(line.at("remediated").flag() ? { remediated: true } : {}),
    ...(cudaVersions.length > 0 ? { cudaVersions } : {}),
    versions: distinctVersions(line.at("versions").list().map(lineVersion)),
  };
};

export const artifactLines: Format = {
  name: "artifacts",
  title: "a list of artifacts",
  kinds: ["libraries"],
  matches: (document) => "ecosystem" in document && "name" in document,
  read: (line) => [artifactRecord(line)],
};
