// Forms that add or change a rule.

import { type ReactNode, useState } from "react";
import type { ImmutableTagRule, RetentionRule } from "../../../client/package.ts";
import { Conflict, type Shown, useVersion, type Version } from "../conflict.tsx";
import { FormDialog } from "../form-dialog.tsx";
import { announce } from "../parts.tsx";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/rules.ts";
import { createImmutableTagRule, createRetentionRule, immutableTagRule, retentionRule, updateImmutableTagRule, updateRetentionRule } from "./requests.ts";

interface ImmutableFormProps {
  /** Uid of a repo or of a group. */
  readonly parent: string;
  /** The rule to change; undefined: add one. */
  readonly version?: Version<ImmutableTagRule> | undefined;
  readonly onClose: () => void;
}

const shownImmutable = ({ pattern, description }: Pick<ImmutableTagRule, "pattern" | "description">): readonly Shown[] => [
  [texts.tagPatternLabel, pattern],
  [texts.reasonOptional, description],
];

export const ImmutableForm = ({ parent, version, onClose }: ImmutableFormProps): ReactNode => {
  const [pattern, setPattern] = useState(version?.resource.pattern ?? "");
  const [description, setDescription] = useState(version?.resource.description ?? "");
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend(["pattern", "description"]);
  const { base, choices } = useVersion(
    version,
    (stored) => {
      setPattern(stored.pattern);
      setDescription(stored.description);
    },
    clear,
  );
  const draft = { pattern: pattern.trim(), description: description.trim() };
  const question = base
    ? updateImmutableTagRule({ uid: base.resource.uid, ...draft }, ["pattern", "description"], base.etag)
    : createImmutableTagRule(parent, { pattern: draft.pattern, ...(draft.description === "" ? {} : { description: draft.description }) });
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (draft.pattern === "" || isSending || !(await send<unknown>(question))) return;
    onClose();
    announce(base ? texts.ruleChanged : texts.immutableAdded);
  };
  return (
    <FormDialog
      title={base ? texts.changeImmutable : texts.addImmutable}
      question={question}
      message={problems.message}
      conflict={
        base && problems.isConflict ? (
          <Conflict read={immutableTagRule(base.resource.uid)} shownOf={shownImmutable} mine={shownImmutable(draft)} {...choices} />
        ) : null
      }
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">
        {texts.immutableText} {texts.immutableEffect}
      </p>
      <TextField
        label={texts.tagPatternLabel}
        about={texts.patternHint}
        problem={isChecked && draft.pattern === "" ? texts.patternHint : problems.fields.pattern}
        value={pattern}
        onChange={setPattern}
        required
        isFirst
      />
      <TextField label={texts.reasonOptional} problem={problems.fields.description} value={description} onChange={setDescription} />
    </FormDialog>
  );
};

interface RetentionFormProps {
  readonly group: string;
  /** Applies only to this repo. */
  readonly repo: string | undefined;
  /** The rule to change; undefined: add one. */
  readonly version?: Version<RetentionRule> | undefined;
  readonly onClose: () => void;
}

const isNumber = (text: string): boolean => /^[1-9]\d*$/.test(text.trim());

const numberFields = ["keepLast", "keepVersions", "keepDays", "keepPulledDays"] as const;
type NumberField = (typeof numberFields)[number];
const hints: Readonly<Record<NumberField, string>> = {
  keepLast: texts.keepLastHint,
  keepVersions: texts.keepVersionsHint,
  keepDays: texts.keepDaysHint,
  keepPulledDays: texts.keepPulledHint,
};

/** What the form has of a rule, as it was typed. */
interface RetentionDraft extends Readonly<Record<NumberField, string>> {
  readonly name: string;
  readonly tagPattern: string;
  readonly versionRange: string;
  readonly keepAll: boolean;
  readonly previewOnly: boolean;
}

const newDraft: RetentionDraft = {
  name: "",
  tagPattern: "",
  versionRange: "",
  keepAll: false,
  keepLast: "10",
  keepVersions: "",
  keepDays: "",
  keepPulledDays: "",
  previewOnly: true,
};

const numberText = (value: number): string => (value === 0 ? "" : String(value));

const draftOf = ({
  name,
  tagPattern,
  versionRange,
  keepAll,
  keepLast,
  keepVersions,
  keepDays,
  keepPulledDays,
  previewOnly,
}: RetentionRule): RetentionDraft => ({
  name,
  tagPattern,
  versionRange,
  keepAll,
  keepLast: numberText(keepLast),
  keepVersions: numberText(keepVersions),
  keepDays: numberText(keepDays),
  keepPulledDays: numberText(keepPulledDays),
  previewOnly,
});

