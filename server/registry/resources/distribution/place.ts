// Resolves the repo of a request (oci: 1): a uid, or a path of names from the organization. A path resolves by names alone, to the
// same repo for all callers (docs/decisions/0002); visibility is checked afterwards. An invisible repo gives the same error as a
// missing one.

import { missingCapability, type Rights, visiblePaths } from "#authz";
import { type Fault, unauthenticated } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { covers, EVERYWHERE, isUid } from "#base/uid.ts";
import type { MethodFact } from "#contract/facts.ts";
import type { FindPlace, Place } from "#kernel";
import { findGroupByNames, findPendingRepos, findRepoByName, findRepoOpenness, type NamedGroup, requireRepoByName } from "#registry/store";
import { type Read, StaleAccess } from "#db";
import { nameInvalid, nameUnknown } from "./faults.ts";
import { findKnownRepo, findKnownUpload, forgetRepo, hasFitted, keepRepo } from "./known-uploads.ts";

const nameLengthMax = 255;
/** oci: 1. Components of lower-case letters and digits, separated by a dot, one or two underscores, or dashes. */
const isComponent = (text: string): boolean =>
  /^[a-z0-9._-]+$/.test(text) &&
  text
    .split(/[a-z0-9]+/)
    .every((between, index, all) => (index === 0 || index === all.length - 1) === (between === "") && (between === "" || /^(?:\.|_|__|-+)$/.test(between)));

const isName = (text: string): boolean => text.split("/").every(isComponent);

const rootForm = /^[0-9a-f]{40}(?:\/|$)/;

/** Returns whether a path of names can be the name of a repository. */
export const isPath = (text: string): boolean => text.length <= nameLengthMax && isName(text) && !rootForm.test(text);

/** Returns the deepest existing group of the path, if the caller may create repos there; a first push creates the rest. */
const findNewPlace = async (rows: Read, name: string, rights: Rights): Promise<{ readonly group: NamedGroup; readonly isWhole: boolean } | undefined> => {
  const names = name.split("/").slice(0, -1);
  const paths = visiblePaths(rights, ["repo.create"]);
  if (paths.length === 0 || names.length === 0) return undefined;
  const group = await findGroupByNames(rows, names);
  if (group === undefined || group.isAmbiguous || !paths.some((path) => covers(path, group.uid))) return undefined;
  return { group, isWhole: group.depth === names.length };
};

/** Blob operations that precede the manifest that creates the repo (docs/decisions/0069). */
const pendingOperations: ReadonlySet<string> = new Set(["StartUpload", "GetUpload", "AppendUpload", "FinishUpload", "CancelUpload", "GetBlob", "DeleteBlob"]);

/** Returns the uid of the pending path, if the caller may create the repo there. */
const findPending = async (rows: Read, name: string, group: string, rights: Rights, capabilities: readonly string[]): Promise<string | undefined> =>
  (await findPendingRepos(rows, name, group)).find(({ groupUid }) => missingCapability(rights, capabilities, groupUid) === undefined)?.uid;

/** Operations that create a missing repo. */
const makesRepo = ({ distribution, rpc }: MethodFact): boolean => distribution?.makesRepo === true || rpc === "PromoteImage";

const isSeen = (rights: Rights, method: MethodFact, uid: string): boolean =>
  missingCapability(rights, ["repo.list"], uid) === undefined || missingCapability(rights, method.capabilities, uid) === undefined;

/** Tag lists stay closed unless the repo itself is open: GANTRY_ANONYMOUS_PULL is for clients that know the name to pull. */
const isOpenTo = (method: MethodFact, repo: { readonly anonymousPull: boolean; readonly isSuspended: boolean }, anonymousPull: boolean): boolean =>
  method.anonymous && !repo.isSuspended && (repo.anonymousPull || (anonymousPull && !method.rpc.startsWith("List")));

type Asked = Parameters<FindPlace>[0];

