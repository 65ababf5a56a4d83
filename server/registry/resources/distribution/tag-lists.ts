// Long lists of tag names, kept in memory: clients ask for all of a repo's tags again and again. A list is given again only where the
// organization has had no event since before it was read: each change of a tag records one in its own transaction (kernel/change.ts), at
// whichever server. Whoever asks was authorized before, for this very repo; a list says the same to everybody who may have it.

import { rootOf } from "#base/uid.ts";
import { limits } from "#base/limits.ts";
import { findLastGroupEvent, type Read } from "#db";
import { findTagNames } from "#registry/store";

interface TagList {
  readonly tags: string[];
  /** The last name, where there are more. */
  readonly next: string;
}

interface KeptList extends TagList {
  /** The organization's last event before it was read; undefined: it was long, and nothing was kept yet. */
  readonly event: string | undefined;
}

/** By organization and by what was asked for; those that came longest ago stand first. */
const organizations = new Map<string, Map<string, KeptList>>();

const namesOf = (lists: ReadonlyMap<string, KeptList>): number => {
  let names = 0;
  for (const { tags } of lists.values()) names += tags.length;
  return names;
};

/** Each organization has a share, and drives out its own lists alone. Of more organizations than may be the one that came longest ago is forgotten. */
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
  // One more than asked for: a link is given only where it leads to something.
  const found = await findTagNames(rows, repo, last, count + 1);
  const tags = found.slice(0, count);
  return { tags, next: found.length > count ? (tags.at(-1) ?? "") : "" };
};

/** `count` of a repo's tag names, by their bytes, behind `last`. */
export const listTagNames = async (rows: Read, repo: string, last: string, count: number): Promise<TagList> => {
  const root = rootOf(repo);
  const key = `${repo} ${count} ${last}`;
  const kept = organizations.get(root)?.get(key);
  if (!kept) {
    const list = await readList(rows, repo, last, count);
    // Kept the next time: the event must be read before the list, and most lists are short.
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
