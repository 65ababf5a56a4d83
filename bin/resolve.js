// Resolves imports within this package by their text. Node would check the disk, read each parent's package.json and create
// several URLs: a third of the CPU time of a start (measured). Imports of packages are left to Node, once per name.

import { readFileSync } from "node:fs";
import module from "node:module";

const root = new URL("../", import.meta.url).href;

const { imports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

/** "#base/*.ts": the part between prefix and suffix replaces the star of the target. */
const patterns = Object.entries(imports).flatMap(([name, target]) => {
  if (typeof target !== "string") return [];
  const [before = "", after] = name.split("*");
  return [{ name, before, after, target: root + target.slice("./".length) }];
});

const ofImports = (specifier) => {
  for (const { name, before, after, target } of patterns) {
    if (after === undefined) {
      if (name === specifier) return target;
    } else if (specifier.startsWith(before) && specifier.endsWith(after))
      return target.replace("*", specifier.slice(before.length, specifier.length - after.length));
  }
  return undefined;
};

const ofRelative = (specifier, parent) => {
  let folder = parent.slice(0, parent.lastIndexOf("/"));
  let at = 0;
  for (;;) {
    if (specifier.startsWith("./", at)) at += 2;
    else if (specifier.startsWith("../", at)) {
      at += 3;
      folder = folder.slice(0, folder.lastIndexOf("/"));
    } else return `${folder}/${specifier.slice(at)}`;
  }
};

/** All own files are modules, known from the extension. */
const formatOf = (url) => (url.endsWith(".ts") ? "module-typescript" : url.endsWith(".js") ? "module" : undefined);

const isOwn = (url) => url.startsWith(root) && !url.startsWith("node_modules/", root.length);

/** Excludes queries, percent signs and backslashes, which need parsing. */
const plainName = /^(?:node:)?[\w@./#-]+$/;

/** Returns the file of an import within this package; undefined if Node must resolve it. */
export const resolveOwn = (specifier, parent) => {
  if (parent === undefined || !isOwn(parent) || !plainName.test(specifier)) return undefined;
  const url = specifier.startsWith("#") ? ofImports(specifier) : specifier.startsWith(".") ? ofRelative(specifier, parent) : undefined;
  const format = url === undefined ? undefined : formatOf(url);
  return format !== undefined && isOwn(url) ? { url, format, shortCircuit: true } : undefined;
};

/** Installs the resolver for this thread. */
export const resolveByText = () => {
  const packages = new Map();
  module.registerHooks({
    resolve(specifier, context, next) {
      const { parentURL, conditions } = context;
      const own = resolveOwn(specifier, parentURL);
      if (own !== undefined) return own;
      const isPackage = /^[\w@]/.test(specifier) && plainName.test(specifier);
      if (!isPackage || parentURL === undefined || !isOwn(parentURL) || conditions.includes("require")) return next(specifier, context);
      let known = packages.get(specifier);
      if (known === undefined) packages.set(specifier, (known = { ...next(specifier, context), shortCircuit: true }));
      return known;
    },
  });
};
