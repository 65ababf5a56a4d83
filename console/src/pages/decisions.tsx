// Decisions about findings of a group and everything below it, which can be withdrawn.

import { type ReactNode, useState } from "react";
import type { FindingDecision } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { advisoryAddress, addressOf, positionIn, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { decideCapability, decisionsIn, deleteDecision } from "../decisions/requests.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Expiry, Icon, Link, Name, Time } from "../parts.tsx";
import { texts } from "../texts/decisions.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const State = ({ decision: { state, reopened } }: { readonly decision: FindingDecision }): ReactNode => (
  <>
    <Badge tone={texts.reopenings[reopened] === "" ? "plain" : "warn"}>{texts.decisionStates[state]}</Badge>
    <span className="quiet"> {texts.reopenings[reopened]}</span>
  </>
);

const columnsFor = (withdraw: ((decision: FindingDecision) => void) | undefined): readonly Column<FindingDecision>[] => [
  {
    title: texts.vulnerability,
    cell: ({ vulnerability, packageName }) => (
      <span className="long">
        <Link href={advisoryAddress(vulnerability)}>
          <Name>{vulnerability}</Name>
        </Link>
        {packageName === "" ? null : (
          <span className="quiet">
            {" "}
            <Name>{packageName}</Name>
          </span>
        )}
      </span>
    ),
  },
  { title: texts.decision, cell: (decision) => <State decision={decision} /> },
  {
    title: texts.reason,
    cell: ({ reason, justification }) => (
      <div className="long">
        <Name>{reason}</Name>
        <div className="quiet">{texts.justifications[justification]}</div>
      </div>
    ),
    minor: true,
  },
  { title: texts.expires, cell: ({ expireTime }) => <Expiry time={expireTime} />, minor: true },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  ...(withdraw
    ? [
        {
          title: texts.withdraw,
          action: true,
          cell: (decision: FindingDecision) => (
            <button type="button" className="button quiet-button" aria-label={texts.withdrawOf(decision.vulnerability)} onClick={() => withdraw(decision)}>
              <span className="wide-only">{texts.withdraw}</span>
              <Icon name="trash" />
            </button>
          ),
        },
      ]
    : []),
];

export const DecisionsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const uid = path.at(-1)?.uid ?? "";
  const own = useAsk(mine(uid)).data?.data.capabilities ?? [];
  const mayDecide = own.includes(decideCapability);
  const result = useAsk(decisionsIn(uid, positionIn(useAddress(), "skip")));
  const [withdrawn, setWithdrawn] = useState<FindingDecision>();
  return (
    <GroupFrame names={names} path={path} current="decisions" sent={[result.data?.sent]}>
      <ListSection
        title={texts.decisions}
        about={own.length === 0 || mayDecide ? texts.decisionsText : `${texts.decisionsText} ${texts.changeNeeds([decideCapability])}`}
        result={result}
        itemsOf={(data) => data.findingDecisions}
        columns={columnsFor(mayDecide ? setWithdrawn : undefined)}
        count={texts.decisionCount}
        parameter="skip"
        empty={
          <Empty icon="shield" title={texts.noDecisionsTitle}>
            <p>{texts.noDecisionsText}</p>
            <Link className="button" href={addressOf(names, "findings")}>
              {texts.findings}
            </Link>
          </Empty>
        }
      />
      {withdrawn ? (
        <Confirm
          title={texts.withdraw}
          about={
            <>
              <Name>{withdrawn.vulnerability}</Name> <Name>{withdrawn.packageName}</Name>
            </>
          }
          effect={texts.withdrawText}
          question={deleteDecision(withdrawn.uid)}
          done={texts.withdrawnDone}
          onClose={() => setWithdrawn(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
