// Decisions as rows of a table, and the dialogs that approve and withdraw one.

import type { ReactNode } from "react";
import type { FindingDecision } from "../../../client/package.ts";
import { advisoryAddress } from "../address.ts";
import { Confirm } from "../confirm.tsx";
import { Badge, type Column, Expiry, Icon, Link, Name, Time } from "../parts.tsx";
import { texts } from "../texts/decisions.ts";
import { approveDecision, deleteDecision, pendingApproval } from "./requests.ts";

const State = ({ decision: { state, reopened, approvalState } }: { readonly decision: FindingDecision }): ReactNode => (
  <>
    <span className="badges">
      <Badge tone={texts.reopenings[reopened] === "" ? "plain" : "warn"}>{texts.decisionStates[state]}</Badge>
      {texts.approvals[approvalState] === "" ? null : (
        <Badge tone={approvalState === pendingApproval ? "warn" : "good"}>{texts.approvals[approvalState]}</Badge>
      )}
    </span>
    {texts.reopenings[reopened] === "" ? null : <div className="under-badge quiet">{texts.reopenings[reopened]}</div>}
  </>
);

export interface Change {
  readonly kind: "approve" | "withdraw";
  readonly decision: FindingDecision;
}

export const decisionColumns = (choose: ((change: Change) => void) | undefined): readonly Column<FindingDecision>[] => [
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

/** Asks before a decision is approved or withdrawn. */
export const ChangeDecision = ({ kind, decision, onClose }: Change & { readonly onClose: () => void }): ReactNode => (
  <Confirm
    title={texts[kind]}
    about={
      <>
        <Name>{decision.vulnerability}</Name> <Name>{decision.packageName}</Name>
      </>
    }
    {...(kind === "approve"
      ? { effect: texts.approveText, question: approveDecision(decision.uid), done: texts.approvedDone, isDangerous: false }
      : {
          effect: texts.withdrawText,
          question: deleteDecision(decision.uid),
          done: texts.withdrawnDone,
          deletes: { uid: decision.uid, name: decision.vulnerability },
        })}
    onClose={onClose}
  />
);
