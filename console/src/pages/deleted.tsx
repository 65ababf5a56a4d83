// Deleted resources of a group and everything below it, which can be brought back.

import { type ReactNode, useState } from "react";
import type { Deletion, ListDeletionsResponse } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { positionIn, useAddress } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Copy, Empty, Expiry, Icon, nameOr, Time } from "../parts.tsx";
import { pageFrom } from "../questions.ts";
import { texts } from "../texts/deleted.ts";
import { undelete } from "../undo.tsx";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const deletionsIn = (group: string, skip: number): Question<ListDeletionsResponse> => {
  const request = { uidp: { descendantsOf: group }, ...pageFrom(skip) };
  return { name: "deletions.list", request, send: (gantry, signal) => gantry.deletions.list(request, { signal }).page() };
};

/** "chainguard.platform.iam.v2.RoleBinding": "Role binding" */
const kindOf = (resourceType: string): string => {
  const [first = "", ...words] = resourceType.slice(resourceType.lastIndexOf(".") + 1).split(/(?=[A-Z][a-z])/);
  return [first, ...words.map((word) => word.toLowerCase())].join(" ");
};

/** A deletion has at least the resource itself. */
const alongWith = ({ rowCount }: Deletion): number => Math.max(0, Number(rowCount) - 1);

const columnsFor = (restore: ((deletion: Deletion) => void) | undefined): readonly Column<Deletion>[] => [
  {
    title: texts.name,
    cell: ({ resourceName, resourceUid }) => (
      <span className="digest">
        {nameOr(resourceName, resourceUid)}
        <Copy text={resourceUid} what="uid" />
      </span>
    ),
  },
  { title: texts.kind, cell: ({ resourceType }) => kindOf(resourceType) },
  { title: texts.alongWith, cell: (deletion) => texts.rows(alongWith(deletion)), minor: true },
  { title: texts.deleted, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  { title: texts.keptUntil, cell: ({ expireTime }) => <Expiry time={expireTime} />, minor: true },
  ...(restore
    ? [
        {
          title: texts.bringBack,
          action: true,
          cell: (deletion: Deletion) => (
            <button
              type="button"
              className="button quiet-button"
              aria-label={texts.bringBackOf(deletion.resourceName || deletion.resourceUid)}
              onClick={() => restore(deletion)}
            >
              <span className="wide-only">{texts.bringBack}</span>
              <Icon name="redo" />
            </button>
          ),
        },
      ]
    : []),
];

export const DeletedPage = ({ names, path }: GroupPageProps): ReactNode => {
  const uid = path.at(-1)?.uid ?? "";
  const own = useAsk(mine(uid)).data?.data.capabilities ?? [];
  const mayRestore = own.includes("gantry.deletions.undelete");
  const result = useAsk(deletionsIn(uid, positionIn(useAddress(), "skip")));
  const [restored, setRestored] = useState<Deletion>();
  return (
    <GroupFrame names={names} path={path} current="deleted" sent={[result.data?.sent]}>
      <ListSection
        title={texts.deleted}
        about={own.length === 0 || mayRestore ? texts.deletedText : `${texts.deletedText} ${texts.changeNeeds(["gantry.deletions.undelete"])}`}
        result={result}
        itemsOf={(data) => data.deletions}
        columns={columnsFor(mayRestore ? setRestored : undefined)}
        count={texts.deletionCount}
        parameter="skip"
        empty={
          <Empty icon="trash" title={texts.noDeletionsTitle}>
            <p>{texts.noDeletionsText}</p>
          </Empty>
        }
      />
      {restored ? (
        <Confirm
          title={texts.bringBack}
          about={
            <>
              {kindOf(restored.resourceType)} {nameOr(restored.resourceName, restored.resourceUid)}
            </>
          }
          effect={texts.bringBackText}
          question={undelete(restored.uid)}
          done={texts.broughtBack}
          isDangerous={false}
          onClose={() => setRestored(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
