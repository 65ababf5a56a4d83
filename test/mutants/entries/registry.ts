// The OCI registry and its content.

import type { Mutant } from "../mutant.ts";

const uploads = "server/registry/resources/distribution/uploads.ts";
const place = "server/registry/resources/distribution/place.ts";
const putManifest = "server/registry/resources/distribution/put-manifest.ts";
const scope = "server/registry/resources/distribution/token-scope.ts";
const repo = "server/registry/resources/distribution/repo.ts";
const manifest = "server/registry/resources/distribution/manifest.ts";

export const registry: readonly Mutant[] = [
  { attack: 333, file: "server/registry/blobs/s3-place.ts", find: 'failure.addEventListener("abort", cut, { once: true });', replace: "" },
  {
    attack: 333,
    file: "server/application/blob-place.ts",
    find: 'if (dependency.isFailed) throw placeUnreachable(new Error("the storage has failed"));',
    replace: "",
  },
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
    file: "server/registry/resources/repo.ts",
    find: 'context.require(["repo.update"], uid);',
    replace: "",
  },
  {
    attack: 123,
    file: "server/registry/resources/tags-summary.ts",
    find: 'visiblePaths(rights, ["repo.list"])',
    replace: '[""]',
  },
  {
    attack: 300,
    file: place,
    find: "find(({ groupUid }) => missingCapability(rights, capabilities, groupUid) === undefined)",
    replace: "find(() => capabilities.length >= 0 && rights !== undefined)",
  },
  { attack: 300, file: "server/registry/store/blobs.ts", find: " and exists (select from repos where repos.uid = repo_uid)", replace: "" },
  { attack: 301, file: repo, find: ">= limits.pendingReposEach) throw", replace: "< 0) throw" },
  {
    attack: 302,
    file: "server/iam/resources/group.ts",
    find: '    { table: "pending_repos", column: "group_uid", isDeletedForGood: true },\n',
    replace: "",
  },
  {
    attack: 303,
    file: "server/registry/store/pending-repos.ts",
    find: "and ($2 = group_uid or starts_with($2, group_uid || '/'))",
    replace: "and $2::text is not null",
  },
  {
    attack: 304,
    file: scope,
    find: 'const own = isUid(text(request, "repo")) ? capabilitiesOf(actions) : actionCapabilities.push;',
    replace: "const own = capabilitiesOf(actions);",
  },
  { attack: 305, file: putManifest, find: "if (stored !== sizeBytes) throw", replace: "if (stored === undefined) throw" },
];
