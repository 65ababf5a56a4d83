// The OCI registry and its content.

import type { Mutant } from "../mutant.ts";

const contents = "server/registry/contents";
const uploads = "server/registry/resources/distribution/uploads.ts";
const place = "server/registry/resources/distribution/place.ts";
const putManifest = "server/registry/resources/distribution/put-manifest.ts";
const scope = "server/registry/resources/distribution/token-scope.ts";
const repo = "server/registry/resources/distribution/repo.ts";
const manifests = "server/registry/resources/distribution/manifests.ts";
const promotion = "server/registry/resources/promotion.ts";
const catalog = "server/registry/resources/distribution/catalog.ts";
const manifest = "server/registry/resources/distribution/manifest.ts";

const inUse = "server/registry/resources/in-use.ts";
const retentionRule = "server/registry/resources/retention-rule.ts";

export const registry: readonly Mutant[] = [
  { attack: 343, file: inUse, find: "if (name && repo !== undefined && covers(parent, repo)) known", replace: "if (name && repo !== undefined) known" },
  { attack: 344, file: retentionRule, find: "!(covers(group, rule.repoUid) && (await", replace: "!((await" },
  {
    attack: 345,
    file: "server/registry/resources/storage.ts",
    find: 'missingCapability(rights, ["repo.list"], organization) === undefined',
    replace: "true",
  },
  { attack: 346, file: retentionRule, find: "patternCost(tagPattern) > limits.retentionPatternCostMax || ", replace: "" },
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
  { attack: 393, file: place, find: "prove: (rows) => requireRepoByName(rows, path, uid, isLocked, absent)", replace: "prove: () => {}" },
  {
    attack: 393,
    file: "server/kernel/serve.ts",
    find: "if (place.prove) return resolve(kernel, call, access, place, false);",
    replace: "if (place.prove) return resolve(kernel, call, access, place, true);",
  },
  {
    attack: 393,
    file: "server/registry/store/uploads.ts",
    find: "and key = $3 and size_bytes = 0 and holder = '' returning 1",
    replace: "returning 1",
  },
  {
    attack: 393,
    file: "server/registry/store/uploads.ts",
    find: "and size_bytes = ${sizeBytes} and holder = '' returning 1",
    replace: "and size_bytes = ${sizeBytes} returning 1",
  },
  {
    attack: 393,
    file: "base/fair-map.ts",
    find: 'const [most = ""] = ownersBySize.get(largest) ?? [];',
    replace: 'const [most = ""] = keysByOwner.keys();',
  },
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
  { attack: 337, file: "server/registry/resources/tag.ts", find: "  requireDeletable,\n", replace: "" },
  { attack: 337, file: "server/registry/resources/repo.ts", find: "    if (!isAlone) await requireMutableRepo(rows, uid);\n", replace: "" },
  { attack: 337, file: manifests, find: "  await requireMutableManifest(rows, repo.uid, found.sha256);\n", replace: "" },
  {
    attack: 338,
    file: "server/registry/resources/immutable-tag-rule.ts",
    find: "if (patternCost(pattern) > limits.immutableTagCostMax) return",
    replace: "if (false) return",
  },
  { attack: 338, file: "server/registry/resources/tags/immutable-tags.ts", find: "      if (isTurnOver()) await setImmediate();\n", replace: "" },
  { attack: 339, file: "server/registry/resources/tags/write-tag.ts", find: "  await check?.(before);\n", replace: "" },
  { attack: 340, file: promotion, find: "  context.require(pullCapabilities, source);\n", replace: "" },
  {
    attack: 340,
    file: promotion,
    find: 'return isSeen ? found.uid : missing("registry", "Repo", name);',
    replace: 'return found ? found.uid : missing("registry", "Repo", name);',
  },
  {
    attack: 341,
    file: promotion,
    find: "const made = await copy(context, target.uid, source, promoted);",
    replace: "const made = await copy(context, target.uid, source, { ...promoted, digests: [image.sha256] });",
  },
  {
    attack: 342,
    file: catalog,
    find: "if (!caller.registry.catalog || !rights.beforeRegistry) throw catalogScopeMissing();",
    replace: "if (!rights.beforeRegistry) throw catalogScopeMissing();",
  },
  {
    attack: 342,
    file: catalog,
    find: "if (!found || missingCapability(rights, method.capabilities, found.uid) !== undefined) throw lastUnknown();",
    replace: "if (!found) throw lastUnknown();",
  },
  { attack: 305, file: putManifest, find: "if (stored !== sizeBytes) throw", replace: "if (stored === undefined) throw" },
  {
    attack: 347,
    file: "server/application/image-indexing.ts",
    find: "if (!(await look.catch(() => false))) continue;",
    replace: "continue;",
  },
  { attack: 347, file: "server/application/image-indexing.ts", find: "reading.aside.abort(new SetAside());", replace: "" },
  {
    attack: 349,
    file: `${contents}/layer-path.ts`,
    find: 'return segments.includes("..") ? undefined : segments.join("/");',
    replace: 'return segments.join("/");',
  },
  { attack: 349, file: `${contents}/tar.ts`, find: "if (++extensionsInRow > limits.layerExtensionsMax) throw", replace: "if (false) throw" },
  { attack: 349, file: `${contents}/tar.ts`, find: "if (stated !== unsigned && stated !== signed) throw", replace: "if (false) throw" },
  {
    attack: 349,
    file: `${contents}/found-package.ts`,
    find: "if (texts.some((text) => hasControl(text) || !text.isWellFormed())) return",
    replace: "if (false) return",
  },
  { attack: 350, file: `${contents}/databases/jar.ts`, find: "if (depth >= limits.jarDepthMax) {", replace: "if (false) {" },
  {
    attack: 350,
    file: `${contents}/databases/rpm-sqlite.ts`,
    find: 'table.type !== "table" || !/^\\s*create\\s+table\\b/i.test(String(table.sql))',
    replace: "false",
  },
  { attack: 350, file: `${contents}/byte-source.ts`, find: "if (sizeBytes + bytes.length > bytesMax) return false;", replace: "" },
  { attack: 351, file: `${contents}/worker.ts`, find: "process.memoryUsage.rss() > bytes;", replace: "bytes < 0;" },
  {
    attack: 352,
    file: `${contents}/unpack-zstd.ts`,
    find: "for (let magic = await reader.exactly(4); magic !== undefined; magic = await reader.exactly(4)) {",
    replace: "for (let magic = await reader.exactly(4); magic !== undefined; magic = undefined) {",
  },
  { attack: 352, file: `${contents}/compose.ts`, find: 'problemCount > 0 ? "PARTIAL" : "INDEXED"', replace: '"INDEXED"' },
  {
    attack: 353,
    file: "server/advisories/store/image-coverage.ts",
    find: "image.ecosystems = '[]' or image.partly_read or",
    replace: "image.ecosystems = '[]' or",
  },
  {
    attack: 353,
    file: "server/advisories/feeds/match-images.ts",
    find: "each.isFromLayers || !each.architectures.isSubsetOf(shown.get(keyOf(each)) ?? new Set())",
    replace: "!each.isFromLayers",
  },
  {
    attack: 382,
    file: "server/application/attached-sboms.ts",
    find: "if (!(cause instanceof OverQuota)) throw cause;",
    replace: "if (cause instanceof Error) throw cause;",
  },
  {
    attack: 383,
    file: "server/registry/resources/distribution/carried-sboms.ts",
    find: 'if (text(part(manifest, "annotations"), attachedSbomAnnotation) !== "") return false;',
    replace: "",
  },
  { attack: 383, file: "server/registry/store/retention.ts", find: ' and not ${isAttached("about")}', replace: "" },
  { attack: 354, file: "server/application/image-indexing.ts", find: "if (due.tries > limits.contentsTriesMax)", replace: "if (false)" },
  { attack: 354, file: "server/application/image-indexing.ts", find: "throw new TurnOver();", replace: "isFurther = true;" },
  {
    attack: 354,
    file: "server/advisories/store/image-contents.ts",
    find: "order by coalesce(array_position($2::text[], root), 0), root limit 1",
    replace: "order by $2::text[] is null, root limit 1",
  },
  {
    attack: 355,
    file: "server/application/image-indexing.ts",
    find: "const blob = await findRepoBlob(store.read, repo, digest);",
    replace: 'const blob = (await findRepoBlob(store.read, repo, digest)) ?? { sha256: digest, key: "" };',
  },
  {
    attack: 356,
    file: "server/registry/resources/image-packages.ts",
    find: "if (isAnythingRead(image)) return image;",
    replace: 'if (image.digest !== "") return image;',
  },
  {
    attack: 356,
    file: "server/registry/resources/contents/sbom-contents.ts",
    find: 'isComplete: contents?.state === "IMAGE_CONTENTS_STATE_INDEXED",',
    replace: "isComplete: true,",
  },
  { attack: 357, file: "server/registry/resources/image-packages.ts", find: "context.require(method.capabilities, toRepo);", replace: "" },
  {
    attack: 357,
    file: "server/registry/resources/contents/read-packages.ts",
    find: "const blob = await findRepoBlob(rows, repo, digest);",
    replace: "const blob = (await findRepoBlob(rows, repo, digest)) ?? { sha256: digest };",
  },
];
