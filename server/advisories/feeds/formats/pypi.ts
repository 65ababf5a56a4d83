// A project of the Python package index in the simple API's JSON (PEP 691, PEP 700).

import { isObject } from "#base/json.ts";
import { normalizePythonName } from "#base/versions/python-name.ts";
import type { LibraryArtifactRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { distinctVersions, libraryVersion } from "./artifact-lines.ts";
import type { Format } from "./format.ts";

const sdistEnd = /\.(?:tar\.(?:gz|bz2|xz|Z)|tgz|zip)$/;

export const versionInFile = (filename: string, project: string): string | undefined => {
  if (filename.endsWith(".whl")) return /^[^-]+-([^-]+)-/.exec(filename)?.[1];
  if (filename.endsWith(".egg") || filename.endsWith(".exe")) return /^[^-]+-([^-]+)[-.]/.exec(filename)?.[1];
  if (!sdistEnd.test(filename)) return undefined;
  const stem = filename.replace(sdistEnd, "");
  // Project names may contain dashes.
  for (let dash = stem.indexOf("-"); dash >= 0; dash = stem.indexOf("-", dash + 1)) {
    if (normalizePythonName(stem.slice(0, dash)) === normalizePythonName(project)) return stem.slice(dash + 1);
  }
  return undefined;
};

interface Facts {
  readonly sizeBytes: number | undefined;
  readonly timeMs: number | undefined;
}

const projectRecord = (document: Field): LibraryArtifactRecord => {
  const name = document.at("name").id();
  const byVersion = new Map<string, Facts[]>(
    document
      .at("versions")
      .ids()
      .map((version) => [version, []]),
  );
  for (const file of document.at("files").list()) {
    const version = versionInFile(file.object().at("filename").required(), name);
    if (version === undefined || version === "") continue;
    const facts = { sizeBytes: file.at("size").count(), timeMs: file.at("upload-time").time() };
    byVersion.set(version, [...(byVersion.get(version) ?? []), facts]);
  }
  return {
    kind: "library",
    ecosystem: "ECOSYSTEM_PYTHON",
    name,
    versions: distinctVersions([...byVersion].map(([version, files]) => libraryVersion(version, files))),
  };
};

export const pypi: Format = {
  name: "pypi",
  title: "a project of a Python package index",
  kinds: ["libraries"],
  matches: (document) => Array.isArray(document.files) && "name" in document && isObject(document.meta) && "api-version" in document.meta,
  read: (document) => [projectRecord(document)],
};
