// The tree of groups. Children are requested when a group is opened.

import { type ReactNode, useEffect, useState } from "react";
import { Button, Tree, TreeItem, TreeItemContent, type Key } from "react-aria-components";
import { useQueries } from "@tanstack/react-query";
import type { Group } from "../../client/package.ts";
import { addressOf, navigate, segmentOf } from "./address.ts";
import { ask } from "./api.ts";
import { Icon, Name, Skeleton } from "./parts.tsx";
import { type Place, treeGroups } from "./questions.ts";
import { texts } from "./texts.ts";

interface GroupTreeProps {
  readonly roots: readonly Group[] | undefined;
  /** The groups of the page, from the organization on. */
  readonly path: readonly Place[];
  readonly onOpen: () => void;
}

/** The segments of an address that leads to a root: more than one if the groups above it are hidden. */
export const segmentsOfRoot = (group: Group): readonly string[] => (group.uid.includes("/") ? group.uid.split("/") : [segmentOf(group)]);

/** Only an item with a child can be expanded, so one stands in until the children are known. */
const waiting = (uid: string): ReactNode => (
  <TreeItem id={`${uid} waiting`} textValue={texts.loading}>
    <TreeItemContent>
      <span className="tree-row quiet">
        <span className="no-chevron" />
        {texts.loading}
      </span>
    </TreeItemContent>
  </TreeItem>
);

export const GroupTree = ({ roots, path, onOpen }: GroupTreeProps): ReactNode => {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const current = path.at(-1)?.uid;
  const above = path.map(({ uid }) => uid).join(" ");
  useEffect(() => {
    const uids = above.split(" ").filter((uid) => uid !== "");
    setOpen((before) => (uids.every((uid) => before.has(uid)) ? before : new Set([...before, ...uids])));
  }, [above]);
  const opened = [...open];
  const results = useQueries({
    queries: opened.map((uid) => {
      const question = treeGroups(uid);
      return {
        queryKey: [question.name, question.request],
        queryFn: ({ signal }: { signal: AbortSignal }) => ask(question, signal),
        staleTime: question.freshMs ?? 0,
      };
    }),
  });
  const childrenOf = new Map(opened.map((uid, index) => [uid, results[index]?.data?.data.groups]));
  if (roots === undefined) return <Skeleton rows={3} />;
  const addresses = new Map<string, string>();
  const item = (group: Group, segments: readonly string[]): ReactNode => {
    const children = childrenOf.get(group.uid);
    const name = group.name === "" ? group.uid.slice(-16) : group.name;
    addresses.set(group.uid, addressOf(segments));
    return (
      <TreeItem key={group.uid} id={group.uid} textValue={name} hasChildItems={children === undefined || children.length > 0}>
        <TreeItemContent>
          {({ hasChildItems }) => (
            <span className="tree-row" data-current={group.uid === current ? "" : undefined}>
              {hasChildItems ? (
                <Button slot="chevron">
                  <Icon name="chevron" />
                </Button>
              ) : (
                <span className="no-chevron" />
              )}
              <Icon name="group" />
              <Name>{name}</Name>
            </span>
          )}
        </TreeItemContent>
        {children?.map((child) => item(child, [...segments, segmentOf(child)])) ?? waiting(group.uid)}
      </TreeItem>
    );
  };
  const items = roots.map((group) => item(group, segmentsOfRoot(group)));
  return (
    <Tree
      aria-label={texts.groupTree}
      className="tree"
      selectionMode="none"
      expandedKeys={open as ReadonlySet<Key>}
      onExpandedChange={(keys) => setOpen(new Set([...keys].map(String)))}
      onAction={(key) => {
        const address = addresses.get(String(key));
        if (address === undefined) return;
        onOpen();
        navigate(address);
      }}
    >
      {items}
    </Tree>
  );
};
