// Columns of tables of sessions.

import type { ReactNode } from "react";
import type { SignInSession } from "../../../client/package.ts";
import { root } from "../address.ts";
import { Badge, type Column, Expiry, Icon, Name, Time } from "../parts.tsx";
import { texts } from "../texts/people.ts";

export const programOf = ({ program, kind }: SignInSession): string =>
  program === "" ? texts.kinds[kind] : program === `${location.origin}${root}` ? texts.console : program;

const Program = ({ session }: { readonly session: SignInSession }): ReactNode => (
  <>
    <span className="long" title={texts.programClaimed}>
      <Name>{programOf(session)}</Name>
    </span>
    {session.current ? <Badge tone="good">{texts.thisSession}</Badge> : null}
  </>
);

export const programColumn: Column<SignInSession> = { title: texts.program, cell: (session) => <Program session={session} /> };

export const sessionColumns: readonly Column<SignInSession>[] = [
  { title: texts.kind, cell: ({ kind }) => texts.kinds[kind], minor: true },
  {
    title: texts.address,
    cell: ({ address }) => (address === "" ? <span className="quiet">{texts.none}</span> : <bdi className="one-line">{address}</bdi>),
    minor: true,
  },
  { title: texts.began, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
];

export const endsColumn: Column<SignInSession> = { title: texts.endsBy, cell: ({ expireTime }) => <Expiry time={expireTime} />, minor: true };

export const endColumn = (end: (session: SignInSession) => void): Column<SignInSession> => ({
  title: texts.endSession,
  action: true,
  cell: (session) => (
    <button type="button" className="button quiet-button" aria-label={texts.endSessionOf(programOf(session))} onClick={() => end(session)}>
      <span className="wide-only">{texts.endSession}</span>
      <Icon name="exit" />
    </button>
  ),
});
