// Addresses of pages: names of groups, then "/-/" and a page of that group.
//
//   /console                        home
//   /console/acme/team              group
//   /console/acme/team/-/repos/app  repo
//   /console/acme/-/repos/app/images/sha256:…  image; tags/1.0 leads to the image of the tag
//   /console/acme/-/identities      identities, likewise roles and bindings
//   /console/acme/-/findings        findings in the images of the group and below; decisions about them: decisions
//   /console/acme/-/approvals       decisions that wait for an approval, and approval policies; vex: trusted sources of VEX
//   /console/acme/-/robots          identities that machines assume
//   /console/acme/-/rules           retention rules and immutable tags; storage: used bytes and the quota; events: recorded events
//   /console/acme/-/libraries       requested libraries, and the catalog of libraries
//   /console/acme/-/invites         invites, likewise sessions, providers, associations, webhooks, audit and deleted
//   /console/-/account              the user's own sessions and memberships
//   /console/-/advisories           vulnerabilities in all images that the user sees; one by its ID: advisories/CVE-…
//   /console/-/admin                feeds, coverage and storage
//   /console/acme/-/access          access to the group
//
// A name that "/-/" or an address could not contain is replaced by the last part of the uid.

import { useSyncExternalStore } from "react";
import { type GroupPage, groupPages, type OwnPage, ownPages } from "./page-names.ts";

export const root = "/console";

export type Page =
  | { readonly kind: "home" | Exclude<OwnPage, "advisories"> }
  /** Without an ID: all vulnerabilities. */
  | { readonly kind: "advisories"; readonly id: string | undefined }
  | { readonly kind: "group"; readonly names: readonly string[] }
  | { readonly kind: GroupPage; readonly names: readonly string[] }
  | { readonly kind: "repo"; readonly names: readonly string[]; readonly repo: string }
  | { readonly kind: "image"; readonly names: readonly string[]; readonly repo: string; readonly digest: string }
  | { readonly kind: "tag"; readonly names: readonly string[]; readonly repo: string; readonly tag: string }
  | { readonly kind: "unknown" };

export const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};

export const isDigest = (text: string): boolean => /^sha256:[0-9a-f]{64}$/.test(text);

/** Pages that belong to no group. */
const ownPageAt = (name: string | undefined, item: string | undefined): Page => {
  const page = ownPages.find((each) => each === name);
  if (page === "advisories") return { kind: page, id: item };
  if (page !== undefined && item === undefined) return { kind: page };
  return { kind: "unknown" };
};

/** Pages below a repo. */
const repoPageAt = (names: readonly string[], repo: string, [part, item, ...more]: readonly string[]): Page => {
  if (part === undefined) return { kind: "repo", names, repo };
  if (more.length > 0 || item === undefined) return { kind: "unknown" };
  if (part === "images" && isDigest(item)) return { kind: "image", names, repo, digest: item };
  return part === "tags" ? { kind: "tag", names, repo, tag: item } : { kind: "unknown" };
};

export const pageAt = (path: string): Page => {
  const segments = path
    .slice(root.length)
    .split("/")
    .filter((segment) => segment !== "")
    .map(decoded);
  if (segments.length === 0) return { kind: "home" };
  const at = segments.indexOf("-");
  const names = at < 0 ? segments : segments.slice(0, at);
  const [name, item, ...more] = at < 0 ? [] : segments.slice(at + 1);
  if (names.length === 0 && more.length === 0) return ownPageAt(name, item);
  if (at < 0) return { kind: "group", names };
  if (names.length > 0 && name === "repos" && item !== undefined) return repoPageAt(names, item, more);
  if (names.length === 0 || more.length > 0) return { kind: "unknown" };
  const page = groupPages.find((each) => each === name);
  if (page === undefined || item !== undefined) return { kind: "unknown" };
  return { kind: page, names };
};

