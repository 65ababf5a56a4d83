// Open invites of a group.

import { type ReactNode, useState } from "react";
import type { GroupInvite } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { positionIn, replaceAddress, useAddress, withParameter } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Empty, Expiry, Icon, Name, nameOr, Time } from "../parts.tsx";
import { InviteForm } from "../people/invite-form.tsx";
import { deleteInvite, invitesIn } from "../people/requests.ts";
import { texts } from "../texts/people.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const forWhom = ({ email }: GroupInvite): string => (email === "" ? texts.anyone : email);

const columnsFor = (remove: ((invite: GroupInvite) => void) | undefined): readonly Column<GroupInvite>[] => [
  { title: texts.invitedPerson, cell: (invite) => (invite.email === "" ? texts.anyone : <Name>{invite.email}</Name>) },
  { title: texts.role, cell: ({ role, roleUid }) => <span className="role">{nameOr(role?.name ?? "", roleUid)}</span> },
  { title: texts.uses, cell: ({ singleUse }) => (singleUse ? texts.once : texts.unlimited), minor: true },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  { title: texts.expires, cell: ({ expirationTime }) => <Expiry time={expirationTime} /> },
  ...(remove
    ? [
        {
          title: texts.deleteInvite,
          action: true,
          cell: (invite: GroupInvite) => (
            <button type="button" className="button quiet-button" aria-label={texts.deleteInviteOf(forWhom(invite))} onClick={() => remove(invite)}>
              <Icon name="trash" />
            </button>
          ),
        },
      ]
    : []),
];

export const InvitesPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const place = path.at(-1) ?? { uid: "", name: "" };
  const own = new Set(useAsk(mine(place.uid)).data?.data.capabilities);
  const result = useAsk(invitesIn(place.uid, positionIn(url, "skip")));
  const [removing, setRemoving] = useState<GroupInvite>();
  const lacking = ["group_invites.create", "role_bindings.create"].filter((name) => !own.has(name));
  const mayInvite = own.size > 0 && lacking.length === 0;
  return (
    <GroupFrame names={names} path={path} current="invites" sent={[result.data?.sent]}>
      <ListSection
        title={texts.invites}
        about={own.size === 0 || mayInvite ? texts.invitesText : `${texts.invitesText} ${texts.changeNeeds(lacking)}`}
        action={
          mayInvite ? (
            <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "add", ""))}>
              <Icon name="plus" />
              {texts.invite}
            </button>
          ) : undefined
        }
        result={result}
        itemsOf={(data) => data.groupInvites}
        columns={columnsFor(own.has("group_invites.delete") ? setRemoving : undefined)}
        count={texts.inviteCount}
        parameter="skip"
        empty={
          <Empty icon="user" title={texts.noInvitesTitle}>
            <p>{texts.noInvitesText}</p>
          </Empty>
        }
      />
      {mayInvite && url.searchParams.has("add") ? <InviteForm path={path} onClose={() => replaceAddress(withParameter(url, "add", undefined))} /> : null}
      {removing ? (
        <Confirm
          title={texts.deleteInvite}
          about={
            <>
              <span className="role">{nameOr(removing.role?.name ?? "", removing.roleUid)}</span> {texts.at} <Name>{place.name}</Name>:{" "}
              <Name>{forWhom(removing)}</Name>
            </>
          }
          effect={texts.deleteInviteText}
          question={deleteInvite(removing.uid)}
          done={texts.inviteDeleted}
          deletes={{ uid: removing.uid, name: forWhom(removing) }}
          onClose={() => setRemoving(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