/** Returns whether this server can handle a push's request before it looks at the database (uploads.ts). A mount looks for its source. */
const isKnown = ({ services: { blobs, clock }, method, request }: Asked, uid: string, hasContent: boolean): boolean => {
  if (method.rpc === "PutManifest") return hasContent;
  if (method.rpc === "StartUpload") {
    const isWhole = hasContent && text(request, "digest") !== "";
    return text(request, "mount") === "" && (!isWhole || hasFitted(text(request, "repo"), clock()));
  }
  const upload = method.rpc === "AppendUpload" || method.rpc === "FinishUpload" ? findKnownUpload(text(request, "upload")) : undefined;
  if (upload?.repo !== uid) return false;
  // Only the first bytes need no lease.
  if (hasContent) return upload.sizeBytes === 0;
  return method.rpc === "FinishUpload" && upload.digests !== undefined && blobs.completeAside !== undefined;
};

/** Returns the repo that the path has led to, if the caller may do this there. The operation's transaction proves it. */
const findKnownPlace = (asked: Asked): Place | undefined => {
  const { method, request, rights, caller, assuming } = asked;
  const path = text(request, "repo");
  const uid = caller && assuming ? findKnownRepo(path) : undefined;
  if (uid === undefined || !assuming || !isKnown(asked, uid, assuming.hasContent)) return undefined;
  if (missingCapability(rights, method.capabilities, uid) !== undefined) return undefined;
  const absent = (): StaleAccess => {
    forgetRepo(path);
    return new StaleAccess();
  };
  // A new upload or blob must not outlive its repo.
  const isLocked = method.rpc !== "AppendUpload";
  return { path: uid, request: { ...request, repo: uid }, prove: (rows) => requireRepoByName(rows, path, uid, isLocked, absent) };
};

export const findRepoPlace: FindPlace = async (asked) => {
  const { services, method, request, caller, rights, rows } = asked;
  const given = text(request, "repo");
  const absent = (fault: Fault): Place | Fault => {
    if (!caller) return unauthenticated("authentication required");
    // oci: 2. A list of referrers is empty, never 404.
    return method.rpc === "ListReferrers" ? { path: EVERYWHERE, request, isMissing: true } : fault;
  };
  if (given.length > nameLengthMax && !isUid(given)) return nameInvalid(`has more than ${nameLengthMax} characters`);
  if (given.length > nameLengthMax && method.writes) return nameInvalid(`is a uid of more than ${nameLengthMax} characters, which no client can push to`);
  const at = (path: string, more: Partial<Place> = {}): Place => ({ path, request: { ...request, repo: path }, ...more });
  if (isUid(given)) {
    if (caller && isSeen(rights, method, given)) return at(given);
    const open = method.anonymous ? await findRepoOpenness(rows, given) : undefined;
    return open && isOpenTo(method, open, services.anonymousPull) ? at(given, { isOpen: true }) : absent(nameUnknown());
  }
  if (!isName(given)) return nameInvalid("has other characters than the protocol allows");
  if (rootForm.test(given)) return absent(nameUnknown());
  const known = findKnownPlace(asked);
  if (known) return known;
  const found = await findRepoByName(rows, given);
  if (found) {
    if (method.distribution) keepRepo(given, found.uid);
    if (caller && missingCapability(rights, method.capabilities, found.uid) === undefined) return at(found.uid);
    if (isOpenTo(method, found, services.anonymousPull)) return at(found.uid, { isOpen: true });
    return caller && isSeen(rights, method, found.uid) ? at(found.uid) : absent(nameUnknown());
  }
  const isPending = pendingOperations.has(method.rpc);
  if (!caller || !(isPending || makesRepo(method))) return absent(nameUnknown());
  const fresh = await findNewPlace(rows, given, rights);
  if (!fresh) return absent(nameUnknown());
  const { group, isWhole } = fresh;
  const capabilities = ["repo.create", ...(isWhole ? [] : ["groups.create"])];
  const pending = isPending ? await findPending(rows, given, group.uid, rights, [...capabilities, ...method.capabilities]) : undefined;
  if (pending !== undefined) return at(pending, { capabilities });
  return makesRepo(method) ? { path: group.uid, capabilities, request } : absent(nameUnknown());
};