const yesOrNo = (value: boolean): string => (value ? texts.yes : texts.no);

const shownRetention = (draft: RetentionDraft): readonly Shown[] => [
  [texts.ruleName, draft.name],
  [texts.patternOptional, draft.tagPattern],
  [texts.versionRange, draft.versionRange],
  [texts.keepAll, yesOrNo(draft.keepAll)],
  ...numberFields.map((field): Shown => [texts[field], draft[field]]),
  [texts.previewLabel, yesOrNo(draft.previewOnly)],
];

const changedFields = ["name", "tagPattern", "versionRange", "keepAll", ...numberFields, "previewOnly"] as const;

export const RetentionForm = ({ group, repo, version, onClose }: RetentionFormProps): ReactNode => {
  const [draft, setDraft] = useState<RetentionDraft>(version ? draftOf(version.resource) : newDraft);
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend(["name", "tagPattern", "versionRange", "keepAll", ...numberFields]);
  const { base, choices } = useVersion(version, (stored) => setDraft(draftOf(stored)), clear);
  const set = (change: Partial<RetentionDraft>): void => setDraft({ ...draft, ...change });
  const wrong = draft.keepAll ? [] : numberFields.filter((field) => draft[field].trim() !== "" && !isNumber(draft[field]));
  const kept = numberFields.flatMap((field) => (!draft.keepAll && isNumber(draft[field]) ? [[field, Number(draft[field])] as const] : []));
  const sent = { ...draft, name: draft.name.trim(), tagPattern: draft.tagPattern.trim(), versionRange: draft.versionRange.trim() };
  const { keepAll, previewOnly } = sent;
  const question = base
    ? updateRetentionRule(
        {
          uid: base.resource.uid,
          name: sent.name,
          tagPattern: sent.tagPattern,
          versionRange: sent.versionRange,
          keepAll,
          ...Object.fromEntries(numberFields.map((field) => [field, 0])),
          ...Object.fromEntries(kept),
          previewOnly,
        },
        changedFields,
        base.etag,
      )
    : createRetentionRule(group, {
        name: sent.name,
        ...(repo === undefined ? {} : { repoUid: repo }),
        ...(sent.tagPattern === "" ? {} : { tagPattern: sent.tagPattern }),
        ...(sent.versionRange === "" ? {} : { versionRange: sent.versionRange }),
        ...(keepAll ? { keepAll } : {}),
        ...Object.fromEntries(kept),
        ...(previewOnly ? { previewOnly } : {}),
      });
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (sent.name === "" || wrong.length > 0 || isSending || !(await send<unknown>(question))) return;
    onClose();
    announce(base ? texts.ruleChanged : texts.retentionAdded);
  };
  return (
    <FormDialog
      title={base ? texts.changeRetention : texts.addRetention}
      question={question}
      message={problems.message}
      conflict={
        base && problems.isConflict ? (
          <Conflict read={retentionRule(base.resource.uid)} shownOf={(rule) => shownRetention(draftOf(rule))} mine={shownRetention(sent)} {...choices} />
        ) : null
      }
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">{texts.retentionText}</p>
      <TextField
        label={texts.ruleName}
        about={texts.ruleNameHint}
        problem={isChecked && sent.name === "" ? texts.ruleNameHint : problems.fields.name}
        value={draft.name}
        onChange={(name) => set({ name })}
        required
        isFirst
      />
      <TextField
        label={texts.patternOptional}
        about={texts.patternHint}
        problem={problems.fields.tagPattern}
        value={draft.tagPattern}
        onChange={(tagPattern) => set({ tagPattern })}
      />
      <TextField
        label={texts.versionRange}
        about={texts.versionRangeHint}
        problem={problems.fields.versionRange}
        value={draft.versionRange}
        onChange={(versionRange) => set({ versionRange })}
      />
      <label className="check">
        <input type="checkbox" checked={keepAll} onChange={({ target }) => set({ keepAll: target.checked })} />
        {texts.keepAll}
      </label>
      {keepAll
        ? null
        : numberFields.map((field) => (
            <TextField
              key={field}
              type="number"
              label={texts[field]}
              about={hints[field]}
              problem={wrong.includes(field) ? texts.notNumber : problems.fields[field]}
              value={draft[field]}
              onChange={(value) => set({ [field]: value })}
            />
          ))}
      <label className="check">
        <input type="checkbox" checked={previewOnly} onChange={({ target }) => set({ previewOnly: target.checked })} />
        {texts.previewLabel}
      </label>
    </FormDialog>
  );
};