/** Returns a segment for a resource: its name, or the last part of its uid. */
export const segmentOf = ({ uid, name }: { readonly uid: string; readonly name: string }): string =>
  name === "" || name === "-" || name === "." || name === ".." || isUidPart(name) ? uid.slice(uid.lastIndexOf("/") + 1) : name;

export const isUid = (text: string): boolean => /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/.test(text);

export const isUidPart = (text: string): boolean => /^(?:[0-9a-f]{16}|[0-9a-f]{40})$/.test(text);

/** Returns the segments of a resource and the groups above it: their names if all of them are known, otherwise the parts of its uid. */
export const segmentsAt = (uid: string, names: readonly string[]): readonly string[] => {
  const parts = uid.split("/");
  if (names.length !== parts.length) return parts;
  return names.map((name, index) => segmentOf({ uid: parts.slice(0, index + 1).join("/"), name }));
};

/** A colon, as in a digest, needs no code. */
const encoded = (segment: string): string => encodeURIComponent(segment).replaceAll("%3A", ":");

export const addressOf = (names: readonly string[], ...rest: readonly string[]): string =>
  [root, ...names.map(encoded), ...(rest.length > 0 ? ["-", ...rest.map(encoded)] : [])].join("/");

export const accountAddress = addressOf([], "account");
export const adminAddress = addressOf([], "admin");
export const advisoriesAddress = addressOf([], "advisories");
/** Returns an ID such as "CVE-2021-44228", "GHSA-jfh8-c2jp-5v3q" or "RHSA-2021:5137" as sources write it; undefined for other texts. */
export const vulnerabilityIdIn = (text: string): string | undefined => {
  if (/^ghsa-[\w-]{4,}$/i.test(text)) return `GHSA-${text.slice(5).toLowerCase()}`;
  return /^[a-z]{2,12}-\d{4}[-:][\w:.-]+$/i.test(text) ? text.toUpperCase() : undefined;
};

export const advisoryAddress = (id: string): string => addressOf([], "advisories", id);

/** The page of an image whose repo is known by its uid. */
export const imageAddress = (repoUid: string, digest: string): string => {
  const parts = repoUid.split("/");
  return addressOf(parts.slice(0, -1), "repos", parts.at(-1) ?? "", "images", digest);
};

const listeners = new Set<() => void>();
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
const changed = (): void => {
  for (const listener of listeners) listener();
};
window.addEventListener("popstate", changed);

/** Opens an address of the console, at its top unless it is the same page. */
export const navigate = (to: string, isSamePage = false): void => {
  history.pushState(null, "", to);
  if (!isSamePage) window.scrollTo(0, 0);
  changed();
};

/** Replaces the address without an entry in the history. */
export const replaceAddress = (to: string): void => {
  history.replaceState(null, "", to);
  changed();
};

export const useAddress = (): URL => {
  const href = useSyncExternalStore(subscribe, () => location.href);
  return new URL(href);
};

/** Returns this address with a parameter changed; undefined removes it. */
export const withParameter = (url: URL, name: string, value: string | undefined): string => {
  const next = new URL(url);
  if (value === undefined) next.searchParams.delete(name);
  else next.searchParams.set(name, value);
  return next.pathname + next.search;
};

/** Returns this address with several parameters changed. */
export const withParameters = (url: URL, values: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(values).reduce((address, [name, value]) => withParameter(new URL(address, url), name, value), url.pathname + url.search);

/** Rows of a table that a user can choose; the first is the default. */
export const pageSizes = [50, 100, 200] as const;

/** Returns the rows of a table in the address; others than `pageSizes` are the default. */
export const pageSizeIn = (url: URL): number => pageSizes.find((size) => String(size) === url.searchParams.get("rows")) ?? pageSizes[0];

/** Returns a position of the address: a whole number from 0; malformed ones are 0. */
export const positionIn = (url: URL, name: string): number => {
  const value = url.searchParams.get(name) ?? "";
  return /^\d{1,9}$/.test(value) ? Number(value) : 0;
};
