// Displays name paths instead of uids: `acme/team/app`, `acme/team/app:1.2`. Names.resolve accepts them (references.ts).

import { text } from "#base/json.ts";
import { isUid, parentOf } from "#base/uid.ts";
import { ApiError, type Client } from "#contract-client";
import type { MessageFact } from "#contract/facts.ts";
import type { FindPaths } from "../output/print.ts";
import { listByUids } from "./list-by-uids.ts";
import { groupMessage, listerOf, parentMessageOf, separatorOf } from "./references.ts";

const ancestorsOf = (message: MessageFact, uid: string): { readonly uid: string; readonly message: MessageFact }[] => {
  const parent = parentOf(uid);
  if (!isUid(parent)) return [];
  const parentMessage = parentMessageOf(message) ?? groupMessage();
  return [...ancestorsOf(parentMessage, parent), { uid: parent, message: parentMessage }];
};

/** Unique at the root: organizations and built-in roles, but not users, who choose their own names. */
const uniqueAtRoot: ReadonlySet<string> = new Set(["Group", "Role"]);

/** Finds paths. An ambiguous path is followed by the uid, so that names cannot impersonate other resources (attack 143). */
export const openPaths = (client: Client, signal?: AbortSignal): FindPaths => {
  const names = new Map<string, string>();

  const readNames = async (message: MessageFact, uids: readonly string[]): Promise<void> => {
    const lister = listerOf(message);
    if (lister === undefined) return;
    for (const resource of await listByUids(client, { ...lister, uids, signal })) names.set(text(resource, "uid"), text(resource, "name"));
  };

  return async (message, resources) => {
    const placed = resources.map((resource) => ({ resource, ancestors: ancestorsOf(message, text(resource, "uid")) }));
    const missing = new Map<MessageFact, Set<string>>();
    const need = (of: MessageFact, uid: string): void => {
      if (!names.has(uid)) missing.set(of, (missing.get(of) ?? new Set()).add(uid));
    };
    for (const { resource, ancestors } of placed) {
      for (const { uid, message: of } of ancestors) need(of, uid);
      if (!Object.hasOwn(resource, "name")) need(message, text(resource, "uid"));
    }
    try {
      for (const [of, uids] of missing) await readNames(of, [...uids]);
    } catch (thrown) {
      // A caller who can list these may lack permission for the ancestors; uids suffice then.
      if (!(thrown instanceof ApiError)) throw thrown;
    }

    const paths = new Map<string, string>();
    const counts = new Map<string, number>();
    const unclear = new Set<string>();
    for (const { resource, ancestors } of placed) {
      const uid = text(resource, "uid");
      const name = text(resource, "name") || (names.get(uid) ?? "");
      const above = ancestors.map((ancestor) => names.get(ancestor.uid));
      // The path starts at the highest visible group; a gap further down would be misleading.
      const first = above.findIndex((each) => each !== undefined);
      const visible = first === -1 ? [] : above.slice(first);
      if (uid === "" || name === "" || (ancestors.length > 0 && visible.length === 0) || visible.includes(undefined)) continue;
      const path = visible.length === 0 ? name : `${visible.join("/")}${separatorOf(message)}${name}`;
      paths.set(uid, path);
      counts.set(path, (counts.get(path) ?? 0) + 1);
      if (/[/:]/.test(name) || (ancestors.length === 0 && !uniqueAtRoot.has(message.short))) unclear.add(uid);
    }
    for (const [uid, path] of paths) if (unclear.has(uid) || counts.get(path) !== 1) paths.set(uid, `${path} (${uid})`);
    return paths;
  };
};
