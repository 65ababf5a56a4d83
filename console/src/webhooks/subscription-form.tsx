// Creates a subscription, and shows its secret once.

import { type ReactNode, useState } from "react";
import { eventTypeChoices } from "../../../client/gen/choices.ts";
import type { FindingSeverity, Subscription, SubscriptionInput } from "../../../client/package.ts";
import { type CheckItem, CheckGroups } from "../check-groups.tsx";
import { Dialog } from "../dialog.tsx";
import { shortType } from "../events/sentence.ts";
import { FormDialog } from "../form-dialog.tsx";
import { announce, Command, Icon, nameOr } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { SelectField } from "../select-field.tsx";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/webhooks.ts";
import { createSubscription, testSubscription } from "./requests.ts";

/** A subscription can name so many types. */
const typesMax = 50;

const items: readonly CheckItem<string>[] = eventTypeChoices.map((type) => {
  const title = shortType(type);
  return { value: type, title, group: title.slice(0, title.indexOf(".")), isDisabled: false };
});

const severities = [
  "FINDING_SEVERITY_UNSPECIFIED",
  "FINDING_SEVERITY_NEGLIGIBLE",
  "FINDING_SEVERITY_LOW",
  "FINDING_SEVERITY_MEDIUM",
  "FINDING_SEVERITY_HIGH",
  "FINDING_SEVERITY_CRITICAL",
] as const satisfies readonly FindingSeverity[];

interface Draft {
  readonly sink: string;
  readonly isLimited: boolean;
  readonly types: ReadonlySet<string>;
  readonly severity: (typeof severities)[number];
  readonly exploited: boolean;
}

const empty: Draft = { sink: "", isLimited: false, types: new Set(), severity: "FINDING_SEVERITY_UNSPECIFIED", exploited: false };

const inputOf = ({ sink, isLimited, types, severity, exploited }: Draft): SubscriptionInput => ({
  sink: sink.trim(),
  ...(isLimited ? { eventTypes: eventTypeChoices.filter((type) => types.has(type)) } : {}),
  ...(severity === "FINDING_SEVERITY_UNSPECIFIED" ? {} : { minFindingSeverity: severity }),
  ...(exploited ? { exploitedFindings: exploited } : {}),
});

interface CreatedProps {
  readonly subscription: Subscription;
  readonly mayTest: boolean;
  readonly onClose: () => void;
}

const Created = ({ subscription: { uid, secret }, mayTest, onClose }: CreatedProps): ReactNode => {
  const [isTested, setTested] = useState(false);
  const { problems, isSending, send } = useSend();
  const sendTest = async (): Promise<void> => {
    if (!isSending && (await send(testSubscription(uid)))) setTested(true);
  };
  return (
    <Dialog label={texts.subscriptionAdded} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{texts.subscriptionAdded}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="fields">
        <p className="notice" role="status">
          {texts.secretOnce}
        </p>
        <Command text={secret} what={texts.secret} />
        <p>{texts.verifyText}</p>
        <p>
          <a href="/docs/how-to/webhooks#verify-a-delivery" target="_blank" rel="noreferrer">
            {texts.verifyGuide}
          </a>
        </p>
        {problems.message === "" ? null : <p className="problem">{problems.message}</p>}
        {isTested ? <p role="status">{texts.tested}</p> : null}
        <div className="form-actions">
          {mayTest ? (
            <button type="button" className="button" aria-disabled={isSending} onClick={() => void sendTest()}>
              {texts.sendTest}
            </button>
          ) : null}
          <button type="button" className="button primary" onClick={onClose}>
            {texts.done}
          </button>
        </div>
      </div>
    </Dialog>
  );
};

interface SubscriptionFormProps {
  readonly place: Place;
  readonly mayTest: boolean;
  readonly onClose: () => void;
}

export const SubscriptionForm = ({ place, mayTest, onClose }: SubscriptionFormProps): ReactNode => {
  const [draft, setDraft] = useState(empty);
  const [isChecked, setChecked] = useState(false);
  const [made, setMade] = useState<Subscription>();
  const { problems, isSending, send } = useSend(["sink", "eventTypes", "minFindingSeverity"]);
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const input = inputOf(draft);
  const question = createSubscription(place.uid, input);
  const typesProblem = !draft.isLimited || (draft.types.size > 0 && draft.types.size <= typesMax) ? undefined : texts.typesRequired(typesMax);
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (input.sink === "" || typesProblem !== undefined || isSending) return;
    const answer = await send(question);
    if (!answer) return;
    setMade(answer.data);
    announce(texts.subscriptionAdded);
  };
  if (made) return <Created subscription={made} mayTest={mayTest} onClose={onClose} />;
  return (
    <FormDialog
      title={texts.newSubscription}
      question={question}
      message={problems.message}
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">
        {texts.sendsEventsOf} <strong>{nameOr(place.name, place.uid)}</strong> {texts.andBelow} {texts.sendsWhile}
      </p>
      <TextField
        label={texts.sink}
        about={texts.sinkHint}
        problem={isChecked && input.sink === "" ? texts.sinkHint : problems.fields.sink}
        value={draft.sink}
        onChange={(sink) => set({ sink })}
        required
        isFirst
      />
      <SelectField
        label={texts.types}
        value={draft.isLimited ? "some" : "all"}
        choices={[["all", texts.allTypes] as const, ["some", texts.someTypes] as const]}
        onChange={(choice) => set({ isLimited: choice === "some" })}
      />
      {draft.isLimited ? (
        <CheckGroups
          label={texts.chosenTypes}
          about={texts.typesRequired(typesMax)}
          problem={(isChecked ? typesProblem : undefined) ?? problems.fields.eventTypes}
          items={items}
          chosen={draft.types}
          onChange={(types) => set({ types })}
        />
      ) : null}
      <SelectField
        label={texts.findingSeverity}
        value={draft.severity}
        choices={severities.map(
          (each) => [each, each === "FINDING_SEVERITY_UNSPECIFIED" ? texts.anySeverity : texts.orHigher(texts.severities[each])] as const,
        )}
        about={texts.findingSeverityHint}
        problem={problems.fields.minFindingSeverity}
        onChange={(severity) => set({ severity })}
      />
      <label className="check">
        <input type="checkbox" checked={draft.exploited} onChange={({ target }) => set({ exploited: target.checked })} />
        {draft.severity === "FINDING_SEVERITY_UNSPECIFIED" ? texts.exploitedOnly : texts.exploitedToo}
      </label>
    </FormDialog>
  );
};
