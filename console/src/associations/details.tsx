// The accounts of a group, each with a check.

import type { ReactNode } from "react";
import { useState } from "react";
import type { AccountAssociation, AccountProviderType, CheckAccountAssociationResponse } from "../../../client/package.ts";
import type { Answer } from "../api.ts";
import { announce, Badge, Copy, Name, Time } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { useSend } from "../send.ts";
import { texts } from "../texts/associations.ts";
import { installationLines, pairLines } from "./draft.ts";
import { checkAssociation } from "./requests.ts";

interface CheckProps {
  readonly uid: string;
  readonly type: AccountProviderType;
  readonly provider: string;
  /** The account. */
  readonly children: ReactNode;
}

const Check = ({ uid, type, provider, children }: CheckProps): ReactNode => {
  const { problems, isSending, send } = useSend([], { isRead: true });
  const [answer, setAnswer] = useState<Answer<CheckAccountAssociationResponse>>();
  const check = async (): Promise<void> => {
    const found = isSending ? undefined : await send(checkAssociation(uid, type));
    if (!found) return;
    setAnswer(found);
    announce(found.data.message);
  };
  const isReady = answer?.data.status === "CHECK_STATUS_READY";
  return (
    <>
      <span className="reference">
        {children}
        <button type="button" className="button quiet-button" aria-label={texts.checkOf(provider)} aria-disabled={isSending} onClick={() => void check()}>
          {texts.check}
        </button>
      </span>
      {problems.message === "" ? null : <p className="problem">{problems.message}</p>}
      {answer ? (
        <>
          <p className="reference">
            <Badge tone={isReady ? "good" : "warn"}>{isReady ? texts.ready : texts.notReady}</Badge> <Name>{answer.data.message}</Name>
          </p>
          <SameRequest sent={[answer.sent]} />
        </>
      ) : null}
    </>
  );
};

const Value = ({ text, what }: { readonly text: string; readonly what: string }): ReactNode => (
  <span className="long">
    <bdi>{text}</bdi> <Copy text={text} what={what} />
  </span>
);

const Lines = ({ lines }: { readonly lines: readonly string[] }): ReactNode =>
  lines.length === 0 ? null : (
    <ul className="plain-list">
      {lines.map((line) => (
        <li key={line}>
          <bdi>{line}</bdi>
        </li>
      ))}
    </ul>
  );

/** The accounts in a word or two, for a row. */
export const accountsOf = (association: AccountAssociation): string[] => {
  const { amazon, google, azure, chainguard } = association;
  return [
    ...(amazon ? [`${texts.amazon} ${amazon.account}`] : []),
    ...(google ? [`${texts.google} ${google.projectId}`] : []),
    ...(azure ? [`${texts.azure} ${azure.tenantId}`] : []),
    ...(installationLines(association).length > 0 ? [texts.github] : []),
    ...(chainguard ? [texts.chainguard] : []),
  ];
};

export const Accounts = ({ association }: { readonly association: AccountAssociation }): ReactNode => {
  const { uid, name, description, amazon, google, azure, chainguard, createTime, updateTime } = association;
  const installations = installationLines(association);
  return (
    <div className="details">
      <dl>
        <dt>{texts.name}</dt>
        <dd>
          <Name>{name}</Name>
        </dd>
        {description === "" ? null : (
          <>
            <dt>{texts.description}</dt>
            <dd>
              <Name>{description}</Name>
            </dd>
          </>
        )}
        {amazon ? (
          <>
            <dt>{texts.amazon}</dt>
            <dd>
              <Check uid={uid} type="ACCOUNT_PROVIDER_TYPE_AMAZON" provider={texts.amazon}>
                <Value text={amazon.account} what={texts.fields.account} />
              </Check>
            </dd>
          </>
        ) : null}
        {google ? (
          <>
            <dt>{texts.google}</dt>
            <dd>
              <Check uid={uid} type="ACCOUNT_PROVIDER_TYPE_GOOGLE" provider={texts.google}>
                <Value text={google.projectId} what={texts.fields.projectId} />
                <Value text={google.projectNumber} what={texts.fields.projectNumber} />
              </Check>
            </dd>
          </>
        ) : null}
        {azure ? (
          <>
            <dt>{texts.azure}</dt>
            <dd>
              <Check uid={uid} type="ACCOUNT_PROVIDER_TYPE_AZURE" provider={texts.azure}>
                <Value text={azure.tenantId} what={texts.fields.tenantId} />
              </Check>
              <Lines lines={pairLines(azure.clientIds)} />
            </dd>
          </>
        ) : null}
        {installations.length === 0 ? null : (
          <>
            <dt>{texts.github}</dt>
            <dd>
              <Lines lines={installations} />
            </dd>
          </>
        )}
        {chainguard ? (
          <>
            <dt>{texts.chainguard}</dt>
            <dd className="long">
              <Lines lines={pairLines(chainguard.serviceBindings)} />
            </dd>
          </>
        ) : null}
        <dt>{texts.created}</dt>
        <dd>
          <Time time={createTime} />
        </dd>
        <dt>{texts.updated}</dt>
        <dd>
          <Time time={updateTime} />
        </dd>
      </dl>
    </div>
  );
};
