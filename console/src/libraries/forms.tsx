// Forms that create and rename a request.

import { type ReactNode, useId, useState } from "react";
import type { InputFormat, RequestGroup } from "../../../client/package.ts";
import { Conflict, type Shown, useVersion, type Version } from "../conflict.tsx";
import { FormDialog } from "../form-dialog.tsx";
import { announce } from "../parts.tsx";
import { SelectField } from "../select-field.tsx";
import { useSend } from "../send.ts";
import { TextArea } from "../text-area.tsx";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/libraries.ts";
import { createRequest, renameRequest, requestAt } from "./requests.ts";

const contentMax = 1_048_576;

const formats = [
  "INPUT_FORMAT_REQUIREMENTS_TXT",
  "INPUT_FORMAT_POETRY_LOCK",
  "INPUT_FORMAT_UV_LOCK",
  "INPUT_FORMAT_MAVEN_GAV_LIST",
] as const satisfies readonly InputFormat[];

const byFileName = "INPUT_FORMAT_UNSPECIFIED";

interface FileFieldProps {
  readonly problem: string | undefined;
  readonly onChoose: (file: File) => void;
}

const FileField = ({ problem, onChoose }: FileFieldProps): ReactNode => {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{texts.file}</label>
      <input
        id={id}
        type="file"
        aria-describedby={`${id}-about`}
        aria-invalid={problem !== undefined}
        onChange={({ target }) => {
          const file = target.files?.[0];
          if (file) onChoose(file);
        }}
      />
      <p id={`${id}-about`} className={problem === undefined ? "about" : "problem"}>
        {problem ?? texts.fileHint}
      </p>
    </div>
  );
};

interface Draft {
  readonly name: string;
  readonly filename: string;
  readonly content: string;
  readonly format: (typeof formats)[number] | typeof byFileName;
  readonly wantsFixes: boolean;
}

const empty: Draft = { name: "", filename: "", content: "", format: "INPUT_FORMAT_REQUIREMENTS_TXT", wantsFixes: false };

interface NewRequestProps {
  readonly parent: string;
  /** Returns the address of the new request. */
  readonly addressFor: (uid: string) => string;
  readonly onClose: () => void;
}

export const NewRequestForm = ({ parent, addressFor, onClose }: NewRequestProps): ReactNode => {
  const [draft, setDraft] = useState(empty);
  const [isChecked, setChecked] = useState(false);
  const [isTooLarge, setTooLarge] = useState(false);
  const { problems, isSending, send, clear } = useSend(["name", "content", "format", "filename"]);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const { filename, content, format, wantsFixes } = draft;
  const name = draft.name.trim();
  const isEmpty = content.trim() === "";
  const question = createRequest({
    parent,
    ...(name === "" ? {} : { name }),
    content,
    ...(filename === "" ? {} : { filename }),
    ...(format === byFileName ? {} : { format }),
    ...(wantsFixes ? { forCveRemediation: true } : {}),
  });
  const choose = async (file: File): Promise<void> => {
    clear();
    setTooLarge(file.size > contentMax);
    if (file.size <= contentMax) set({ filename: file.name, content: await file.text(), format: byFileName });
  };
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (isEmpty || isSending || !(await send(question, ({ uid }) => addressFor(uid)))) return;
    announce(texts.requestCreated);
  };
  return (
    <FormDialog title={texts.newRequest} question={question} message={problems.message} isSending={isSending} submit={() => void submit()} onClose={onClose}>
      <TextField label={texts.nameOptional} problem={problems.fields.name} value={draft.name} onChange={(value) => set({ name: value })} isFirst />
      <FileField problem={isTooLarge ? texts.fileTooLarge : problems.fields.filename} onChoose={(file) => void choose(file)} />
      <TextArea
        label={texts.requirements}
        rows={6}
        lengthMax={contentMax}
        value={content}
        about={texts.requirementsHint}
        problem={isChecked && isEmpty ? texts.requirementsHint : problems.fields.content}
        onChange={(value) => set({ content: value })}
        required
      />
      <SelectField
        label={texts.format}
        value={format}
        choices={[...(filename === "" ? [] : ([byFileName] as const)), ...formats].map((each) => [each, texts.formats[each]] as const)}
        problem={problems.fields.format}
        onChange={(value) => set({ format: value })}
      />
      <label className="check">
        <input type="checkbox" checked={wantsFixes} onChange={({ target }) => set({ wantsFixes: target.checked })} />
        {texts.remediation}
      </label>
    </FormDialog>
  );
};

const shownOf = ({ name }: Pick<RequestGroup, "name">): readonly Shown[] => [[texts.nameOptional, name]];

interface RenameProps {
  readonly version: Version<RequestGroup>;
  readonly onClose: () => void;
}

export const RenameForm = ({ version, onClose }: RenameProps): ReactNode => {
  const [typed, setTyped] = useState(version.resource.name);
  const { problems, isSending, send, clear } = useSend(["name"]);
  const { base, choices } = useVersion(version, (stored) => setTyped(stored.name), clear);
  const { uid } = base.resource;
  const name = typed.trim();
  const question = renameRequest(uid, name, base.etag);
  const submit = async (): Promise<void> => {
    if (isSending) return;
    if (name !== base.resource.name && !(await send(question))) return;
    onClose();
    announce(texts.requestRenamed);
  };
  return (
    <FormDialog
      title={texts.renameRequest}
      button={texts.save}
      question={question}
      message={problems.message}
      conflict={problems.isConflict ? <Conflict read={requestAt(uid)} shownOf={shownOf} mine={shownOf({ name })} {...choices} /> : null}
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <TextField label={texts.nameOptional} problem={problems.fields.name} value={typed} onChange={setTyped} isFirst />
    </FormDialog>
  );
};
