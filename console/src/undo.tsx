// Offers to restore what the user has just deleted, until the next navigation.

import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import type { Deletion } from "../../client/package.ts";
import { mine } from "./access/requests.ts";
import { type Question, useAsk } from "./api.ts";
import { announce, Icon, Name } from "./parts.tsx";
import { useSend } from "./send.ts";
import { texts } from "./texts/undo.ts";

export interface Deleted {
  readonly uid: string;
  /** A name that the user has seen. */
  readonly name: string;
  /** The group, if it is not the parent of the uid. */
  readonly group?: string;
}

let current: Deleted | undefined;
const listeners = new Set<() => void>();
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const set = (deleted: Deleted | undefined): void => {
  current = deleted;
  for (const listener of listeners) listener();
};

export const offerUndo = (deleted: Deleted): void => set(deleted);

/** The deletion that a resource went with, if the caller can see it. */
const deletionOf = (resourceUid: string): Question<Deletion | undefined> => {
  const request = { resourceUids: [resourceUid], pageSize: 1 };
  return {
    name: "deletions.list",
    request,
    send: async (gantry, signal) => (await gantry.deletions.list(request, { signal }).page()).deletions[0],
  };
};

export const undelete = (uid: string): Question<Deletion> => ({
  name: "deletions.undelete",
  request: { uid },
  send: (gantry, signal) => gantry.deletions.undelete({ uid }, { signal }),
});

const Offer = ({ deleted }: { readonly deleted: Deleted }): ReactNode => {
  const own = new Set(useAsk(mine(deleted.group ?? deleted.uid.slice(0, deleted.uid.lastIndexOf("/")))).data?.data.capabilities);
  const mayRestore = own.has("gantry.deletions.list") && own.has("gantry.deletions.undelete");
  const deletion = useAsk(mayRestore ? deletionOf(deleted.uid) : undefined).data?.data;
  const { problems, isSending, send } = useSend();
  const button = useRef<HTMLButtonElement>(null);
  const canRestore = deletion !== undefined;
  // The row with the focus is gone.
  useEffect(() => {
    if (canRestore) button.current?.focus();
  }, [canRestore]);
  if (!deletion) return null;
  const undo = async (): Promise<void> => {
    if (isSending || !(await send(undelete(deletion.uid)))) return;
    set(undefined);
    announce(texts.restored);
  };
  return (
    <div className="banner plain" role="status">
      <p>
        {texts.deleted} <Name>{deleted.name}</Name>
      </p>
      {problems.message === "" ? null : <p className="problem">{problems.message}</p>}
      <button type="button" className="button" ref={button} onClick={() => void undo()}>
        {texts.undo}
      </button>
      <button type="button" className="copy" aria-label={texts.close} onClick={() => set(undefined)}>
        <Icon name="close" />
      </button>
    </div>
  );
};

/** The offer of the page; another page has none. */
export const Undo = ({ path }: { readonly path: string }): ReactNode => {
  const deleted = useSyncExternalStore(subscribe, () => current);
  const shownAt = useRef(path);
  useEffect(() => {
    if (shownAt.current !== path) set(undefined);
    shownAt.current = path;
  }, [path]);
  return deleted === undefined ? null : <Offer key={deleted.uid} deleted={deleted} />;
};
