// Loaded before a test file by test/run.ts. Of our own imports each says its file: a relative one by its path, one of package.json's
// `imports` there. Node asks the file system on the way to the same answer, for each of the 3800 imports of a server anew: measured, a
// fifth of the processor time until it has started. A file that is not there is told when it is read.

import { readFileSync } from "node:fs";
import { type ResolveFnOutput, registerHooks } from "node:module";

const root = new URL("../", import.meta.url);
const packages = new URL("node_modules/", root).href;
const { imports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { imports: Readonly<Record<string, string>> };

const entries = new Map<string, string>();
const folders: (readonly [prefix: string, folder: string])[] = [];
for (const [name, path] of Object.entries(imports)) {
  if (name.endsWith("/*")) folders.push([name.slice(0, -1), new URL(path.slice(0, -1), root).href]);
  else entries.set(name, new URL(path, root).href);
}

const fileOf = (specifier: string, parent: string): string | undefined => {
  if (specifier.startsWith("./") || specifier.startsWith("../")) return new URL(specifier, parent).href;
  const entry = entries.get(specifier);
  if (entry !== undefined) return entry;
  const [prefix = "", folder] = folders.find(([each]) => specifier.startsWith(each)) ?? [];
  return folder === undefined ? undefined : folder + specifier.slice(prefix.length);
};

const isOurs = (url: string): boolean => url.startsWith(root.href) && !url.startsWith(packages);

/** The address of the file of ours that one of our files means by this import; undefined where it means something else. */
export const ownImport = (specifier: string, parent: string): string | undefined => {
  const url = isOurs(parent) ? fileOf(specifier, parent) : undefined;
  return url?.endsWith(".ts") && isOurs(url) ? url : undefined;
};

registerHooks({
  resolve(specifier, context, next): ResolveFnOutput {
    const url = ownImport(specifier, context.parentURL ?? "");
    return url === undefined ? next(specifier, context) : { url, format: "module-typescript", shortCircuit: true };
  },
});
