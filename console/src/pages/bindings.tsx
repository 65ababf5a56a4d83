// Role bindings of a group.

import type { ReactNode } from "react";
import type { RoleBinding } from "../../../client/package.ts";
import { positionIn, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { ListSection } from "../list-section.tsx";
import { type Column, Copy, Empty, Expiry, nameOr, Time } from "../parts.tsx";
import { bindingsIn } from "../questions.ts";
import { texts } from "../texts/bindings.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const columns: readonly Column<RoleBinding>[] = [
  {
    title: texts.identity,
    cell: ({ identity, identityUid }) => (
      <span className="digest">
        {nameOr(identity?.name || identity?.email || "", identityUid)}
        <Copy text={identityUid} what="uid" />
      </span>
    ),
  },
  { title: texts.role, cell: ({ role, roleUid }) => nameOr(role?.name ?? "", roleUid) },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  { title: texts.expires, cell: ({ expireTime }) => <Expiry time={expireTime} /> },
];

export const BindingsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const result = useAsk(bindingsIn(path.at(-1)?.uid ?? "", positionIn(useAddress(), "skip")));
  return (
    <GroupFrame names={names} path={path} current="bindings" sent={[result.data?.sent]}>
      <ListSection
        title={texts.bindings}
        result={result}
        itemsOf={(data) => data.roleBindings}
        columns={columns}
        count={texts.bindingCount}
        parameter="skip"
        empty={
          <Empty icon="key" title={texts.noBindingsTitle}>
            <p>{texts.noBindingsText}</p>
            <a className="button" href="/docs/concepts/access-model">
              {texts.accessModel}
            </a>
          </Empty>
        }
      />
    </GroupFrame>
  );
};
