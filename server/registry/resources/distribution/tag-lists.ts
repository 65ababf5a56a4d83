// Caches long lists of tag names, because clients poll all tags of a repo. A cached list is valid only if the organization has had no
// event since before it was read: every change of a tag records one in its transaction (kernel/change.ts). Callers are authorized for
// the repo before, and the list is the same for all of them.

import { rootOf } from "#base/uid.ts";
import { limits } from "#base/limits.ts";
import { findLastGroupEvent, type Read } from "#db";
import { findTagNames } from "#registry/store";

interface TagList {
  readonly tags: string[];
  /** The last name, if more follow. */
  readonly next: string;
}

interface KeptList extends TagList {
  /** The organization's last event before the read; undefined: nothing is cached yet. */
  readonly event: string | undefined;
}

/** By organization and query, least recently used first. */
const organizations = new Map<string, Map<string, KeptList>>();

const namesOf = (lists: ReadonlyMap<string, KeptList>): number => {
  let names = 0;
  for (const { tags } of lists.values()) names += tags.length;
  return names;
};

/** Each organization has a share and evicts only its own lists. Above the maximum number of organizations, the least recently used is evicted. */
const keep = (root: string, key: string, list: KeptList): void => {
  const lists = organizations.get(root) ?? new Map<string, KeptList>();
  organizations.delete(root);
  organizations.set(root, lists);
  lists.delete(key);
  lists.set(key, list);
  for (const oldest of lists.keys()) {
    if ((lists.size <= limits.tagListsEach && namesOf(lists) <= limits.tagListNamesEach) || oldest === key) break;
    lists.delete(oldest);
  }
  for (const oldest of organizations.keys()) {
    if (organizations.size <= limits.tagListOrganizations) break;
    organizations.delete(oldest);
  }
};

const readList = async (rows: Read, repo: string, last: string, count: number): Promise<TagList> => {
  // One more than requested, so that a link is returned only if more follow.
  const found = await findTagNames(rows, repo, last, count + 1);
  const tags = found.slice(0, count);
  return { tags, next: found.length > count ? (tags.at(-1) ?? "") : "" };
};

/** Returns `count` tag names of a repo after `last`, in byte order. */
export const listTagNames = async (rows: Read, repo: string, last: string, count: number): Promise<TagList> => {
  const root = rootOf(repo);
  const key = `${repo} ${count} ${last}`;
  const kept = organizations.get(root)?.get(key);
  if (!kept) {
    const list = await readList(rows, repo, last, count);
    // Cached on the next request: the event must be read before the list, and most lists are short.
    if (list.tags.length >= limits.tagListKeptMin) keep(root, key, { tags: [], next: "", event: undefined });
    return list;
  }
  const event = await findLastGroupEvent(rows, root);
  if (event !== undefined && event === kept.event) {
    keep(root, key, kept);
    return kept;
  }
  const list = await readList(rows, repo, last, count);
  if (event !== undefined && list.tags.length >= limits.tagListKeptMin) keep(root, key, { ...list, event });
  else organizations.get(root)?.delete(key);
  return list;
};
