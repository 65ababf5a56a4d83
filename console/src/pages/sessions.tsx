// Sessions from sign-ins through the identity providers of a group.

import { type ReactNode, useState } from "react";
import type { SignInSession } from "../../../client/package.ts";
import { positionIn, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Copy, Empty, nameOr } from "../parts.tsx";
import { endSession, identitiesOf, sessionsIn } from "../people/requests.ts";
import { endColumn, endsColumn, programColumn, programOf, sessionColumns } from "../people/session-columns.tsx";
import { texts } from "../texts/people.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

export const SessionsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const uid = path.at(-1)?.uid ?? "";
  const result = useAsk(sessionsIn(uid, positionIn(useAddress(), "skip")));
  const uids = [...new Set(result.data?.data.sessions.map(({ identityUid }) => identityUid))].sort();
  const identities = useAsk(uids.length > 0 ? identitiesOf(uids) : undefined).data?.data.identities ?? [];
  const named = new Map(identities.map((each) => [each.uid, each.name || each.email]));
  const [ending, setEnding] = useState<SignInSession>();
  const user: Column<SignInSession> = {
    title: texts.user,
    cell: ({ identityUid }) => (
      <span className="digest">
        {nameOr(named.get(identityUid) ?? "", identityUid)}
        <Copy text={identityUid} what="uid" />
      </span>
    ),
  };
  return (
    <GroupFrame names={names} path={path} current="sessions" sent={[result.data?.sent]}>
      <ListSection
        title={texts.sessions}
        about={texts.sessionsText}
        result={result}
        itemsOf={(data) => data.sessions}
        columns={[user, programColumn, ...sessionColumns, endsColumn, endColumn(setEnding)]}
        count={texts.sessionCount}
        parameter="skip"
        empty={
          <Empty icon="user" title={texts.noSessionsTitle}>
            <p>{texts.noSessionsText}</p>
          </Empty>
        }
      />
      {ending ? (
        <Confirm
          title={texts.endSession}
          about={
            <>
              {nameOr(named.get(ending.identityUid) ?? "", ending.identityUid)}: <bdi>{programOf(ending)}</bdi>
            </>
          }
          effect={texts.endSessionText}
          question={endSession(ending.uid)}
          done={texts.sessionEndedNow}
          onClose={() => setEnding(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
