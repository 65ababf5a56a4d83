// Composes the layers of an image, lowest first: what is in it, after whiteouts and replaced files, with the layer that each package
// came with. Pure.

import type { OsRelease } from "./databases/os-release.ts";
import { type DatabaseKind, type FoundPackage, packageKey } from "./found-package.ts";
import { foldersAbove } from "./layer-path.ts";
import { openPathSet, type PathSet } from "./path-set.ts";
import { type Problem, shownPath } from "./problem.ts";
import { purlOf } from "./purl.ts";
import type { FoundDatabase, LayerContents } from "./read-layer.ts";

export interface ImageLayer {
  readonly digest: string;
  readonly contents: LayerContents;
}

export interface ImagePackage {
  readonly purl: string;
  readonly type: FoundPackage["type"];
  readonly name: string;
  readonly version: string;
  /** As in the database; "" if it names none. */
  readonly architecture: string;
  /** The layer since which the image has it in this version. */
  readonly layer: string;
  readonly path: string;
  readonly database: DatabaseKind;
}

export interface LayerProblem extends Problem {
  readonly layer: string;
}

export type ContentsState =
  /** Everything was read. */
  | "INDEXED"
  /** The problems say what was not read. */
  | "PARTIAL"
  /** It has no layers of files: a chart, a signature, an encrypted image. */
  | "UNSUPPORTED"
  /** No layer could be read. */
  | "FAILED";

export interface ImageContents {
  readonly state: ContentsState;
  readonly os: OsRelease | undefined;
  readonly packages: readonly ImagePackage[];
  readonly problems: readonly LayerProblem[];
  readonly problemCount: number;
}

interface Layer {
  readonly digest: string;
  readonly databases: ReadonlyMap<string, FoundDatabase>;
  readonly paths: PathSet;
}

/** Whether this layer removes a file of a lower one: at its path, or a directory above it. */
const removes = ({ paths }: Layer, path: string, folders: readonly string[]): boolean =>
  paths.has("removed", path) ||
  paths.has("present", path) ||
  paths.has("directory", path) ||
  paths.has("opaque", "") ||
  folders.some((folder) => paths.has("removed", folder) || paths.has("opaque", folder) || paths.has("present", folder));

interface Version {
  readonly layer: string;
  readonly database: FoundDatabase;
}

/** Returns the versions of a database since it was last absent, lowest first; empty if the image does not have it. */
const versionsOf = (layers: readonly Layer[], path: string): Version[] => {
  const folders = foldersAbove(path);
  let versions: Version[] = [];
  for (const layer of layers) {
    const database = layer.databases.get(path);
    const isGone = layer.paths.has("removed", path) || folders.some((folder) => layer.paths.has("removed", folder) || layer.paths.has("opaque", folder));
    if (database) versions = [...(isGone || layer.paths.has("opaque", "") ? [] : versions), { layer: layer.digest, database }];
    else if (removes(layer, path, folders)) versions = [];
  }
  return versions;
};

/** Returns each package of the last version, with the first layer of those that have it without a gap. */
const packagesOf = (versions: readonly Version[]): { readonly found: FoundPackage; readonly layer: string }[] => {
  let layerOf = new Map<string, string>();
  for (const { layer, database } of versions)
    layerOf = new Map(database.packages.map((found) => [packageKey(found), layerOf.get(packageKey(found)) ?? layer] as const));
  return (versions.at(-1)?.database.packages ?? []).map((found) => ({ found, layer: layerOf.get(packageKey(found)) ?? "" }));
};

/** Runtimes resolve etc/os-release first, which is a link to the other one. */
const osPaths = ["etc/os-release", "usr/lib/os-release"];

export const composeLayers = (given: readonly ImageLayer[]): ImageContents => {
  const layers = given.map(({ digest, contents }): Layer => {
    const databases = new Map(contents.databases.map((each) => [each.path, each]));
    return { digest, databases, paths: openPathSet(contents.paths) };
  });
  const all = new Set(layers.flatMap(({ databases }) => [...databases.keys()]));
  const present = [...all].sort().map((path) => ({ path, versions: versionsOf(layers, path) }));
  const osOf = (path: string): OsRelease | undefined => present.find((each) => each.path === path)?.versions.at(-1)?.database.os;
  const os = osPaths.map(osOf).find((each) => each !== undefined);
  const packages = present.flatMap(({ path, versions }) =>
    packagesOf(versions).map(({ found, layer }): ImagePackage => {
      const { type, namespace, name, version, architecture } = found;
      const kind = versions.at(-1)?.database.kind ?? "executable";
      const fullName = namespace === "" ? name : `${namespace}${type === "maven" ? ":" : "/"}${name}`;
      return { purl: purlOf(found, os), type, name: fullName, version, architecture, layer, path: shownPath(path), database: kind };
    }),
  );
  const problems = given.flatMap(({ digest, contents }) => contents.problems.listed.map((problem): LayerProblem => ({ ...problem, layer: digest })));
  const problemCount = given.reduce((sum, { contents }) => sum + contents.problems.count, 0);
  const isFailed = packages.length === 0 && given.length > 0 && given.every(({ contents }) => contents.entries === 0 && contents.problems.count > 0);
  return { state: isFailed ? "FAILED" : problemCount > 0 ? "PARTIAL" : "INDEXED", os, packages, problems, problemCount };
};
