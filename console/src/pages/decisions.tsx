// Decisions about findings of a group and everything below it, which can be approved and withdrawn.

import { type ReactNode, useState } from "react";
import type { FindingDecision } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { advisoryAddress, addressOf, positionIn, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { approveDecision, decideCapability, decisionsIn, deleteDecision, pendingApproval } from "../decisions/requests.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Expiry, Icon, Link, Name, Time } from "../parts.tsx";
import { texts } from "../texts/decisions.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const State = ({ decision: { state, reopened, approvalState } }: { readonly decision: FindingDecision }): ReactNode => (
  <>
    <Badge tone={texts.reopenings[reopened] === "" ? "plain" : "warn"}>{texts.decisionStates[state]}</Badge>
    {texts.approvals[approvalState] === "" ? null : (
      <>
        {" "}
        <Badge tone={approvalState === pendingApproval ? "warn" : "good"}>{texts.approvals[approvalState]}</Badge>
      </>
    )}
    <span className="quiet"> {texts.reopenings[reopened]}</span>
  </>
);

interface Change {
  readonly kind: "approve" | "withdraw";
  readonly decision: FindingDecision;
}

const columnsFor = (choose: ((change: Change) => void) | undefined): readonly Column<FindingDecision>[] => [
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
  ...(choose
    ? [
        {
          title: texts.withdraw,
          action: true,
          cell: (decision: FindingDecision) => (
            <span className="actions">
              {decision.approvalState === pendingApproval ? (
                <button
                  type="button"
                  className="button quiet-button"
                  aria-label={texts.approveOf(decision.vulnerability)}
                  onClick={() => choose({ kind: "approve", decision })}
                >
                  <span className="wide-only">{texts.approve}</span>
                  <Icon name="check" />
                </button>
              ) : null}
              <button
                type="button"
                className="button quiet-button"
                aria-label={texts.withdrawOf(decision.vulnerability)}
                onClick={() => choose({ kind: "withdraw", decision })}
              >
                <span className="wide-only">{texts.withdraw}</span>
                <Icon name="trash" />
              </button>
            </span>
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
  const [chosen, setChosen] = useState<Change>();
  return (
    <GroupFrame names={names} path={path} current="decisions" sent={[result.data?.sent]}>
      <ListSection
        title={texts.decisions}
        about={own.length === 0 || mayDecide ? texts.decisionsText : `${texts.decisionsText} ${texts.changeNeeds([decideCapability])}`}
        result={result}
        itemsOf={(data) => data.findingDecisions}
        columns={columnsFor(mayDecide ? setChosen : undefined)}
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
      {chosen ? (
        <Confirm
          title={texts[chosen.kind]}
          about={
            <>
              <Name>{chosen.decision.vulnerability}</Name> <Name>{chosen.decision.packageName}</Name>
            </>
          }
          {...(chosen.kind === "approve"
            ? { effect: texts.approveText, question: approveDecision(chosen.decision.uid), done: texts.approvedDone, isDangerous: false }
            : { effect: texts.withdrawText, question: deleteDecision(chosen.decision.uid), done: texts.withdrawnDone })}
          onClose={() => setChosen(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
