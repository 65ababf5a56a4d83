// Forms that add a rule.

import { type FormEvent, type ReactNode, useState } from "react";
import type { Question } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { announce, Icon } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { usePreview, useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/rules.ts";
import { createImmutableTagRule, createRetentionRule } from "./requests.ts";

interface RuleDialogProps {
  readonly title: string;
  readonly question: Question<unknown>;
  readonly message: string;
  readonly isSending: boolean;
  readonly submit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

const RuleDialog = ({ title, question, message, isSending, submit, onClose, children }: RuleDialogProps): ReactNode => {
  const sent = usePreview(question);
  return (
    <Dialog label={title} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <form
        className="fields"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          submit();
        }}
        noValidate
      >
        {message === "" ? null : (
          <p className="notice" role="alert">
            {message}
          </p>
        )}
        {children}
        <SameRequest sent={[sent]} />
        <div className="form-actions">
          <button type="button" className="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="submit" className="button primary" aria-disabled={isSending}>
            {title}
          </button>
        </div>
      </form>
    </Dialog>
  );
};

interface ImmutableFormProps {
  /** Uid of a repo or of a group. */
  readonly parent: string;
  readonly onClose: () => void;
}

export const ImmutableForm = ({ parent, onClose }: ImmutableFormProps): ReactNode => {
  const [pattern, setPattern] = useState("");
  const [description, setDescription] = useState("");
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send } = useSend(["pattern", "description"]);
  const question = createImmutableTagRule(parent, { pattern: pattern.trim(), ...(description.trim() === "" ? {} : { description: description.trim() }) });
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (pattern.trim() === "" || isSending || !(await send(question))) return;
    onClose();
    announce(texts.immutableAdded);
  };
  return (
    <RuleDialog title={texts.addImmutable} question={question} message={problems.message} isSending={isSending} submit={() => void submit()} onClose={onClose}>
      <p className="quiet">
        {texts.immutableText} {texts.immutableEffect}
      </p>
      <TextField
        label={texts.tagPatternLabel}
        about={texts.patternHint}
        problem={isChecked && pattern.trim() === "" ? texts.patternHint : problems.fields.pattern}
        value={pattern}
        onChange={setPattern}
        required
        isFirst
      />
      <TextField label={texts.reasonOptional} problem={problems.fields.description} value={description} onChange={setDescription} />
    </RuleDialog>
  );
};

interface RetentionFormProps {
  readonly group: string;
  /** Applies only to this repo. */
  readonly repo: string | undefined;
  readonly onClose: () => void;
}

const isNumber = (text: string): boolean => /^[1-9]\d*$/.test(text.trim());

const numberFields = ["keepLast", "keepDays", "keepPulledDays"] as const;
type NumberField = (typeof numberFields)[number];
const hints: Readonly<Record<NumberField, string>> = {
  keepLast: texts.keepLastHint,
  keepDays: texts.keepDaysHint,
  keepPulledDays: texts.keepPulledHint,
};

export const RetentionForm = ({ group, repo, onClose }: RetentionFormProps): ReactNode => {
  const [name, setName] = useState("");
  const [tagPattern, setPattern] = useState("");
  const [numbers, setNumbers] = useState<Readonly<Record<NumberField, string>>>({ keepLast: "10", keepDays: "", keepPulledDays: "" });
  const [previewOnly, setPreviewOnly] = useState(true);
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send } = useSend(["name", "tagPattern", ...numberFields]);
  const wrong = numberFields.filter((field) => numbers[field].trim() !== "" && !isNumber(numbers[field]));
  const kept = Object.fromEntries(numberFields.filter((field) => isNumber(numbers[field])).map((field) => [field, Number(numbers[field])]));
  const question = createRetentionRule(group, {
    name: name.trim(),
    ...(repo === undefined ? {} : { repoUid: repo }),
    ...(tagPattern.trim() === "" ? {} : { tagPattern: tagPattern.trim() }),
    ...kept,
    ...(previewOnly ? { previewOnly } : {}),
  });
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (name.trim() === "" || wrong.length > 0 || isSending || !(await send(question))) return;
    onClose();
    announce(texts.retentionAdded);
  };
  return (
    <RuleDialog title={texts.addRetention} question={question} message={problems.message} isSending={isSending} submit={() => void submit()} onClose={onClose}>
      <p className="quiet">{texts.retentionText}</p>
      <TextField
        label={texts.ruleName}
        about={texts.ruleNameHint}
        problem={isChecked && name.trim() === "" ? texts.ruleNameHint : problems.fields.name}
        value={name}
        onChange={setName}
        required
        isFirst
      />
      <TextField label={texts.patternOptional} about={texts.patternHint} problem={problems.fields.tagPattern} value={tagPattern} onChange={setPattern} />
      {numberFields.map((field) => (
        <TextField
          key={field}
          type="number"
          label={texts[field]}
          about={hints[field]}
          problem={wrong.includes(field) ? texts.notNumber : problems.fields[field]}
          value={numbers[field]}
          onChange={(value) => setNumbers({ ...numbers, [field]: value })}
        />
      ))}
      <label className="check">
        <input type="checkbox" checked={previewOnly} onChange={({ target }) => setPreviewOnly(target.checked)} />
        {texts.previewLabel}
      </label>
    </RuleDialog>
  );
};
