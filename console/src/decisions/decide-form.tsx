// Decides about the findings of a vulnerability. How many it concerns is shown before anything is written.

import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { Finding, FindingDecisionInput, FindingDecisionJustification, FindingDecisionState } from "../../../client/package.ts";
import { queryClient, useAsk } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { shownId } from "../findings.tsx";
import { endOfDay } from "../format.ts";
import { announce, Icon, Name } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { SelectField } from "../select-field.tsx";
import { usePreview, useSend } from "../send.ts";
import { texts } from "../texts/decisions.ts";
import { createDecision, effectOf, pendingApproval } from "./requests.ts";
import { VexStatements } from "./vex-statements.tsx";

const states = {
  "not-affected": "FINDING_DECISION_STATE_NOT_AFFECTED",
  accepted: "FINDING_DECISION_STATE_ACCEPTED",
  "under-investigation": "FINDING_DECISION_STATE_UNDER_INVESTIGATION",
  "false-positive": "FINDING_DECISION_STATE_FALSE_POSITIVE",
} as const satisfies Readonly<Record<string, FindingDecisionState>>;

const justifications: readonly FindingDecisionJustification[] = [
  "FINDING_DECISION_JUSTIFICATION_COMPONENT_NOT_PRESENT",
  "FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT",
  "FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_IN_EXECUTE_PATH",
  "FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY",
  "FINDING_DECISION_JUSTIFICATION_INLINE_MITIGATIONS_ALREADY_EXIST",
];

type ScopeName = "group" | "repo" | "image";

/** The server applies a decision within seconds. */
const readAgainSoon = (): void => void setTimeout(() => void queryClient.invalidateQueries(), 3000);

interface DecideFormProps {
  readonly finding: Finding;
  /** The group that decides. */
  readonly place: Place;
  readonly onClose: () => void;
}

export const DecideForm = ({ finding, place, onClose }: DecideFormProps): ReactNode => {
  const id = useId();
  const vulnerability = shownId(finding);
  const [state, setState] = useState<FindingDecisionState>(states["not-affected"]);
  const [justification, setJustification] = useState<FindingDecisionJustification>("FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT");
  const [scope, setScope] = useState<ScopeName>("group");
  const [reason, setReason] = useState("");
  const [date, setDate] = useState("");
  const { problems, isSending, send } = useSend(["reason", "expireTime", "justification", "state"]);
  const where = {
    vulnerability,
    packageName: finding.packageName,
    ...(scope === "repo" && finding.repoUid !== "" ? { repoUid: finding.repoUid } : {}),
    ...(scope === "image" ? { repoUid: finding.repoUid, digest: finding.digest } : {}),
  };
  const decision: FindingDecisionInput = {
    ...where,
    state,
    reason: reason.trim(),
    ...(state === states["not-affected"] ? { justification } : {}),
    ...(date === "" ? {} : { expireTime: endOfDay(date) }),
  };
  const question = createDecision(place.uid, decision);
  const sent = usePreview(question);
  const effect = useAsk(effectOf(place.uid, where));
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const made = isSending ? undefined : await send(question);
    if (!made) return;
    onClose();
    announce(made.data.approvalState === pendingApproval ? texts.decidedPending : texts.decided);
    readAgainSoon();
  };
  const needsApproval = effect.data?.data.approvalState === pendingApproval && state !== states["under-investigation"];
  const inImages = finding.repoUid !== "" && finding.digest !== "";
  return (
    <Dialog label={texts.decide} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{texts.decide}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <form className="fields" onSubmit={(event) => void submit(event)} noValidate>
        <p className="sentence">
          <strong>
            <Name>{vulnerability}</Name>
          </strong>{" "}
          {texts.inPackage} <Name>{finding.packageName}</Name>
        </p>
        {problems.message === "" ? null : (
          <p className="notice" role="alert">
            {problems.message}
          </p>
        )}
        <VexStatements statements={finding.vexStatements} />
        <SelectField
          label={texts.decision}
          value={state}
          choices={Object.values(states).map((each) => [each, texts.decisionStates[each]])}
          about={texts.decisionEffects[state]}
          problem={problems.fields.state}
          onChange={setState}
          isFirst
        />
        {state === states["not-affected"] ? (
          <SelectField
            label={texts.justification}
            value={justification}
            choices={justifications.map((each) => [each, texts.justifications[each]])}
            problem={problems.fields.justification}
            onChange={setJustification}
          />
        ) : null}
        <div className="field">
          <label htmlFor={`${id}-reason`}>{texts.reason}</label>
          <textarea
            id={`${id}-reason`}
            rows={3}
            required
            value={reason}
            aria-describedby={`${id}-reason-about`}
            aria-invalid={problems.fields.reason !== undefined}
            onChange={({ target }) => setReason(target.value)}
          />
          <p id={`${id}-reason-about`} className={problems.fields.reason === undefined ? "about" : "problem"}>
            {problems.fields.reason ?? texts.reasonHint}
          </p>
        </div>
        <div className="field">
          <label htmlFor={`${id}-date`}>{state === states.accepted ? texts.acceptedUntil : texts.expiresOptional}</label>
          <input
            id={`${id}-date`}
            type="date"
            value={date}
            required={state === states.accepted}
            aria-describedby={`${id}-date-about`}
            aria-invalid={problems.fields.expireTime !== undefined}
            onChange={({ target }) => setDate(target.value)}
          />
          <p id={`${id}-date-about`} className={problems.fields.expireTime === undefined ? "about" : "problem"}>
            {problems.fields.expireTime ?? texts.decisionExpiresHint}
          </p>
        </div>
        <SelectField
          label={texts.appliesIn}
          value={scope}
          choices={[
            ["group", texts.groupAndBelow(place.name || place.uid)],
            ...(inImages
              ? ([
                  ["repo", texts.inRepo(finding.repo)],
                  ["image", texts.inThisImage],
                ] as const)
              : []),
          ]}
          onChange={setScope}
        />
        <p role="status" className="quiet">
          {effect.data ? texts.decisionConcerns(effect.data.data.findingCount) : effect.error ? null : texts.counting}
        </p>
        {needsApproval ? <p className="notice">{texts.approvalNeeded}</p> : null}
        <SameRequest sent={[sent]} />
        <div className="form-actions">
          <button type="button" className="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="submit" className="button primary" aria-disabled={isSending}>
            {texts.decide}
          </button>
        </div>
      </form>
    </Dialog>
  );
};
