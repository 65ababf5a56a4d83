// Which repo a request is about (oci: 1): its uid, or its path of names from the organization on. A path is looked up among what
// the caller may see: others' names are never an input, and what is not to be seen is answered as what is not there.

import { missingCapability, type Rights, visiblePaths } from "#authz";
import { type Fault, unauthenticated } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { covers, EVERYWHERE, isUid, rootOf } from "#base/uid.ts";
import type { MethodFact } from "#contract/facts.ts";
import type { FindPlace, Place } from "#kernel";
import { findGroupsByNames, findRepoOpenness, findReposByNames, type NamedGroup, type NamedRepo, type Read } from "#store";
import { nameInvalid, nameUnknown } from "./faults.ts";

const nameLengthMax = 255;
/** oci: 1. Components of lower-case letters and digits, with a dot, one or two underscores or any number of dashes between them. */
const isComponent = (text: string): boolean =>
  /^[a-z0-9._-]+$/.test(text) &&
  text
    .split(/[a-z0-9]+/)
    .every((between, index, all) => (index === 0 || index === all.length - 1) === (between === "") && (between === "" || /^(?:\.|_|__|-+)$/.test(between)));

const isName = (text: string): boolean => text.split("/").every(isComponent);

/** Below a uid nothing is found by name. */
const rootForm = /^[0-9a-f]{40}(?:\/|$)/;

/** Whoever may see repos, or do with one what is asked for, finds it. */
const sightOf = (rights: Rights, method: MethodFact): string[] => [
  ...new Set([...visiblePaths(rights, ["repo.list"]), ...visiblePaths(rights, method.capabilities)]),
];

/** The organizations in which these paths lie; undefined: all. */
const organizationsOf = (paths: readonly string[]): string[] | undefined =>
  paths.includes(EVERYWHERE) ? undefined : [...new Set(paths.map((path) => rootOf(path)))];

/** The only one, or the only one in a verified organization; undefined where there is none such. */
const onlyOne = <T extends { readonly isVerified: boolean }>(found: readonly T[]): T | undefined => {
  if (found.length === 1) return found[0];
  const verified = found.filter(({ isVerified }) => isVerified);
  return verified.length === 1 ? verified[0] : undefined;
};

const ambiguous = (): Fault => nameUnknown(": its name leads to several that you may see; name the one by its uid");

/** The repo of a path of names among those that lie at or below one of `paths`. */
export const findNamedRepo = async (rows: Read, name: string, paths: readonly string[]): Promise<NamedRepo | Fault> => {
  const names = name.split("/");
  const last = names.pop() ?? "";
  if (paths.length === 0 || names.length === 0) return nameUnknown();
  const seen = (await findReposByNames(rows, organizationsOf(paths), names, last)).filter(({ uid }) => paths.some((path) => covers(path, uid)));
  return onlyOne(seen) ?? (seen.length === 0 ? nameUnknown() : ambiguous());
};

/** Where a repo of these names would be made: the deepest group of its path that is there. */
const findNewPlace = async (rows: Read, name: string, rights: Rights): Promise<{ readonly group: NamedGroup; readonly isWhole: boolean } | Fault> => {
  const names = name.split("/").slice(0, -1);
  // Where a caller may make repos; in none of its groups whoever may not.
  const paths = visiblePaths(rights, ["repo.create"]);
  if (paths.length === 0 || names.length === 0) return nameUnknown();
  const found = await findGroupsByNames(rows, organizationsOf(paths), names);
  const within = found.filter(({ uid }) => paths.some((path) => covers(path, uid)));
  const organizations = new Set(within.map(({ uid }) => rootOf(uid)));
  const verified = within.filter(({ isVerified }) => isVerified);
  const ours = organizations.size > 1 && verified.length > 0 ? verified : within;
  if (new Set(ours.map(({ uid }) => rootOf(uid))).size > 1) return ambiguous();
  const deepest = ours.filter(({ depth }) => depth === ours[0]?.depth);
  const [group, another] = deepest;
  if (group === undefined) return nameUnknown();
  return another === undefined ? { group, isWhole: group.depth === names.length } : ambiguous();
};

const isSeen = (rights: Rights, method: MethodFact, uid: string): boolean =>
  missingCapability(rights, ["repo.list"], uid) === undefined || missingCapability(rights, method.capabilities, uid) === undefined;

/** Lists of tags stay closed unless the repo itself is open: GANTRY_ANONYMOUS_PULL is for who knows what to pull. */
const isOpenTo = (method: MethodFact, repo: { readonly anonymousPull: boolean; readonly isSuspended: boolean }, anonymousPull: boolean): boolean =>
  method.anonymous && !repo.isSuspended && (repo.anonymousPull || (anonymousPull && !method.rpc.startsWith("List")));

export const findRepoPlace: FindPlace = async ({ services, method, request, caller, rights, rows }) => {
  const given = text(request, "repo");
  const absent = (fault: Fault): Place | Fault => {
    if (!caller) return unauthenticated("a token is needed");
    // oci: 2. A list of referrers is empty, and never 404.
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
  const found = caller ? await findNamedRepo(rows, given, sightOf(rights, method)) : nameUnknown();
  if (!("message" in found)) {
    const mayNot = missingCapability(rights, method.capabilities, found.uid) !== undefined;
    return at(found.uid, mayNot && isOpenTo(method, found, services.anonymousPull) ? { isOpen: true } : {});
  }
  if (method.anonymous) {
    const open = (await openRepos(rows, given)).filter((repo) => isOpenTo(method, repo, services.anonymousPull));
    const one = onlyOne(open);
    if (one) return at(one.uid, { isOpen: true });
  }
  if (!caller || !method.distribution?.makesRepo) return absent(found);
  const fresh = await findNewPlace(rows, given, rights);
  if ("message" in fresh) return fresh;
  return { path: fresh.group.uid, capabilities: ["repo.create", ...(fresh.isWhole ? [] : ["groups.create"])], request };
};

const openRepos = async (rows: Read, name: string): Promise<NamedRepo[]> => {
  const names = name.split("/");
  const last = names.pop() ?? "";
  return names.length === 0 ? [] : findReposByNames(rows, undefined, names, last);
};
