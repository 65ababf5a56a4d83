// Paths of a layer: relative to the image's root, without "." and empty segments. Pure.

const plainForm = /^(?!\.{1,2}(?:\/|$))[^/]+(?:\/(?!\.{1,2}(?:\/|$))[^/]+)*$/;

/** Returns "" for the root, undefined for a path with "..", which runtimes refuse or clamp. */
export const layerPath = (name: string): string | undefined => {
  if (plainForm.test(name)) return name;
  const segments = name.split("/").filter((segment) => segment !== "" && segment !== ".");
  return segments.includes("..") ? undefined : segments.join("/");
};

export const baseNameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Returns the folders above a path, nearest first, without the root. */
export const foldersAbove = (path: string): string[] => {
  const found: string[] = [];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) found.push(path.slice(0, at));
  return found;
};

export type Whiteout =
  /** Removes what lower layers have at the path. */
  | { readonly kind: "removed"; readonly path: string }
  /** Removes what lower layers have in the directory. */
  | { readonly kind: "opaque"; readonly path: string }
  /** Bookkeeping of aufs. */
  | { readonly kind: "other" };

/** Returns undefined for other entries. https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts */
export const whiteoutOf = (path: string): Whiteout | undefined => {
  const [folder, name] = [folderOf(path), baseNameOf(path)];
  if (!name.startsWith(".wh.")) return undefined;
  if (name === ".wh..wh..opq") return { kind: "opaque", path: folder };
  if (name.startsWith(".wh..wh.") || name === ".wh.") return { kind: "other" };
  const removed = name.slice(".wh.".length);
  return removed === "." || removed === ".." ? { kind: "other" } : { kind: "removed", path: folder === "" ? removed : `${folder}/${removed}` };
};
