// Resolves the imports between this package's own files by their text alone. Node looks for each on the disk, reads the package.json of
// each folder above it, and makes several URLs: measured, a third of the CPU time of a start. Imports of packages are resolved by Node,
// once for each name.

import { readFileSync } from "node:fs";
import module from "node:module";

const root = new URL("../", import.meta.url).href;

const { imports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

/** "#base/time.ts" begins with "#base/" and ends with ".ts": what is between replaces the star of the target. */
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

/** All files of ours are modules, which their names say without a look into package.json. */
const formatOf = (url) => (url.endsWith(".ts") ? "module-typescript" : url.endsWith(".js") ? "module" : undefined);

const isOwn = (url) => url.startsWith(root) && !url.startsWith("node_modules/", root.length);

/** Without queries, percent signs and backslashes, which mean more than their text. */
const plainName = /^(?:node:)?[\w@./#-]+$/;

/** Returns the file that an import in a file of this package means; undefined if Node must resolve it. */
export const resolveOwn = (specifier, parent) => {
  if (parent === undefined || !isOwn(parent) || !plainName.test(specifier)) return undefined;
  const url = specifier.startsWith("#") ? ofImports(specifier) : specifier.startsWith(".") ? ofRelative(specifier, parent) : undefined;
  const format = url === undefined ? undefined : formatOf(url);
  return format !== undefined && isOwn(url) ? { url, format, shortCircuit: true } : undefined;
};

/** Resolves all further imports of this thread this way. */
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
