// Decisions that wait for an approval, and the approval policies of a group. Which policies are shown is in the address.

import { type ReactNode, useState } from "react";
import type { DecisionApprovalPolicy } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { positionIn, replaceAddress, useAddress, withParameter } from "../address.ts";
import { useAsk } from "../api.ts";
import { createPolicy, deletePolicy, policiesAt, requireApprovalCapability } from "../approvals/requests.ts";
import { Confirm } from "../confirm.tsx";
import { type Change, ChangeDecision, decisionColumns } from "../decisions/columns.tsx";
import { decideCapability, pendingIn } from "../decisions/requests.ts";
import { FormDialog } from "../form-dialog.tsx";
import { ListSection } from "../list-section.tsx";
import { announce, type Column, Empty, Icon, Name, Time } from "../parts.tsx";
import { isBelow, type Names, parentOf, PlaceLink, ScopeLinks, scopeIn, useNames } from "../places.tsx";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/approvals.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

interface Where {
  /** The group of the page. */
  readonly here: string;
  readonly names: Names;
}

const nameOfPlace = ({ uid }: DecisionApprovalPolicy, names: Names): string => names.get(parentOf(uid))?.name || parentOf(uid);

const policyColumns = (where: Where, remove: ((policy: DecisionApprovalPolicy) => void) | undefined): readonly Column<DecisionApprovalPolicy>[] => [
  {
    title: texts.reason,
    cell: ({ description }) => (description === "" ? <span className="quiet">{texts.noReason}</span> : <Name>{description}</Name>),
  },
  { title: texts.setAt, cell: ({ uid }) => <PlaceLink uid={parentOf(uid)} page="approvals" {...where} /> },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  ...(remove
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (policy: DecisionApprovalPolicy) => (
            <button
              type="button"
              className="button quiet-button"
              aria-label={texts.deletePolicyAt(nameOfPlace(policy, where.names))}
              onClick={() => remove(policy)}
            >
              <Icon name="trash" />
            </button>
          ),
        },
      ]
    : []),
];

const PolicyForm = ({ group, onClose }: { readonly group: string; readonly onClose: () => void }): ReactNode => {
  const [description, setDescription] = useState("");
  const { problems, isSending, send } = useSend(["description"]);
  const reason = description.trim();
  const question = createPolicy(group, reason === "" ? {} : { description: reason });
  const submit = async (): Promise<void> => {
    if (isSending || !(await send(question))) return;
    onClose();
    announce(texts.policyAdded);
  };
  return (
    <FormDialog title={texts.addPolicy} question={question} message={problems.message} isSending={isSending} submit={() => void submit()} onClose={onClose}>
      <p className="quiet">
        {texts.policiesText} {texts.policyEffect}
      </p>
      <TextField
        label={texts.policyReason}
        about={texts.policyReasonHint}
        problem={problems.fields.description}
        value={description}
        onChange={setDescription}
        isFirst
      />
    </FormDialog>
  );
};

export const ApprovalsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const here = path.at(-1)?.uid ?? "";
  const own = new Set(useAsk(mine(here)).data?.data.capabilities);
  const pending = useAsk(pendingIn(here, positionIn(url, "pending")));
  const policies = useAsk(policiesAt(scopeIn(url, here), positionIn(url, "policies")));
  const groups = (policies.data?.data.decisionApprovalPolicies ?? []).map(({ uid }) => parentOf(uid));
  const known = useNames(groups, path);
  const [chosen, setChosen] = useState<Change>();
  const [removing, setRemoving] = useState<DecisionApprovalPolicy>();
  const mayDecide = own.has(decideCapability);
  const mayRequire = own.has(requireApprovalCapability);
  const needs = (capability: string): string => (own.size === 0 || own.has(capability) ? "" : ` ${texts.changeNeeds([capability])}`);
  const close = (): void => replaceAddress(withParameter(url, "add", undefined));
  return (
    <GroupFrame names={names} path={path} current="approvals" sent={[pending.data?.sent, policies.data?.sent]}>
      <ListSection
        title={texts.pendingTitle}
        about={`${texts.pendingText}${needs(decideCapability)}`}
        result={pending}
        itemsOf={(data) => data.findingDecisions}
        columns={decisionColumns(mayDecide ? setChosen : undefined)}
        count={texts.decisionCount}
        parameter="pending"
        empty={
          <Empty icon="check" title={texts.noPendingTitle}>
            <p>{texts.noPendingText}</p>
          </Empty>
        }
      />
      <div className="scope">
        <ScopeLinks label={texts.scopes} positions={["policies"]} />
        <p className="quiet">{isBelow(url) ? texts.policiesBelow : texts.policiesHere}</p>
      </div>
      <ListSection
        title={texts.policies}
        about={`${texts.policiesText}${needs(requireApprovalCapability)}`}
        action={
          mayRequire ? (
            <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "add", ""))}>
              <Icon name="plus" />
              {texts.addPolicy}
            </button>
          ) : undefined
        }
        result={policies}
        itemsOf={(data) => data.decisionApprovalPolicies}
        columns={policyColumns({ here, names: known }, mayRequire ? setRemoving : undefined)}
        count={texts.policyCount}
        parameter="policies"
        empty={
          <Empty icon="shield" title={texts.noPoliciesTitle}>
            <p>{texts.noPoliciesText}</p>
          </Empty>
        }
      />
      {mayRequire && url.searchParams.has("add") ? <PolicyForm group={here} onClose={close} /> : null}
      {chosen ? <ChangeDecision {...chosen} onClose={() => setChosen(undefined)} /> : null}
      {removing ? (
        <Confirm
          title={texts.deletePolicy}
          about={<Name>{nameOfPlace(removing, known)}</Name>}
          effect={texts.deletePolicyText}
          question={deletePolicy(removing.uid)}
          done={texts.policyDeleted}
          deletes={{ uid: removing.uid, name: texts.policyOf(nameOfPlace(removing, known)) }}
          onClose={() => setRemoving(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
