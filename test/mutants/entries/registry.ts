// The OCI registry and what lies in it.

import type { Mutant } from "../mutant.ts";

const uploads = "server/resources/registry/distribution/uploads.ts";
const place = "server/resources/registry/distribution/place.ts";
const putManifest = "server/resources/registry/distribution/put-manifest.ts";
const manifest = "server/resources/registry/distribution/manifest.ts";

export const registry: readonly Mutant[] = [
  { attack: 99, file: putManifest, find: "if (missing.length > 0) throw blobsUnknown(missing);", replace: "" },
  { attack: 100, file: uploads, find: 'visiblePaths(rights, ["repo.blobs.get"])', replace: 'visiblePaths(rights, ["repo.list"])' },
  {
    attack: 100,
    file: uploads,
    find: 'const isReadable = paths.some((path) => path === "" || found.uid === path || found.uid.startsWith(`${path}/`));',
    replace: "const isReadable = true;",
  },
  { attack: 101, file: place, find: "if (caller && isSeen(rights, method, given)) return at(given);", replace: "if (caller) return at(given);" },
  {
    attack: 101,
    file: place,
    find: "return caller && isSeen(rights, method, found.uid) ? at(found.uid) : absent(nameUnknown());",
    replace: "return caller ? at(found.uid) : absent(nameUnknown());",
  },
  { attack: 104, file: uploads, find: "if (Number(first) !== sizeBytes) throw outOfOrder(sizeBytes);", replace: "" },
  { attack: 105, file: manifest, find: "if (repeated !== undefined) throw", replace: "if (false) throw" },
  { attack: 10, file: putManifest, find: 'if (tags.length > 0) context.require(["tag.create"], repo.uid);', replace: "" },
  {
    attack: 122,
    file: "server/resources/registry/repo.ts",
    find: 'context.require(["repo.update"], uid);',
    replace: "",
  },
  {
    attack: 123,
    file: "server/resources/registry/tags-summary.ts",
    find: 'visiblePaths(rights, ["repo.list"])',
    replace: '[""]',
  },
];
