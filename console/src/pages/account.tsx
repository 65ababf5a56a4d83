// The user's own sessions and memberships.

import { type ReactNode, useState } from "react";
import type { Membership, SignInSession } from "../../../client/package.ts";
import { positionIn, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm, type Confirmation } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, nameOr, Time, usePageTitle } from "../parts.tsx";
import { acceptMembership, declineMembership, endOwnSession, memberships, ownSessions } from "../people/requests.ts";
import { endColumn, endsColumn, programColumn, programOf, sessionColumns } from "../people/session-columns.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/account.ts";

const lastUsed: Column<SignInSession> = { title: texts.lastUsed, cell: ({ lastUseTime }) => <Time time={lastUseTime} /> };

type Asked = (confirmation: Confirmation) => void;

const ending = (session: SignInSession): Confirmation => ({
  title: texts.endSession,
  about: <bdi>{programOf(session)}</bdi>,
  effect: session.current ? texts.endOwnText : texts.endSessionText,
  question: endOwnSession(session.uid),
  done: texts.sessionEndedNow,
});

const answering = ({ organizationUid, organizationName }: Membership, isAccepted: boolean): Confirmation => ({
  title: isAccepted ? texts.accept : texts.decline,
  about: nameOr(organizationName, organizationUid),
  effect: isAccepted ? texts.acceptText : texts.declineText,
  question: isAccepted ? acceptMembership(organizationUid) : declineMembership(organizationUid),
  done: isAccepted ? texts.accepted : texts.declined,
  isDangerous: false,
});

/** A membership as a row: it has no uid of its own. */
type Row = Membership & { readonly uid: string };

const tones = { MEMBERSHIP_STATE_PENDING: "warn", MEMBERSHIP_STATE_ACCEPTED: "good" } as const;

const membershipColumns = (ask: Asked): readonly Column<Row>[] => [
  { title: texts.organization, cell: ({ organizationName, organizationUid }) => nameOr(organizationName, organizationUid) },
  {
    title: texts.state,
    cell: ({ state }) => (
      <Badge tone={state === "MEMBERSHIP_STATE_PENDING" || state === "MEMBERSHIP_STATE_ACCEPTED" ? tones[state] : "plain"}>
        {texts.membershipStates[state]}
      </Badge>
    ),
  },
  { title: texts.since, cell: ({ acceptTime, requestTime }) => <Time time={acceptTime ?? requestTime} />, minor: true },
  {
    title: texts.answer,
    action: true,
    cell: (row) =>
      row.state === "MEMBERSHIP_STATE_ACCEPTED" ? null : (
        <span className="actions">
          <button type="button" className="button" aria-label={texts.acceptOf(row.organizationName)} onClick={() => ask(answering(row, true))}>
            {texts.accept}
          </button>
          {row.state === "MEMBERSHIP_STATE_PENDING" ? (
            <button type="button" className="button quiet-button" aria-label={texts.declineOf(row.organizationName)} onClick={() => ask(answering(row, false))}>
              {texts.decline}
            </button>
          ) : null}
        </span>
      ),
  },
];

export const AccountPage = (): ReactNode => {
  usePageTitle(texts.ownAccount);
  const url = useAddress();
  const organizations = useAsk(memberships(positionIn(url, "organizations")));
  const sessions = useAsk(ownSessions(positionIn(url, "sessions")));
  const [asked, setAsked] = useState<Confirmation>();
  return (
    <>
      <h1 tabIndex={-1}>{texts.ownAccount}</h1>
      <ListSection
        title={texts.memberships}
        about={texts.membershipsText}
        result={organizations}
        itemsOf={(data) => data.memberships.map((each): Row => ({ ...each, uid: each.organizationUid }))}
        columns={membershipColumns(setAsked)}
        count={String}
        parameter="organizations"
        empty={
          <Empty icon="group" title={texts.noMembershipsTitle}>
            <p>{texts.noMembershipsText}</p>
          </Empty>
        }
      />
      <ListSection
        title={texts.ownSessions}
        result={sessions}
        itemsOf={(data) => data.sessions}
        columns={[programColumn, ...sessionColumns, lastUsed, endsColumn, endColumn((session) => setAsked(ending(session)))]}
        count={texts.sessionCount}
        parameter="sessions"
        empty={
          <Empty icon="key" title={texts.noOwnSessionsTitle}>
            <p>{texts.noOwnSessionsText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[organizations.data?.sent, sessions.data?.sent]} />
      {asked ? <Confirm {...asked} onClose={() => setAsked(undefined)} /> : null}
    </>
  );
};
